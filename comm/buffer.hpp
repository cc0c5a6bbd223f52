#pragma once

// Memory that a communicator is given for its buffers.

#include <cstddef>
#include <memory>
#include <memory_resource>
#include <span>

namespace cg2d::comm {

/// Gives such memory back.
struct GiveBack {
  static constexpr size_t alignment = 64;

  std::pmr::memory_resource* memory = nullptr;
  size_t size = 0;  ///< in doubles
  void operator()(double* data) const { memory->deallocate(data, size * sizeof(double), alignment); }
};

/// Doubles of a memory resource, which must outlive them. Begins on a cache line. Making one writes nothing:
/// the contents are unspecified until they are written, and the system places each page near the thread that
/// does so.
class Buffer {
 public:
  Buffer() = default;
  /// Throws what the resource throws: std::bad_alloc.
  Buffer(std::pmr::memory_resource& memory, size_t size)
      : data_(size == 0 ? nullptr
                        : static_cast<double*>(memory.allocate(size * sizeof(double), GiveBack::alignment)),
              GiveBack{.memory = &memory, .size = size}) {}

  std::span<double> span() const { return {data_.get(), data_.get_deleter().size}; }

 private:
  std::unique_ptr<double[], GiveBack> data_;
};

}  // namespace cg2d::comm
