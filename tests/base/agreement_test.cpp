// Agreement of all ranks on the errors of some, and on the room for their files.

#include "cg/base/agreement.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <new>
#include <stdexcept>
#include <string>

#include "cg/base/output_file.hpp"
#include "cg/base/storage/unnamed_file.hpp"
#include "support/error_of.hpp"
#include "support/mpi_test.hpp"

namespace cg2d::agreement_test {
namespace {

using test::group;

/// The text of the RunError with this code that reach() throws on this rank.
std::string error_of(Agreement& agreement, ExitCode code) {
  return test::error_of(code, [&] { agreement.reach(); });
}

TEST(AgreementTest, ADefectInTheTextOfAResultEndsEveryRankAlike) {
  const auto file = open_output("/dev/null", group());
  test::expect_error(ExitCode::internal, "cannot be written as text: no such column", [&] {
    write_output(file.get(), group(), []() -> std::string { throw std::out_of_range("no such column"); });
  });
}

TEST(AgreementTest, TheLowestFailingRanksErrorIsThrownOnEveryRank) {
  for (int lowest = 0; lowest < group().size(); ++lowest) {
    Agreement agreement(group());
    agreement.attempt([&] {
      // Higher ranks fail with a larger code, which must not be mixed with the lowest one's text.
      if (group().rank() == lowest) throw InputError("rank {}", lowest);
      if (group().rank() > lowest) throw RunError(ExitCode::not_finite, "a higher one");
    });
    EXPECT_EQ(error_of(agreement, ExitCode::usage), "rank " + std::to_string(lowest));
  }
}

TEST(AgreementTest, StepsAfterAFailureAreNotRunAndItsTextIsKept) {
  const int last = group().size() - 1;
  Agreement agreement(group());
  bool ran_on = false;
  agreement.attempt([&] {
    if (group().rank() == last) throw RunError(ExitCode::cannot_create, "first");
  });
  agreement.attempt([&] {
    ran_on = true;
    throw RunError(ExitCode::cannot_create, "second");
  });
  EXPECT_EQ(ran_on, group().rank() != last);
  // With one rank the first failure is the only one; else rank 0 fails in the second step, and is lower.
  EXPECT_EQ(error_of(agreement, ExitCode::cannot_create), last == 0 ? "first" : "second");
}

TEST(AgreementTest, OutOfMemoryBecomesItsExitCodeAndNamesTheRank) {
  const int last = group().size() - 1;
  Agreement agreement(group());
  agreement.attempt([&] {
    if (group().rank() == last) throw std::bad_alloc();
  });
  test::expect_in(error_of(agreement, ExitCode::memory), "rank " + std::to_string(last));
}

TEST(AgreementTest, ADefectIsNotHidden) {
  Agreement agreement(group());
  EXPECT_THROW(agreement.attempt([] { throw std::logic_error("a defect"); }), std::logic_error);
  EXPECT_NO_THROW(agreement.reach());
}

TEST(RequireRoomTest, TheFilesOfAllRanksOfANodeMustFitTogether) {
  const auto folder = std::filesystem::temp_directory_path().string();
  // One of them has room there and two have not, whatever others write meanwhile.
  const auto byte_count = folder_room(folder).available_bytes / 10 * 7;
  const auto error_on = [&](int node) {
    return test::error_of(ExitCode::cannot_create,
                          [&] { require_room("--scratch", folder, byte_count, node, group()); });
  };
  EXPECT_EQ(error_on(group().rank()), "no error");
  const auto error = error_on(0);
  EXPECT_EQ(error.find("not enough room: ") != std::string::npos, group().size() > 1) << error;
}

}  // namespace
}  // namespace cg2d::agreement_test
