// Systems without a matrix against the assembled matrix: stencils on every cut in 1, 2 and 3 dimensions, over every transport; and the NAS CG matrix
// as two sparse products, also against the benchmark's results.

#include "cg/solver/operators/stencil_operator.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "cg/solver/npb_iteration.hpp"
#include "cg/solver/operators/matrix_free.hpp"
#include "support/bits.hpp"
#include "support/error_of.hpp"
#include "support/halo_check.hpp"
#include "support/mpi_test.hpp"
#include "support/npb_reference.hpp"
#include "support/solver_run.hpp"
#include "support/stencil_reference.hpp"
#include "support/test_extent.hpp"

namespace cg2d::matrix_free_test {
namespace {

using test::group;

/// An element of the operand, between -1 and 1.
double element(int64_t row) { return std::sin(0.7 * static_cast<double>(row) + 0.3); }

/// A times (element(0), element(1), ...), whole, with the most by which another sum of each row may differ.
struct KnownProduct {
  std::vector<double> values{};
  std::vector<double> bounds{};
};

/// By the assembled matrix on process rows.
KnownProduct known_product(const Stencil& stencil) {
  const auto source = source_from(stencil.name());
  const auto layout =
      comm::BlockLayout::even(source->facts().key.order, {.columns = 1, .rows = group().size()});
  const auto matrix = test::assembled(source->build(layout, group(), 1).block, layout, {});
  const auto p = matrix->operand();
  const auto begin = layout.own_piece(group().rank()).begin;
  for (size_t k = 0; k < p.size(); ++k) p[k] = element(begin + static_cast<int64_t>(k));
  matrix->apply();
  KnownProduct known;
  for (const auto& part : group().gather_all(matrix->result()))
    known.values.insert(known.values.end(), part.begin(), part.end());
  // Both add at most point_count products with a rounding each; all are within the sum of their magnitudes.
  known.bounds.assign(
      known.values.size(),
      4.0 * stencil.point_count * std::numeric_limits<double>::epsilon() * (2.0 * stencil.diagonal()));
  return known;
}

KnownProduct known_product(const test::ReferenceMatrix& matrix) {
  KnownProduct known;
  for (const auto& row : matrix) {
    double sum = 0.0;
    double magnitude = 0.0;
    for (const auto& [column, value] : row) {
      sum += value * element(column);
      magnitude += std::abs(value * element(column));
    }
    known.values.push_back(sum);
    // A rounding for each product of either form. The diagonal of A is smaller than what it adds up: by
    // rcond - shift = -9.9 and up to 3.
    known.bounds.push_back(4.0 * static_cast<double>(row.size()) * std::numeric_limits<double>::epsilon() *
                           (magnitude + 10.0));
  }
  return known;
}

/// One product of the system, element by element.
void expect_product(MatrixFreeSystem& system, const KnownProduct& known) {
  const auto p = system.operand();
  for (size_t k = 0; k < p.size(); ++k) p[k] = element(system.row_of(k));
  system.apply();
  const auto q = system.result();
  double dot = 0.0;
  double magnitude = 0.0;
  for (size_t k = 0; k < q.size(); ++k) {
    const auto row = static_cast<size_t>(system.row_of(k));
    dot += p[k] * q[k];
    magnitude += std::abs(p[k] * q[k]);
    EXPECT_NEAR(q[k], known.values[row], known.bounds[row]) << "row " << row;  // fails for NaN, too
    EXPECT_EQ(p[k], element(system.row_of(k)));
  }
  // The bound of two sums of as many products, each in its own order (Higham 2002, section 3.1).
  if (const auto own = system.own_product()) {
    EXPECT_LE(std::abs(*own - dot),
              2.0 * static_cast<double>(q.size()) * std::numeric_limits<double>::epsilon() * magnitude);
  }
  EXPECT_EQ(system.order(), std::ssize(known.values));
  EXPECT_EQ(group().sum(static_cast<int64_t>(q.size())), system.order());
}

// ---------------------------------------------------------------- stencils

std::vector<Stencil> tested_stencils() {
  auto stencils = test::awkward_stencils();
  stencils.push_back({.extents = {40, 33, 1}, .point_count = 5});
  stencils.push_back({.extents = {20, 18, 16}, .point_count = 7});
  stencils.push_back({.extents = {18, 20, 16}, .point_count = 27});
  return stencils;
}

/// Calls visit(input) for every cut of the ranks over every transport, which take turns by default. Where ranks outnumber
/// cores so do the cuts: even calls get the even ones, odd calls the odd ones.
template <typename Visit>
void for_every_cut(int call, const Visit& visit) {
  const bool cuts_take_turns = !test::is_thorough() && group().size() > 2;
  int number = -1;
  const auto transports = test::usable_transports();
  for (const auto& grid : comm::domain_grids(group().size())) {
    ++number;
    if (cuts_take_turns && (number + call) % 2 != 0) continue;
    for (size_t k = 0; k < transports.size(); ++k) {
      const bool is_its_turn = static_cast<int>(k) == number % static_cast<int>(transports.size());
      if (!test::is_thorough() && !is_its_turn) continue;
      const Configuration configuration{.transport = transports[k], .thread_count = 1 + number % 3};
      SCOPED_TRACE(grid.name() + ", " + configuration.transport);
      visit(MatrixFreeInput{.group = group(), .configuration = configuration, .domain_grid = grid});
    }
  }
}

TEST(StencilOperatorTest, EqualsTheAssembledProductOnEveryCut) {
  int call = 0;
  for (const auto& stencil : tested_stencils()) {
    SCOPED_TRACE(stencil.name());
    const auto known = known_product(stencil);
    for_every_cut(call++, [&](const MatrixFreeInput& input) {
      const auto system = find_matrix_free(stencil.name())->make(stencil.name(), input);
      for (int round = 0; round < 3; ++round) expect_product(*system, known);
      const auto parts = input.domain_grid->parts[0];
      if (stencil.extents[0] >= parts) {
        EXPECT_EQ(system->own_product().has_value(), parts == 1);
      }
    });
  }
}

/// A stencil over the default transport, with every choice of the test's.
StencilOperator made(const Stencil& stencil, const comm::DomainGrid& grid, std::optional<bool> streams = {},
                     int thread_count = 1, bool is_timed = false) {
  const Configuration configuration{.thread_count = thread_count};
  return {stencil,
          {.group = group(), .configuration = configuration, .domain_grid = grid, .times_phases = is_timed},
          {.streams = streams}};
}

/// The product with element() of the place in this rank's piece.
std::vector<double> product(StencilOperator& matrix) {
  const auto p = matrix.operand();
  for (size_t k = 0; k < p.size(); ++k) p[k] = element(static_cast<int64_t>(k));
  matrix.apply();
  return {matrix.result().begin(), matrix.result().end()};
}

TEST(StencilOperatorTest, NeitherThreadsNorTheWayOfWritingChangeABit) {
  // By default each seventh where ranks outnumber cores. Each grid has its turn: no number of them is a multiple of 7.
  const int step = !test::is_thorough() && group().size() > 4 ? 7 : 1;
  int number = 0;
  for (const auto& stencil : tested_stencils()) {
    for (const auto& grid : comm::domain_grids(group().size())) {
      if (number++ % step != 0) continue;
      SCOPED_TRACE(stencil.name() + ", " + grid.name());
      auto stored = made(stencil, grid, false);
      const auto expected = product(stored);
      for (const bool streams : {false, true}) {
        auto matrix = made(stencil, grid, streams, 3);
        EXPECT_EQ(matrix.streams(), streams);
        EXPECT_TRUE(test::same_bits(product(matrix), expected)) << (streams ? "streamed" : "stored");
      }
    }
  }
}

/// Lines that are longer than the room of a writer are multiplied in parts, each of which adds to p . A p.
TEST(StencilOperatorTest, ALongLinesPartsAddUpToTheDotProduct) {
  const Stencil stencil{.extents = {2 * kernels::StreamWriter::largest_room + 100, 3 * group().size(), 1},
                        .point_count = 5};
  auto matrix = made(stencil, {.parts = {1, group().size(), 1}}, true);
  ASSERT_TRUE(matrix.streams());
  const auto q = product(matrix);
  const auto own = matrix.own_product();
  ASSERT_TRUE(own.has_value());
  double dot = 0.0;
  for (size_t k = 0; k < q.size(); ++k) dot += q[k] * element(static_cast<int64_t>(k));
  EXPECT_NEAR(*own, dot, 1e-10 * std::abs(dot));
}

TEST(StencilOperatorTest, LargeBoxesAreWrittenPastTheCaches) {
  const auto streams = [](const Stencil& stencil) {
    return made(stencil, comm::best_domain_grid(stencil.extents, group().size())).streams();
  };
  EXPECT_FALSE(streams(stencil_from("laplace3d:20x20x20")));
  // 16 bytes for each point: 34 MB and more on every rank.
  EXPECT_TRUE(streams({.extents = {128, 128, 130 * group().size()}, .point_count = 7}));
}

TEST(StencilOperatorTest, ProductsConsistOfHaloInteriorAndBoundary) {
  const auto stencil = stencil_from("laplace3d:12x11x10:27");
  const auto grid = comm::best_domain_grid(stencil.extents, group().size());
  auto matrix = made(stencil, grid, {}, 1, true);
  const auto phases = find_matrix_free(stencil.name())->phases;
  EXPECT_EQ(std::vector<Phase>(phases.begin(), phases.end()),
            (std::vector{Phase::halo, Phase::interior, Phase::boundary}));
  for (const auto phase : phases) EXPECT_FALSE(phase_row(phase).is_of_benchmark);
  static_cast<void>(product(matrix));
  for (const auto& row : phase_table()) {
    const auto& record = matrix.timer().records()[index_of(row.phase)];
    const uint64_t calls = row.phase == Phase::halo                                       ? 2
                           : row.phase == Phase::interior || row.phase == Phase::boundary ? 1
                                                                                          : 0;
    EXPECT_EQ(record.calls, calls) << row.name;
  }
  // The exchange is under way during the interior.
  EXPECT_EQ(matrix.timer().records()[index_of(Phase::halo)].hidden_clocks,
            matrix.timer().records()[index_of(Phase::interior)].clocks);
  const comm::DomainLayout layout(stencil.extents, grid);
  EXPECT_EQ(matrix.sent(comm::Operation::halo),
            test::halo_traffic(comm::halo_parts(layout, group().rank(), halo_shape(stencil))));
  EXPECT_EQ(matrix.product_byte_count(), 16 * layout.box(group().rank()).size());
}

TEST(StencilOperatorTest, ACutOfOtherRanksIsRefused) {
  const Configuration configuration;
  for (const auto& cut :
       {comm::DomainGrid{.parts = {group().size(), 7, 1}}, comm::DomainGrid{.parts = {1, 1, 1}}}) {
    if (cut.rank_count() == group().size()) continue;
    const auto error = test::error_of(ExitCode::usage, [&] {
      const MatrixFreeInput input{.group = group(), .configuration = configuration, .domain_grid = cut};
      static_cast<void>(find_matrix_free("laplace2d:8x8")->make("laplace2d:8x8", input));
    });
    EXPECT_EQ(error, "laplace2d:8x8: the cut " + cut.name() + " is of " + std::to_string(cut.rank_count()) +
                         " ranks, there are " + std::to_string(group().size()));
  }
}

// ---------------------------------------------------------------- the NAS CG matrix

/// Class S on every grid, transports, threads and overlap in turns.
TEST(FactoredOperatorTest, ProductsAndTheBenchmarkAreThoseOfTheAssembledMatrix) {
  const auto& problem = *find_class("S");
  const auto known =
      known_product(test::build_reference_matrix(problem, test::draw_reference_vectors(problem)));
  const auto& row = *find_matrix_free("npb-factored:S");
  EXPECT_EQ(row.why_not_conforming, "the matrix is applied as two sparse products, and never assembled");
  EXPECT_EQ(row.phases.size(), 4U);
  size_t number = 0;
  const auto transports = test::usable_transports();
  for (const auto& grid : comm::factorizations(group().size())) {
    const auto& transport = transports[number++ % transports.size()];
    const Configuration configuration{.grid = grid,
                                      .transport = transport,
                                      .thread_count = 1 + static_cast<int>(number % 2),
                                      .overlaps = number % 3 == 0};
    SCOPED_TRACE(configuration_key(configuration));
    const auto system =
        row.make("npb-factored:S", {.group = group(), .configuration = configuration, .times_phases = true});
    EXPECT_FALSE(system->diagonal());
    expect_product(*system, known);
    for (const auto phase : {Phase::summation, Phase::shuffle, Phase::vector_updates})
      EXPECT_EQ(system->timer().records()[index_of(phase)].calls, 2U) << phase_row(phase).name;
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
}  // namespace cg2d::matrix_free_test
