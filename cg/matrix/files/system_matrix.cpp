#include "cg/matrix/files/system_matrix.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <tuple>

#include "cg/base/agreement.hpp"
#include "cg/base/errors.hpp"
#include "cg/base/storage/crc32c.hpp"
#include "cg/base/storage/open_file.hpp"
#include "cg/matrix/files/market_text.hpp"
#include "cg/matrix/files/word_rounds.hpp"

namespace cg2d {

MatrixFacts facts_of_rows(MatrixKey key, std::span<const uint32_t> row_lengths, uint64_t pattern_sum,
                          comm::RankGroup& group) {
  const int64_t longest = row_lengths.empty() ? 0 : *std::ranges::max_element(row_lengths);
  std::vector<int64_t> rows_by_length(static_cast<size_t>(group.maximum(longest)) + 1);
  for (const auto length : row_lengths) ++rows_by_length[length];
  group.sums(rows_by_length);
  key.pattern_hash = mixed_bits(pattern_sum ^ static_cast<uint64_t>(key.order));
  return counted_facts(key, rows_by_length);
}

std::string Symmetrization::text() const {
  if (largest_difference == 0.0) return "both triangles were equal";
  return fmt::format("the largest difference was {:.3g} of sqrt(a_ii a_jj), at ({}, {})", largest_difference,
                     row + 1, column + 1);
}

void SystemMatrix::require_positive_diagonal(comm::RankGroup& group) const {
  OwnRow lowest{.row = order()};  // in the original order
  visit_own_rows([&](const OwnRow& row) {
    if (row.diagonal > 0.0) return;
    if (const auto index = original(row.row); index < lowest.row)
      lowest = {.row = index, .diagonal = row.diagonal};
  });
  const auto first = std::ranges::min(group.gather_one(lowest), {}, &OwnRow::row);
  if (first.row >= order()) return;
  throw RunError(ExitCode::not_positive_definite,
                 "{}: not positive definite: the diagonal entry of row {} is {}; it must be greater than 0 "
                 "(if -A is meant, change the sign of A and b)",
                 facts_.key.name, first.row + 1, first.diagonal);
}

// ---------------------------------------------------------------- survey

namespace {

/// An entry that is no number, in the original order.
struct NotFinite {
  static constexpr int64_t none = std::numeric_limits<int64_t>::max();
  int64_t row = none;
  int64_t column = none;
  double value = 0.0;
  /// The first entry has the least. The lower triangle of the two places of a pair comes first, which files of symmetric matrices have.
  std::tuple<int64_t, int64_t, bool> key() const {
    return {std::max(row, column), std::min(row, column), row < column};
  }
};

}  // namespace

/// A pair of mirrored entries that are equal leaves nothing in the sum of asymmetry: one is added, the other one taken off. Zeros that are
/// stored count as if they were not.
void SystemMatrix::survey(std::string name, const comm::IndexRange& own_rows, comm::RankGroup& group) {
  own_rows_ = own_rows;
  row_lengths_.assign(static_cast<size_t>(own_rows.size()), 0);
  diagonal_.assign(row_lengths_.size(), 0.0);
  int64_t nonzero_count = 0;
  uint64_t pattern_sum = 0;
  uint64_t asymmetry_sum = 0;
  NotFinite not_finite;
  visit_entries(group, [&](const RowPart& part) {
    const auto [row, columns, values] = part;
    const auto local = local_row(row);
    row_lengths_[local] += static_cast<uint32_t>(columns.size());
    nonzero_count += std::ssize(columns);
    for (size_t k = 0; k < columns.size(); ++k) {
      const int64_t column = columns[k];
      const double value = values[k];
      if (!std::isfinite(value)) {
        const NotFinite entry{.row = original(row), .column = original(column), .value = value};
        if (entry.key() < not_finite.key()) not_finite = entry;
      }
      const auto place = hash_of_pair(row, column);
      pattern_sum += place;
      if (column == row) {
        diagonal_[local] = value;
      } else if (value != 0.0) {
        // A value of 1, as all of a pattern have it, needs no mixing of its own.
        const auto entry = value == 1.0 ? place : mixed_bits(place ^ std::bit_cast<uint64_t>(value));
        asymmetry_sum += column < row ? entry : -entry;
      }
    }
  });
  const auto first = std::ranges::min(group.gather_one(not_finite), {}, &NotFinite::key);
  if (first.row != NotFinite::none)
    throw RunError(
        ExitCode::not_finite,
        "{}: not finite: the sum of the duplicates at entry ({}, {}) is {}: it leaves the range of "
        "double precision; scale the matrix and b",
        name, first.row + 1, first.column + 1, first.value);
  const auto order = group.sum(own_rows.size());
  nonzeros_before_ = group.sum_of_lower_ranks(nonzero_count);
  nonzero_count_ = group.sum(nonzero_count);
  pattern_sum_ = sum_of_words(group, pattern_sum);
  facts_ = facts_of_rows({.name = std::move(name), .order = order}, row_lengths_, pattern_sum_, group);
  asymmetry_sum_ = sum_of_words(group, asymmetry_sum);
}

void SystemMatrix::visit_own_rows(const std::function<void(const OwnRow& row)>& visit) const {
  OwnRow own{.row = own_rows_.begin, .nonzeros_before = nonzeros_before_};
  for (size_t local = 0; local < row_lengths_.size(); ++local, ++own.row) {
    own.length = row_lengths_[local];
    own.diagonal = diagonal_[local];
    visit(own);
    own.nonzeros_before += own.length;
  }
}

std::vector<int64_t> SystemMatrix::nonzeros_of_blocks(const comm::BlockLayout& layout,
                                                      comm::RankGroup& group) const {
  const auto grid = layout.grid();
  std::vector<int64_t> counts(static_cast<size_t>(grid.rank_count()));
  if (grid.columns == 1) {  // the lengths of rows tell it
    visit_own_rows([&](const OwnRow& row) {
      counts[static_cast<size_t>(grid.rank_at(layout.row_block_of(row.row), 0))] += row.length;
    });
  } else {
    visit_entries(group, [&](const RowPart& of_row) {
      for_each_block_part(layout, of_row, [&](int owner, const RowPart& part) {
        counts[static_cast<size_t>(owner)] += std::ssize(part.columns);
      });
    });
  }
  group.sums(counts);
  return counts;
}

// ---------------------------------------------------------------- cuts

HugePageVector SystemMatrix::diagonal(const comm::BlockLayout& layout, comm::RankGroup& group) const {
  return scattered(layout, group, [&](const auto& put) {
    visit_own_rows([&](const OwnRow& row) { put(row.row, row.diagonal); });
  });
}

/// A border is the number of rows whose middle of weight lies before its goal.
std::vector<int64_t> SystemMatrix::balanced_piece_starts(std::span<const double> shares,
                                                         comm::RankGroup& group) const {
  const auto before = comm::sums_before(shares);
  const auto piece_count = shares.size();
  std::vector<int64_t> rows_before(piece_count + 1);
  size_t piece = 1;
  int64_t row_count = 0;
  visit_own_rows([&](const OwnRow& row) {
    const double middle = static_cast<double>(row.nonzeros_before) + 0.5 * static_cast<double>(row.length);
    for (; piece < piece_count; ++piece) {
      if (middle < static_cast<double>(nonzero_count_) * before[piece] / before.back()) break;
      rows_before[piece] = row_count;
    }
    ++row_count;
  });
  for (; piece <= piece_count; ++piece) rows_before[piece] = row_count;
  group.sums(rows_before);
  return rows_before;
}

uint64_t sum_of_words(comm::RankGroup& group, uint64_t word) {
  return static_cast<uint64_t>(group.sum(static_cast<int64_t>(word)));
}

std::optional<TextFault> first_fault(const std::optional<TextFault>& own, comm::RankGroup& group) {
  constexpr int64_t nowhere = std::numeric_limits<int64_t>::max();
  const auto own_offset = own ? own->offset() : nowhere;
  const auto offset = group.minimum(own_offset);
  if (offset == nowhere) return std::nullopt;
  const auto messages = group.gather_all(own_offset == offset ? own->what() : std::string());
  return TextFault(offset, *std::ranges::max_element(messages));
}

void require_same_file(const std::string& path, comm::RankGroup& group) {
  constexpr size_t compared_bytes = size_t{1} << 20;
  std::array<int64_t, 2> own{};  // size and checksum
  agree_on(group, [&] {
    const OpenFile file(path);
    std::vector<std::byte> first(compared_bytes);
    const auto count = file.read_at(0, first);
    own = {file.size(), crc32c(std::span(first).first(count))};
  });
  const auto all = group.gather_one(own);
  const auto other = std::ranges::find_if(all, [&](const auto& theirs) { return theirs != all.front(); });
  if (other == all.end()) return;
  throw FileError(path,
                  "found another content on rank {} than on rank 0, expected the same file on "
                  "every node",
                  other - all.begin());
}

}  // namespace cg2d
