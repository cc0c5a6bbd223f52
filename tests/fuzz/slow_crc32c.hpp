#pragma once

// CRC-32C a second time, from its definition: for fuzz targets of formats that have it, and their seeds.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cg2d::fuzz {

namespace detail {

/// The remainder of each byte, bit by bit.
inline std::array<uint32_t, 256> remainders() {
  std::array<uint32_t, 256> table{};
  for (size_t byte = 0; byte < table.size(); ++byte) {
    auto sum = static_cast<uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1U) ^ ((sum & 1U) != 0 ? 0x82f63b78U : 0U);
    table[byte] = sum;
  }
  return table;
}

}  // namespace detail

/// sum: of the bytes before.
inline uint32_t slow_crc32c(std::string_view bytes, uint32_t sum = 0) {
  static const auto table = detail::remainders();
  sum = ~sum;
  for (const char byte : bytes) sum = (sum >> 8U) ^ table[(sum ^ static_cast<unsigned char>(byte)) & 0xffU];
  return ~sum;
}

}  // namespace cg2d::fuzz
