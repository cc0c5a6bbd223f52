// Generated systems that are symmetric and positive definite, from entries to x, on every grid.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cg/matrix/files/system_matrix.hpp"
#include "cg/matrix/files/vector_file.hpp"
#include "cg/solver/communicator_setup.hpp"
#include "cg/solver/preconditioners/preconditioner_table.hpp"
#include "support/dense_operator.hpp"
#include "support/mpi_test.hpp"
#include "support/solver_run.hpp"
#include "support/test_extent.hpp"

namespace cg2d::generated_systems_test {
namespace {

using test::group;
using test::solve;

/// An edge of a graph with its weight w: L is the sum of w (e_i - e_j)(e_i - e_j)^T over all edges.
struct Edge {
  int64_t first;
  int64_t second;
  double weight;
};

/// A = S (shift + L) S with a diagonal S is symmetric and positive definite. (Entries are w s_i s_j, rounded alike in
/// both triangles.)
struct GeneratedSystem {
  std::string kind{};
  int64_t order = 1;
  double shift = 1.0;
  std::vector<Edge> edges{};
  std::vector<double> scale{};     ///< the diagonal of S
  std::vector<double> solution{};  ///< known before it is solved for

  double scale_of(int64_t row) const { return scale[static_cast<size_t>(row)]; }
};

constexpr std::array kinds{"random graph", "plane", "dense rows", "diagonal", "badly scaled"};

/// The edges of a kind, in any order: add(first, second) ignores loops.
template <typename Add>
void add_edges(std::string_view kind, int64_t n, std::mt19937_64& random, const Add& add) {
  const auto below = [&](int64_t bound) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(bound));
  };
  if (kind == "random graph" || kind == "badly scaled") {
    for (int64_t k = 0; k < 4 * n; ++k) add(below(n), below(n));
  } else if (kind == "dense rows") {  // an arrow: the last rows and columns are full
    for (int64_t row = std::max<int64_t>(n - 3, 0); row < n; ++row) {
      for (int64_t k = 0; k < row; ++k) add(row, k);
    }
  } else if (kind == "plane") {
    const auto width = std::max<int64_t>(1, static_cast<int64_t>(std::sqrt(static_cast<double>(n))));
    for (int64_t k = 0; k < n; ++k) {
      if (k % width > 0) add(k, k - 1);
      if (k >= width) add(k, k - width);
    }
  }
}

/// Weights over three decades, and where rows are badly scaled, entries over four more.
GeneratedSystem generated_system(unsigned seed) {
  std::mt19937_64 random(seed + 18);
  std::uniform_real_distribution<double> exponent(-1.5, 1.5);
  std::normal_distribution<double> normal;
  // The first ones have fewer rows than there are ranks: pieces are empty, and collective calls are not.
  GeneratedSystem system{.kind = kinds[seed % kinds.size()],
                         .order = seed < 24 ? 1 + seed / 4 : 1 + static_cast<int64_t>(random() % 150),
                         .shift = std::pow(10.0, exponent(random))};
  add_edges(system.kind, system.order, random, [&](int64_t first, int64_t second) {
    if (first != second) system.edges.push_back({first, second, std::pow(10.0, exponent(random))});
  });
  for (int64_t k = 0; k < system.order; ++k) {
    system.scale.push_back(system.kind == "badly scaled" ? std::pow(10.0, exponent(random) * 2.0 / 3.0)
                                                         : 1.0);
    system.solution.push_back(normal(random));
  }
  return system;
}

/// A times the solution, and borders of the spectrum of A: that of shift + L begins at the shift, and no eigenvalue is beyond the
/// largest sum of a row's magnitudes (Gershgorin).
struct KnownProduct {
  std::vector<double> product{};
  double low = 0.0;
  double high = 0.0;
};
KnownProduct known_product(const GeneratedSystem& system) {
  KnownProduct known;
  std::vector<double> sums;
  for (size_t k = 0; k < system.scale.size(); ++k) {
    sums.push_back(system.shift * system.scale[k] * system.scale[k]);
    known.product.push_back(sums[k] * system.solution[k]);
  }
  known.low = std::ranges::min(sums);
  for (const auto& [first, second, weight] : system.edges) {
    const auto i = static_cast<size_t>(first);
    const auto j = static_cast<size_t>(second);
    const double flow =
        weight * (system.scale[i] * system.solution[i] - system.scale[j] * system.solution[j]);
    known.product[i] += system.scale[i] * flow;
    known.product[j] -= system.scale[j] * flow;
    for (const auto row : {i, j})
      sums[row] += weight * system.scale[row] * (system.scale[i] + system.scale[j]);
  }
  known.high = std::ranges::max(sums);
  return known;
}

/// Every rank adds each P-th edge; entries of the same place are summed.
StoredMatrix stored(const GeneratedSystem& system, std::optional<RandomPermutation> permutation) {
  EntryCollector collector(system.order, group());
  const auto add = [&](int64_t row, int64_t column, double weight) {
    const auto place = [&](int64_t index) { return permutation ? (*permutation)(index) : index; };
    collector.add(place(row), place(column), weight * (system.scale_of(row) * system.scale_of(column)));
  };
  const auto rank_count = static_cast<size_t>(group().size());
  for (auto k = static_cast<size_t>(group().rank()); k < system.edges.size(); k += rank_count) {
    const auto& [i, j, weight] = system.edges[k];
    add(i, i, weight);
    add(j, j, weight);
    add(i, j, -weight);
    add(j, i, -weight);
  }
  for (int64_t row = group().rank(); row < system.order; row += group().size()) add(row, row, system.shift);
  return {collector.finish(), "generated", permutation, group()};
}

/// Parts of a configuration, drawn by a number, so that each meets each kind of matrix on some grid.
struct Turn {
  const kernels::KernelRow* kernel;
  const PreconditionerRow* preconditioner;
  const CgVariantRow* variant;
  std::string_view cut;

  std::string name() const {
    return std::string(kernel->name) + ", " + std::string(preconditioner->name) + ", " +
           std::string(variant->name) + ", cut " + std::string(cut);
  }
};
Turn turn_of(unsigned number) {
  constexpr std::array<std::string_view, 3> cuts{"even", "nonzeros", "random"};
  const auto kernels = test::usable_kernels();
  std::mt19937 random(number);
  const auto one_of = [&](const auto& table) -> const auto& { return table[random() % std::size(table)]; };
  return {.kernel = one_of(kernels),
          .preconditioner = &one_of(preconditioner_table()),
          .variant = &one_of(cg_variant_table()),
          .cut = one_of(cuts)};
}

/// Solves a system on a grid.
void expect_solution(const GeneratedSystem& system, const comm::ProcessGrid& grid, unsigned seed,
                     const Turn& turn) {
  std::optional<RandomPermutation> permutation;
  if (turn.cut == "random") permutation.emplace(system.order, seed);
  auto stored_matrix = stored(system, permutation);
  stored_matrix.require_symmetric(group());
  stored_matrix.require_positive_diagonal(group());
  if (turn.cut == "nonzeros")
    stored_matrix.set_piece_starts(
        stored_matrix.balanced_piece_starts(comm::equal_shares(group().size()), group()));
  const auto layout = make_layout(stored_matrix.facts(), {.grid = grid});
  const auto diagonal = stored_matrix.diagonal(layout, group());
  auto block = stored_matrix.take(layout, group());
  const auto diagonal_block = diagonal_block_of(block, layout, group());
  const auto matrix = test::assembled(std::move(block), layout,
                                      {.kernel = turn.kernel, .transport = &comm::default_transport()});
  const auto preconditioner =
      turn.preconditioner->make({.matrix = *matrix,
                                 .diagonal = diagonal,
                                 .diagonal_block = &diagonal_block,
                                 .first_row = layout.piece(layout.column_piece_of(group().rank())).begin});
  const auto place = place_of(layout, stored_matrix.permutation(), group().rank());
  const auto known = known_product(system);
  std::vector<double> b;
  std::vector<double> solution;
  for (size_t k = 0; k < place.local_size; ++k) {
    const auto row = static_cast<size_t>(place.row_of(k));
    b.push_back(known.product[row]);
    solution.push_back(system.solution[row]);
  }
  std::vector<double> x(b.size());
  constexpr double tolerance = 1e-9;
  const auto result = solve(*matrix, b, x,
                            {.stop = Tolerance({.relative = tolerance, .most_steps = 20'000}),
                             .preconditioner = *preconditioner,
                             .variant = *turn.variant});
  EXPECT_EQ(result.end, SolveEnd::converged) << sentence_of(result);
  EXPECT_LE(result.true_residual_norm, tolerance * result.right_hand_side_norm);
  // || x - solution || <= || r || / (smallest eigenvalue), which holds whatever the steps have seen.
  std::array squares{0.0, 0.0};
  for (size_t k = 0; k < x.size(); ++k) {
    squares[0] += (x[k] - solution[k]) * (x[k] - solution[k]);
    squares[1] += solution[k] * solution[k];
  }
  matrix->sum_over_ranks(squares);
  // Roundings of b, and of the residual: of the products that a row adds.
  const double rounding = 1e-14 * known.high * std::sqrt(squares[1]);
  EXPECT_LE(std::sqrt(squares[0]), (result.true_residual_norm + rounding) / known.low);
}

TEST(GeneratedSystemsTest, DefiniteOnesConvergeOnEveryGridToTheirSolutions) {
  const auto system_count = static_cast<unsigned>(test::by_extent(40, 300));
  unsigned number = 0;
  std::set<std::string> taken;
  for (unsigned seed = 0; seed < system_count; ++seed) {
    const auto system = generated_system(seed);
    for (const auto& grid : comm::factorizations(group().size())) {
      const auto turn = turn_of(number++);
      SCOPED_TRACE("seed " + std::to_string(seed) + ", " + system.kind + ", n " +
                   std::to_string(system.order) + ", grid " + grid.name() + ", " + turn.name());
      expect_solution(system, grid, seed, turn);
      taken.insert({std::string(turn.kernel->name), std::string(turn.preconditioner->name),
                    std::string(turn.variant->name), std::string(turn.cut)});
    }
  }
  // Nothing is left out.
  for (const auto* row : test::usable_kernels())
    EXPECT_EQ(taken.count(std::string(row->name)), 1U) << row->name;
  for (const auto& row : preconditioner_table())
    EXPECT_EQ(taken.count(std::string(row.name)), 1U) << row.name;
  for (const auto& row : cg_variant_table()) EXPECT_EQ(taken.count(std::string(row.name)), 1U) << row.name;
}

}  // namespace
}  // namespace cg2d::generated_systems_test
