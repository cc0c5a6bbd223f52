// How many steps the preconditioners save on the 7-point Laplacian of a box, on every grid.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cg/solver/preconditioners/preconditioner_table.hpp"
#include "support/mpi_test.hpp"
#include "support/solve_system.hpp"
#include "support/solver_run.hpp"
#include "support/stencil_blocks.hpp"

namespace cg2d::laplace_iterations_test {
namespace {

using test::group;
using test::solve;

/// The Laplacian of a box on a grid, with what preconditioners need.
class LaplaceSystem {
 public:
  LaplaceSystem(const test::Box& box, const comm::ProcessGrid& grid, const kernels::KernelRow& kernel)
      : layout_(comm::BlockLayout::even(box.size(), grid)),
        first_row_(layout_.piece(layout_.column_piece_of(group().rank())).begin) {
    auto block = test::laplace_block(box, layout_, group().rank());
    diagonal_block_ = diagonal_block_of(block, layout_, group());
    diagonal_ = diagonal_of(diagonal_block_);
    matrix_ = test::assembled(std::move(block), layout_, {.kernel = &kernel});
  }

  SystemSolveResult solve_with(std::string_view name) {
    const auto preconditioner = find_preconditioner(name)->make({.matrix = *matrix_,
                                                                 .diagonal = diagonal_,
                                                                 .diagonal_block = &diagonal_block_,
                                                                 .first_row = first_row_});
    // Not smooth: it has a part in every eigenvector. The same on every grid, by global rows.
    std::vector<double> b;
    for (size_t k = 0; k < matrix_->local_size(); ++k)
      b.push_back(std::sin(static_cast<double>((first_row_ + static_cast<int64_t>(k)) * 7919 % 104729)));
    std::vector<double> x(b.size());
    return solve(*matrix_, b, x, {.stop = Tolerance({}), .preconditioner = *preconditioner});
  }

 private:
  comm::BlockLayout layout_;
  int64_t first_row_;
  kernels::CsrBlock diagonal_block_;
  HugePageVector diagonal_;
  std::unique_ptr<AssembledOperator> matrix_;
};

TEST(LaplaceIterationsTest, PreconditionersSaveStepsOnEveryGrid) {
  const test::Box box{.nx = 24, .ny = 24, .nz = 24};
  for (const auto& grid : comm::factorizations(group().size())) {
    for (const auto storage : {kernels::Storage::whole, kernels::Storage::half}) {
      SCOPED_TRACE("grid " + grid.name());
      LaplaceSystem system(box, grid, kernels::default_kernel(storage));
      std::map<std::string, int> steps;
      for (const auto& row : preconditioner_table()) {
        const auto result = system.solve_with(row.name);
        EXPECT_EQ(result.end, SolveEnd::converged) << row.name;
        steps[std::string(row.name)] = result.step_count;
        if (group().rank() == 0 && storage == kernels::Storage::whole)
          RecordProperty(grid.name() + " " + std::string(row.name), result.step_count);
      }
      // A constant diagonal changes nothing but roundings.
      EXPECT_NEAR(steps["jacobi"], steps["none"], 1);
      EXPECT_LE(steps["chebyshev"], 0.5 * steps["none"]);
      // More ranks have more, and smaller, blocks.
      EXPECT_LE(steps["block-jacobi"], (group().size() == 1 ? 0.45 : 0.75) * steps["none"]);
    }
  }
}

}  // namespace
}  // namespace cg2d::laplace_iterations_test
