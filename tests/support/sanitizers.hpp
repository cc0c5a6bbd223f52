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

}  // namespace cg2d::test
