#pragma once

// A folder or a file that all ranks of a test write into or read from, and errors that all of them must get.

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <set>
#include <string>

#include "support/error_of.hpp"
#include "support/mpi_test.hpp"
#include "support/temporary_folder.hpp"

namespace cg2d::test {

/// The temporary folder of rank 0 for all ranks, whose own ones stay empty. Making and removing it is collective.
class CommonFolder {
 public:
  CommonFolder() = default;
  ~CommonFolder() { group().barrier(); }
  CommonFolder(const CommonFolder&) = delete;
  CommonFolder& operator=(const CommonFolder&) = delete;

  const std::string& path() const { return path_; }
  /// On rank 0, between barriers.
  void on_one_rank(const std::function<void()>& work) const {
    group().barrier();
    if (group().rank() == 0) work();
    group().barrier();
  }
  void write(const std::string& name, const std::string& text) const {
    on_one_rank([&] { own_.write(name, text); });
  }
  /// Names of all files but locks, which are there as long as a writer is.
  std::set<std::string> names() const {
    group().barrier();
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      if (entry.path().extension() != ".lock") names.insert(entry.path().filename().string());
    }
    group().barrier();
    return names;
  }

 private:
  TemporaryFolder own_;
  std::string path_ = group().broadcast(own_.path().string());
};

/// Tests of a file that all ranks read: its name is the same on all of them.
class SharedFileTest : public testing::Test {
 protected:
  /// The folder may be entered by whatever user a test becomes.
  SharedFileTest() {
    using enum std::filesystem::perms;
    std::filesystem::permissions(folder_.path(), owner_all | group_exec | others_exec);
  }
  /// Collective.
  void write(const std::string& content) const { folder_.write("file", content); }

  CommonFolder folder_;
  std::string path_ = folder_.path() + "/file";
};

/// The text of the RunError of a collective call, the same on every rank; "no error" where it throws none.
template <typename Call>
std::string common_error_of(ExitCode code, const Call& call) {
  const auto text = error_of(code, call);
  for (const auto& other : group().gather_all(text)) EXPECT_EQ(other, text);
  return text;
}

}  // namespace cg2d::test
