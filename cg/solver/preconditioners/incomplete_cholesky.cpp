#include "cg/solver/preconditioners/incomplete_cholesky.hpp"

#include <algorithm>
#include <cmath>

namespace cg2d {
namespace {

/// Smaller pivots, relative to the diagonal, are taken as a breakdown: their inverses would spoil all rows that
/// follow.
constexpr double smallest_pivot = 1e-10;

constexpr size_t index(int64_t number) { return static_cast<size_t>(number); }

}  // namespace

/// The rows of a triangle without its diagonal, as the factors are made: compressed sparse rows.
class TriangleRows {
 public:
  /// The block's strictly lower triangle.
  explicit TriangleRows(const kernels::CsrBlock& block)
      : rows_(kernels::CsrBlock::with_room(block.row_count, block.column_count)),
        row_count_(index(block.row_count)) {
    for (int64_t row = 0; row < block.row_count; ++row) {
      const auto columns = block.columns_of(row);
      rows_.row_starts[index(row) + 1] = std::ranges::lower_bound(columns, row) - columns.begin();
    }
    rows_.make_room_by_lengths();
    for (size_t row = 0; row < row_count_; ++row) {
      const auto first = index(block.row_starts[row]);
      const auto count = start_of(row + 1) - start_of(row);
      std::copy_n(block.columns.data() + first, count, rows_.columns.data() + start_of(row));
      std::copy_n(block.values.data() + first, count, rows_.values.data() + start_of(row));
    }
  }

  /// Entries of A become those of L, row by row: w_ij = a_ij - sum over k < j of w_ik l_jk, l_ij = w_ij / d_j,
  /// d_i = a_ii - sum over j of w_ij l_ij. False after a breakdown, and where an entry is too large for single precision.
  [[nodiscard]] bool eliminate(ConstPiece diagonal, double shift, Piece inverse_pivots) {
    std::vector<double> row_values(row_count_);  // w_i by column, zero where row i has no entry
    for (size_t row = 0; row < row_count_; ++row) {
      const auto begin = start_of(row);
      const auto end = start_of(row + 1);
      for (auto entry = begin; entry < end; ++entry) row_values[column_of(entry)] = rows_.values[entry];
      const double shifted = diagonal[row] * (1.0 + shift);
      double pivot = shifted;
      for (auto entry = begin; entry < end; ++entry) {
        const auto column = column_of(entry);
        double value = row_values[column];
        for (auto other = start_of(column); other < start_of(column + 1); ++other)
          value -= row_values[column_of(other)] * rows_.values[other];
        row_values[column] = value;
        rows_.values[entry] = value * inverse_pivots[column];
        pivot -= value * rows_.values[entry];
      }
      for (auto entry = begin; entry < end; ++entry) row_values[column_of(entry)] = 0.0;
      if (!(pivot > smallest_pivot * shifted)) return false;
      inverse_pivots[row] = 1.0 / pivot;
    }
    return std::ranges::all_of(rows_.values.span(),
                               [](double value) { return std::isfinite(static_cast<float>(value)); });
  }

  /// L, or L^T, in the form in which it is solved.
  IncompleteCholesky::Triangle triangle(bool is_transposed) const {
    IncompleteCholesky::Triangle made{.next_to_diagonal = kernels::PageBuffer<float>(row_count_)};
    // First the entries of each row that are not next to the diagonal, then the place of its next one.
    std::vector<int64_t> places(row_count_);
    for_far([&](size_t row, size_t entry) { ++places[is_transposed ? column_of(entry) : row]; });
    int64_t begin = 0;
    for (auto& place : places) {
      if (made.runs.empty() || made.runs.back().length != place)
        made.runs.push_back({.row_count = 0, .length = place});
      ++made.runs.back().row_count;
      begin += std::exchange(place, begin);
    }
    made.columns = kernels::PageBuffer<int32_t>(index(begin));
    made.values = kernels::PageBuffer<float>(index(begin));
    for_far([&](size_t row, size_t entry) {
      const auto place = index(places[is_transposed ? column_of(entry) : row]++);
      made.columns[place] = is_transposed ? static_cast<int32_t>(row) : rows_.columns[entry];
      made.values[place] = static_cast<float>(rows_.values[entry]);
    });
    for (size_t row = 1; row < row_count_; ++row) {
      if (has_neighbour(row))
        made.next_to_diagonal[is_transposed ? row - 1 : row] =
            static_cast<float>(rows_.values[start_of(row + 1) - 1]);
    }
    return made;
  }

 private:
  size_t start_of(size_t row) const { return index(rows_.row_starts[row]); }
  size_t column_of(size_t entry) const { return index(rows_.columns[entry]); }
  /// Whether the last entry of a row is next to the diagonal.
  bool has_neighbour(size_t row) const {
    return start_of(row + 1) > start_of(row) && column_of(start_of(row + 1) - 1) + 1 == row;
  }
  /// visit(row, entry) for all entries that are not next to the diagonal.
  template <typename Visit>
  void for_far(const Visit& visit) const {
    for (size_t row = 0; row < row_count_; ++row) {
      const auto end = start_of(row + 1) - (has_neighbour(row) ? 1 : 0);
      for (auto entry = start_of(row); entry < end; ++entry) visit(row, entry);
    }
  }

  kernels::CsrBlock rows_;
  size_t row_count_;
};

std::optional<IncompleteCholesky> IncompleteCholesky::factorize(const kernels::CsrBlock& block,
                                                                ConstPiece diagonal, double shift) {
  TriangleRows rows(block);
  HugePageVector inverse_pivots(diagonal.size());
  if (!rows.eliminate(diagonal, shift, inverse_pivots)) return std::nullopt;
  return IncompleteCholesky(rows.triangle(false), rows.triangle(true), std::move(inverse_pivots));
}

void IncompleteCholesky::solve(ConstPiece r, Piece z) const {
  const auto* columns = lower_.columns.data();
  const auto* values = lower_.values.data();
  double neighbour = 0.0;
  size_t row = 0;
  for (const auto& run : lower_.runs) {
    for (const auto end = row + index(run.row_count); row < end; ++row) {
      double sum = r[row];
      for (auto count = run.length; count > 0; --count)
        sum -= static_cast<double>(*values++) * z[index(*columns++)];
      neighbour = sum - static_cast<double>(lower_.next_to_diagonal[row]) * neighbour;
      z[row] = neighbour;
    }
  }
  columns = upper_.columns.data() + upper_.columns.size();
  values = upper_.values.data() + upper_.values.size();
  neighbour = 0.0;
  for (auto run = upper_.runs.rbegin(); run != upper_.runs.rend(); ++run) {
    for (auto rest = run->row_count; rest > 0; --rest) {
      --row;
      double sum = z[row] * inverse_pivots_[row];
      for (auto count = run->length; count > 0; --count)
        sum -= static_cast<double>(*--values) * z[index(*--columns)];
      neighbour = sum - static_cast<double>(upper_.next_to_diagonal[row]) * neighbour;
      z[row] = neighbour;
    }
  }
}

VectorWork IncompleteCholesky::work() const {
  const auto entries = static_cast<int64_t>(lower_.columns.size());
  const auto rows = static_cast<int64_t>(inverse_pivots_.size());
  constexpr int64_t entry_bytes = sizeof(float) + sizeof(int32_t);
  // r, z three times, the pivots, and of each triangle the entry next to the diagonal.
  constexpr int64_t row_bytes = 5 * sizeof(double) + 2 * sizeof(float);
  const auto runs = static_cast<int64_t>(lower_.runs.size() + upper_.runs.size());
  return {
      .call_count = 1,
      .byte_count = 2 * entries * entry_bytes + rows * row_bytes + runs * static_cast<int64_t>(sizeof(Run)),
      .flop_count = 4 * entries + 5 * rows};
}

}  // namespace cg2d
