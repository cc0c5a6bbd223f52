#pragma once

// Large arrays straight from the operating system: pages that were never written take no memory, growing
// moves no data, and the system is asked for huge pages.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

namespace cg2d::kernels {

/// Maps `byte_count` zeroed bytes of anonymous memory, advised for huge pages; nullptr for 0 bytes. Throws
/// std::bad_alloc.
void* map_pages(std::size_t byte_count);
void unmap_pages(void* address, std::size_t byte_count) noexcept;

namespace detail {

/// Makes the memory longer or shorter, at a new address if need be; keeps the contents. Throws
/// std::bad_alloc.
void* remap_pages(void* address, std::size_t old_byte_count, std::size_t new_byte_count);
/// Gives back the pages that lie wholly within the bytes begin ... end-1; they read as zeros afterwards.
void drop_pages(void* address, std::size_t begin, std::size_t end) noexcept;

}  // namespace detail

/// An array of T, zero-initialized. Move-only. Its elements begin on a page boundary, those of large arrays
/// on a boundary of huge pages.
template <typename T>
class PageBuffer {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_default_constructible_v<T>);

 public:
  PageBuffer() = default;
  /// Throws std::bad_alloc when the address space has no room; a page is taken only when it is first written.
  explicit PageBuffer(std::size_t size) : data_(static_cast<T*>(map_pages(bytes_of(size)))), size_(size) {}
  PageBuffer(PageBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  PageBuffer& operator=(PageBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  PageBuffer(const PageBuffer&) = delete;
  PageBuffer& operator=(const PageBuffer&) = delete;
  ~PageBuffer() { unmap_pages(data_, size_ * sizeof(T)); }

  /// Keeps the first min(size(), size) elements; new ones are zero. Copies nothing. Throws std::bad_alloc.
  void resize(std::size_t size) {
    data_ = static_cast<T*>(detail::remap_pages(data_, bytes_of(size_), bytes_of(size)));
    size_ = size;
  }

  /// Gives whole pages of the elements begin ... end-1 back to the system. Each of these elements then is
  /// zero or keeps its value.
  void drop(std::size_t begin, std::size_t end) noexcept {
    detail::drop_pages(data_, begin * sizeof(T), end * sizeof(T));
  }

  [[nodiscard]] T* data() { return data_; }
  [[nodiscard]] const T* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] T& operator[](std::size_t index) { return data_[index]; }
  [[nodiscard]] const T& operator[](std::size_t index) const { return data_[index]; }
  [[nodiscard]] std::span<T> span() { return {data_, size_}; }
  [[nodiscard]] std::span<const T> span() const { return {data_, size_}; }

 private:
  /// Throws std::bad_alloc for a size whose number of bytes overflows.
  static std::size_t bytes_of(std::size_t size) {
    if (size > std::numeric_limits<std::size_t>::max() / (2 * sizeof(T))) throw std::bad_alloc();
    return size * sizeof(T);
  }

  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace cg2d::kernels
