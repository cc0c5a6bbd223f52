// Verdicts on random systems of any condition number, in every form of CG with every preconditioner: a positive definite
// matrix is never called anything else, and nothing is called converged that is not. And systems that are solved from
// entries to x on every grid.
//
// CG2D_TEST_EXTENT=campaign takes 1 000 positive definite systems and 200 others.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cg/library/solver.hpp"
#include "support/dense_operator.hpp"
#include "support/error_of.hpp"
#include "support/mpi_test.hpp"
#include "support/solver_run.hpp"
#include "support/test_extent.hpp"

namespace cg2d::hard_systems_test {
namespace {

using test::DenseOperator;
using test::DenseRows;
using test::group;

constexpr double tolerance = 1e-8;

struct HardSystem {
  std::string kind{};
  DenseRows rows{};
  std::vector<double> b{};
};

class Draw {
 public:
  explicit Draw(unsigned seed) : random_(seed + 41) {}
  double normal() { return normal_(random_); }
  /// From 0 to below 1.
  double unit() { return uniform_(random_); }
  size_t below(size_t bound) { return static_cast<size_t>(random_() % bound); }

 private:
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  std::uniform_real_distribution<double> uniform_;
};

/// DenseOperator cuts it between rows, also where each is repeated.
size_t drawn_size(Draw& draw) { return 6 * (2 + draw.below(5)); }

/// Adds weight (e_i - e_j)(e_i - e_j)^T.
void add_edge(DenseRows& rows, size_t i, size_t j, double weight) {
  if (i == j) return;
  rows[i][j] -= weight;
  rows[j][i] -= weight;
  rows[i][i] += weight;
  rows[j][j] += weight;
}

/// shift + the Laplacian of a random graph on a line: positive definite for a shift above 0, singular for 0.
DenseRows laplacian(size_t size, double shift, Draw& draw) {
  DenseRows rows(size, std::vector<double>(size));
  for (size_t k = 0; k + 1 < size; ++k) add_edge(rows, k, k + 1, 0.5 + draw.unit());
  for (size_t k = 0; k < size; ++k) add_edge(rows, draw.below(size), draw.below(size), draw.unit());
  for (size_t k = 0; k < size; ++k) rows[k][k] += shift;
  return rows;
}

/// Dirichlet conditions as finite-element codes set them: a large number on the diagonal.
void add_penalties(DenseRows& rows, Draw& draw) {
  const double penalty = std::pow(10.0, 8.0 + 22.0 * draw.unit());
  for (size_t count = 1 + draw.below(4); count > 0; --count) {
    const auto place = draw.below(rows.size());
    rows[place][place] += penalty;
  }
}

/// S A S, symmetric to the bit.
void scale(DenseRows& rows, double decades, Draw& draw) {
  std::vector<double> factors;
  for (size_t k = 0; k < rows.size(); ++k) factors.push_back(std::pow(10.0, decades * (draw.unit() - 0.5)));
  for (size_t i = 0; i < rows.size(); ++i) {
    for (size_t j = 0; j <= i; ++j) rows[i][j] = rows[j][i] = rows[i][j] * (factors[i] * factors[j]);
  }
}

std::vector<double> spectrum(size_t size, double decades) {
  std::vector<double> eigenvalues;
  for (size_t k = 0; k < size; ++k)
    eigenvalues.push_back(std::pow(10.0, decades * static_cast<double>(k) / static_cast<double>(size - 1)));
  return eigenvalues;
}

std::vector<double> drawn_vector(size_t size, Draw& draw) {
  std::vector<double> vector;
  for (size_t k = 0; k < size; ++k) vector.push_back(draw.normal());
  return vector;
}

/// A random vector, ones, or A times a random vector.
std::vector<double> right_hand_side(const DenseRows& rows, unsigned seed, Draw& draw) {
  const auto vector = drawn_vector(rows.size(), draw);
  if (seed % 3 == 0) return vector;
  if (seed % 3 == 1) return std::vector<double>(rows.size(), 1.0);
  std::vector<double> product(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    for (size_t j = 0; j < rows.size(); ++j) product[i] += rows[i][j] * vector[j];
  }
  return product;
}

/// A Laplacian with that shift, perhaps with penalties, then scaled by so many decades at most.
DenseRows graph_rows(size_t size, double shift, bool has_penalties, double most_decades, Draw& draw) {
  auto rows = laplacian(size, shift, draw);
  if (has_penalties) add_penalties(rows, draw);
  if (most_decades > 0.0) scale(rows, most_decades * draw.unit(), draw);
  return rows;
}

/// Condition numbers from 1 to 1e30. Entries of dense rows have roundings of the size of the largest eigenvalue: beyond 1 / eps only the
/// exact matrix is positive definite, and p . A p may be negative by rounding.
HardSystem definite_system(unsigned seed) {
  Draw draw(seed);
  const size_t size = drawn_size(draw);
  HardSystem system;
  switch (seed % 6) {
    case 0:
      system = {"spectrum", test::rows_with_spectrum(spectrum(size, 30.0 * draw.unit()), seed)};
      break;
    case 1:
      system = {"penalties", graph_rows(size, 0.0, true, 0.0, draw)};
      break;
    case 2:
      system = {"scaled", graph_rows(size, 0.1, false, 15.0, draw)};
      break;
    case 3:
      system = {"penalties, scaled", graph_rows(size, 0.1, true, 6.0, draw)};
      break;
    case 4:
      system = {"diagonal", DenseRows(size, std::vector<double>(size))};
      for (size_t k = 0; k < size; ++k)
        system.rows[k][k] = std::pow(10.0, 30.0 * draw.unit() * (draw.unit() - 0.5));
      break;
    default:
      const double shift = std::pow(10.0, -30.0 * draw.unit());
      system = {"nearly singular", graph_rows(size, shift, false, 0.0, draw)};
  }
  system.b = right_hand_side(system.rows, seed / 6, draw);
  return system;
}

/// Makes a principal minor of two rows without a penalty negative: then an eigenvalue is, too.
void make_indefinite(DenseRows& rows) {
  for (size_t k = 0; k + 1 < rows.size(); ++k) {
    if (std::max(rows[k][k], rows[k + 1][k + 1]) > 1e6) continue;
    rows[k][k] = 0.25 * rows[k][k + 1] * rows[k][k + 1] / rows[k + 1][k + 1];
    return;
  }
}

HardSystem indefinite_system(unsigned seed) {
  Draw draw(seed + 100'000);
  const size_t size = drawn_size(draw);
  HardSystem system;
  if (seed % 4 == 0) {
    auto eigenvalues = spectrum(size, 10.0 * draw.unit());
    for (size_t count = 1 + draw.below(3); count > 0; --count) {
      auto& eigenvalue = eigenvalues[draw.below(size)];
      eigenvalue = -std::abs(eigenvalue);
    }
    system = {"negative eigenvalues", test::rows_with_spectrum(eigenvalues, seed)};
  } else if (seed % 4 == 2) {
    system = {"small entry, penalties", graph_rows(size, 0.1, true, 0.0, draw)};
    make_indefinite(system.rows);
  } else {
    const bool is_scaled = seed % 4 == 3;
    const double shift = -0.01 - 0.4 * draw.unit();
    system = {is_scaled ? "shifted, scaled" : "shifted",
              graph_rows(size, shift, false, is_scaled ? 10.0 : 0.0, draw)};
  }
  system.b = drawn_vector(size, draw);
  return system;
}

using Verdict = test::DenseSolution;

Tolerance stop_after(int most_steps) { return Tolerance({.relative = tolerance, .most_steps = most_steps}); }

/// The second system has the right-hand side backwards.
Verdict solve_as_first_of_two(const HardSystem& system, const PreconditionerRow& row, int most_steps) {
  std::vector<double> both;
  for (size_t k = 0; k < system.b.size(); ++k) {
    both.push_back(system.b[k]);
    both.push_back(system.b[system.b.size() - 1 - k]);
  }
  auto verdict = test::solve(test::repeated(system.rows, 2), both, stop_after(most_steps),
                             {.preconditioner = row, .system_count = 2});
  for (size_t k = 0; k < system.b.size(); ++k) verdict.x[k] = verdict.x[2 * k];
  return verdict;
}

/// A residual that was computed in another precision differs by the roundings of the products: order + 2 roundings of the sum of
/// |a_ij| |x_j| (Higham, section 3.5).
void expect_converged(const HardSystem& system, const Verdict& verdict) {
  EXPECT_LE(verdict.result.true_residual_norm, tolerance * verdict.result.right_hand_side_norm);
  long double residual_square = 0.0;
  long double b_square = 0.0;
  double allowed_square = 0.0;
  const auto size = system.b.size();
  const double unit = std::numeric_limits<double>::epsilon() * (static_cast<double>(size) + 2.0);
  for (size_t i = 0; i < size; ++i) {
    long double residual = system.b[i];
    double magnitudes = std::abs(system.b[i]);
    for (size_t j = 0; j < size; ++j) {
      residual -= static_cast<long double>(system.rows[i][j]) * verdict.x[j];
      magnitudes += std::abs(system.rows[i][j] * verdict.x[j]);
    }
    residual_square += residual * residual;
    b_square += static_cast<long double>(system.b[i]) * system.b[i];
    allowed_square += std::pow(unit * magnitudes, 2);
  }
  EXPECT_LE(static_cast<double>(std::sqrt(residual_square)),
            tolerance * static_cast<double>(std::sqrt(b_square)) + std::sqrt(allowed_square));
}

/// Calls judge(verdict) for every form of CG with every preconditioner; in turns where there is not all time.
void for_every_solve(const HardSystem& system, unsigned seed, int most_steps,
                     const std::function<void(const Verdict&)>& judge) {
  if (group().size() > 4) return;  // DenseOperator would cut within a row
  unsigned turn = 0;
  bool has_positive_diagonal = true;
  for (size_t k = 0; k < system.b.size(); ++k)
    has_positive_diagonal = has_positive_diagonal && system.rows[k][k] > 0.0;
  for (const auto& row : preconditioner_table()) {
    if ((row.diagonal != DiagonalUse::none || row.needs_diagonal_block) && !has_positive_diagonal) {
      DenseOperator matrix(system.rows);
      const auto error =
          test::error_of(ExitCode::not_positive_definite, [&] { test::make_preconditioner(row, matrix); });
      EXPECT_NE(error, "no error") << row.name << " takes a diagonal that is not positive";
      continue;
    }
    const auto note = [&](std::string_view form, const Verdict& verdict) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", " + system.kind + ", " + std::string(form) + ", " +
                   std::string(row.name) + ": " + sentence_of(verdict.result));
      judge(verdict);
    };
    const auto is_due = [&] { return test::is_thorough() || (turn++ + seed) % 4 == 0; };
    for (const auto& variant : cg_variant_table()) {
      if (is_due())
        note(variant.name, test::solve(system.rows, system.b, stop_after(most_steps),
                                       {.preconditioner = row, .variant = variant}));
    }
    if (!row.needs_diagonal_block && is_due())
      note("several systems", solve_as_first_of_two(system, row, most_steps));
  }
}

TEST(HardSystemsTest, PositiveDefiniteOnesAreNeverCalledAnythingElse) {
  const auto count = static_cast<unsigned>(test::by_extent(24, 120, 1000));
  for (unsigned seed = 0; seed < count; ++seed) {
    const auto system = definite_system(seed);
    for_every_solve(system, seed, 20 * static_cast<int>(system.b.size()), [&](const Verdict& verdict) {
      const auto end = verdict.result.end;
      EXPECT_TRUE(end == SolveEnd::converged || end == SolveEnd::stagnated || end == SolveEnd::step_limit);
      if (end == SolveEnd::converged) expect_converged(system, verdict);
    });
  }
}

TEST(HardSystemsTest, IndefiniteOnesAreFoundOrStagnateBeforeTheStepLimit) {
  const auto count = static_cast<unsigned>(test::by_extent(12, 40, 200));
  for (unsigned seed = 0; seed < count; ++seed) {
    const auto system = indefinite_system(seed);
    for_every_solve(system, seed, ToleranceOptions{}.most_steps, [&](const Verdict& verdict) {
      const auto end = verdict.result.end;
      EXPECT_TRUE(end == SolveEnd::not_positive_definite || end == SolveEnd::stagnated);
    });
  }
}

/// Entries from 10 ^ high to 10 ^ low on the diagonal, coupled: condition number about 50 with that diagonal as preconditioner.
HardSystem magnitudes(double high, double low, double coupling) {
  constexpr size_t size = 12;
  HardSystem system{.kind = "magnitudes", .rows = DenseRows(size, std::vector<double>(size))};
  const auto root_of = [&](size_t k) {
    return std::pow(10.0, (high + (low - high) * static_cast<double>(k) / (size - 1)) / 2.0);
  };
  for (size_t k = 0; k < size; ++k) {
    system.rows[k][k] = root_of(k) * root_of(k);
    if (k > 0) system.rows[k][k - 1] = system.rows[k - 1][k] = coupling * root_of(k) * root_of(k - 1);
  }
  system.b.assign(size, 1.0);
  return system;
}

/// Squares of such numbers leave the range of double precision.
TEST(HardSystemsTest, FiniteSystemsOfAnyMagnitudeAreSolvedOrStagnate) {
  struct Range {
    double high;
    double low;
  };
  unsigned turn = 0;
  for (const auto& [high, low] : {Range{300, -270}, Range{200, -200}, Range{300, 300}, Range{-300, -300},
                                  Range{305, -305}, Range{307, 0}, Range{0, 0}}) {
    for (const double coupling : {0.0, -0.49}) {
      for (const double scale : {1.0, 1e150, 1e200, 1e-120, 1e-200}) {
        const bool is_usual = scale == 1.0 && (coupling == 0.0 || high == low);
        if (!is_usual && !test::is_thorough() && turn++ % 4 != 0) continue;
        auto system = magnitudes(high, low, coupling);
        for (double& element : system.b) element *= scale;
        SCOPED_TRACE("1e" + std::to_string(high) + " to 1e" + std::to_string(low) + ", coupling " +
                     std::to_string(coupling) + ", b " + std::to_string(std::log10(scale)));
        for_every_solve(system, turn, ToleranceOptions{}.most_steps, [&](const Verdict& verdict) {
          EXPECT_TRUE(verdict.result.end == SolveEnd::converged || verdict.result.end == SolveEnd::stagnated);
          if (verdict.result.end != SolveEnd::converged) return;
          EXPECT_LE(verdict.result.true_residual_norm, tolerance * verdict.result.right_hand_side_norm);
        });
        if (!is_usual) continue;
        for (const auto& variant : cg_variant_table()) {
          const auto jacobi =
              test::solve(system.rows, system.b, stop_after(100),
                          {.preconditioner = *find_preconditioner("jacobi"), .variant = variant})
                  .result;
          EXPECT_EQ(jacobi.end, SolveEnd::converged) << variant.name << ": " << sentence_of(jacobi);
        }
      }
    }
  }
}

// ---------------------------------------------------------------- from entries to x, on every grid

/// Positive definite, with condition numbers up to a million. The first ones have fewer rows than there are ranks: pieces are empty, and collective
/// calls are not.
HardSystem generated_system(unsigned seed) {
  Draw draw(seed + 200'000);
  const size_t size = seed < 24 ? 1 + seed / 4 : 1 + draw.below(150);
  const double shift = std::pow(10.0, 2.0 * draw.unit() - 1.0);
  HardSystem system{.kind = "graph", .rows = graph_rows(size, shift, false, 0.0, draw)};
  auto& rows = system.rows;
  if (seed % 4 == 1) {
    system.kind = "badly scaled";
    scale(rows, 2.0, draw);
  } else if (seed % 4 == 2) {
    system.kind = "arrow";
    for (size_t k = 0; k < size; ++k) add_edge(rows, k, size - 1, 1.0);
  } else if (seed % 4 == 3) {
    system.kind = "diagonal";
    for (size_t k = 0; k < size; ++k) {
      const double entry = rows[k][k];
      std::ranges::fill(rows[k], 0.0);
      rows[k][k] = entry;
    }
  }
  system.b = right_hand_side(rows, seed / 4, draw);
  return system;
}

/// Each entry comes in two halves, of two ranks where there are several, which are summed.
std::unique_ptr<StoredMatrix> stored(const DenseRows& rows,
                                     const std::optional<RandomPermutation>& permutation) {
  EntryCollector collector(std::ssize(rows), group());
  const auto place = [&](size_t index) {
    const auto original = static_cast<int64_t>(index);
    return permutation ? (*permutation)(original) : original;
  };
  const auto rank_count = static_cast<size_t>(group().size());
  for (size_t i = 0; i < rows.size(); ++i) {
    for (size_t j = 0; j < rows.size(); ++j) {
      for (const size_t half : {i + j, i + j + 1}) {
        if (rows[i][j] != 0.0 && half % rank_count == static_cast<size_t>(group().rank()))
          collector.add(place(i), place(j), 0.5 * rows[i][j]);
      }
    }
  }
  return std::make_unique<StoredMatrix>(collector.finish(), "generated", permutation, group());
}

void expect_solution(const HardSystem& system, unsigned seed, SolverOptions options) {
  std::optional<RandomPermutation> permutation;
  const auto order = std::ssize(system.rows);
  if (options.configuration.cut == "random") {
    options.configuration.cut = automatic_choice;
    permutation.emplace(order, seed);
  }
  Solver solver(stored(system.rows, permutation), group(), options);
  std::vector<double> b;
  for (size_t k = 0; k < solver.local_size(); ++k)
    b.push_back(system.b[static_cast<size_t>(solver.row_of(k))]);
  std::vector<double> x(b.size());
  const auto result = solver.solve(b, x, {.relative = tolerance, .most_steps = 20'000}).result;
  EXPECT_EQ(result.end, SolveEnd::converged) << sentence_of(result);
  expect_converged(
      system, {.result = result, .x = elements_of(x, {.begin = 0, .end = order}, solver.place(), group())});
}

/// Each part of a solver is taken on some grid, by turns.
TEST(GeneratedSystemsTest, DefiniteOnesConvergeOnEveryGridToTheirSolutions) {
  const std::array<std::vector<std::string>, 5> tables{names_of(kernels::kernel_table()),
                                                       test::usable_transports(),
                                                       names_of(preconditioner_table()),
                                                       names_of(cg_variant_table()),
                                                       {"even", "nonzeros", "random"}};
  std::array<std::set<std::string>, 5> taken;
  const auto system_count = static_cast<unsigned>(test::by_extent(40, 300));
  unsigned turn = 0;
  for (unsigned seed = 0; seed < system_count; ++seed) {
    const auto system = generated_system(seed);
    for (const auto& grid : comm::factorizations(group().size())) {
      std::mt19937 random(turn++);
      std::array<std::string, 5> names;
      auto text = "seed " + std::to_string(seed) + ", " + system.kind + ", grid " + grid.name();
      for (size_t k = 0; k < tables.size(); ++k) {
        names[k] = tables[k][random() % tables[k].size()];
        taken[k].insert(names[k]);
        text += ", " + names[k];
      }
      SCOPED_TRACE(text);
      expect_solution(
          system, seed,
          {.configuration = {.grid = grid, .kernel = names[0], .transport = names[1], .cut = names[4]},
           .preconditioner = names[2],
           .variant = names[3]});
    }
  }
  for (size_t k = 0; k < tables.size(); ++k)
    EXPECT_EQ(taken[k].size(), tables[k].size()) << "something is left out, beside " << tables[k].front();
}

}  // namespace
}  // namespace cg2d::hard_systems_test
