#pragma once

// Tests of a file that all ranks read.

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "support/mpi_test.hpp"

namespace cg2d::test {

/// The name of a file, the same on all ranks; what has it at the end is removed.
class SharedFileTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ = group().broadcast(testing::TempDir() + "cg2d_shared_" + std::to_string(getpid()));
  }
  void TearDown() override {
    group().barrier();
    if (group().rank() == 0) std::filesystem::remove_all(path_);
  }

  /// Collective.
  void write(const std::string& content) const {
    group().barrier();
    if (group().rank() == 0) std::ofstream(path_, std::ios::binary) << content;
    group().barrier();
  }

  std::string path_;
};

}  // namespace cg2d::test
