#pragma once

// Vectors of numbers that ask for huge pages when they are large.

#include <cstddef>
#include <vector>

namespace cg2d::comm {

namespace detail {

/// From 2 MiB on: begins on a border of huge pages, which are asked for. Throws std::bad_alloc.
void* allocate_advised(std::size_t byte_count);
void free_advised(void* address, std::size_t byte_count) noexcept;

}  // namespace detail

/// Allocator for the standard containers. Stateless: all are equal.
template <typename T>
struct HugePageAllocator {
  using value_type = T;

  HugePageAllocator() = default;
  template <typename U>
  HugePageAllocator(const HugePageAllocator<U>& /*other*/) noexcept {}  // NOLINT(google-explicit-constructor)

  // Containers ask for no more than max_size(), so the product is no smaller than it should be.
  [[nodiscard]] T* allocate(std::size_t count) {
    return static_cast<T*>(detail::allocate_advised(count * sizeof(T)));
  }
  void deallocate(T* address, std::size_t count) noexcept {
    detail::free_advised(address, count * sizeof(T));
  }

  template <typename U>
  bool operator==(const HugePageAllocator<U>& /*other*/) const noexcept {
    return true;
  }
};

/// One rank's part of a vector, or a buffer for it.
using HugePageVector = std::vector<double, HugePageAllocator<double>>;

}  // namespace cg2d::comm
