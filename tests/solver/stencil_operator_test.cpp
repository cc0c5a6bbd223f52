// Stencils without a matrix against the assembled matrix: on every cut in 1, 2 and 3 dimensions, over every
// transport.

#include "cg/solver/operators/stencil_operator.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "cg/solver/operators/matrix_free.hpp"
#include "support/bits.hpp"
#include "support/error_of.hpp"
#include "support/halo_check.hpp"
#include "support/mpi_test.hpp"
#include "support/solver_run.hpp"
#include "support/stencil_reference.hpp"
#include "support/test_extent.hpp"

namespace cg2d::stencil_operator_test {
namespace {

using test::group;

/// An element of the operand, between -1 and 1.
double element(int64_t row) { return std::sin(0.7 * static_cast<double>(row) + 0.3); }

/// A times (element(0), element(1), ...), whole, by the assembled matrix on process rows.
std::vector<double> assembled_product(const std::string& text) {
  const auto source = source_from(text);
  const auto layout =
      comm::BlockLayout::even(source->facts().key.order, {.columns = 1, .rows = group().size()});
  const auto matrix = test::assembled(source->build(layout, group(), 1).block, layout, {});
  const auto p = matrix->operand();
  const auto begin = layout.piece(layout.column_piece_of(group().rank())).begin;
  for (size_t k = 0; k < p.size(); ++k) p[k] = element(begin + static_cast<int64_t>(k));
  matrix->apply();
  std::vector<double> whole;
  for (const auto& part : group().gather_all(matrix->result()))
    whole.insert(whole.end(), part.begin(), part.end());
  return whole;
}

/// One product of the operator compared with the assembled one, element by element.
void expect_product(MatrixFreeSystem& system, const Stencil& stencil, const std::vector<double>& expected) {
  const auto p = system.operand();
  for (size_t k = 0; k < p.size(); ++k) p[k] = element(system.row_of(k));
  system.apply();
  const auto q = system.result();
  // Both add at most point_count products with a rounding each; all are within the sum of their magnitudes.
  const double bound =
      4.0 * stencil.point_count * std::numeric_limits<double>::epsilon() * (2.0 * stencil.diagonal());
  double dot = 0.0;
  double magnitude = 0.0;
  for (size_t k = 0; k < q.size(); ++k) {
    dot += p[k] * q[k];
    magnitude += std::abs(p[k] * q[k]);
    EXPECT_NEAR(q[k], expected[static_cast<size_t>(system.row_of(k))], bound);  // fails for NaN, too
    EXPECT_EQ(p[k], element(system.row_of(k)));
  }
  // The bound of two sums of as many products, each in its own order (Higham 2002, section 3.1).
  if (const auto own = system.own_product()) {
    EXPECT_LE(std::abs(*own - dot),
              2.0 * static_cast<double>(q.size()) * std::numeric_limits<double>::epsilon() * magnitude);
  }
  EXPECT_EQ(group().sum(static_cast<int64_t>(q.size())), stencil.order());
}

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
  const bool cuts_take_turns = !test::is_thorough() && group().size() > 4;
  int number = -1;
  for (const auto& grid : comm::domain_grids(group().size())) {
    ++number;
    if (cuts_take_turns && (number + call) % 2 != 0) continue;
    const auto transports = comm::transport_table();
    for (size_t k = 0; k < transports.size(); ++k) {
      const bool is_its_turn = static_cast<int>(k) == number % static_cast<int>(transports.size());
      if (!test::is_thorough() && !is_its_turn) continue;
      if (!transports[k].why_unavailable(group()).empty()) continue;
      const Configuration configuration{.transport = std::string(transports[k].name),
                                        .thread_count = 1 + number % 3};
      SCOPED_TRACE(grid.name() + ", " + configuration.transport);
      visit(MatrixFreeInput{.group = group(), .configuration = configuration, .domain_grid = grid});
    }
  }
}

TEST(StencilOperatorTest, EqualsTheAssembledProductOnEveryCut) {
  int call = 0;
  for (const auto& stencil : tested_stencils()) {
    SCOPED_TRACE(stencil.name());
    const auto expected = assembled_product(stencil.name());
    for_every_cut(call++, [&](const MatrixFreeInput& input) {
      const auto system = find_matrix_free(stencil.name())->make(stencil.name(), input);
      EXPECT_EQ(system->order(), stencil.order());
      for (int round = 0; round < 3; ++round) expect_product(*system, stencil, expected);
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

}  // namespace
}  // namespace cg2d::stencil_operator_test
