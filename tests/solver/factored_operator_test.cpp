// The NAS CG matrix as two sparse products, against the assembled matrix and the benchmark's results.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "cg/solver/npb_iteration.hpp"
#include "cg/solver/operators/matrix_free.hpp"
#include "support/error_of.hpp"
#include "support/mpi_test.hpp"
#include "support/npb_reference.hpp"

namespace cg2d::factored_operator_test {
namespace {

using test::group;

/// One product of the operator, compared with the assembled matrix, and its phases.
void expect_product(MatrixFreeSystem& system, const test::ReferenceMatrix& matrix) {
  const auto element = [](int64_t row) { return std::cos(0.37 * static_cast<double>(row)); };
  const auto p = system.operand();
  for (size_t k = 0; k < p.size(); ++k) p[k] = element(system.row_of(k));
  system.apply();
  const auto q = system.result();
  for (size_t k = 0; k < q.size(); ++k) {
    double expected = 0.0;
    double magnitude = 0.0;
    const auto& row = matrix[static_cast<size_t>(system.row_of(k))];
    for (const auto& [column, value] : row) {
      expected += value * element(column);
      magnitude += std::abs(value * element(column));
    }
    // A rounding for each product of either form. The diagonal of A is smaller than what it adds up: by
    // rcond - shift = -9.9 and up to 3.
    const double bound =
        4.0 * static_cast<double>(row.size()) * std::numeric_limits<double>::epsilon() * (magnitude + 10.0);
    EXPECT_NEAR(q[k], expected, bound) << "row " << system.row_of(k);
    EXPECT_EQ(p[k], element(system.row_of(k)));
  }
  const auto calls = [&](Phase phase) { return system.timer().records()[index_of(phase)].calls; };
  EXPECT_EQ(calls(Phase::summation), 2U);
  EXPECT_EQ(calls(Phase::shuffle), 2U);
  EXPECT_EQ(calls(Phase::vector_updates), 2U);
}

/// Class S on every grid, transports, threads and overlap in turns.
TEST(FactoredOperatorTest, ProductsAndTheBenchmarkAreThoseOfTheAssembledMatrix) {
  const auto& problem = *find_class("S");
  const auto matrix = test::build_reference_matrix(problem, test::draw_reference_vectors(problem));
  const auto& row = *find_matrix_free("npb-factored:S");
  EXPECT_EQ(row.why_not_conforming, "the matrix is applied as two sparse products, and never assembled");
  EXPECT_EQ(row.phases.size(), 4U);
  size_t number = 0;
  for (const auto& grid : comm::factorizations(group().size())) {
    const auto transports = comm::transport_table();
    const auto& transport = transports[number++ % transports.size()];
    if (!transport.why_unavailable(group()).empty()) continue;
    const Configuration configuration{.grid = grid,
                                      .transport = std::string(transport.name),
                                      .thread_count = 1 + static_cast<int>(number % 2),
                                      .overlaps = number % 3 == 0};
    SCOPED_TRACE(configuration_key(configuration));
    const auto system =
        row.make("npb-factored:S", {.group = group(), .configuration = configuration, .times_phases = true});
    EXPECT_EQ(system->order(), problem.n);
    EXPECT_FALSE(system->diagonal());
    expect_product(*system, matrix);
    NpbIteration iteration(*system, system->timer(), 1, problem.shift);
    const auto steps = iteration.outer_steps(problem.niter, {});
    EXPECT_TRUE(meets_reference(problem, steps.back().zeta)) << steps.back().zeta;
    EXPECT_FALSE(iteration.curvature_signs().indefinite());
  }
}

TEST(FactoredOperatorTest, BadInputIsRefusedWithItsReason) {
  const auto message_of = [](const std::string& text, const Configuration& configuration) {
    return test::error_of(ExitCode::usage, [&] {
      static_cast<void>(
          find_matrix_free(text)->make(text, {.group = group(), .configuration = configuration}));
    });
  };
  EXPECT_EQ(message_of("npb-factored:Q", {}),
            "npb-factored:Q: after the colon expected a class out of S, W, A, B, C, D, E, F, got 'Q'");
  EXPECT_EQ(message_of("npb-factored:S", {.kernel = "symmetric"}),
            "--kernel symmetric: it stores half of a symmetric matrix; the factors of npb-factored are not "
            "symmetric, so take a kernel on whole blocks");
  EXPECT_NE(message_of("npb-factored:S", {.grid = {.columns = 31, .rows = 1}}), "no error");
  EXPECT_EQ(find_matrix_free("npb:S"), nullptr);
}

}  // namespace
}  // namespace cg2d::factored_operator_test
