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
void* map_pages(size_t byte_count);
void unmap_pages(void* address, size_t byte_count) noexcept;

/// The memory of an array: pages of its own, or memory that was lent to it. Move-only.
class PageMemory {
 public:
  PageMemory() = default;
  /// Zeroed pages. Throws std::bad_alloc when the address space has no room; a page is taken only when it is first written.
  explicit PageMemory(size_t byte_count) : address_(map_pages(byte_count)), byte_count_(byte_count) {}
  /// Memory of so many bytes that is nowhere until lend().
  static PageMemory nowhere(size_t byte_count) {
    PageMemory memory;
    memory.byte_count_ = byte_count;
    memory.is_own_ = false;
    return memory;
  }
  PageMemory(PageMemory&& other) noexcept { swap(other); }
  PageMemory& operator=(PageMemory&& other) noexcept {
    swap(other);
    return *this;
  }
  PageMemory(const PageMemory&) = delete;
  PageMemory& operator=(const PageMemory&) = delete;
  ~PageMemory() { release(); }

  /// Makes pages of its own longer or shorter, at a new address if need be; keeps the contents. Throws std::bad_alloc.
  void resize(size_t byte_count);
  /// Gives back the pages that lie wholly within the bytes begin ... end-1; they read as zeros afterwards.
  void drop(size_t begin, size_t end) noexcept;
  /// From now on the bytes are those at `address`, which is aligned for them, and whose owner keeps them as long as they are used.
  void lend(void* address) noexcept {
    release();
    address_ = address;
    is_own_ = false;
  }

  void* address() const { return address_; }
  size_t byte_count() const { return byte_count_; }

 private:
  void release() noexcept {
    if (is_own_) unmap_pages(address_, byte_count_);
  }
  void swap(PageMemory& other) noexcept {
    std::swap(address_, other.address_);
    std::swap(byte_count_, other.byte_count_);
    std::swap(is_own_, other.is_own_);
  }

  void* address_ = nullptr;
  size_t byte_count_ = 0;
  bool is_own_ = true;
};

/// An array of T, zero-initialized. Move-only. Its elements begin on a page boundary, those of large arrays
/// on a boundary of huge pages.
template <typename T>
class PageBuffer {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_default_constructible_v<T>);

 public:
  PageBuffer() = default;
  /// Throws std::bad_alloc, as PageMemory.
  explicit PageBuffer(size_t size) : memory_(bytes_of(size)) {}

  /// Keeps the first min(size(), size) elements; new ones are zero. Copies nothing. Throws std::bad_alloc.
  void resize(size_t size) { memory_.resize(bytes_of(size)); }

  /// Gives whole pages of the elements begin ... end-1 back to the system. Each of these elements then is
  /// zero or keeps its value.
  void drop(size_t begin, size_t end) noexcept { memory_.drop(begin * sizeof(T), end * sizeof(T)); }

  [[nodiscard]] T* data() { return static_cast<T*>(memory_.address()); }
  const T* data() const { return static_cast<const T*>(memory_.address()); }
  size_t size() const { return memory_.byte_count() / sizeof(T); }
  bool empty() const { return memory_.byte_count() == 0; }
  [[nodiscard]] T& operator[](size_t index) { return data()[index]; }
  const T& operator[](size_t index) const { return data()[index]; }
  [[nodiscard]] std::span<T> span() { return {data(), size()}; }
  std::span<const T> span() const { return {data(), size()}; }
  [[nodiscard]] PageMemory& memory() { return memory_; }

 private:
  /// Throws std::bad_alloc for a size whose number of bytes overflows.
  static size_t bytes_of(size_t size) {
    if (size > std::numeric_limits<size_t>::max() / (2 * sizeof(T))) throw std::bad_alloc();
    return size * sizeof(T);
  }

  PageMemory memory_;
};

}  // namespace cg2d::kernels
