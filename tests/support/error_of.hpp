#pragma once

// Errors that tests expect.

#include <gtest/gtest.h>

#include <string>

#include "cg/base/errors.hpp"

namespace cg2d::test {

/// The text of the RunError of a call; "no error" where it throws none.
template <typename Call>
std::string message_of(const Call& call) {
  try {
    call();
  } catch (const RunError& error) {
    return error.what();
  }
  return "no error";
}

/// The text of the RunError of a call, whose code is to be this; "no error" where it throws none.
template <typename Call>
std::string error_of(ExitCode code, const Call& call) {
  try {
    call();
  } catch (const RunError& error) {
    EXPECT_EQ(error.code(), code);
    return error.what();
  }
  return "no error";
}

}  // namespace cg2d::test
