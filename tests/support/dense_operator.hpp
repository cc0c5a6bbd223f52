#pragma once

// Small matrices, given whole, as a user's own operator: each rank has some of the rows; and their solves on the ranks of a test.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "cg/solver/conjugate_gradient.hpp"
#include "cg/solver/linear_operator.hpp"
#include "cg/solver/preconditioners/preconditioner_table.hpp"
#include "comm/shared_counter.hpp"
#include "comm/shared_segment.hpp"
#include "comm/waiter.hpp"
#include "kernels/csr_block.hpp"
#include "support/mpi_test.hpp"

namespace cg2d::test {

/// Numbers of every rank for every rank, by memory that they share: tests exchange them some million times, also where ranks outnumber the cores. A
/// message of MPI is then noticed after a nap; here a rank sleeps until the last one wakes it.
class SharedExchange {
 public:
  /// Collective, as every operation.
  SharedExchange() : segment_(group(), all_ranks(), sizeof(Part)) {
    if (!segment_.is_there()) throw std::runtime_error("the ranks of a test share no memory");
  }

  /// The numbers of every rank, at most 4096, one after another by rank.
  [[nodiscard]] std::vector<double> all_gather(std::span<const double> mine) {
    if (mine.size() > largest_count) throw std::logic_error("more numbers than a part has room for");
    const size_t turn = count_ % turns;
    auto& my_slot = part(group().rank()).slots[turn];
    my_slot.count = mine.size();
    std::ranges::copy(mine, my_slot.numbers.begin());
    const auto rank_count = static_cast<uint64_t>(group().size());
    auto& arrivals = part(0).arrivals;
    arrivals.add_one(rank_count);
    arrivals.wait_for(++count_ * rank_count, waiter_);
    std::vector<double> all;
    for (int rank = 0; rank < group().size(); ++rank) {
      const auto& slot = part(rank).slots[turn];
      all.insert(all.end(), slot.numbers.begin(), slot.numbers.begin() + slot.count);
    }
    return all;
  }

 private:
  static constexpr size_t largest_count = 4096;
  /// A rank writes its next numbers while slower ones read these; not those after, for which all must have arrived.
  static constexpr size_t turns = 2;
  struct Slot {
    size_t count;
    std::array<double, largest_count> numbers;
  };
  struct Part {
    comm::SharedCounter arrivals;  // rank 0's is used
    std::array<Slot, turns> slots;
  };

  static std::vector<int> all_ranks() {
    std::vector<int> ranks(static_cast<size_t>(group().size()));
    std::iota(ranks.begin(), ranks.end(), 0);
    return ranks;
  }
  Part& part(int rank) const { return *reinterpret_cast<Part*>(segment_.part(static_cast<size_t>(rank))); }

  comm::SharedSegment segment_;
  comm::Waiter waiter_{comm::WaitMode::yield};
  uint64_t count_ = 0;  // number of operations
};

using DenseRows = std::vector<std::vector<double>>;

/// A in some rows and columns; zeros are not stored.
inline kernels::CsrBlock block_of(const DenseRows& whole, const comm::IndexRange& rows,
                                  const comm::IndexRange& columns) {
  kernels::CsrBlock::Rows entries;
  for (auto row = rows.begin; row < rows.end; ++row) {
    auto& stored = entries.emplace_back();
    for (auto column = columns.begin; column < columns.end; ++column) {
      const double value = whole[static_cast<size_t>(row)][static_cast<size_t>(column)];
      if (value != 0.0)
        stored.push_back({.column = static_cast<int32_t>(column - columns.begin), .value = value});
    }
  }
  return kernels::CsrBlock::from_rows(columns.size(), entries);
}

/// Rows of a whole matrix, a part of them on each rank of the test. Every operation is collective but the
/// accessors. Slow, and independent of cg2d's own communication.
class DenseOperator : public LinearOperator {
 public:
  /// The rows are cut evenly, but rank 1, if there is one, gets none.
  explicit DenseOperator(DenseRows rows) : rows_(std::move(rows)) {
    const auto rank_count = static_cast<size_t>(group().size());
    const auto rank = static_cast<size_t>(group().rank());
    const size_t sharing = rank_count > 1 ? rank_count - 1 : 1;
    const size_t share = rank > 1 ? rank - 1 : rank;  // rank 1 begins where rank 2 does
    begin_ = rows_.size() * share / sharing;
    const size_t end = rank == 1 ? begin_ : rows_.size() * (share + 1) / sharing;
    p_.resize(end - begin_);
    q_.resize(end - begin_);
  }

  size_t local_size() const override { return p_.size(); }
  [[nodiscard]] std::span<double> operand() override { return p_; }
  void apply() override {
    ++product_count;
    const auto p = whole(p_);
    for (size_t k = 0; k < q_.size(); ++k) {
      const auto& row = rows_[begin_ + k];
      q_[k] = 0.0;
      for (size_t column = 0; column < row.size(); ++column) q_[k] += row[column] * p[column];
    }
  }
  std::span<const double> result() const override { return q_; }
  void sum_over_ranks(std::span<double> values) override {
    ++sum_count;
    const auto all = exchange().all_gather(values);
    std::ranges::fill(values, 0.0);
    for (size_t k = 0; k < all.size(); ++k) values[k % values.size()] += all[k];
  }

  /// This rank's piece of a vector that is given whole, and the other way round.
  std::vector<double> piece_of(std::span<const double> vector) const {
    const auto piece = vector.subspan(begin_, p_.size());
    return {piece.begin(), piece.end()};
  }
  static std::vector<double> whole(std::span<const double> piece) { return exchange().all_gather(piece); }
  std::vector<double> diagonal() const {
    std::vector<double> entries;
    for (size_t k = 0; k < p_.size(); ++k) entries.push_back(rows_[begin_ + k][begin_ + k]);
    return entries;
  }
  kernels::CsrBlock diagonal_block() const {
    const comm::IndexRange own{first_row(), first_row() + std::ssize(p_)};
    return block_of(rows_, own, own);
  }
  /// The global number of this rank's first row.
  int64_t first_row() const { return static_cast<int64_t>(begin_); }
  /// This rank's piece of A x, x given whole.
  [[nodiscard]] std::vector<double> times(std::span<const double> x) {
    std::ranges::copy(piece_of(x), p_.begin());
    apply();
    return q_;
  }

  int product_count = 0;
  int sum_count = 0;

 private:
  /// One for all operators on so many ranks. The first operation makes it, and every operation is collective.
  static SharedExchange& exchange() {
    static std::map<int, SharedExchange> by_rank_count;
    return by_rank_count[group().size()];
  }

  DenseRows rows_;
  size_t begin_ = 0;
  std::vector<double> p_;

 protected:
  std::vector<double> q_;  ///< the result
};

// ---------------------------------------------------------------- matrices: lines, and those of a given spectrum

/// The second difference on a line, with a diagonal that grows by the factor `growth` from row to row.
inline DenseRows line_rows(size_t size, double growth) {
  DenseRows rows(size, std::vector<double>(size));
  for (size_t k = 0; k < size; ++k) {
    rows[k][k] = 2.0 * std::pow(growth, static_cast<double>(k));
    if (k > 0) rows[k][k - 1] = -1.0;
    if (k + 1 < size) rows[k][k + 1] = -1.0;
  }
  return rows;
}

inline DenseRows negated(DenseRows rows) {
  for (auto& row : rows) {
    for (auto& entry : row) entry = -entry;
  }
  return rows;
}

/// Each entry for every one of `count` vectors, whose elements of one row are neighbours.
inline DenseRows repeated(const DenseRows& rows, size_t count) {
  DenseRows wide(rows.size() * count, std::vector<double>(rows.size() * count));
  for (size_t row = 0; row < wide.size(); ++row) {
    for (size_t column = 0; column < rows.size(); ++column)
      wide[row][column * count + row % count] = rows[row / count][column];
  }
  return wide;
}

/// H D H with the eigenvalues D and H = 1 - 2 v v^T / v . v for a random v: symmetric to the bit.
inline DenseRows rows_with_spectrum(std::span<const double> eigenvalues, unsigned seed) {
  const size_t size = eigenvalues.size();
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> v(size);
  double square = 0.0;
  for (auto& element : v) {
    element = normal(random);
    square += element * element;
  }
  double v_d_v = 0.0;
  for (size_t k = 0; k < size; ++k) v_d_v += v[k] * eigenvalues[k] * v[k];
  // H D H = D - 2 (v w^T + w v^T) / v . v + 4 (v . w) v v^T / (v . v)^2, w = D v
  DenseRows rows(size, std::vector<double>(size));
  for (size_t row = 0; row < size; ++row) {
    for (size_t column = 0; column <= row; ++column) {
      const double vv = v[row] * v[column];
      double entry =
          4.0 * v_d_v * vv / (square * square) - 2.0 * vv * (eigenvalues[row] + eigenvalues[column]) / square;
      if (row == column) entry += eigenvalues[row];
      rows[row][column] = entry;
      rows[column][row] = entry;
    }
  }
  return rows;
}

/// 1, 2, 3, ...
inline std::vector<double> one_two_three(size_t size) {
  std::vector<double> vector(size);
  for (size_t k = 0; k < size; ++k) vector[k] = static_cast<double>(k + 1);
  return vector;
}

// ---------------------------------------------------------------- solves

/// With all that any row needs. Collective.
inline std::unique_ptr<Preconditioner> make_preconditioner(const PreconditionerRow& row,
                                                           DenseOperator& matrix, int degree = 0) {
  const auto diagonal = matrix.diagonal();
  const auto block = matrix.diagonal_block();
  return row.make({.matrix = matrix,
                   .diagonal = diagonal,
                   .diagonal_block = &block,
                   .first_row = matrix.first_row(),
                   .polynomial = {.degree = degree}});
}

struct SolveOptions {
  const PreconditionerRow& preconditioner = preconditioner_table().front();
  const CgVariantRow& variant = cg_variant_table().front();
  std::span<StepObserver* const> observers{};  ///< told of every step, in this order
  Preconditioner* made = nullptr;              ///< in place of one of the row
  std::optional<std::vector<double>> guess{};  ///< whole
  int system_count = 1;                        ///< of a matrix that is repeated()
};

struct DenseSolution {
  SystemSolveResult result;  ///< of the first system
  std::vector<double> x;     ///< whole
};

/// Solves A x = b, both given whole. Collective.
inline DenseSolution solve(DenseOperator& matrix, const std::vector<double>& b, const StopRule& stop,
                           const SolveOptions& options = {}) {
  std::unique_ptr<Preconditioner> of_row;
  if (options.made == nullptr) of_row = make_preconditioner(options.preconditioner, matrix);
  PhaseTimer no_timer;
  DistributedVectors vectors(matrix, no_timer, 1);
  ConjugateGradient solver(matrix, of_row ? *of_row : *options.made, vectors, options.variant,
                           options.system_count);
  for (auto* observer : options.observers) solver.observers().add(*observer);
  const auto piece = matrix.piece_of(b);
  std::vector<double> x(piece.size(), std::numeric_limits<double>::quiet_NaN());  // is not read
  if (options.guess) x = matrix.piece_of(*options.guess);
  const auto results = solver.solve({.b = piece, .x = x, .starts_from_x = options.guess.has_value()}, stop);
  return {.result = results.front(), .x = DenseOperator::whole(x)};
}
inline DenseSolution solve(const DenseRows& rows, const std::vector<double>& b, const StopRule& stop,
                           const SolveOptions& options = {}) {
  DenseOperator matrix(rows);
  return solve(matrix, b, stop, options);
}

}  // namespace cg2d::test
