// The main of all test programs. GoogleTest's own output comes from rank 0, failures from every rank, and all ranks end with one exit code.
//
//     [mpiexec -n N] solver_tests [--file NAME] [--launch NAME] [--set NAME] [--world N] [options of GoogleTest]
//
// Runs the rows of the program's table (test_rows.hpp) that are for at most N ranks, those for 1 first: the first ranks run the rows for
// so many, the others sleep. --file, --launch and --set take some rows; CG2D_TEST_MOST_RANKS lowers N.

#include <fnmatch.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "comm/mpi_handles.hpp"
#include "comm/rank_group.hpp"
#include "comm/waiter.hpp"
#include "support/mpi_test.hpp"
#include "support/test_extent.hpp"
#include "support/test_rows.hpp"

namespace cg2d::test {
namespace {

/// Where group() finds what run_on_ranks() owns: GoogleTest hands no arguments to tests.
comm::RankGroup*& shared_group() {
  static comm::RankGroup* group = nullptr;
  return group;
}

/// Prints the failures of a rank; its other output is silenced.
class FailurePrinter final : public testing::EmptyTestEventListener {
 public:
  explicit FailurePrinter(int rank) : rank_(rank) {}

  void OnTestStart(const testing::TestInfo& test) override {
    name_ = std::string(test.test_suite_name()) + "." + test.name();
  }
  void OnTestEnd(const testing::TestInfo& /*test*/) override { name_.clear(); }

  /// Called with GoogleTest's lock held: asking it for the current test would wait for ever.
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed()) return;
    // In one piece, so that the lines of several ranks do not mix.
    const std::string text = "[ rank " + std::to_string(rank_) + " ] " + name_ + "\n" +
                             (result.file_name() == nullptr ? "?" : result.file_name()) + ":" +
                             std::to_string(result.line_number()) + ": Failure\n" + result.message() + "\n";
    std::fputs(text.c_str(), stderr);
  }

 private:
  int rank_;
  std::string name_;  // name of the test that runs
};

void print_on_rank_0_only(int rank) {
  if (rank == 0) return;
  auto& listeners = testing::UnitTest::GetInstance()->listeners();
  delete listeners.Release(listeners.default_result_printer());
  listeners.Append(new FailurePrinter(rank));  // the listeners own it
}

/// Values by names.
using Options = std::map<std::string_view, std::string_view>;

/// Throws what says why for arguments that are none.
Options options_from(std::span<char* const> arguments) {
  Options options;
  for (size_t k = 0; k < arguments.size(); k += 2) {
    const std::string_view name = arguments[k];
    const std::set<std::string_view> names{"--launch", "--set", "--file", "--world"};
    if (!names.contains(name) || k + 1 == arguments.size())
      throw std::invalid_argument(std::string(name) +
                                  ": expected --launch, --set, --file or --world, and a value");
    options[name] = arguments[k + 1];
  }
  return options;
}

bool starts_alone(std::string_view launch) {
  return launch != "process" && launch != "threads" && launch != "ranks";
}

/// Rows with a start of their own run only where --launch or --file names them, on exactly their ranks; thorough ones where those, --set or the
/// extent does.
bool is_due(const TestRow& row, const Options& options, int world_size) {
  const auto allow = [&](std::string_view name, std::string_view value) {
    const auto asked = options.find(name);
    return asked == options.end() || asked->second == value;
  };
  if (!allow("--file", row.file) || !allow("--launch", row.launch) || !allow("--set", row.set)) return false;
  const bool is_named = options.contains("--launch") || options.contains("--file");
  if (starts_alone(row.launch) && (row.rank_count != world_size || !is_named)) return false;
  return options.contains("--set") || options.contains("--file") || row.set != "thorough" || is_thorough();
}

bool is_among(const std::string& name, const std::string& patterns) {
  std::istringstream list(patterns);
  for (std::string pattern; std::getline(list, pattern, ':');) {
    if (fnmatch(pattern.c_str(), name.c_str(), 0) == 0) return true;
  }
  return false;
}

/// A colon-separated list of patterns; those behind the first "-" are left out.
bool matches(const std::string& name, const std::string& patterns) {
  const auto taken = patterns.substr(0, patterns.find('-'));
  if (!taken.empty() && !is_among(name, taken)) return false;
  return taken.size() == patterns.size() || !is_among(name, patterns.substr(taken.size() + 1));
}

/// The tests of the files that the user's filter takes, as a filter; empty where there are none.
std::string filter_of(const std::set<std::string_view>& files, const std::string& users_filter) {
  std::string filter;
  const auto& all = *testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const auto& suite = *all.GetTestSuite(i);
    for (int k = 0; k < suite.total_test_count(); ++k) {
      const auto& test = *suite.GetTestInfo(k);
      const auto name = std::string(suite.name()) + "." + test.name();
      if (!files.contains(std::filesystem::path(test.file()).stem().string())) continue;
      if (matches(name, users_filter)) filter += (filter.empty() ? "" : ":") + name;
    }
  }
  return filter;
}

/// Ranks of tests share a host. What a test waits for in the group then takes microseconds, not the length of a nap.
bool has_core_per_rank(int rank_count) {
  cpu_set_t cores;
  return sched_getaffinity(0, sizeof cores, &cores) == 0 && rank_count <= CPU_COUNT(&cores);
}

/// On the first `rank_count` ranks, which alone call it. Returns GoogleTest's code.
int run_on_ranks(comm::RankGroup& world, int rank_count, const std::string& filter) {
  using enum comm::WaitMode;
  auto group = world.first_ranks(rank_count, has_core_per_rank(rank_count) ? spin : yield);
  shared_group() = &group;
  if (world.rank() == 0) std::printf("[ ranks    ] %d\n", rank_count);
  GTEST_FLAG_SET(filter, filter);
  const int code = RUN_ALL_TESTS();
  shared_group() = nullptr;
  return code;
}

int most_ranks(int world_size) {
  const char* const most = std::getenv("CG2D_TEST_MOST_RANKS");
  return most == nullptr ? world_size : std::min(world_size, std::atoi(most));
}

/// The largest code of all ranks.
int run_rows(comm::RankGroup& world, const Options& options) {
  const std::string users_filter = GTEST_FLAG_GET(filter);
  int worst = 0;
  int run_count = 0;
  for (int rank_count = 1; rank_count <= most_ranks(world.size()); ++rank_count) {
    std::set<std::string_view> files;
    for (const auto& row : test_rows()) {
      if (row.rank_count == rank_count && is_due(row, options, world.size())) files.insert(row.file);
    }
    const auto filter = filter_of(files, users_filter);
    if (filter.empty()) continue;
    const int code = world.rank() < rank_count ? run_on_ranks(world, rank_count, filter) : 0;
    const auto codes = world.gather_one(code);
    for (int rank = 0; rank < world.size(); ++rank) {
      const int theirs = codes[static_cast<size_t>(rank)];
      if (theirs != 0 && world.rank() == 0) std::printf("[  FAILED  ] on rank %d of %d\n", rank, rank_count);
      worst = std::max(worst, theirs);
    }
    ++run_count;
  }
  if (run_count == 0) {
    if (world.rank() == 0)
      std::printf("[  FAILED  ] no test for these options on at most %d ranks\n", world.size());
    return 1;
  }
  return worst;
}

}  // namespace

comm::RankGroup& group() { return *shared_group(); }

}  // namespace cg2d::test

int main(int argument_count, char** arguments) try {
  using namespace cg2d;
  testing::InitGoogleTest(&argument_count, arguments);
  const auto options =
      test::options_from(std::span(arguments, static_cast<size_t>(argument_count)).subspan(1));
  const comm::MpiSession session(argument_count, arguments);
  // An exception on one rank leaves the others waiting: it ends the process, and MPI's launcher ends the rest
  // at once.
  GTEST_FLAG_SET(catch_exceptions, false);
  comm::RankGroup world(MPI_COMM_WORLD, comm::WaitMode::sleep);
  const auto expected = options.find("--world");
  if (expected != options.end() && expected->second != std::to_string(world.size())) {
    // The launcher of another MPI starts single ranks that know nothing of each other, and every test would
    // pass.
    std::fprintf(stderr, "started for %s ranks, but MPI knows %d: is the launcher the right MPI's?\n",
                 std::string(expected->second).c_str(), world.size());
    return 1;
  }
  test::print_on_rank_0_only(world.rank());
  return test::run_rows(world, options);
} catch (const std::invalid_argument& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 64;
}
