#include "cg/preconditioners/incomplete_cholesky.hpp"

#include <vector>

namespace cg2d {
namespace {

/// Smaller pivots, relative to the diagonal, are taken as a breakdown: their inverses would spoil all rows that
/// follow.
constexpr double smallest_pivot = 1e-10;

constexpr std::size_t index(std::int64_t number) { return static_cast<std::size_t>(number); }

/// visit(entry) for the entries of a row before its diagonal.
template <typename Visit>
void for_lower(const kernels::CsrBlock& block, std::size_t row, const Visit& visit) {
  const auto end = index(block.row_starts[row + 1]);
  for (auto entry = index(block.row_starts[row]); entry < end && index(block.columns[entry]) < row; ++entry)
    visit(entry);
}

}  // namespace

/// The rows of a triangle without its diagonal, as the factors are made: compressed sparse rows.
class TriangleRows {
 public:
  /// The block's strictly lower triangle.
  explicit TriangleRows(const kernels::CsrBlock& block) : TriangleRows(index(block.row_count)) {
    for (std::size_t row = 0; row < row_count_; ++row) {
      starts_[row + 1] = starts_[row];
      for_lower(block, row, [&](std::size_t /*entry*/) { ++starts_[row + 1]; });
    }
    make_entries();
    std::size_t place = 0;
    for (std::size_t row = 0; row < row_count_; ++row) {
      for_lower(block, row, [&](std::size_t entry) {
        columns_[place] = block.columns[entry];
        values_[place++] = block.values[entry];
      });
    }
  }

  /// Entries of A become those of L, row by row: w_ij = a_ij - sum over k < j of w_ik l_jk, l_ij = w_ij / d_j,
  /// d_i = a_ii - sum over j of w_ij l_ij. False after a breakdown.
  [[nodiscard]] bool eliminate(std::span<const double> diagonal, double shift,
                               std::span<double> inverse_pivots) {
    std::vector<double> row_values(row_count_);  // w_i by column, zero where row i has no entry
    for (std::size_t row = 0; row < row_count_; ++row) {
      const auto begin = index(starts_[row]);
      const auto end = index(starts_[row + 1]);
      for (auto entry = begin; entry < end; ++entry) row_values[column_of(entry)] = values_[entry];
      const double shifted = diagonal[row] * (1.0 + shift);
      double pivot = shifted;
      for (auto entry = begin; entry < end; ++entry) {
        const auto column = column_of(entry);
        double value = row_values[column];
        for (auto other = index(starts_[column]); other < index(starts_[column + 1]); ++other)
          value -= row_values[column_of(other)] * values_[other];
        row_values[column] = value;
        values_[entry] = value * inverse_pivots[column];
        pivot -= value * values_[entry];
      }
      for (auto entry = begin; entry < end; ++entry) row_values[column_of(entry)] = 0.0;
      if (!(pivot > smallest_pivot * shifted)) return false;
      inverse_pivots[row] = 1.0 / pivot;
    }
    return true;
  }

  [[nodiscard]] TriangleRows transposed() const {
    TriangleRows upper(row_count_);
    for (std::size_t entry = 0; entry < columns_.size(); ++entry) ++upper.starts_[column_of(entry) + 1];
    for (std::size_t row = 0; row < row_count_; ++row) upper.starts_[row + 1] += upper.starts_[row];
    upper.make_entries();
    std::vector<std::int64_t> next(upper.starts_.data(), upper.starts_.data() + row_count_);
    for (std::size_t row = 0; row < row_count_; ++row) {
      for (auto entry = index(starts_[row]); entry < index(starts_[row + 1]); ++entry) {
        const auto place = index(next[column_of(entry)]++);
        upper.columns_[place] = static_cast<std::int32_t>(row);
        upper.values_[place] = values_[entry];
      }
    }
    return upper;
  }

  /// The form in which they are solved. `neighbour_of(row)`: the column next to the diagonal.
  template <typename NeighbourOf>
  [[nodiscard]] IncompleteCholesky::Triangle compacted(const NeighbourOf& neighbour_of) const {
    IncompleteCholesky::Triangle triangle{.lengths = kernels::PageBuffer<std::int32_t>(row_count_),
                                          .columns = kernels::PageBuffer<std::int32_t>(columns_.size()),
                                          .values = kernels::PageBuffer<double>(columns_.size()),
                                          .next_to_diagonal = kernels::PageBuffer<double>(row_count_)};
    std::size_t place = 0;
    for (std::size_t row = 0; row < row_count_; ++row) {
      for (auto entry = index(starts_[row]); entry < index(starts_[row + 1]); ++entry) {
        if (column_of(entry) == neighbour_of(row)) {
          triangle.next_to_diagonal[row] = values_[entry];
          continue;
        }
        ++triangle.lengths[row];
        triangle.columns[place] = columns_[entry];
        triangle.values[place++] = values_[entry];
      }
    }
    triangle.columns.resize(place);
    triangle.values.resize(place);
    return triangle;
  }

 private:
  explicit TriangleRows(std::size_t row_count) : row_count_(row_count), starts_(row_count + 1) {}
  /// For as many as the starts say.
  void make_entries() {
    columns_ = kernels::PageBuffer<std::int32_t>(index(starts_[row_count_]));
    values_ = kernels::PageBuffer<double>(index(starts_[row_count_]));
  }
  [[nodiscard]] std::size_t column_of(std::size_t entry) const { return index(columns_[entry]); }

  std::size_t row_count_;
  kernels::PageBuffer<std::int64_t> starts_;
  kernels::PageBuffer<std::int32_t> columns_;
  kernels::PageBuffer<double> values_;
};

std::optional<IncompleteCholesky> IncompleteCholesky::factorize(const kernels::CsrBlock& block,
                                                                std::span<const double> diagonal,
                                                                double shift) {
  TriangleRows lower(block);
  HugePageVector inverse_pivots(diagonal.size());
  if (!lower.eliminate(diagonal, shift, inverse_pivots)) return std::nullopt;
  return IncompleteCholesky(lower.compacted([](std::size_t row) { return row - 1; }),
                            lower.transposed().compacted([](std::size_t row) { return row + 1; }),
                            std::move(inverse_pivots));
}

void IncompleteCholesky::solve(std::span<const double> r, std::span<double> z) const {
  const std::size_t row_count = inverse_pivots_.size();
  const auto* columns = lower_.columns.data();
  const auto* values = lower_.values.data();
  double neighbour = 0.0;
  for (std::size_t row = 0; row < row_count; ++row) {
    double sum = r[row];
    for (auto count = lower_.lengths[row]; count > 0; --count) sum -= *values++ * z[index(*columns++)];
    neighbour = sum - lower_.next_to_diagonal[row] * neighbour;
    z[row] = neighbour;
  }
  columns = upper_.columns.data() + upper_.columns.size();
  values = upper_.values.data() + upper_.values.size();
  neighbour = 0.0;
  for (std::size_t row = row_count; row-- > 0;) {
    double sum = z[row] * inverse_pivots_[row];
    for (auto count = upper_.lengths[row]; count > 0; --count) sum -= *--values * z[index(*--columns)];
    neighbour = sum - upper_.next_to_diagonal[row] * neighbour;
    z[row] = neighbour;
  }
}

VectorWork IncompleteCholesky::work() const {
  const auto entries = static_cast<std::int64_t>(lower_.columns.size());
  const auto rows = static_cast<std::int64_t>(inverse_pivots_.size());
  constexpr std::int64_t entry_bytes = sizeof(double) + sizeof(std::int32_t);
  // r, z three times, the pivots, and of each triangle a length and an entry next to the diagonal.
  constexpr std::int64_t row_bytes = 7 * sizeof(double) + 2 * sizeof(std::int32_t);
  return {.call_count = 1,
          .byte_count = 2 * entries * entry_bytes + rows * row_bytes,
          .flop_count = 4 * entries + 5 * rows};
}

}  // namespace cg2d
