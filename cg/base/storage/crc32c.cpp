#include "cg/base/storage/crc32c.hpp"

#include <array>
#include <cstring>

#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace cg2d {
namespace {

constexpr uint32_t reversed_polynomial = 0x82f63b78U;

constexpr std::array<uint32_t, 256> make_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t k = 0; k < table.size(); ++k) {
    uint32_t rest = k;
    for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1U) ^ ((rest & 1U) != 0 ? reversed_polynomial : 0U);
    table[k] = rest;
  }
  return table;
}

uint32_t by_table(uint32_t state, std::span<const std::byte> bytes) {
  static constexpr auto table = make_table();
  for (const auto byte : bytes) state = (state >> 8U) ^ table[(state ^ static_cast<uint32_t>(byte)) & 0xffU];
  return state;
}

// Polynomials modulo that of the checksum; the highest bit is the coefficient of 1, as in a state.

constexpr uint32_t polynomial_one = 1U << 31U;

constexpr uint32_t product(uint32_t a, uint32_t b) {
  uint32_t sum = 0;
  for (uint32_t bit = polynomial_one; bit != 0; bit >>= 1U) {
    if ((a & bit) != 0) sum ^= b;
    b = (b >> 1U) ^ ((b & 1U) != 0 ? reversed_polynomial : 0U);
  }
  return sum;
}

/// The state after so many zero bytes: its product with x^(8 count).
constexpr uint32_t after_zeros(uint32_t state, int64_t count) {
  uint32_t power = polynomial_one >> 8U;
  for (; count > 0; count >>= 1, power = product(power, power)) {
    if ((count & 1) != 0) state = product(state, power);
  }
  return state;
}

// What differs between processors with an instruction for it: what a function that uses it needs, the state after a word of eight bytes, and
// whether this processor has it. NOLINTBEGIN(cppcoreguidelines-macro-usage): an attribute cannot be a constant
#if defined(__x86_64__)
#define CG2D_CRC_ATTRIBUTE __attribute__((target("sse4.2")))
CG2D_CRC_ATTRIBUTE inline uint64_t after_word(uint64_t state, uint64_t word) {
  return __builtin_ia32_crc32di(state, word);
}
bool has_instruction() { return __builtin_cpu_supports("sse4.2") != 0; }
#elif defined(__AARCH64EL__)
#define CG2D_CRC_ATTRIBUTE
inline uint64_t after_word(uint64_t state, uint64_t word) {
  asm(".arch_extension crc\n\tcrc32cx %w0, %w0, %1" : "+r"(state) : "r"(word));
  return state;
}
bool has_instruction() { return (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0; }
#endif
// NOLINTEND(cppcoreguidelines-macro-usage)

#ifdef CG2D_CRC_ATTRIBUTE
uint64_t word_at(const std::byte* place) {
  uint64_t word = 0;
  std::memcpy(&word, place, sizeof(word));
  return word;
}

/// Three pieces of long data at a time, since the instruction waits for its own result only: f(s, a b) = f(f(s, a), 0 ... 0) + f(0, b).
CG2D_CRC_ATTRIBUTE uint32_t by_instruction(uint32_t state, std::span<const std::byte> bytes) {
  constexpr size_t piece_bytes = 8192;
  constexpr auto piece_of_zeros = after_zeros(polynomial_one, piece_bytes);
  for (; bytes.size() >= 3 * piece_bytes; bytes = bytes.subspan(3 * piece_bytes)) {
    std::array<uint64_t, 3> wide{state, 0, 0};
    for (size_t done = 0; done < piece_bytes; done += sizeof(uint64_t)) {
      for (size_t piece = 0; piece < wide.size(); ++piece)
        wide[piece] = after_word(wide[piece], word_at(bytes.data() + piece * piece_bytes + done));
    }
    state = product(static_cast<uint32_t>(wide[0]), piece_of_zeros) ^ static_cast<uint32_t>(wide[1]);
    state = product(state, piece_of_zeros) ^ static_cast<uint32_t>(wide[2]);
  }
  uint64_t wide = state;
  for (; bytes.size() >= sizeof(uint64_t); bytes = bytes.subspan(sizeof(uint64_t)))
    wide = after_word(wide, word_at(bytes.data()));
  return by_table(static_cast<uint32_t>(wide), bytes);
}
#endif

}  // namespace

uint32_t crc32c_of_zeros(int64_t byte_count) { return ~after_zeros(~uint32_t{0}, byte_count); }

/// The difference of two checksums of equally long data depends on the difference of the data only, and zeros before that leave it as it is.
uint32_t crc32c_share(uint32_t checksum, int64_t byte_count, int64_t bytes_after) {
  return after_zeros(checksum ^ crc32c_of_zeros(byte_count), bytes_after);
}

uint32_t crc32c(std::span<const std::byte> bytes, uint32_t before) {
#ifdef CG2D_CRC_ATTRIBUTE
  if (has_instruction()) return ~by_instruction(~before, bytes);
#endif
  return ~by_table(~before, bytes);
}

}  // namespace cg2d
