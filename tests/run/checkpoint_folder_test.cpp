// Checkpoints: one file, written and read again, and every damage to it; and those of several ranks: read by any number of ranks, the newest
// intact one, two generations.

#include "cg/run/checkpoint/checkpoint_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "cg/run/benchmark_run.hpp"
#include "support/common_folder.hpp"
#include "support/error_of.hpp"
#include "support/mpi_test.hpp"
#include "support/solver_run.hpp"
#include "support/temporary_folder.hpp"

namespace cg2d::checkpoint_folder_test {
namespace {

using test::common_error_of;
using test::CommonFolder;
using test::group;

// ---------------------------------------------------------------- one file

constexpr CheckpointName file_name{.generation = 7, .rank = 1, .rank_count = 3};
const std::string file_state = "{\"number\": 15}";
const std::vector<double> first_vector{1.0, 2.0, 3.0, 4.0};
const std::vector<double> second_vector{-1.0, -2.0, -3.0, -4.0};

CheckpointHeader header_of_the_file() {
  CheckpointHeader header;
  header.kind = CheckpointKind::solve;
  header.matrix_hash = 42;
  header.order = 20;
  header.step = 5;
  header.range = {.begin = 10, .end = 14};
  return header;
}

void write_file(const test::TemporaryFolder& folder) {
  write_checkpoint_file(
      folder.path(), file_name,
      {.header = header_of_the_file(), .text = file_state, .vectors = {first_vector, second_vector}});
}

std::string bytes_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The reason why a file with these bytes is refused; empty: it is taken.
std::string reason_against(const test::TemporaryFolder& folder, const std::string& bytes) {
  folder.write(file_name.text(), bytes);
  const auto error = test::error_of(ExitCode::bad_data, [&] {
    const CheckpointReader reader(folder.path(file_name.text()), file_name);
    reader.read({}, {});
    static_cast<void>(reader.state());
  });
  return error == "no error" ? "" : error;
}

/// A file is one rank's: more of them would do the same.
class CheckpointFile : public testing::Test {
 protected:
  void SetUp() override {
    if (group().size() > 1) GTEST_SKIP() << "the test on one rank does it";
  }
  test::TemporaryFolder folder;
};

TEST_F(CheckpointFile, ReturnsWhatWasWritten) {
  write_file(folder);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1)
      << "nothing beside the file";
  const CheckpointReader reader(folder.path(file_name.text()), file_name);
  EXPECT_EQ(reader.header().kind, CheckpointKind::solve);
  EXPECT_EQ(reader.header().step, 5);
  EXPECT_EQ(reader.header().matrix_hash, 42U);
  EXPECT_EQ(reader.state(), file_state);
  // Elements 12 ... 16 are wanted; the file has the first two of them.
  std::vector<double> first(5, 9.0);
  std::vector<double> second(5, 9.0);
  const std::array targets{std::span<double>(first), std::span<double>(second)};
  reader.read({12, 17}, targets);
  EXPECT_EQ(first, (std::vector{3.0, 4.0, 9.0, 9.0, 9.0}));
  EXPECT_EQ(second, (std::vector{-3.0, -4.0, 9.0, 9.0, 9.0}));
}

TEST_F(CheckpointFile, ReadsVectorsThatAreLongerThanItsBuffer) {
  std::vector<double> vector(200'001);
  for (size_t k = 0; k < vector.size(); ++k) vector[k] = std::sqrt(static_cast<double>(k));
  auto header = header_of_the_file();
  header.order = std::ssize(vector);
  header.range = {.begin = 0, .end = header.order};
  write_checkpoint_file(folder.path(), file_name,
                        {.header = header, .text = file_state, .vectors = {vector}});
  const CheckpointReader reader(folder.path(file_name.text()), file_name);
  std::vector<double> middle(100'000);
  const std::array targets{std::span<double>(middle)};
  reader.read({65'000, 165'000}, targets);
  EXPECT_TRUE(std::equal(middle.begin(), middle.end(), vector.begin() + 65'000));
}

TEST_F(CheckpointFile, RefusesEveryTruncationWithItsReason) {
  write_file(folder);
  const auto bytes = bytes_of_file(folder.path(file_name.text()));
  ASSERT_EQ(bytes.size(), sizeof(CheckpointHeader) + file_state.size() + 8 * (2 * 4));
  for (size_t size = 0; size < bytes.size(); ++size) {
    const auto reason = reason_against(folder, bytes.substr(0, size));
    EXPECT_NE(reason.find("found " + std::to_string(size) + " bytes, expected"), std::string::npos)
        << size << ": " << reason;
  }
  EXPECT_NE(reason_against(folder, bytes + '\0').find("bytes, expected"), std::string::npos)
      << "one byte more";
  EXPECT_EQ(reason_against(folder, bytes), "");
}

TEST_F(CheckpointFile, RefusesEveryFlippedBitWithItsReason) {
  write_file(folder);
  const auto bytes = bytes_of_file(folder.path(file_name.text()));
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    auto changed = bytes;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
    const auto reason = reason_against(folder, changed);
    const auto begin = folder.path(file_name.text()) + ": found ";
    EXPECT_EQ(reason.substr(0, begin.size()), begin) << "bit " << bit << ": " << reason;
    EXPECT_NE(reason.find(", expected "), std::string::npos) << "bit " << bit << ": " << reason;
    EXPECT_EQ(reason.find('\n'), std::string::npos);
  }
}

TEST_F(CheckpointFile, RefusesAFileUnderAnothersNameAndReplacesNone) {
  write_file(folder);
  const auto before = bytes_of_file(folder.path(file_name.text()));
  EXPECT_NE(test::error_of(ExitCode::cannot_write, [&] { write_file(folder); }), "no error");
  EXPECT_EQ(bytes_of_file(folder.path(file_name.text())), before);
  constexpr CheckpointName other{.generation = 8, .rank = 1, .rank_count = 3};
  std::filesystem::rename(folder.path(file_name.text()), folder.path(other.text()));
  const auto error = test::error_of(ExitCode::bad_data,
                                    [&] { const CheckpointReader reader(folder.path(other.text()), other); });
  EXPECT_NE(error.find("the content of " + file_name.text()), std::string::npos) << error;
}

TEST_F(CheckpointFile, ARehearsalLeavesNothing) {
  write_checkpoint_file(folder.path(), file_name, {.header = header_of_the_file(), .text = file_state},
                        false);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  EXPECT_THROW(write_checkpoint_file(folder.path("missing"), file_name, {}, false), RunError);
}

TEST(CheckpointName, IsReadAsItIsWritten) {
  EXPECT_EQ(file_name.text(), "00000007.1-of-3.checkpoint");
  EXPECT_EQ(checkpoint_name_from(file_name.text()), file_name);
  constexpr CheckpointName late{.generation = 1'234'567'890, .rank = 10, .rank_count = 11};
  EXPECT_EQ(checkpoint_name_from(late.text()), late);
  for (const std::string other :
       {"", "x", "7.1-of-3.checkpoint", "00000007.3-of-3.checkpoint", "00000007.-1-of-3.checkpoint",
        "00000007.1-of-3.checkpoints", "00000000.0-of-1.checkpoint", "00000007.01-of-3.checkpoint",
        "-of-.checkpoint", "00000007.1-of-.checkpoint", ".12-00000007.1-of-3.checkpoint",
        "00000007.1-of-99999999999.checkpoint", "-of-00000007.1.checkpoint"}) {
    EXPECT_FALSE(checkpoint_name_from(other)) << other;
  }
}

// sqrt(2 x 0.5 x 100) = 10, by hand; and the share of time that saving takes is sqrt(cost / (2 x failures)).
TEST(CheckpointInterval, IsYoungs) {
  EXPECT_DOUBLE_EQ(young_interval_s(0.5, 100.0), 10.0);
  EXPECT_NEAR(young_interval_s(0.034), 76.65, 0.01) << "a day between failures";
}

// ---------------------------------------------------------------- several ranks

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

TEST(Checkpoints, RefusesAFolderThatIsAnotherOnAnotherRank) {
  if (group().size() == 1) GTEST_SKIP() << "one rank sees one folder";
  const test::TemporaryFolder folder;  // of each rank
  EXPECT_NE(common_error_of(ExitCode::cannot_create,
                            [&] { const Checkpoints all(saved_to(folder.path()), "run", group()); })
                .find("sees another folder there than rank 0"),
            std::string::npos);
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
    auto refused = stopped;
    refused.is_refused = true;
    checkpoints.after_outer_step(3, refused);
    EXPECT_EQ(saver.facts().count, 1) << "an attempt that the guard refused is no state to go on from";
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
