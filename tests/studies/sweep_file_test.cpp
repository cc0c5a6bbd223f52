// Reading the file of a sweep: whole lines, lines that were cut off, and invalid content.

#include "cg/studies/sweep.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cg/base/describe_json.hpp"
#include "cg/base/errors.hpp"
#include "cg/base/sample.hpp"
#include "cg/machine/environment.hpp"
#include "cg/report/report.hpp"
#include "support/error_of.hpp"
#include "support/result_records.hpp"
#include "support/temporary_folder.hpp"

namespace cg2d::sweep_file_test {
namespace {

using test::expect_in;
using test::line_of;
using test::sweep_json_of;
using test::sweep_line;

/// The lines here do not name the program that made them.
const std::string maker = "this program and machine";

class SweepFileTest : public testing::Test {
 protected:
  void put(const std::string& text) const { std::ofstream(path_) << text; }
  std::string text() const {
    std::ostringstream all;
    all << std::ifstream(path_).rdbuf();
    return all.str();
  }
  /// The error message of opening the file.
  std::string complaint() const {
    return test::message_of([&] { const StudyFile file(path_, false, maker); });
  }

  test::TemporaryFolder folder_;
  std::string path_ = folder_.path("sweep.jsonl");
};

TEST_F(SweepFileTest, KeepsWhatIsAppended) {
  {
    StudyFile file(path_, false, maker);
    EXPECT_TRUE(file.records().empty());
    file.append(sweep_json_of(1, 2, 1));
    file.append(sweep_json_of(2, 1, 1));
    EXPECT_EQ(file.records().size(), 2U);
  }
  EXPECT_EQ(text(), line_of(1, 2, 1) + line_of(2, 1, 1));
  const StudyFile again(path_, false, maker);
  ASSERT_EQ(again.records().size(), 2U);
  const auto& record = again.records()[1];
  EXPECT_EQ(record.asked, test::asked_on(2, 1));
  EXPECT_EQ(record.status, "not-enough-memory");
  EXPECT_EQ(record.duration_s, 0.25);
}

/// At once, not only when the file is read anew.
TEST_F(SweepFileTest, ALaterAttemptReplacesAnEarlierOne) {
  StudyFile file(path_, false, maker);
  auto run = sweep_json_of(1, 2, 1);
  file.append(run);
  run["sweep"]["attempt"] = 2;
  file.append(run);
  run["sweep"]["attempt"] = 1;
  run["sweep"]["configuration"]["arrangement_open"] = true;  // of a scaling in the same file
  file.append(run);
  ASSERT_EQ(file.records().size(), 3U);
  EXPECT_TRUE(file.records()[0].is_replaced);
  EXPECT_FALSE(file.records()[1].is_replaced);
  EXPECT_FALSE(file.records()[2].is_replaced);
}

TEST_F(SweepFileTest, DropsALineThatWasCutOffAnywhere) {
  const auto first = line_of(1, 2, 1);
  const auto second = line_of(2, 1, 1);
  for (const size_t kept : {size_t{1}, second.size() / 2, second.size() - 1}) {
    put(first + second.substr(0, kept));
    {
      StudyFile file(path_, false, maker);
      EXPECT_EQ(file.records().size(), 1U);
      EXPECT_EQ(text(), first);
      file.append(sweep_json_of(2, 1, 1));
    }
    EXPECT_EQ(text(), first + second);
  }
  put(first.substr(0, 10));  // not even one line
  const StudyFile file(path_, false, maker);
  EXPECT_TRUE(file.records().empty());
  EXPECT_EQ(text(), "");
}

TEST_F(SweepFileTest, WhatIsNoSweepsFileOfThisMachineIsRefusedAndKept) {
  RunReport report;
  report.problem = *find_class("S");
  const auto run = write_report(report, "json");
  const auto compact = Json::parse(run).dump();
  const auto good = line_of(1, 2, 1);
  Environment other;
  other.mpi_version = other.blas = other.compiler = "another one";
  auto& node = other.nodes.emplace_back();
  node.name = "node 0";
  node.processor = "another one";
  node.core_count = node.rank_count = 1;
  other.ranks.emplace_back();
  auto foreign = sweep_json_of(1, 2, 1);
  foreign["environment"] = json_of(other);
  foreign["environment"]["waiting"] = "spin";
  foreign["environment"]["thread_binding"] = nullptr;
  const auto of_another = sweep_line(foreign);
  const std::string single = "result of a single run";
  const std::string beginning = path_ + ": ";
  for (const auto& [content, words] : std::vector<std::pair<std::string, std::string>>{
           {good + "nonsense\n" + good, "line 2"},
           {good + "{\"schema_version\": 1}\n" + good, "line 2"},
           {"notes", beginning},
           {"two\nlines\n", beginning},
           {"{\"a\": 1}", beginning},
           {good + compact, beginning},
           {run, single},
           {compact + "\n", single},
           {of_another + of_another.substr(0, 100), "another program or machine"}}) {
    put(content);
    expect_in(complaint(), path_);
    expect_in(complaint(), words);
    EXPECT_EQ(text(), content);
  }
  const StudyFile fresh(path_, true, maker);
  EXPECT_TRUE(fresh.records().empty());
  EXPECT_EQ(text(), "");
}

TEST_F(SweepFileTest, TwoSweepsDoNotShareAFile) {
  const StudyFile file(path_, false, maker);
  expect_in(complaint(), "another sweep or scaling is writing it");
}

TEST_F(SweepFileTest, AFileThatIsGoneOrCutMeanwhileIsWrittenAnew) {
  namespace fs = std::filesystem;
  const auto moved = folder_.path("moved");
  const std::vector<std::function<void()>> attacks{[&] { fs::remove(path_); },
                                                   [&] { fs::resize_file(path_, 100); },
                                                   [&] {
                                                     fs::copy(path_, moved);
                                                     fs::rename(moved, path_);
                                                   },
                                                   [&] {
                                                     fs::copy(path_, moved);
                                                     fs::remove(path_);
                                                     fs::create_symlink(moved, path_);
                                                   },
                                                   [&] {
                                                     fs::remove_all(folder_.path());
                                                     fs::create_directory(folder_.path());
                                                   }};
  for (const auto& attack : attacks) {
    fs::remove(moved);
    StudyFile file(path_, true, maker);
    for (int round = 1; round <= 3; ++round) {
      file.append(sweep_json_of(1, 2, round));
      if (round == 2) attack();
    }
    EXPECT_EQ(text(), line_of(1, 2, 1) + line_of(1, 2, 2) + line_of(1, 2, 3)) << &attack - attacks.data();
  }
}

TEST_F(SweepFileTest, WhatIsNoFileIsRefused) {
  path_ = "/dev/null";
  expect_in(complaint(), "no regular file");
  path_ = folder_.path("missing/file");
  expect_in(complaint(), "No such file");
}

TEST(ResultReaderTest, EveryAxisOfARunIsRead) {
  RunReport report;
  report.problem = *find_class("S");
  report.is_resolved = true;
  report.configuration = {.grid = {.columns = 2, .rows = 1},
                          .kernel = "a kernel of another version",
                          .transport = "shared",
                          .sum_form = comm::SumForm::whole_block,
                          .thread_count = 3,
                          .overlaps = true,
                          .cut = "nonzeros",
                          .ranks_per_node = 2};
  auto run = json_of(RunDocument{.report = report});
  EXPECT_EQ(record_from(run).kernel_used, report.configuration.kernel);
  EXPECT_EQ(record_from(run).asked.configuration.kernel, "auto");
  run["configuration"]["tuning"]["kernel_by"] = "asked for";
  EXPECT_EQ(record_from(run).asked, (ConfiguredProblem{"S", report.configuration}));
  for (const auto& axis : configuration_axes()) {
    SCOPED_TRACE(axis.name);
    auto odd = run;
    odd["configuration"][std::string(axis.name)] = nullptr;
    if (axis.name != "kernel" && axis.name != "transport" && axis.name != "cut") {
      EXPECT_THROW(static_cast<void>(record_from(odd)), InputError);
    }
  }
  run["schema_version"] = 2;
  EXPECT_THROW(static_cast<void>(record_from(run)), InputError);
}

TEST(ResultReaderTest, ALastLineWithoutItsEndIsReadAndAFileThatIsNamedTwiceOnce) {
  auto text = line_of(1, 2, 1) + line_of(2, 1, 1);
  text.pop_back();
  EXPECT_EQ(parse_results(text).size(), 2U);
  const test::TemporaryFolder folder;
  folder.write("results", text);
  std::filesystem::create_symlink(folder.path("results"), folder.path("link"));
  EXPECT_EQ(read_all_results({folder.path("results"), folder.path("link")}).size(), 2U);
  text.pop_back();
  EXPECT_EQ(parse_results(text).size(), 1U);
}

TEST(ResultReaderTest, TheReportedRunHasTheMedianOfItsSampleAndLiesWithinTheQuartiles) {
  // One definition for the time of a run and for its quartiles: with two repetitions, too.
  for (int count = 1; count <= 12; ++count) {
    std::vector<double> times_s;
    for (int k = 0; k < count; ++k) times_s.push_back(1.0 + 0.125 * ((7 * k) % count));
    const auto sample = sample_of(times_s);
    EXPECT_EQ(median_run_of(times_s, std::identity()), sample.median) << count;
    EXPECT_LE(sample.minimum, sample.lower_quartile) << count;
    EXPECT_LE(sample.lower_quartile, sample.median) << count;
    EXPECT_LE(sample.median, sample.upper_quartile) << count;
    EXPECT_LE(sample.upper_quartile, sample.maximum) << count;
    EXPECT_EQ(sample.spread().has_value(), count > 1) << count;
  }
  // Sorted 1 2 4 8: the first is not exceeded by a quarter of them, the third by three quarters.
  const auto four = sample_of({8.0, 1.0, 4.0, 2.0});
  EXPECT_DOUBLE_EQ(four.lower_quartile, 1.0);
  EXPECT_DOUBLE_EQ(four.upper_quartile, 4.0);
  // Five values: the second and the fourth themselves.
  const auto five = sample_of({50.0, 10.0, 40.0, 20.0, 30.0});
  EXPECT_DOUBLE_EQ(five.lower_quartile, 20.0);
  EXPECT_DOUBLE_EQ(five.upper_quartile, 40.0);
}

}  // namespace
}  // namespace cg2d::sweep_file_test
