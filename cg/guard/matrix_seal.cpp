#include "cg/guard/matrix_seal.hpp"

#include <algorithm>

#include "cg/files/crc32c.hpp"

namespace cg2d {
namespace {

/// Small enough for shares of small blocks, large enough that threads take few.
constexpr std::size_t piece_bytes = std::size_t{1} << 15;

}  // namespace

MatrixSeal::MatrixSeal(const std::vector<kernels::StoredArray>& arrays, int thread_count)
    : thread_count_(thread_count) {
  for (const auto& array : arrays) {
    const std::span<const std::byte> bytes = array.bytes;
    for (std::size_t begin = 0; begin < bytes.size(); begin += piece_bytes) {
      const auto piece = bytes.subspan(begin, std::min(piece_bytes, bytes.size() - begin));
      pieces_.push_back({.bytes = piece, .checksum = crc32c(piece)});
    }
  }
}

bool MatrixSeal::holds(int share, int share_count) const {
  const auto piece_count = static_cast<std::int64_t>(pieces_.size());
  int broken_count = 0;
#pragma omp parallel for num_threads(thread_count_) schedule(static) reduction(+ : broken_count) if (thread_count_ > 1)
  for (std::int64_t index = share; index < piece_count; index += share_count) {
    const auto& piece = pieces_[static_cast<std::size_t>(index)];
    broken_count += crc32c(piece.bytes) == piece.checksum ? 0 : 1;
  }
  return broken_count == 0;
}

}  // namespace cg2d
