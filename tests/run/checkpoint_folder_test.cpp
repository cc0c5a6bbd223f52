// Checkpoints of several ranks: read by any number of ranks, the newest intact one, two generations.

#include "cg/run/checkpoint/checkpoint_folder.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "cg/run/benchmark_run.hpp"
#include "support/common_folder.hpp"
#include "support/error_of.hpp"
#include "support/mpi_test.hpp"
#include "support/solver_run.hpp"

namespace cg2d::checkpoint_folder_test {
namespace {

using test::common_error_of;
using test::CommonFolder;
using test::group;

constexpr int64_t order = 23;

/// Two vectors, in ranges that differ in size, and are empty for one rank of five, or in even ones.
class Saved {
 public:
  Saved(comm::RankGroup& ranks, int64_t step, bool is_even = false)
      : step_(step), state_(std::to_string(step) + ", 0.5") {
    const auto cut = [&](int64_t rank) {
      return (is_even ? rank * ranks.size() : rank * rank) * order / ranks.size() / ranks.size();
    };
    range_ = {cut(ranks.rank()), cut(ranks.rank() + 1)};
    for (auto index = range_.begin; index < range_.end; ++index) {
      first_.push_back(element(0, index, step));
      second_.push_back(element(1, index, step));
    }
  }
  Saved(const Saved&) = delete;
  Saved& operator=(const Saved&) = delete;

  static double element(int vector, int64_t index, int64_t step) {
    return static_cast<double>(1000 * step + 100 * vector + index);
  }
  CheckpointState state() const {
    return {.header = {.kind = CheckpointKind::run,
                       .matrix_hash = 11,
                       .order = order,
                       .step = step_,
                       .range = range_},
            .text = state_,
            .vectors = {first_, second_}};
  }

 private:
  int64_t step_;
  comm::IndexRange range_;
  std::string state_;
  std::vector<double> first_;
  std::vector<double> second_;
};

/// Checkpoints that go on from the folder that they are saved to, or that are the first ones in it.
CheckpointOptions saved_to(const std::string& folder, bool goes_on = false) {
  return {.folder = folder, .restart = goes_on ? folder : ""};
}

std::string path_of(const CommonFolder& folder, int64_t generation, int rank, int rank_count) {
  return folder.path() + "/" + CheckpointName{generation, rank, rank_count}.text();
}

/// Whether this rank finds the vectors of a step in any range.
void expect_step(const FoundCheckpoint& found, int64_t step) {
  EXPECT_EQ(found.header().step, step);
  EXPECT_EQ(found.state, std::to_string(step) + ", 0.5");
  const int64_t size = group().size();
  const comm::IndexRange range{order * group().rank() / size, order * (group().rank() + 1) / size};
  std::vector<double> first(static_cast<size_t>(range.size()));
  std::vector<double> second(first.size());
  const std::array targets{std::span<double>(first), std::span<double>(second)};
  read_vectors(found, range, targets, group());
  for (auto index = range.begin; index < range.end; ++index) {
    const auto k = static_cast<size_t>(index - range.begin);
    EXPECT_EQ(first[k], Saved::element(0, index, step)) << index;
    EXPECT_EQ(second[k], Saved::element(1, index, step)) << index;
  }
}

std::string error_of_finding(const std::string& path) {
  return common_error_of(ExitCode::bad_data, [&] { static_cast<void>(newest_checkpoint(path, group())); });
}

TEST(CheckpointFolder, IsReadByAnyNumberOfRanks) {
  for (int writers = 1; writers <= group().size(); ++writers) {
    SCOPED_TRACE(writers);
    const CommonFolder folder;
    if (group().rank() < writers) {
      auto first_ranks = group().first_ranks(writers);
      Checkpoints checkpoints(saved_to(folder.path()), "run", first_ranks);
      checkpoints.save(Saved(first_ranks, 3).state());
      const auto facts = checkpoints.facts();
      EXPECT_TRUE(facts.is_automatic);
      EXPECT_GT(facts.write_s, 0.0);
      EXPECT_DOUBLE_EQ(facts.interval_s, young_interval_s(facts.write_s));
    }
    group().barrier();
    const auto found = newest_checkpoint(folder.path(), group());
    EXPECT_EQ(found.generation, 1);
    EXPECT_EQ(std::ssize(found.headers), writers);
    EXPECT_TRUE(found.rejected.empty());
    expect_step(found, 3);
  }
}

TEST(CheckpointFolder, KeepsTwoGenerationsAndNothingElse) {
  const CommonFolder folder;
  Checkpoints writer(saved_to(folder.path()), "run", group());
  for (int64_t step = 1; step <= 5; ++step) writer.save(Saved(group(), step).state());
  EXPECT_EQ(writer.last_generation(), 5);
  std::set<std::string> expected;
  for (const int64_t generation : {4, 5}) {
    for (int rank = 0; rank < group().size(); ++rank)
      expected.insert(CheckpointName{generation, rank, group().size()}.text());
  }
  EXPECT_EQ(folder.names(), expected);
  expect_step(newest_checkpoint(folder.path(), group()), 5);
}

/// Both generations, and a change of one file of the newer one.
void expect_the_older_after(const std::function<void(const std::string& path)>& change,
                            const std::string& reason) {
  const CommonFolder folder;
  {
    Checkpoints writer(saved_to(folder.path()), "run", group());
    writer.save(Saved(group(), 1).state());
    writer.save(Saved(group(), 2).state());
  }
  folder.on_one_rank([&] { change(path_of(folder, 2, group().size() - 1, group().size())); });
  const auto found = newest_checkpoint(folder.path(), group());
  EXPECT_EQ(found.generation, 1);
  EXPECT_EQ(found.rejected.size(), 1U);
  EXPECT_NE(found.rejected.front().find(reason), std::string::npos) << found.rejected.front();
  EXPECT_EQ(found.rejected.front().substr(0, 14), "generation 2: ");
  expect_step(found, 1);

  // The damaged one goes, the one that is gone on from stays, and no number is used twice.
  Checkpoints next(saved_to(folder.path(), true), "run", group());
  next.save(Saved(group(), 2).state());
  std::set<std::string> generations;
  for (const auto& name : folder.names()) generations.insert(name.substr(0, 8));
  EXPECT_EQ(generations, (std::set<std::string>{"00000001", "00000003"}));
}

TEST(CheckpointFolder, TakesTheOlderGenerationAfterAnyDamage) {
  if (group().size() > 1)
    expect_the_older_after([](const std::string& path) { std::filesystem::remove(path); }, "files");
  expect_the_older_after([](const std::string& path) { std::filesystem::resize_file(path, 0); },
                         "found 0 bytes, expected a header of 104");
  expect_the_older_after([](const std::string& path) { std::filesystem::resize_file(path, 110); },
                         "found 110 bytes, expected the ");
}

TEST(CheckpointFolder, RejectsFilesOfDifferentStates) {
  if (group().size() == 1) GTEST_SKIP() << "one file agrees with itself";
  for (const bool pieces_overlap : {false, true}) {
    const CommonFolder folder;
    const CommonFolder other;
    Checkpoints writer(saved_to(folder.path()), "run", group());
    Checkpoints other_writer(saved_to(other.path()), "run", group());
    writer.save(Saved(group(), 1).state());
    other_writer.save(Saved(group(), pieces_overlap ? 1 : 2, pieces_overlap).state());
    folder.on_one_rank([&] {
      std::filesystem::copy_file(path_of(other, 1, 0, group().size()), path_of(folder, 1, 0, group().size()),
                                 std::filesystem::copy_options::overwrite_existing);
    });
    const auto error = error_of_finding(folder.path());
    const auto* const reason =
        pieces_overlap ? "do not cut the vectors into pieces" : "not of the same state";
    EXPECT_NE(error.find(reason), std::string::npos) << error;
  }
}

TEST(CheckpointFolder, SaysWhyThereIsNone) {
  const CommonFolder folder;
  for (const auto* const empty : {"", "/missing"})
    EXPECT_NE(error_of_finding(folder.path() + empty).find("found no checkpoint, expected"),
              std::string::npos);
  folder.write("file", "x");
  EXPECT_NE(error_of_finding(folder.path() + "/file").find("cannot be read as a folder: "),
            std::string::npos);
  folder.write(CheckpointName{4, 0, group().size()}.text(), "x");
  const auto error = error_of_finding(folder.path());
  EXPECT_NE(error.find("found no intact checkpoint (generation 4: "), std::string::npos) << error;
  EXPECT_EQ(error.find('\n'), std::string::npos);
}

TEST(Checkpoints, RefusesAFolderThatHasACheckpointOfItsOwn) {
  const CommonFolder folder;
  Checkpoints(saved_to(folder.path()), "run", group()).save(Saved(group(), 1).state());
  const auto error =
      common_error_of(ExitCode::usage, [&] { Checkpoints(saved_to(folder.path()), "run", group()); });
  EXPECT_NE(error.find("has a checkpoint already (generation 1)"), std::string::npos) << error;
  EXPECT_FALSE(has_no_checkpoint(folder.path(), group()));
}

TEST(Checkpoints, BeginsAnewWhereTheFirstCheckpointWasNotFinished) {
  const CommonFolder folder;
  EXPECT_TRUE(has_no_checkpoint(folder.path(), group()));
  folder.write(CheckpointName{1, 0, group().size() + 1}.text(), "x");
  EXPECT_TRUE(has_no_checkpoint(folder.path(), group()));
  Checkpoints writer(saved_to(folder.path()), "run", group());
  writer.save(Saved(group(), 1).state());
  EXPECT_EQ(writer.last_generation(), 2);
  EXPECT_EQ(std::ssize(folder.names()), group().size()) << "the rest of the first one is gone";
}

TEST(Checkpoints, RemovesWhatAKilledRunLeftUnderTemporaryNames) {
  const CommonFolder folder;
  folder.write(CheckpointName{3, 0, 1}.text() + ".77-0", "x");
  folder.write(".77-other", "x");
  const Checkpoints claim(saved_to(folder.path()), "run", group());
  EXPECT_EQ(folder.names(), (std::set<std::string>{".77-other"}));
}

TEST(Checkpoints, SaysThatAFolderCannotBeWritten) {
  const CommonFolder folder;
  folder.write("file", "x");
  for (const auto* const path : {"/file", "/missing/state"}) {
    const auto error = common_error_of(ExitCode::cannot_create,
                                       [&] { Checkpoints(saved_to(folder.path() + path), "run", group()); });
    EXPECT_EQ(error.find("cannot create the folder " + folder.path() + path + ": "), 0U) << error;
  }
}

TEST(Checkpoints, LeavesEarlierGenerationsWhereOneRankCannotWrite) {
  const CommonFolder folder;
  Checkpoints writer(saved_to(folder.path()), "run", group());
  writer.save(Saved(group(), 1).state());
  // The name of the last rank's next file is taken.
  const auto taken = path_of(folder, 2, group().size() - 1, group().size());
  folder.on_one_rank([&] { std::ofstream(taken) << "x"; });
  writer.save(Saved(group(), 2).state());
  const auto error = writer.facts().failure;
  for (const auto& other : group().gather_all(error)) EXPECT_EQ(other, error);
  EXPECT_NE(error.find("cannot write " + taken), std::string::npos) << error;
  EXPECT_EQ(writer.facts().count, 1);
  EXPECT_EQ(writer.last_generation(), 1);
  EXPECT_EQ(std::ssize(folder.names()), group().size() + 1) << "what the others wrote is gone";
  expect_step(newest_checkpoint(folder.path(), group()), 1);
  writer.save(Saved(group(), 3).state());
  EXPECT_EQ(writer.facts().failure, "");
  expect_step(newest_checkpoint(folder.path(), group()), 3);
  EXPECT_EQ(std::ssize(folder.names()), 2 * group().size());
}

/// They are also written where some rank asked to stop. A run that became NaN goes on from the last good state. (Whole runs: checkpoint_test.py.)
TEST(RunCheckpoints, AreWrittenWhenTheIntervalIsOverAndAllIsFinite) {
  const auto& problem = *find_class("S");
  const auto layout = comm::BlockLayout::even(problem.n, {1, group().size()});
  const auto range = layout.own_piece(group().rank());
  const auto matrix =
      test::assembled(default_source().make(problem)->build(layout, group(), 1).block, layout, {});
  NpbIteration solver(*matrix, problem.shift);
  for (const double interval_s : {3600.0, 0.0}) {
    const CommonFolder folder;
    Checkpoints saver({.folder = folder.path(), .interval_s = interval_s}, "run", group());
    RunCheckpoints checkpoints(problem, solver, range, {}, saver);
    EXPECT_EQ(saver.facts().interval_s, interval_s);
    solver.reset();
    checkpoints.after_outer_step(1, solver.outer_step());
    EXPECT_EQ(saver.facts().count, interval_s > 0.0 ? 0 : 1) << "the hour is not over";
    auto stopped = solver.outer_step();
    stopped.stop_asked = true;
    auto broken = stopped;
    broken.zeta = std::nan("");
    checkpoints.after_outer_step(2, interval_s > 0.0 ? stopped : broken);
    EXPECT_EQ(saver.facts().count, 1);
    EXPECT_EQ(saver.last_generation(), 1);
    EXPECT_GT(saver.facts().total_s, 0.0);
    checkpoints.after_outer_step(problem.niter, stopped);
    EXPECT_EQ(saver.facts().count, 1) << "the last iteration has its report";

    const auto found = newest_checkpoint(folder.path(), group());
    EXPECT_EQ(restart_facts(found, problem).step_count(), interval_s > 0.0 ? 2 : 1);
    auto other = problem;
    other.shift -= 1.0;
    const auto error_for = [&](const Problem& asked) {
      return test::error_of(ExitCode::bad_data, [&] { static_cast<void>(restart_facts(found, asked)); });
    };
    EXPECT_EQ(error_for(other),
              folder.path() +
                  ": found a checkpoint of another problem (n 1400, nonzer 7, shift 10, niter 15), expected "
                  "class S (n 1400, nonzer 7, shift 9, niter 15)");
    other = problem;
    other.niter = 16;
    EXPECT_NE(error_for(other), "no error");
  }
}

TEST(HowToGoOn, NamesTheStateAndTheCommandWithOptionsReplacedWhereverTheyStand) {
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
      "to go on: cg2d run --grid auto --checkpoint new --restart new");
  command = with_option(with_option(command, "--grid", "3x2"), "--kernel", "sell");
  EXPECT_EQ(how_to_go_on(asked, false, 4, "", command),
            "; start this with as many ranks to go on: cg2d run --checkpoint new --grid 3x2 --kernel sell "
            "--restart new");
}

TEST(HowToGoOn, BeginsWhereARestartedRunBeganUntilItHasSaved) {
  const CheckpointOptions asked{.folder = "new", .restart = "old"};
  const std::vector<std::string> command{"cg2d", "run", "--restart", "older", "--restart=old"};
  EXPECT_EQ(how_to_go_on(asked, true, 0, "", command),
            "; no state is saved yet; start this with as many ranks to go on: cg2d run "
            "--restart old");
  EXPECT_EQ(how_to_go_on(asked, true, 1, "", command),
            "; start this with as many ranks to go on: cg2d run --restart new");
}

}  // namespace
}  // namespace cg2d::checkpoint_folder_test
