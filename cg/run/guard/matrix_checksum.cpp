#include "cg/run/guard/matrix_checksum.hpp"

#include <algorithm>
#include <array>

#include "cg/base/storage/crc32c.hpp"

namespace cg2d {
namespace {

/// Small enough for shares of small blocks, large enough that threads take few.
constexpr std::size_t sealed_piece_bytes = std::size_t{1} << 15;

}  // namespace

MatrixChecksum::MatrixChecksum(const std::vector<kernels::StoredArray>& arrays, int thread_count)
    : thread_count_(thread_count) {
  for (const auto& array : arrays) {
    const std::span<const std::byte> bytes = array.bytes;
    for (std::size_t begin = 0; begin < bytes.size(); begin += sealed_piece_bytes) {
      const auto piece = bytes.subspan(begin, std::min(sealed_piece_bytes, bytes.size() - begin));
      pieces_.push_back({.bytes = piece, .checksum = crc32c(piece)});
    }
  }
}

bool MatrixChecksum::holds(int share, int share_count) const {
  // Three pieces at once: see crc32c_of_three().
  constexpr std::size_t at_once = 3;
  const auto place_of = [&](std::size_t number) {
    return static_cast<std::size_t>(share) + number * static_cast<std::size_t>(share_count);
  };
  const auto holds_alone = [this](std::size_t place) {
    return place >= pieces_.size() || crc32c(pieces_[place].bytes) == pieces_[place].checksum;
  };
  const auto holds_all = [&](std::size_t group) {
    const std::array places{place_of(at_once * group), place_of(at_once * group + 1),
                            place_of(at_once * group + 2)};
    const bool are_equally_long =
        places.back() < pieces_.size() && std::ranges::all_of(places, [this](std::size_t place) {
          return pieces_[place].bytes.size() == sealed_piece_bytes;
        });
    if (!are_equally_long) return std::ranges::all_of(places, holds_alone);
    const auto found =
        crc32c_of_three({pieces_[places[0]].bytes, pieces_[places[1]].bytes, pieces_[places[2]].bytes});
    for (std::size_t k = 0; k < at_once; ++k) {
      if (found[k] != pieces_[places[k]].checksum) return false;
    }
    return true;
  };
  const auto group_count =
      static_cast<std::int64_t>(pieces_.size() / (at_once * static_cast<std::size_t>(share_count)) + 1);
  int broken_count = 0;
#pragma omp parallel for num_threads(thread_count_) schedule(static) reduction(+ : broken_count) if (thread_count_ > 1)
  for (std::int64_t group = 0; group < group_count; ++group)
    broken_count += holds_all(static_cast<std::size_t>(group)) ? 0 : 1;
  return broken_count == 0;
}

}  // namespace cg2d
