#pragma once

// Systems that are given whole, solved on the ranks of a test.

#include <memory>
#include <span>
#include <vector>

#include "cg/solver/preconditioners/preconditioner_table.hpp"
#include "support/dense_operator.hpp"
#include "support/solve_system.hpp"

namespace cg2d::test {

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

struct DenseSolveOptions {
  const PreconditionerRow& preconditioner = preconditioner_table().front();
  const CgVariantRow& variant = cg_variant_table().front();
  std::span<StepObserver* const> observers{};
};

struct DenseSolution {
  SystemSolveResult result;
  std::vector<double> x;  ///< whole
};

/// Solves A x = b, both given whole. Collective.
inline DenseSolution solve_rows(const DenseRows& rows, const std::vector<double>& whole_b,
                                const StopRule& stop, const DenseSolveOptions& options = {}) {
  DenseOperator matrix(rows);
  const auto preconditioner = make_preconditioner(options.preconditioner, matrix);
  const auto b = matrix.piece_of(whole_b);
  std::vector<double> x(b.size(), 7.0);
  const auto result = solve(matrix, b, x,
                            {.stop = stop,
                             .preconditioner = *preconditioner,
                             .observers = options.observers,
                             .variant = options.variant});
  return {.result = result, .x = DenseOperator::whole(x)};
}

}  // namespace cg2d::test
