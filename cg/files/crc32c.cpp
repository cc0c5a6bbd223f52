#include "cg/files/crc32c.hpp"

#include <array>
#include <cstring>

namespace cg2d {
namespace {

constexpr std::uint32_t reversed_polynomial = 0x82f63b78U;

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t k = 0; k < table.size(); ++k) {
    std::uint32_t rest = k;
    for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1U) ^ ((rest & 1U) != 0 ? reversed_polynomial : 0U);
    table[k] = rest;
  }
  return table;
}

std::uint32_t by_table(std::uint32_t state, std::span<const std::byte> bytes) {
  static constexpr auto table = make_table();
  for (const auto byte : bytes)
    state = (state >> 8U) ^ table[(state ^ static_cast<std::uint32_t>(byte)) & 0xffU];
  return state;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t by_instruction(std::uint32_t state,
                                                               std::span<const std::byte> bytes) {
  std::uint64_t wide = state;
  while (bytes.size() >= sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), sizeof(word));
    wide = __builtin_ia32_crc32di(wide, word);
    bytes = bytes.subspan(sizeof(word));
  }
  return by_table(static_cast<std::uint32_t>(wide), bytes);
}
#endif

}  // namespace

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before) {
#if defined(__x86_64__)
  static const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
  if (has_instruction) return ~by_instruction(~before, bytes);
#endif
  return ~by_table(~before, bytes);
}

}  // namespace cg2d
