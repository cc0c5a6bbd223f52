// Runs that go on from a checkpoint: on the same grid with the same bits, on any other with the same zeta.

#include "cg/run/benchmark_run.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cg/run/checkpoint/checkpoint_folder.hpp"
#include "support/bits.hpp"
#include "support/common_folder.hpp"
#include "support/error_of.hpp"
#include "support/solver_run.hpp"

namespace cg2d::run_checkpoints_test {
namespace {

using test::CommonFolder;
using test::group;

constexpr int saved_step = 6;

/// All that an iteration needs on one grid.
class GridRun {
 public:
  GridRun(const Problem& problem, const comm::ProcessGrid& grid)
      : problem_(problem),
        layout_(comm::BlockLayout::even(problem.n, grid)),
        range_(layout_.piece(layout_.column_piece_of(group().rank()))) {
    auto block = default_source().make(problem)->build(layout_, group(), 1).block;
    assembled_ = test::assembled(std::move(block), layout_, {});
    solver_ = std::make_unique<NpbIteration>(*assembled_, problem.shift);
  }

  const comm::IndexRange& range() const { return range_; }
  NpbIteration& solver() { return *solver_; }
  /// From the first outer iteration on; after each one a checkpoint, up to saved_step.
  std::vector<OuterStep> whole(const std::string& folder) {
    Checkpoints saver({.folder = folder, .interval_s = 0.0}, "run", group());
    RunCheckpoints checkpoints(problem_, *solver_, range_, {}, saver);
    solver_->reset();
    const std::array<OuterStepObserver*, 1> observers{&checkpoints};
    auto steps = solver_->outer_steps(saved_step, observers);
    EXPECT_EQ(saver.facts().count, saved_step);
    EXPECT_EQ(saver.facts().failure, "");
    const auto others = solver_->outer_steps(problem_.niter - saved_step, {});
    steps.insert(steps.end(), others.begin(), others.end());
    return steps;
  }
  /// The outer iterations after the checkpoint.
  std::vector<OuterStep> rest(const RestartFacts& restart) {
    std::vector<double> x(static_cast<size_t>(range().size()));
    const std::array targets{std::span<double>(x)};
    read_vectors(restart.checkpoint, range(), targets, group());
    solver_->reset();
    solver_->restore(restart.step_count(), x, restart.signs);
    return solver_->outer_steps(problem_.niter - restart.step_count(), {});
  }

 private:
  const Problem& problem_;
  comm::BlockLayout layout_;
  comm::IndexRange range_;
  std::unique_ptr<AssembledOperator> assembled_;
  std::unique_ptr<NpbIteration> solver_;
};

TEST(RunCheckpoints, GoOnWithTheSameBitsOnTheSameGridAndWithTheSameZetaOnOthers) {
  const auto& problem = *find_class("S");
  for (const auto& first_grid : comm::factorizations(group().size())) {
    const CommonFolder folder;
    const auto steps = GridRun(problem, first_grid).whole(folder.path());
    ASSERT_EQ(std::ssize(steps), problem.niter);
    const auto restart = restart_facts(newest_checkpoint(folder.path(), group()), problem);
    EXPECT_EQ(restart.step_count(), saved_step);
    for (const auto& grid : comm::factorizations(group().size())) {
      SCOPED_TRACE("from " + first_grid.name() + " to " + grid.name());
      auto all = restart.earlier_steps;
      const auto rest = GridRun(problem, grid).rest(restart);
      all.insert(all.end(), rest.begin(), rest.end());
      EXPECT_EQ(all.size(), steps.size());
      for (size_t k = 0; k < all.size(); ++k) {
        if (grid == first_grid) {
          EXPECT_TRUE(test::same_bits(all[k].zeta, steps[k].zeta)) << k;
          EXPECT_TRUE(test::same_bits(all[k].residual_norm, steps[k].residual_norm)) << k;
        } else {
          // Class S is verified within 1e-10; other orders of sums differ by rounding only.
          EXPECT_NEAR(all[k].zeta, steps[k].zeta, 1e-12 * std::abs(steps[k].zeta)) << k;
        }
      }
      EXPECT_TRUE(meets_reference(problem, all.back().zeta));
    }
  }
}

TEST(RunCheckpoints, AreRefusedForAnotherProblem) {
  const auto& problem = *find_class("S");
  const CommonFolder folder;
  static_cast<void>(GridRun(problem, {group().size(), 1}).whole(folder.path()));
  auto other = problem;
  const auto error_for = [&](const Problem& asked) {
    return test::error_of(ExitCode::bad_data, [&] {
      static_cast<void>(restart_facts(newest_checkpoint(folder.path(), group()), asked));
    });
  };
  other.shift += 1.0;
  const std::string expected = folder.path() +
                               ": found a checkpoint of another problem (n 1400, nonzer 7, shift 10, niter "
                               "15), expected class S (n 1400, "
                               "nonzer 7, shift 11, niter 15)";
  EXPECT_EQ(error_for(other), expected);
  other = problem;
  other.niter = 16;
  EXPECT_NE(error_for(other), "no error");
  EXPECT_NE(error_for(*find_class("W")), "no error");
  EXPECT_EQ(error_for(problem), "no error");
}

/// Or where some rank asked to stop. The last good state is what a run that became NaN goes on from.
TEST(RunCheckpoints, AreWrittenWhenTheIntervalIsOverAndAllIsFinite) {
  const auto& problem = *find_class("S");
  GridRun run(problem, {1, group().size()});
  for (const double interval_s : {3600.0, 0.0}) {
    const CommonFolder folder;
    Checkpoints saver({.folder = folder.path(), .interval_s = interval_s}, "run", group());
    RunCheckpoints checkpoints(problem, run.solver(), run.range(), {}, saver);
    EXPECT_EQ(saver.facts().interval_s, interval_s);
    run.solver().reset();
    checkpoints.after_outer_step(1, run.solver().outer_step());
    EXPECT_EQ(saver.facts().count, interval_s > 0.0 ? 0 : 1) << "the hour is not over";
    auto stopped = run.solver().outer_step();
    stopped.stop_asked = true;
    auto broken = stopped;
    broken.zeta = std::nan("");
    checkpoints.after_outer_step(2, interval_s > 0.0 ? stopped : broken);
    EXPECT_EQ(saver.facts().count, 1);
    EXPECT_EQ(saver.last_generation(), 1);
    EXPECT_GT(saver.facts().total_s, 0.0);
    EXPECT_EQ(restart_facts(newest_checkpoint(folder.path(), group()), problem).step_count(),
              interval_s > 0.0 ? 2 : 1);
    checkpoints.after_outer_step(problem.niter, stopped);
    EXPECT_EQ(saver.facts().count, 1) << "the last iteration has its report";
  }
}

TEST(RunCheckpoints, TakeYoungsIntervalByTheMeasuredCost) {
  const auto& problem = *find_class("S");
  const CommonFolder folder;
  GridRun run(problem, {group().size(), 1});
  Checkpoints saver({.folder = folder.path()}, "run", group());
  const RunCheckpoints checkpoints(problem, run.solver(), run.range(), {}, saver);
  const auto facts = saver.facts();
  EXPECT_TRUE(facts.is_automatic);
  EXPECT_GT(facts.write_s, 0.0) << "the rehearsal";
  EXPECT_DOUBLE_EQ(facts.interval_s, young_interval_s(facts.write_s));
}

TEST(WithOption, ReplacesWhereverTheOptionStands) {
  const std::vector<std::string> bare{"cg2d", "run", "--class", "S"};
  const std::vector<std::string> expected{"cg2d", "run", "--class", "S", "--restart", "b"};
  EXPECT_EQ(with_option(bare, "--restart", "b"), expected);
  EXPECT_EQ(with_option({"cg2d", "run", "--restart", "a", "--class", "S"}, "--restart", "b"), expected);
  EXPECT_EQ(with_option({"cg2d", "run", "--restart=a", "--class", "S"}, "--restart", "b"), expected);
  EXPECT_EQ(with_option({"--restart"}, "--restart", "b"), (std::vector<std::string>{"--restart", "b"}));
}

TEST(HowToGoOn, NamesTheStateAndTheCommand) {
  const CheckpointOptions asked{.folder = "new", .restart = "old"};
  const std::string failure = "cannot write new: No space left on device";
  std::vector<std::string> command{"cg2d", "run", "--grid", "auto", "--checkpoint", "new"};
  EXPECT_EQ(how_to_go_on(asked, false, 0, "", command),
            "; no state is saved yet, so the same command begins anew");
  EXPECT_EQ(
      how_to_go_on(asked, false, 0, failure, command),
      "; its state is not saved: cannot write new: No space left on device; no state is saved yet, so the "
      "same command begins anew");
  EXPECT_EQ(
      how_to_go_on(asked, false, 4, failure, command),
      "; its state is not saved: cannot write new: No space left on device; start this with as many ranks "
      "to go on from the state before: cg2d run --grid auto --checkpoint new --restart new");
  command = with_option(with_option(command, "--grid", "3x2"), "--kernel", "sell");
  EXPECT_EQ(how_to_go_on(asked, false, 4, "", command),
            "; start this with as many ranks to go on: cg2d run --checkpoint new --grid 3x2 --kernel sell "
            "--restart new");
}

TEST(HowToGoOn, BeginsWhereARestartedRunBeganUntilItHasSaved) {
  const CheckpointOptions asked{.folder = "new", .restart = "old"};
  const std::vector<std::string> command{"cg2d", "run", "--restart=old"};
  EXPECT_EQ(how_to_go_on(asked, true, 0, "", command),
            "; no state is saved yet; start this with as many ranks to go on from where it began: cg2d run "
            "--restart old");
  EXPECT_EQ(how_to_go_on(asked, true, 1, "", command),
            "; start this with as many ranks to go on: cg2d run --restart new");
}

}  // namespace
}  // namespace cg2d::run_checkpoints_test
