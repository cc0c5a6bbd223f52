#pragma once

// Whole numbers as text, eight digits at a time.

#include <bit>
#include <cstdint>
#include <cstring>

namespace cg2d {

/// Digits at the begin of a text: 8 at most.
struct DigitRun {
  std::uint64_t value = 0;
  unsigned length = 0;
};

namespace detail {

/// The number of digits before the first other letter among 8, the first of them in the lowest byte; each byte
/// of `letters` is a letter xor '0'. A sum that overflows spoils only letters after one that is no digit.
constexpr unsigned digits_before_other(std::uint64_t letters) {
  const std::uint64_t others = ((letters + 0x7676767676767676U) | letters) & 0x8080808080808080U;
  return static_cast<unsigned>(std::countr_zero(others)) / 8;  // 64 zeros: 8 digits
}

/// The number of 8 digits, one per byte, the first of them in the lowest byte: neighbours are joined to pairs, to
/// fours, and to all eight.
constexpr std::uint64_t number_of_eight(std::uint64_t digits) {
  digits = digits * 10 + (digits >> 8U);
  constexpr std::uint64_t pairs = 0x000000ff000000ffU;
  constexpr std::uint64_t first_and_third = 100 + (std::uint64_t{1'000'000} << 32U);
  constexpr std::uint64_t second_and_fourth = 1 + (std::uint64_t{10'000} << 32U);
  return ((digits & pairs) * first_and_third + ((digits >> 16U) & pairs) * second_and_fourth) >> 32U;
}

/// The digits among 8 letters of memory. No branch depends on their number, which changes from line to line.
inline DigitRun digits_of_word(const char* place) {
  std::uint64_t letters = 0;
  std::memcpy(&letters, place, sizeof(letters));
  letters ^= 0x3030303030303030U;
  const unsigned length = digits_before_other(letters);
  // Zeros take the place of digits before the first one. Two shifts, since one by 64 is undefined.
  const unsigned half = 32 - 4 * length;
  return {.value = number_of_eight((letters << half) << half), .length = length};
}

/// Reads a run of digits one by one.
inline DigitRun digits_one_by_one(const char* place, const char* end) {
  DigitRun run;
  for (; run.length < 8 && place != end && *place >= '0' && *place <= '9'; ++place, ++run.length)
    run.value = run.value * 10 + static_cast<std::uint64_t>(*place - '0');
  return run;
}

}  // namespace detail

/// The first digits of the text place ... end-1. Cost: about 2 ns, as long as 8 bytes are left.
inline DigitRun digits_at(const char* place, const char* end) {
  return std::endian::native == std::endian::little && end - place >= 8
             ? detail::digits_of_word(place)
             : detail::digits_one_by_one(place, end);
}

}  // namespace cg2d
