// M is block diagonal: for each rank the IC(0) factors of A in the rows and columns of its piece. Nothing is
// sent.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <new>
#include <optional>

#include "cg/base/errors.hpp"
#include "cg/base/values.hpp"
#include "cg/solver/preconditioners/preconditioner_table.hpp"

namespace cg2d {
namespace {

// ---------------------------------------------------------------- incomplete Cholesky factors without fill-in, IC(0), of one rank's square block

/// Smaller pivots, relative to the diagonal, are taken as a breakdown: their inverses would spoil all rows that
/// follow.
constexpr double smallest_pivot = 1e-10;

constexpr size_t index(int64_t number) { return static_cast<size_t>(number); }

/// Consecutive rows with equal numbers of entries, the one next to the diagonal not counted.
struct Run {
  int64_t row_count = 0;
  int64_t length = 0;
};
/// Rows of L or of L^T without the diagonal.
struct Triangle {
  std::vector<Run> runs{};
  kernels::PageBuffer<int32_t> columns{};  ///< but for those next to the diagonal, row after row
  kernels::PageBuffer<float> values{};
  kernels::PageBuffer<float> next_to_diagonal{};  ///< 0 where there is none
};

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
  Triangle triangle(bool is_transposed) const {
    Triangle made{.next_to_diagonal = kernels::PageBuffer<float>(row_count_)};
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

/// L D L^T near a symmetric positive definite block: L has ones on its diagonal and entries only where the block
/// has some (Meijerink and van der Vorst 1977). Only the block's lower triangle is read.
///
/// Both triangles are stored, row by row, so that both solves add up a row at a time. The entry next to the
/// diagonal stands apart: a row waits for the one before it, whose element then is still in a register. Memory limits
/// the solves, so L is rounded to single precision; sums and D are double. M stays symmetric and positive definite, and as near to A as
/// the missing fill-in lets it be.
struct IncompleteCholesky {
  Triangle lower;
  Triangle upper;
  HugePageVector inverse_pivots;

  /// z := (L D L^T)^-1 r. They may be the same.
  void solve(ConstPiece r, Piece z) const {
    const auto* columns = lower.columns.data();
    const auto* values = lower.values.data();
    double neighbour = 0.0;
    size_t row = 0;
    for (const auto& run : lower.runs) {
      for (const auto end = row + index(run.row_count); row < end; ++row) {
        double sum = r[row];
        for (auto count = run.length; count > 0; --count)
          sum -= static_cast<double>(*values++) * z[index(*columns++)];
        neighbour = sum - static_cast<double>(lower.next_to_diagonal[row]) * neighbour;
        z[row] = neighbour;
      }
    }
    columns = upper.columns.data() + upper.columns.size();
    values = upper.values.data() + upper.values.size();
    neighbour = 0.0;
    for (auto run = upper.runs.rbegin(); run != upper.runs.rend(); ++run) {
      for (auto rest = run->row_count; rest > 0; --rest) {
        --row;
        double sum = z[row] * inverse_pivots[row];
        for (auto count = run->length; count > 0; --count)
          sum -= static_cast<double>(*--values) * z[index(*--columns)];
        neighbour = sum - static_cast<double>(upper.next_to_diagonal[row]) * neighbour;
        z[row] = neighbour;
      }
    }
  }

  /// Memory read and written by a solve, and its operations.
  VectorWork work() const {
    const auto entries = static_cast<int64_t>(lower.columns.size());
    const auto rows = static_cast<int64_t>(inverse_pivots.size());
    constexpr int64_t entry_bytes = sizeof(float) + sizeof(int32_t);
    // r, z three times, the pivots, and of each triangle the entry next to the diagonal.
    constexpr int64_t row_bytes = 5 * sizeof(double) + 2 * sizeof(float);
    const auto runs = static_cast<int64_t>(lower.runs.size() + upper.runs.size());
    return {
        .call_count = 1,
        .byte_count = 2 * entries * entry_bytes + rows * row_bytes + runs * static_cast<int64_t>(sizeof(Run)),
        .flop_count = 4 * entries + 5 * rows};
  }
};

/// The factors of the block, its diagonal multiplied by 1 + shift; empty where a pivot is not positive, or too
/// small for its row, or an entry of L too large for single precision. Throws std::bad_alloc.
std::optional<IncompleteCholesky> factorize(const kernels::CsrBlock& block, ConstPiece diagonal,
                                            double shift) {
  TriangleRows rows(block);
  HugePageVector inverse_pivots(diagonal.size());
  if (!rows.eliminate(diagonal, shift, inverse_pivots)) return std::nullopt;
  return IncompleteCholesky{rows.triangle(false), rows.triangle(true), std::move(inverse_pivots)};
}

// ---------------------------------------------------------------- the preconditioner

/// First shift, as a share of the diagonal, where the factors break down without; doubled until they do not.
/// (Manteuffel 1980.)
constexpr double first_shift = 1e-3;
/// Far above the shift that makes any matrix of finite numbers dominated by its diagonal, but for absurd ones.
constexpr double largest_shift = 1e12;

class BlockJacobiPreconditioner final : public Preconditioner {
 public:
  BlockJacobiPreconditioner(IncompleteCholesky factors, size_t size, std::string remark)
      : factors_(std::move(factors)), solved_(size), remark_(std::move(remark)) {}

  ConstPiece apply(ConstPiece r, DistributedVectors& vectors) override {
    const auto local = vectors.updates();
    factors_.solve(r, solved_);
    local->record_update(factors_.work());
    return solved_;
  }
  std::string remark() const override { return remark_; }

 private:
  IncompleteCholesky factors_;
  HugePageVector solved_;
  std::string remark_;
};

std::unique_ptr<Preconditioner> make_block_jacobi(const PreconditionerInput& input) {
  // Ranks count what they cannot use before any of them throws.
  const auto size = static_cast<int64_t>(input.matrix.local_size());
  const auto* const block = input.diagonal_block;
  const bool fits = block != nullptr && block->row_count == size && block->column_count == size;
  if (const double misfits = input.matrix.sum_of_ranks(fits ? 0.0 : 1.0); misfits > 0.0 || !fits)
    throw InputError(
        "preconditioner block-jacobi: the diagonal block has another size than the vectors on {} ranks",
        misfits);
  const auto diagonal = diagonal_of(*input.diagonal_block);
  require_positive("block-jacobi", input.matrix, diagonal, input.first_row);
  std::optional<IncompleteCholesky> factors;
  const auto ranks_without_factors = [&](double shift) {
    constexpr double lack_of_memory = 1e12;  // counts as more than there are ranks
    double failures = 0.0;
    try {
      if (!factors) factors = factorize(*block, diagonal, shift);
      failures = factors ? 0.0 : 1.0;
    } catch (const std::bad_alloc&) {
      failures = lack_of_memory;
    }
    failures = input.matrix.sum_of_ranks(failures);
    if (failures >= lack_of_memory)
      throw RunError(
          ExitCode::memory,
          "preconditioner block-jacobi: out of memory for its factors; take more nodes or another one");
    return failures;
  };
  const double shifted_ranks = ranks_without_factors(0.0);
  double failed_ranks = shifted_ranks;
  double last_shift = 0.0;
  for (double shift = first_shift; failed_ranks > 0.0 && shift < largest_shift; shift *= 2.0) {
    last_shift = shift;
    failed_ranks = ranks_without_factors(shift);
  }
  if (failed_ranks > 0.0)
    throw InputError(
        "preconditioner block-jacobi: no factors on {} ranks, whatever the shift of the diagonal; "
        "look for NaN, infinity or very large numbers in the matrix",
        failed_ranks);
  std::string remark;
  if (shifted_ranks > 0.0)
    remark = fmt::format("IC(0) broke down on {}: the diagonal is shifted there by up to {:.3g} of itself",
                         format_count(std::llround(shifted_ranks), "rank"), last_shift);
  return std::make_unique<BlockJacobiPreconditioner>(std::move(*factors), diagonal.size(), std::move(remark));
}

}  // namespace

PreconditionerRow block_jacobi_preconditioner() {
  return {
      .name = "block-jacobi",
      .needs_diagonal_block = true,
      // Per row: starts of block and rows, diagonal, pivots, the entries next to the diagonal, runs of rows, places while they
      // are made, the vector of a solve. Per nonzero: the block; half of it while it is factorized, and twice half of it in single
      // precision.
      .memory = {.bytes_per_row = int64_t{11} * 8, .bytes_per_nonzero = 12 + 6 + 2 * 4},
      .make = &make_block_jacobi};
}

}  // namespace cg2d
