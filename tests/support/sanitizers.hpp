#pragma once

// The sanitizer that a test is built with.

#if !defined(__has_feature)
#define __has_feature(name) 0
#endif

namespace cg2d::test {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool has_address_sanitizer = true;
#else
inline constexpr bool has_address_sanitizer = __has_feature(address_sanitizer);
#endif

#if defined(__SANITIZE_THREAD__)
inline constexpr bool has_thread_sanitizer = true;
#else
inline constexpr bool has_thread_sanitizer = __has_feature(thread_sanitizer);
#endif

/// With a sanitizer a kernel has one loop for all instruction sets (kernels/vector_targets.hpp).
inline constexpr bool has_one_loop = has_address_sanitizer || has_thread_sanitizer;

/// Of so many cases that take the same way: a quarter with a sanitizer, with which each takes ten times as long and more.
inline int with_fewer_sanitized(int count) { return has_one_loop ? (count + 3) / 4 : count; }

/// The sets whose loops differ.
template <typename Sets>
Sets sets_with_loops(Sets sets) {
  if (has_one_loop) sets.resize(1);
  return sets;
}

}  // namespace cg2d::test
