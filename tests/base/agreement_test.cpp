// Agreement of all ranks on the errors of some, and on the room for their files.

#include "cg/base/agreement.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <new>
#include <stdexcept>
#include <string>

#include "cg/base/output_file.hpp"
#include "cg/base/storage/folders.hpp"
#include "support/error_of.hpp"
#include "support/mpi_test.hpp"

namespace cg2d::agreement_test {
namespace {

using test::group;

struct Outcome {
  int code = 0;
  std::string text;
};

/// The error that reach() throws on this rank.
Outcome outcome_of(Agreement& agreement) {
  try {
    agreement.reach();
  } catch (const RunError& error) {
    return {.code = static_cast<int>(error.code()), .text = error.what()};
  }
  return {};
}

TEST(AgreementTest, ADefectInTheTextOfAResultEndsEveryRankAlike) {
  const auto file = open_output("/dev/null", group());
  Outcome outcome;
  try {
    write_output(file.get(), group(), []() -> std::string { throw std::out_of_range("no such column"); });
  } catch (const RunError& error) {
    outcome = {.code = static_cast<int>(error.code()), .text = error.what()};
  }
  EXPECT_EQ(outcome.code, 70);
  EXPECT_NE(outcome.text.find("cannot be written as text: no such column"), std::string::npos)
      << outcome.text;
}

TEST(AgreementTest, OneRanksFailureIsThrownOnEveryRank) {
  for (int failing = 0; failing < group().size(); ++failing) {
    Agreement agreement(group());
    agreement.attempt([&] {
      if (group().rank() == failing)
        throw RunError(ExitCode::cannot_write, "disk of rank " + std::to_string(failing));
    });
    const auto outcome = outcome_of(agreement);
    EXPECT_EQ(outcome.code, 74);
    EXPECT_EQ(outcome.text, "disk of rank " + std::to_string(failing));
  }
}

TEST(AgreementTest, OfSeveralFailuresTheLowestRanksIsThrown) {
  const int lowest = group().size() / 2;
  Agreement agreement(group());
  agreement.attempt([&] {
    // Higher ranks fail with a larger code, which must not be mixed with the lowest one's text.
    if (group().rank() == lowest) throw InputError("the lowest");
    if (group().rank() > lowest) throw RunError(ExitCode::not_finite, "a higher one");
  });
  const auto outcome = outcome_of(agreement);
  EXPECT_EQ(outcome.code, 64);
  EXPECT_EQ(outcome.text, "the lowest");
}

TEST(AgreementTest, StepsBehindAFailureAreNotRunAndItsTextIsKept) {
  const int last = group().size() - 1;
  Agreement agreement(group());
  bool ran_on = false;
  agreement.attempt([&] {
    if (group().rank() == last) throw RunError(ExitCode::cannot_create, "first");
  });
  agreement.attempt([&] {
    ran_on = true;
    throw RunError(ExitCode::not_finite, "second");
  });
  EXPECT_EQ(ran_on, group().rank() != last);
  const auto outcome = outcome_of(agreement);
  // With one rank the first failure is the only one; else rank 0 fails in the second step, and is lower.
  EXPECT_EQ(outcome.text, last == 0 ? "first" : "second");
}

TEST(AgreementTest, OutOfMemoryBecomesItsExitCodeAndNamesTheRank) {
  const int last = group().size() - 1;
  Agreement agreement(group());
  agreement.attempt([&] {
    if (group().rank() == last) throw std::bad_alloc();
  });
  const auto outcome = outcome_of(agreement);
  EXPECT_EQ(outcome.code, 71);
  EXPECT_NE(outcome.text.find("rank " + std::to_string(last)), std::string::npos) << outcome.text;
}

TEST(AgreementTest, ADefectIsNotHidden) {
  Agreement agreement(group());
  EXPECT_THROW(agreement.attempt([] { throw std::logic_error("a defect"); }), std::logic_error);
  EXPECT_EQ(outcome_of(agreement).code, 0);
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
