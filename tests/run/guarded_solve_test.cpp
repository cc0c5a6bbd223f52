// Benchmarks and solves of users' systems under guard: no false alarm, the same bits as without a guard, what follows damage, and the same end
// on all ranks. And campaigns of bit flips: each harmful one must be found, and what follows must be a clean result or a refusal.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iostream>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cg/matrix/matrix_source.hpp"
#include "cg/matrix/stencil.hpp"
#include "cg/run/guard/guard.hpp"
#include "cg/solver/preconditioners/preconditioner_table.hpp"
#include "support/bits.hpp"
#include "support/mpi_test.hpp"
#include "support/sanitizers.hpp"
#include "support/solver_run.hpp"
#include "support/test_extent.hpp"

namespace cg2d::guarded_solve_test {
namespace {

using test::group;

constexpr GuardOptions guarded{.checks = true};

/// A run of the benchmark, or a solve.
struct GuardedRun {
  GuardReport report{};
  std::string reason{};  ///< of a refusal
  bool is_refused = false;
  std::vector<double> figures{};  ///< zeta and residual of every step, or this rank's piece of x
  SystemSolveResult result{};     ///< of a solve
  double figure = 0.0;            ///< the last zeta, or || b - A x || with the matrix as it was made
  /// Limits of that figure where this is the clean run, and another one is not harmed.
  double lowest = 0.0;
  double highest = 0.0;
};

bool is_harmed(const GuardedRun& run, const GuardedRun& clean) {
  if (run.is_refused || run.result.end != clean.result.end) return true;
  return !(clean.lowest <= run.figure && run.figure <= clean.highest);  // NaN is harm
}

/// Every check was made, and no error was above half of its tolerance.
void expect_clean_report(const GuardReport& report) {
  constexpr double largest_clean_ratio = 0.5;
  EXPECT_TRUE(report.detections.empty()) << describe(report.detections.front());
  EXPECT_EQ(report.rollback_count, 0);
  for (size_t check = 0; check < guard_check_count; ++check) {
    EXPECT_GT(report.check_counts[check], 0) << guard_checks[check].name;
    EXPECT_LE(report.largest_ratios[check], largest_clean_ratio) << guard_checks[check].name;
  }
}

void expect_same_reason(const GuardedRun& run) {
  for (const auto& reason : group().gather_all(run.reason)) EXPECT_EQ(reason, run.reason);
}

/// A matrix with a kernel and a communicator, made once, and restored after faults.
struct GuardedMatrix {
  GuardedMatrix(kernels::CsrBlock block, const comm::BlockLayout& layout, const Configuration& config)
      : checksums(block, planned_kernel(config), layout, group().rank()),
        assembled(test::assembled(std::move(block), layout, config)) {
    for (const auto& array : assembled->product().stored_arrays())
      stored.emplace_back(array.bytes.begin(), array.bytes.end());
  }
  void restore() const {
    auto bytes = stored.begin();
    for (const auto& array : assembled->product().stored_arrays())
      std::ranges::copy(*bytes++, array.bytes.begin());
  }

  ProductChecksums checksums;
  std::unique_ptr<AssembledOperator> assembled;
  std::vector<std::vector<std::byte>> stored{};  ///< its arrays
};

/// A problem on a grid, generated once, for many solvers.
struct GuardedProblem {
  GuardedProblem(const Problem& given, const comm::ProcessGrid& grid)
      : problem(given),
        layout(comm::BlockLayout::even(given.n, grid)),
        block(default_source().make(given)->build(layout, group(), 1).block) {}

  Problem problem;
  comm::BlockLayout layout;
  kernels::CsrBlock block;
};

/// The benchmark, its solver made once for many runs. The problem must outlive it.
class GuardedSolver {
 public:
  GuardedSolver(const GuardedProblem& problem, const Configuration& config)
      : problem_(problem), matrix_(problem.block.copy(), problem.layout, config) {}

  /// All outer steps of the problem, from a matrix that has no faults but the damage. A change of zeta by 1e-10 is harm. Collective.
  GuardedRun run(const GuardOptions& options, const std::function<void(BlockProduct&)>& damage = {}) {
    matrix_.restore();
    Guard guard(options, group(), problem_.layout, *matrix_.assembled, matrix_.checksums);
    NpbIteration solver(*matrix_.assembled, problem_.problem.shift, &guard);
    if (damage) damage(matrix_.assembled->product());
    guard.begin_repetition(1, problem_.problem.niter);
    const auto steps = solver.outer_steps(problem_.problem.niter, {});
    const double zeta = steps.back().zeta;
    const double harmful_change = 1e-10 * std::abs(zeta);
    return {.report = guard.report(0.0),
            .reason = guard.reason(),
            .is_refused = steps.back().is_refused,
            .figures = test::figures_of(steps),
            .figure = zeta,
            .lowest = zeta - harmful_change,
            .highest = zeta + harmful_change};
  }

 private:
  const GuardedProblem& problem_;
  GuardedMatrix matrix_;
};

/// Configurations and grids that differ in everything, by turns. Collective.
Configuration config_number(size_t number) {
  const auto grids = comm::factorizations(group().size());
  const auto names = names_of(kernels::kernel_table());
  const auto transports = test::usable_transports();
  const auto& transport = transports[number % transports.size()];
  const auto forms = comm::find_transport(transport)->sum_forms;
  return {.grid = grids[number % grids.size()],
          .kernel = names[number % names.size()],
          .transport = transport,
          .sum_form = forms[number / 3 % forms.size()],
          .thread_count = number % 11 == 10 ? 2 : 1,
          .overlaps = number / 2 % 2 == 1};
}

/// D L D x = b for a Laplacian L and a diagonal D that differs from row to row, made once for many solves. Systems, grids and configurations
/// differ in everything, by turns: up to 300 iterations, so up to three segments.
class GuardedSystem {
 public:
  explicit GuardedSystem(int number)
      : number_(number),
        config_(config_number(static_cast<size_t>(number))),
        stencil_(stencil_from(laplacian())),
        layout_(comm::BlockLayout::even(stencil_.order(), config_.grid)),
        matrix_(scaled_block(), layout_, config_) {
    const auto piece = layout_.own_piece(group().rank());
    for (auto row = piece.begin; row < piece.end; ++row) {
      b_.push_back(1.0 + 0.1 * static_cast<double>(row % 7));
      guess_.push_back(starts_from_guess() ? 0.01 * static_cast<double>(row % 5) : 0.0);
      diagonal_.push_back(stencil_.diagonal() * scale_of(row) * scale_of(row));
    }
  }

  std::string name() const { return "system " + std::to_string(number_) + ", " + laplacian(); }

  /// Without a guard where the options ask for nothing. The matrix has no faults at the beginning. An x that is not within twice the clean one's
  /// residual is harm. More iterations are none: a flip that is smaller than what rounding may do to r costs some, and the recomputed residual
  /// still decides. Collective.
  GuardedRun run(const GuardOptions& options) {
    auto& assembled = *matrix_.assembled;
    matrix_.restore();
    Guard guard(options, group(), layout_, assembled, matrix_.checksums);
    assembled.set_observer(options.is_used() ? &guard : nullptr);
    DistributedVectors vectors(assembled, assembled.timer(), config_.thread_count);
    const auto preconditioner =
        find_preconditioner(number_ % 2 == 0 ? "none" : "jacobi")
            ->make({.matrix = assembled, .diagonal = diagonal_, .thread_count = config_.thread_count});
    ConjugateGradient solver(assembled, *preconditioner, vectors);
    GuardedRun run{.figures = guess_};
    const SystemVectors system{.b = b_, .x = run.figures, .starts_from_x = starts_from_guess()};
    const Tolerance tolerance({.relative = number_ % 5 == 4 ? 1e-12 : 1e-8, .most_steps = most_iterations});
    if (options.is_used()) {
      const auto result =
          guard.solve(solver, preconditioner->inverse_diagonal(), most_iterations, system, tolerance);
      run.is_refused = !result;
      if (result) run.result = *result;
    } else {
      run.result = solver.solve(system, tolerance).front();
    }
    run.report = guard.report(0.0);
    run.reason = guard.reason();
    matrix_.restore();
    assembled.set_observer(nullptr);
    run.figure = solver.residual_norm(b_, run.figures);
    run.highest = 2.0 * run.figure + 1e-12 * run.result.right_hand_side_norm;
    return run;
  }

 private:
  static constexpr int most_iterations = 2000;

  std::string laplacian() const {
    const int n = number_;
    const std::array<std::string, 3> all{
        "laplace2d:" + std::to_string(20 + n % 37) + "x" + std::to_string(15 + n % 23),
        "laplace3d:" + std::to_string(5 + n % 7) + "x" + std::to_string(6 + n % 5) + "x7",
        "laplace2d:" + std::to_string(60 + n % 40) + "x" + std::to_string(50 + n % 9)};
    return all[static_cast<size_t>(n) % all.size()];
  }
  bool starts_from_guess() const { return number_ % 7 >= 4; }
  double scale_of(int64_t row) const {
    const double most_scale = number_ % 4 == 3 ? 30.0 : 1.0 + 0.5 * (number_ % 3);
    return 1.0 + (most_scale - 1.0) * static_cast<double>((row * 7919) % 101) / 100.0;
  }
  kernels::CsrBlock scaled_block() const {
    auto block = source_from(laplacian())->build(layout_, group(), 1).block;
    const auto first_row = layout_.rows_of(group().rank()).begin;
    const auto first_column = layout_.columns_of(group().rank()).begin;
    size_t entry = 0;
    for (int64_t row = 0; row < block.row_count; ++row) {
      for (const auto column : block.columns_of(row))
        block.values[entry++] *= scale_of(first_row + row) * scale_of(first_column + column);
    }
    return block;
  }

  int number_;
  Configuration config_;
  Stencil stencil_;
  comm::BlockLayout layout_;
  GuardedMatrix matrix_;
  std::vector<double> b_;
  std::vector<double> guess_;
  std::vector<double> diagonal_;
};

// ---------------------------------------------------------------- without faults

void expect_clean(const GuardedRun& run, const Problem& problem) {
  EXPECT_EQ(run.figures.size(), 2 * static_cast<size_t>(problem.niter)) << run.reason;
  expect_clean_report(run.report);
}

/// Shifts that make the matrix nearly singular, or its condition good; and other sizes.
TEST(GuardedSolveTest, OtherProblemsGiveNoAlarm) {
  const int problem_count = test::by_extent(12, 250, 2500);
  const int first_number = problem_count * group().size();  // other problems for each number of ranks
  for (int number = first_number; number < first_number + problem_count; ++number) {
    auto problem = test::short_problem("S", 3);
    problem.class_name = "U";
    problem.n = 400 + 37 * number % 1500;
    problem.nonzer = 3 + number % 9;
    problem.shift = 3.0 + 1.7 * (number % 23);
    const auto config = config_number(static_cast<size_t>(number));
    SCOPED_TRACE("problem " + std::to_string(number) + ", " + configuration_key(config));
    const GuardedProblem on_grid(problem, config.grid);
    expect_clean(GuardedSolver(on_grid, config).run(guarded), problem);
  }
}

/// Nor any bit of reproducible sums, which are the same on every grid with every transport.
TEST(GuardedSolveTest, AGuardChangesNoBit) {
  const auto problem = test::short_problem("S", 3);
  const auto transports = test::usable_transports();
  std::vector<double> reproducible;
  size_t number = 0;
  for (const auto& grid : comm::factorizations(group().size())) {
    const GuardedProblem on_grid(problem, grid);
    for (const auto& kernel : kernels::kernel_table()) {
      const auto expect_bits = [&](const Configuration& config, std::vector<double>& expected) {
        SCOPED_TRACE(configuration_key(config));
        if (expected.empty()) expected = test::figures_of(test::solve(problem, on_grid.layout, config));
        const auto run = GuardedSolver(on_grid, config).run(guarded);
        expect_clean(run, problem);
        EXPECT_TRUE(test::same_bits(run.figures, expected));
      };
      const std::string name(kernel.name);
      std::vector<double> usual;
      if (name == kernels::default_kernel(kernel.storage).name)
        expect_bits({.grid = grid, .kernel = name}, usual);
      if (!kernel.makes_reproducible) continue;
      expect_bits({.grid = grid,
                   .kernel = name,
                   .transport = transports[number % transports.size()],
                   .overlaps = number % 2 == 1,
                   .is_reproducible = true},
                  reproducible);
      ++number;
    }
  }
}

TEST(SolveGuardTest, CleanSolvesGiveNoAlarmAndTheSameBits) {
  const int system_count = test::by_extent(12, 60, 600);
  const int first = system_count * group().size();
  int segment_count = 0;
  for (int number = first; number < first + system_count; ++number) {
    GuardedSystem system(number);
    SCOPED_TRACE(system.name());
    const auto free_run = system.run({});
    const auto run = system.run(guarded);
    EXPECT_FALSE(run.is_refused) << run.reason;
    expect_clean_report(run.report);
    EXPECT_EQ(run.result.end, free_run.result.end);
    EXPECT_EQ(run.result.step_count, free_run.result.step_count);
    EXPECT_TRUE(test::same_bits(run.figures, free_run.figures));
    segment_count += run.result.step_count / Guard::steps_per_segment;
  }
  EXPECT_GT(segment_count, 0) << "no solve went on from a state that was kept";
}

// ---------------------------------------------------------------- damage that stays

/// The run ends in the first outer iteration that meets the damage, with the same words on every rank.
void expect_refusal(const GuardedRun& run, std::string_view check, int damaged_rank) {
  EXPECT_TRUE(run.is_refused);
  EXPECT_NE(run.reason.find(check), std::string::npos) << run.reason;
  EXPECT_NE(run.reason.find("rank " + std::to_string(damaged_rank) + ","), std::string::npos) << run.reason;
  EXPECT_EQ(run.report.detections.size(), 2U);
  EXPECT_EQ(run.report.rollback_count, 1);
  expect_same_reason(run);
}

/// The first array of a kind that has elements.
std::span<std::byte> array_of(BlockProduct& product, kernels::ArrayKind kind) {
  for (const auto& array : product.stored_arrays()) {
    if (array.kind == kind && !array.bytes.empty()) return array.bytes;
  }
  return {};
}

TEST(GuardedSolveTest, DamageThatStaysEndsTheRunOnAllRanks) {
  const auto problem = test::short_problem("S", 2);
  const int damaged_rank = group().size() - 1;
  const bool is_mine = group().rank() == damaged_rank;
  const auto transports = test::usable_transports();
  size_t number = 0;
  for (const auto& grid : comm::factorizations(group().size())) {
    const GuardedProblem on_grid(problem, grid);
    for (const auto& kernel : kernels::kernel_table()) {
      const Configuration config{.grid = grid,
                                 .kernel = std::string(kernel.name),
                                 .transport = transports[number % transports.size()],
                                 .overlaps = number % 2 == 1,
                                 .is_reproducible = kernel.makes_reproducible && number % 3 == 0};
      ++number;
      SCOPED_TRACE(configuration_key(config));
      GuardedSolver solver(on_grid, config);
      const auto refuse = [&](std::string_view check, kernels::ArrayKind kind, const auto& damage) {
        const auto run = solver.run(guarded, [&](BlockProduct& product) {
          if (is_mine) damage(array_of(product, kind));
        });
        expect_refusal(run, check, damaged_rank);
      };
      // A column number far out of range: a product with it would crash.
      refuse("(column-range)", kernels::ArrayKind::columns, [](std::span<std::byte> columns) {
        std::ranges::fill(columns.first(2), std::byte{0xff});
        columns[columns.size() >= 4 ? 3 : 1] = std::byte{0x7f};
      });
      // The lowest bit of a value, which no sum shows.
      refuse("(matrix-bytes)", kernels::ArrayKind::values,
             [](std::span<std::byte> values) { values[0] ^= std::byte{1}; });
      // The largest bit of an exponent.
      refuse("(block-product)", kernels::ArrayKind::values,
             [](std::span<std::byte> values) { values[7] ^= std::byte{0x40}; });
    }
  }
}

// ---------------------------------------------------------------- flips

/// Flips that do harm without a guard, and those of them that are not found with it.
class FlipTally {
 public:
  /// Makes the flip of a seed without a guard and with one. Damage of the matrix stays; after any other flip that was found the run has the bits
  /// of a clean one.
  template <typename Work>
  void meet(Work& work, const GuardedRun& clean, uint64_t seed, const std::string& place) {
    const InjectOptions inject{.seed = seed};
    const auto free_run = work.run({.inject = inject});
    const auto run = work.run({.checks = true, .inject = inject});
    ++flip_count_;
    ASSERT_EQ(run.report.faults.size(), 1U);
    const auto& fault = run.report.faults.front();
    const auto text = place + ", seed " + std::to_string(seed) + ": " + describe(fault);
    SCOPED_TRACE(text);
    const bool is_found = !run.report.detections.empty();
    const bool stays = fault.target == FaultTarget::values || fault.target == FaultTarget::columns;
    harmful_count_ += is_harmed(free_run, clean) ? 1 : 0;
    EXPECT_EQ(run.is_refused, stays && is_found) << run.reason;
    expect_same_reason(run);
    if (run.is_refused) return;
    if (is_harmed(run, clean)) missed_.push_back(text);
    if (is_found) {
      EXPECT_TRUE(test::same_bits(run.figures, clean.figures));
    }
  }

  /// Each thousandth harmful flip may be missed; of fewer, none. Rank 0 says how many there were, and names those that were missed.
  void judge(const std::string& work) const {
    if (group().rank() == 0) {
      std::cout << "  " << work << ", " << group().size() << " ranks: " << flip_count_ << " injections, "
                << harmful_count_ << " harmful, " << missed_.size() << " of these not found\n";
      for (const auto& one : missed_) std::cout << "  not found, and harmful: " << one << '\n';
    }
    EXPECT_GT(harmful_count_, flip_count_ / 20) << "a campaign without harm tells nothing";
    EXPECT_LE(std::ssize(missed_), harmful_count_ / 1000);
  }

 private:
  int flip_count_ = 0;
  int harmful_count_ = 0;
  std::vector<std::string> missed_;
};

/// Grids and configurations in turns, each for some seeds. Zeta counts after the third outer iteration, where it heals less than after the last
/// one.
void expect_that_harm_is_found(const char* class_name, int seed_count) {
  if (group().size() > test::by_extent(2, 4)) return;  // that takes long
  const auto problem = test::short_problem(class_name, 3);
  std::vector<GuardedProblem> problems;
  for (const auto& grid : comm::factorizations(group().size())) problems.emplace_back(problem, grid);
  constexpr int seeds_per_configuration = 5;
  constexpr size_t config_count = 44;
  constexpr uint64_t seeds_of_ranks = 1'000'000;  // other seeds for each number of ranks
  const auto first_seed = seeds_of_ranks * static_cast<uint64_t>(group().size()) + 1;
  FlipTally tally;
  for (int done = 0; done < seed_count; done += seeds_per_configuration) {
    const auto turn = static_cast<size_t>(done / seeds_per_configuration);
    const auto& on_grid = problems[turn % problems.size()];
    auto config = config_number(turn / problems.size() % config_count);
    config.grid = on_grid.layout.grid();
    config.is_reproducible = planned_kernel(config).makes_reproducible && turn % 2 == 1;
    GuardedSolver solver(on_grid, config);
    const auto clean = solver.run(guarded);
    expect_clean(clean, problem);
    for (int k = done; k < std::min(done + seeds_per_configuration, seed_count); ++k)
      tally.meet(solver, clean, first_seed + static_cast<uint64_t>(k), configuration_key(config));
  }
  tally.judge(std::string("class ") + class_name);
}

TEST(FaultCampaignTest, HarmfulFlipsAreFoundInClassS) {
  expect_that_harm_is_found("S", test::with_fewer_sanitized(test::by_extent(120, 600, 3000)));
}

TEST(FaultCampaignTest, HarmfulFlipsAreFoundInClassW) {
  if (test::has_one_loop) GTEST_SKIP() << "with a sanitizer, class S takes the same ways";
  expect_that_harm_is_found("W", test::by_extent(10, 60, 3000));
}

TEST(FaultCampaignTest, FlipsInSolvesAreFoundOrDoNoHarm) {
  const int flip_count = test::by_extent(30, 200, 2000);
  const int flips_per_system = test::by_extent(5, 10);
  FlipTally tally;
  for (int number = 0; number * flips_per_system < flip_count; ++number) {
    GuardedSystem system(number);
    const auto clean = system.run(guarded);
    for (int k = 0; k < flips_per_system; ++k)
      tally.meet(system, clean, static_cast<uint64_t>(1000 * group().size() + number * flips_per_system + k),
                 system.name());
  }
  tally.judge("solves");
}

/// On two ranks this flip changed the numbers of one rank, which then asked for a rounding bound that the other did not: both waited for ever.
TEST(SolveGuardTest, RanksDecideAlikeAfterAFlipThatNobodyFinds) {
  const auto run = GuardedSystem(30).run({.inject = InjectOptions{.seed = 2303}});
  ASSERT_FALSE(run.is_refused);
  for (const auto end : group().gather_one(run.result.end)) EXPECT_EQ(end, run.result.end);
}

/// Every attempt meets one of so many flips, in any array: the work ends, and not by a crash.
template <typename Work>
void expect_end(Work& work, const InjectOptions& inject) {
  const auto run = work.run({.checks = true, .inject = inject});
  EXPECT_TRUE(run.is_refused);
  EXPECT_NE(run.reason.find("soft error"), std::string::npos) << run.reason;
  expect_same_reason(run);
  const auto free_run = work.run({.inject = inject});
  EXPECT_FALSE(free_run.is_refused);
  EXPECT_TRUE(free_run.report.detections.empty());
}

TEST(FaultCampaignTest, ManyFlipsEndRunsAndSolves) {
  const auto problem = test::short_problem("S", 3);
  for (const auto& grid : comm::factorizations(group().size())) {
    const GuardedProblem on_grid(problem, grid);
    GuardedSolver solver(on_grid, {});
    expect_end(solver, {.seed = 9, .count = 3000});
  }
  GuardedSystem system(2);
  expect_end(system, {.seed = 3, .count = 2000});
}

}  // namespace
}  // namespace cg2d::guarded_solve_test
