#include "cg/matrix/npb_factor.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

#include "cg/matrix/drawn_vectors.hpp"

namespace cg2d {
namespace {

/// Entries of a distributed matrix on their way to the owners of their blocks.
class OutgoingEntries {
 public:
  explicit OutgoingEntries(const comm::BlockLayout& layout)
      : layout_(layout), words_(static_cast<std::size_t>(layout.grid().rank_count())) {}

  void add(std::int64_t row, std::int64_t column, double value) {
    const int process_row = layout_.row_block_of(row);
    const int process_column = layout_.column_block_of(column);
    auto& words = words_[static_cast<std::size_t>(layout_.grid().rank_at(process_row, process_column))];
    const auto local_row = static_cast<std::uint64_t>(row - layout_.row_block(process_row).begin);
    const auto local_column = static_cast<std::uint64_t>(column - layout_.column_block(process_column).begin);
    words.push_back(local_row << 32 | local_column);
    words.push_back(std::bit_cast<std::uint64_t>(value));
  }
  /// This rank's block. Collective; takes the outgoing entries.
  [[nodiscard]] kernels::CsrBlock exchange(comm::RankGroup& group) {
    struct Entry {
      std::uint64_t place = 0;  // row * 2^32 + column, so that entries are sorted as in compressed rows
      double value = 0.0;
    };
    std::vector<Entry> entries;
    for (const auto& words : group.exchange(std::move(words_))) {
      for (std::size_t k = 0; k < words.size(); k += 2)
        entries.push_back({.place = words[k], .value = std::bit_cast<double>(words[k + 1])});
    }
    std::ranges::sort(entries, {}, &Entry::place);
    auto block = kernels::CsrBlock::with_room(layout_.rows_of(group.rank()).size(),
                                              layout_.columns_of(group.rank()).size(), entries.size());
    for (std::size_t k = 0; k < entries.size(); ++k) {
      ++block.row_starts[static_cast<std::size_t>(entries[k].place >> 32) + 1];
      block.columns[k] = static_cast<std::int32_t>(entries[k].place & 0xffffffffU);
      block.values[k] = entries[k].value;
    }
    block.make_room_by_lengths();
    return block;
  }

 private:
  const comm::BlockLayout& layout_;
  std::vector<std::vector<std::uint64_t>> words_;  // by owner
};

}  // namespace

NpbFactor make_npb_factor(const Problem& problem, const comm::BlockLayout& layout, comm::RankGroup& group) {
  OutgoingEntries of_factor(layout);
  OutgoingEntries of_transposed(layout);
  DrawnVectors(problem, group).visit([&](const SparseVectors& vectors) {
    for (std::int64_t v = 0; v < vectors.count; ++v) {
      const auto positions = vectors.positions_of(v);
      const auto values = vectors.values_of(v);
      const auto number = vectors.first + v;
      for (std::size_t k = 0; k < positions.size(); ++k) {
        of_factor.add(positions[k], number, values[k]);
        of_transposed.add(number, positions[k], values[k]);
      }
    }
  });
  const auto piece = layout.own_piece(group.rank());
  return {.factor = of_factor.exchange(group),
          .transposed = of_transposed.exchange(group),
          .weights = vector_weights(problem, piece.begin, piece.size()),
          .diagonal = Problem::rcond - problem.shift};
}

}  // namespace cg2d
