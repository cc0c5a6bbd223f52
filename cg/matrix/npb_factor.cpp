#include "cg/matrix/npb_factor.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

#include "cg/matrix/drawn_vectors.hpp"

namespace cg2d {
namespace {

/// An entry as ranks send it: two words, of which the first has row and column, counted from those of the block.
struct FactorEntry {
  std::uint64_t place = 0;  // row * 2^32 + column, so that entries are sorted as in compressed rows
  double value = 0.0;
};

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
  /// The entries of this rank's block, sorted. Collective; takes the outgoing ones.
  [[nodiscard]] std::vector<FactorEntry> exchange(comm::RankGroup& group) {
    std::vector<FactorEntry> entries;
    for (const auto& words : group.exchange(std::move(words_))) {
      for (std::size_t k = 0; k < words.size(); k += 2)
        entries.push_back({.place = words[k], .value = std::bit_cast<double>(words[k + 1])});
    }
    std::ranges::sort(entries, {}, &FactorEntry::place);
    return entries;
  }

 private:
  const comm::BlockLayout& layout_;
  std::vector<std::vector<std::uint64_t>> words_;  // by owner
};

/// A block of sorted entries.
kernels::CsrBlock block_from(const std::vector<FactorEntry>& entries, std::int64_t row_count,
                             std::int64_t column_count) {
  kernels::CsrBlock block{
      .row_count = row_count,
      .column_count = column_count,
      .row_starts = kernels::PageBuffer<std::int64_t>(static_cast<std::size_t>(row_count) + 1),
      .columns = kernels::PageBuffer<std::int32_t>(entries.size()),
      .values = kernels::PageBuffer<double>(entries.size())};
  for (std::size_t k = 0; k < entries.size(); ++k) {
    ++block.row_starts[static_cast<std::size_t>(entries[k].place >> 32) + 1];
    block.columns[k] = static_cast<std::int32_t>(entries[k].place & 0xffffffffU);
    block.values[k] = entries[k].value;
  }
  for (std::size_t row = 0; row < static_cast<std::size_t>(row_count); ++row)
    block.row_starts[row + 1] += block.row_starts[row];
  return block;
}

}  // namespace

NpbFactor make_npb_factor(const Problem& problem, const comm::BlockLayout& layout, comm::RankGroup& group) {
  OutgoingEntries of_factor(layout);
  OutgoingEntries of_transposed(layout);
  draw_vectors(problem, group).visit([&](const SparseVectors& vectors) {
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
  const auto rows = layout.row_block(layout.grid().row_of(group.rank())).size();
  const auto columns = layout.column_block(layout.grid().column_of(group.rank())).size();
  const auto piece = layout.piece(layout.column_piece_of(group.rank()));
  return {.factor = block_from(of_factor.exchange(group), rows, columns),
          .transposed = block_from(of_transposed.exchange(group), rows, columns),
          .weights = vector_weights(problem, piece.begin, piece.size()),
          .diagonal = Problem::rcond - problem.shift};
}

}  // namespace cg2d
