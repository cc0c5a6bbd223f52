#include "cg/library/matrix.hpp"

#include <algorithm>
#include <cmath>

#include "cg/base/agreement.hpp"
#include "cg/base/errors.hpp"
#include "cg/matrix/files/market_file.hpp"
#include "cg/matrix/files/matrix_file.hpp"

namespace cg2d {
namespace {

/// Throws InputError.
void require_consistent(const MatrixRows& rows, int rank) {
  const auto& starts = rows.row_starts;
  const auto count = static_cast<int64_t>(rows.columns.size());
  const bool fits = starts.empty()
                        ? count == 0
                        : starts.front() == 0 && std::ranges::is_sorted(starts) && starts.back() == count;
  if (!fits || rows.values.size() != rows.columns.size())
    throw InputError(
        "matrix: the rows of rank {}: row_starts must rise from 0 to the number of columns, {}, and of "
        "values, {}",
        rank, count, rows.values.size());
}

}  // namespace

MatrixBuilder::MatrixBuilder(int64_t order, comm::RankGroup& group) : order_(order), group_(group) {
  const auto smallest = group.minimum(order);
  const auto largest = group.maximum(order);
  if (smallest != largest)
    throw InputError("matrix: the ranks give different orders, from {} to {}; all must give the same",
                     smallest, largest);
  if (order < 1 || order > largest_order)
    throw InputError("matrix: order {}: must be within 1 ... {}", order, largest_order);
  agree_on(group, [&] { collector_.emplace(order, group); });
}

void MatrixBuilder::add(int64_t row, int64_t column, double value) {
  const auto is_inside = [this](int64_t index) { return 0 <= index && index < order_; };
  collector_->attempt([&] {
    if (!is_inside(row) || !is_inside(column))
      throw InputError("matrix: entry ({}, {}) of rank {}: row and column must be within 0 ... {}", row,
                       column, group_.rank(), order_ - 1);
    if (!std::isfinite(value))
      throw InputError("matrix: entry ({}, {}) of rank {}: {} is no finite number", row, column,
                       group_.rank(), value);
    collector_->add(row, column, value);
  });
}

std::unique_ptr<SystemMatrix> MatrixBuilder::finish() {
  return std::make_unique<StoredMatrix>(collector_->finish(), "assembled", std::nullopt, group_);
}

std::unique_ptr<SystemMatrix> matrix_from_triples(int64_t order, std::span<const MatrixTriple> triples,
                                                  comm::RankGroup& group) {
  MatrixBuilder builder(order, group);
  for (const auto& triple : triples) builder.add(triple);
  return builder.finish();
}

std::unique_ptr<SystemMatrix> matrix_from_rows(int64_t order, const MatrixRows& rows,
                                               comm::RankGroup& group) {
  agree_on(group, [&] { require_consistent(rows, group.rank()); });
  MatrixBuilder builder(order, group);
  for (size_t k = 1; k < rows.row_starts.size(); ++k) {
    const auto row = rows.first_row + static_cast<int64_t>(k) - 1;
    for (auto entry = rows.row_starts[k - 1]; entry < rows.row_starts[k]; ++entry) {
      const auto at = static_cast<size_t>(entry);
      builder.add(row, rows.columns[at], rows.values[at]);
    }
  }
  return builder.finish();
}

std::unique_ptr<SystemMatrix> matrix_from_file(const std::string& path, comm::RankGroup& group) {
  return open_matrix({.path = path}, group);
}

}  // namespace cg2d
