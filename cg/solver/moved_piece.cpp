#include "cg/solver/moved_piece.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cg2d {

HugePageVector moved_piece(std::span<const double> piece, const comm::BlockLayout& from,
                           const comm::BlockLayout& to, comm::RankGroup& group) {
  const auto old_range = from.piece(from.column_piece_of(group.rank()));
  const auto new_range = to.piece(to.column_piece_of(group.rank()));
  const auto overlap = [](const comm::IndexRange& one, const comm::IndexRange& other) {
    const auto begin = std::max(one.begin, other.begin);
    return comm::IndexRange{.begin = begin, .end = std::max(begin, std::min(one.end, other.end))};
  };
  std::vector<std::vector<std::uint64_t>> outgoing(static_cast<std::size_t>(group.size()));
  for (int rank = 0; rank < group.size(); ++rank) {
    const auto shared = overlap(old_range, to.piece(to.column_piece_of(rank)));
    auto& words = outgoing[static_cast<std::size_t>(rank)];
    for (auto index = shared.begin; index < shared.end; ++index)
      words.push_back(std::bit_cast<std::uint64_t>(piece[static_cast<std::size_t>(index - old_range.begin)]));
  }
  const auto incoming = group.exchange(std::move(outgoing));
  HugePageVector moved(static_cast<std::size_t>(new_range.size()));
  for (int rank = 0; rank < group.size(); ++rank) {
    const auto shared = overlap(from.piece(from.column_piece_of(rank)), new_range);
    const auto& words = incoming[static_cast<std::size_t>(rank)];
    if (words.empty()) continue;
    std::ranges::transform(words, moved.begin() + (shared.begin - new_range.begin),
                           [](std::uint64_t word) { return std::bit_cast<double>(word); });
  }
  return moved;
}

}  // namespace cg2d
