#pragma once

// Memory that a communicator is given for its buffers.

#include <cstddef>
#include <memory_resource>
#include <span>
#include <utility>

namespace cg2d::comm {

/// Doubles of a memory resource, which must outlive them. Begins on a cache line. Making one writes nothing:
/// the contents are unspecified until they are written, and the system places each page near the thread that
/// does so.
class Buffer {
 public:
  Buffer() = default;
  /// Throws what the resource throws: std::bad_alloc.
  Buffer(std::pmr::memory_resource& memory, size_t size)
      : memory_(&memory),
        data_(size == 0 ? nullptr : static_cast<double*>(memory.allocate(size * sizeof(double), alignment))),
        size_(size) {}
  ~Buffer() {
    if (data_ != nullptr) memory_->deallocate(data_, size_ * sizeof(double), alignment);
  }
  Buffer(Buffer&& other) noexcept
      : memory_(other.memory_),
        data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  std::span<double> span() const { return {data_, size_}; }

 private:
  static constexpr size_t alignment = 64;

  std::pmr::memory_resource* memory_ = nullptr;
  double* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace cg2d::comm
