#pragma once

// Vectors of numbers that ask for huge pages when they are large, and whose pages nobody has touched yet.

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace cg2d::comm {

namespace detail {

/// Zeroed memory. From 64 KiB on: pages of its own, which nobody has touched; from 2 MiB on it begins on a
/// border of huge pages, which are asked for. Throws std::bad_alloc.
void* allocate_advised(std::size_t byte_count);
void free_advised(void* address, std::size_t byte_count) noexcept;

}  // namespace detail

/// Allocator for the standard containers. Stateless: all are equal. Making a container of a size writes
/// nothing, since the memory is zero already: so the system places each page near the thread that first
/// writes it, be it from an operation on all threads.
template <typename T>
struct HugePageAllocator {
  static_assert(std::is_arithmetic_v<T>, "memory full of zeros must be as good as T()");
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

  /// Without a value: zero in fresh memory. A container that has shrunk and grows again in place finds what
  /// was there.
  template <typename U>
  void construct(U* /*place*/) noexcept {}
  template <typename U, typename... Values>
  void construct(U* place, Values&&... values) {
    ::new (static_cast<void*>(place)) U(std::forward<Values>(values)...);
  }

  template <typename U>
  bool operator==(const HugePageAllocator<U>& /*other*/) const noexcept {
    return true;
  }
};

/// One rank's part of a vector, or a buffer for it. Zero when it is made.
using HugePageVector = std::vector<double, HugePageAllocator<double>>;

}  // namespace cg2d::comm
