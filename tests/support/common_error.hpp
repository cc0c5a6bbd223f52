#pragma once

// Errors that all ranks of a test must get.

#include <gtest/gtest.h>

#include <string>

#include "support/error_of.hpp"
#include "support/mpi_test.hpp"

namespace cg2d::test {

/// The text of the RunError of a collective call, the same on every rank; "no error" where it throws none.
template <typename Call>
std::string common_error_of(ExitCode code, const Call& call) {
  const auto text = error_of(code, call);
  for (const auto& other : group().gather_all(text)) EXPECT_EQ(other, text);
  return text;
}

}  // namespace cg2d::test
