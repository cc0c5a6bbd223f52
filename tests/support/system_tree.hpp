#pragma once

// A made-up tree of the system's files.

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "cg/base/system_files.hpp"

namespace cg2d::test {

/// A folder that exists as long as the object.
class SystemTree {
 public:
  SystemTree() {
    auto path = (std::filesystem::temp_directory_path() / "cg2d-system-XXXXXX").string();
    root_ = mkdtemp(path.data());
  }
  ~SystemTree() {
    std::error_code error;
    std::filesystem::remove_all(root_, error);
  }
  SystemTree(const SystemTree&) = delete;
  SystemTree& operator=(const SystemTree&) = delete;

  /// path: "proc/stat", "sys/devices/...".
  void write(const std::string& path, const std::string& text) const {
    const auto file = root_ / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
  }
  [[nodiscard]] SystemFolders folders() const {
    return {.proc = (root_ / "proc").string(), .sys = (root_ / "sys").string()};
  }

 private:
  std::filesystem::path root_;
};

}  // namespace cg2d::test
