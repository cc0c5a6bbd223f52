#pragma once

// Errors and texts that tests expect.

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>

#include "cg/base/errors.hpp"

namespace cg2d::test {

/// With one space for each run of them: columns of tables are as wide as their cells.
inline std::string squeezed(std::string text) {
  const auto end = std::unique(text.begin(), text.end(),
                               [](char left, char right) { return left == ' ' && right == ' '; });
  text.erase(end, text.end());
  return text;
}

inline void expect_in(const std::string& text, const std::string& part) {
  EXPECT_NE(squeezed(text).find(squeezed(part)), std::string::npos) << "no \"" << part << "\" in\n" << text;
}

/// The text of the RunError of a call, whose code is to be this, if any is given; "no error" where it throws none.
template <typename Call>
std::string error_of(std::optional<ExitCode> code, const Call& call) {
  try {
    call();
  } catch (const RunError& error) {
    EXPECT_EQ(error.code(), code.value_or(error.code()));
    return error.what();
  }
  return "no error";
}
template <typename Call>
std::string message_of(const Call& call) {
  return test::error_of({}, call);
}
/// The call throws a RunError with this code and these words.
template <typename Call>
void expect_error(ExitCode code, const std::string& words, const Call& call) {
  test::expect_in(test::error_of(code, call), words);
}

}  // namespace cg2d::test
