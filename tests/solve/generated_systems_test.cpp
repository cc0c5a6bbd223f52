// Generated systems that are symmetric and positive definite, from entries to x, on every grid.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cg/files/stored_matrix.hpp"
#include "cg/files/vector_file.hpp"
#include "cg/preconditioners/diagonal_block.hpp"
#include "cg/preconditioners/preconditioner_table.hpp"
#include "cg/solver/block_operator.hpp"
#include "cg/solver/communicator_setup.hpp"
#include "cg/solver/lanczos.hpp"
#include "cg/solver/solve.hpp"
#include "support/mpi_test.hpp"
#include "support/test_extent.hpp"

namespace cg2d {
namespace {

using test::group;

/// An edge of a graph with its weight w: A = shift + the sum of w (e_i - e_j)(e_i - e_j)^T over all edges, which is
/// symmetric and positive definite.
struct Edge {
  std::int64_t first;
  std::int64_t second;
  double weight;
};

struct GeneratedSystem {
  std::int64_t order = 1;
  double shift = 1.0;
  std::vector<Edge> edges{};
  std::vector<double> solution{};  ///< known before it is solved for
};

/// Bands, stars (one dense row), random graphs and empty ones in turns, with weights over three decades.
GeneratedSystem generated_system(unsigned seed) {
  std::mt19937_64 random(seed + 18);
  const auto below = [&](std::int64_t bound) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(bound));
  };
  std::uniform_real_distribution<double> exponent(-1.5, 1.5);
  std::normal_distribution<double> normal;
  // The first ones have fewer rows than there are ranks: pieces are empty, and collective calls are not.
  GeneratedSystem system{.order = seed < 24 ? 1 + seed / 4 : 1 + below(150),
                         .shift = std::pow(10.0, exponent(random))};
  const auto n = system.order;
  const auto add = [&](std::int64_t first, std::int64_t second) {
    if (first != second) system.edges.push_back({first, second, std::pow(10.0, exponent(random))});
  };
  switch (seed % 4) {
    case 0:
      for (std::int64_t k = 0; k < n; ++k) {
        for (std::int64_t band = 1; band < 4 && k + band < n; ++band) add(k, k + band);
      }
      break;
    case 1:
      for (std::int64_t k = 0; k < n; ++k) add(seed % static_cast<unsigned>(n), k);
      break;
    case 2:
      for (std::int64_t k = 0; k < 4 * n; ++k) add(below(n), below(n));
      break;
    default:
      break;
  }
  for (std::int64_t k = 0; k < n; ++k) system.solution.push_back(normal(random));
  return system;
}

std::vector<double> product_with_solution(const GeneratedSystem& system) {
  std::vector<double> product(system.solution);
  for (auto& element : product) element *= system.shift;
  for (const auto& [first, second, weight] : system.edges) {
    const auto i = static_cast<std::size_t>(first);
    const auto j = static_cast<std::size_t>(second);
    const double flow = weight * (system.solution[i] - system.solution[j]);
    product[i] += flow;
    product[j] -= flow;
  }
  return product;
}

/// Every rank adds each P-th edge; entries of the same place are summed.
StoredMatrix stored(const GeneratedSystem& system, std::optional<RandomPermutation> permutation) {
  EntryCollector collector(system.order, group());
  const auto place = [&](std::int64_t row) { return permutation ? (*permutation)(row) : row; };
  const auto rank_count = static_cast<std::size_t>(group().size());
  for (auto k = static_cast<std::size_t>(group().rank()); k < system.edges.size(); k += rank_count) {
    const auto i = place(system.edges[k].first);
    const auto j = place(system.edges[k].second);
    collector.add(i, i, system.edges[k].weight);
    collector.add(j, j, system.edges[k].weight);
    collector.add(i, j, -system.edges[k].weight);
    collector.add(j, i, -system.edges[k].weight);
  }
  for (std::int64_t row = group().rank(); row < system.order; row += group().size())
    collector.add(row, row, system.shift);
  return {collector.finish(), "generated", std::move(permutation), group()};
}

/// Parts of a configuration, in turns by the seed, so that each meets each kind of matrix on some grid.
struct Turn {
  const PreconditionerRow& preconditioner;
  const CgVariantRow& variant;
  bool is_symmetric;  ///< the kernel stores half of the matrix
  bool is_permuted;
  bool cuts_by_nonzeros;
};
Turn turn_of(unsigned number) {
  const auto preconditioners = preconditioner_table();
  const auto variants = cg_variant_table();
  return {.preconditioner = preconditioners[number % preconditioners.size()],
          .variant = variants[number / 5 % variants.size()],
          .is_symmetric = number % 2 == 1,
          .is_permuted = number % 3 == 1,
          .cuts_by_nonzeros = number % 7 != 0};
}

void expect_solution(const GeneratedSystem& system, const comm::ProcessGrid& grid, unsigned seed,
                     const Turn& turn) {
  std::optional<RandomPermutation> permutation;
  if (turn.is_permuted) permutation.emplace(system.order, seed);
  auto stored_matrix = stored(system, permutation);
  stored_matrix.require_symmetric(group());
  stored_matrix.require_positive_diagonal(group());
  if (turn.cuts_by_nonzeros)
    stored_matrix.set_piece_starts(stored_matrix.balanced_piece_starts(group().size(), group()));
  const auto layout = make_layout(stored_matrix.facts(), {.grid = grid});
  const auto diagonal = stored_matrix.diagonal(layout, group());
  auto block = stored_matrix.take(layout, group());
  const auto diagonal_block = diagonal_block_of(block, layout, group());
  const auto& kernel =
      kernels::default_kernel(turn.is_symmetric ? kernels::Storage::half : kernels::Storage::whole);
  const auto product = make_block_product(kernel, std::move(block), layout, group().rank(), {});
  const auto communicator =
      comm::default_transport().make(group(), layout, {.mirrored = product->is_symmetric()});
  PhaseTimer timer;
  BlockOperator matrix(*communicator, *product, timer, 1);

  const auto place = place_of(layout, stored_matrix.permutation(), group().rank());
  const auto whole_b = product_with_solution(system);
  std::vector<double> b;
  for (std::size_t k = 0; k < place.local_size; ++k)
    b.push_back(whole_b[static_cast<std::size_t>(place.row_of(k))]);
  std::vector<double> x(b.size());
  const auto preconditioner =
      turn.preconditioner.make({.matrix = matrix,
                                .diagonal = diagonal,
                                .diagonal_block = &diagonal_block,
                                .first_row = layout.piece(layout.column_piece_of(group().rank())).begin});
  constexpr double tolerance = 1e-9;
  constexpr int most_steps = 2000;
  const auto result = solve(matrix, b, x,
                            {.stop = Tolerance({.relative = tolerance, .most_steps = most_steps}),
                             .preconditioner = *preconditioner,
                             .variant = turn.variant});
  EXPECT_EQ(result.end, SolveEnd::converged) << sentence_of(result);
  EXPECT_LE(result.true_residual_norm, tolerance * result.right_hand_side_norm);

  // || x - solution || <= || r || / (smallest eigenvalue), and that is at least the shift. Roundings of b and of the
  // residual are below 1e-12 of || b ||.
  double square = 0.0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    const double error = x[k] - system.solution[static_cast<std::size_t>(place.row_of(k))];
    square += error * error;
  }
  std::vector<double> sum{square};
  matrix.sum_over_ranks(sum);
  EXPECT_LE(std::sqrt(sum[0]),
            (result.true_residual_norm + 1e-12 * result.right_hand_side_norm) / system.shift);
}

TEST(GeneratedSystemsTest, DefiniteOnesConvergeOnEveryGridToTheirSolutions) {
  const auto system_count = static_cast<unsigned>(test::by_extent(40, 300));
  unsigned number = 0;
  for (unsigned seed = 0; seed < system_count; ++seed) {
    const auto system = generated_system(seed);
    for (const auto& grid : comm::factorizations(group().size())) {
      const auto turn = turn_of(number++);
      SCOPED_TRACE("seed " + std::to_string(seed) + ", grid " + grid.name() + ", " +
                   std::string(turn.preconditioner.name) + ", " + std::string(turn.variant.name));
      expect_solution(system, grid, seed, turn);
    }
  }
}

}  // namespace
}  // namespace cg2d
