// The main of all tests with MPI: GoogleTest's own output from rank 0, failures from every rank, one exit
// code for all.

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "comm/mpi_handles.hpp"
#include "comm/waiter.hpp"
#include "support/mpi_test.hpp"

namespace cg2d::test {
namespace {

/// Where group() finds what main owns: GoogleTest hands no arguments to tests.
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
  std::string name_;  // of the test that runs
};

void print_on_rank_0_only(int rank) {
  if (rank == 0) return;
  auto& listeners = testing::UnitTest::GetInstance()->listeners();
  delete listeners.Release(listeners.default_result_printer());
  listeners.Append(new FailurePrinter(rank));  // the listeners own it
}

/// Runs all tests; the largest exit code of all ranks.
int run_tests() {
  const auto codes = group().gather_all(std::to_string(RUN_ALL_TESTS()));
  int worst = 0;
  for (int rank = 0; rank < group().size(); ++rank) {
    const int code = std::stoi(codes[static_cast<std::size_t>(rank)]);
    if (code != 0 && group().rank() == 0) std::printf("[  FAILED  ] on rank %d\n", rank);
    worst = std::max(worst, code);
  }
  return worst;
}

/// Ranks of tests share a host. What a test waits for in the group then takes microseconds, not the length of a nap.
bool has_core_per_rank(int rank_count) {
  cpu_set_t cores;
  return sched_getaffinity(0, sizeof cores, &cores) == 0 && rank_count <= CPU_COUNT(&cores);
}

}  // namespace

comm::RankGroup& group() { return *shared_group(); }

}  // namespace cg2d::test

int main(int argument_count, char** arguments) {
  const cg2d::comm::MpiSession session(argument_count, arguments);
  testing::InitGoogleTest(&argument_count, arguments);
  // An exception on one rank leaves the others waiting: it ends the process, and MPI's launcher ends the rest
  // at once.
  GTEST_FLAG_SET(catch_exceptions, false);
  cg2d::comm::RankGroup group(MPI_COMM_WORLD);
  if (cg2d::test::has_core_per_rank(group.size())) group.waiter().set_mode(cg2d::comm::WaitMode::spin);
  if (argument_count > 1 && arguments[1] != std::to_string(group.size())) {
    // The launcher of another MPI starts single ranks that know nothing of each other, and every test would
    // pass.
    std::fprintf(stderr, "started for %s ranks, but MPI knows %d: is the launcher the right MPI's?\n",
                 arguments[1], group.size());
    return 1;
  }
  cg2d::test::shared_group() = &group;
  cg2d::test::print_on_rank_0_only(group.rank());
  return cg2d::test::run_tests();
}
