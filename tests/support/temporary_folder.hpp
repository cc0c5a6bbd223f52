#pragma once

// Folders that tests write into; made-up trees of the system's files.

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "cg/base/system_files.hpp"

namespace cg2d::test {

/// A folder of its own, which exists as long as the object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    auto pattern = (std::filesystem::temp_directory_path() / "cg2d-test-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr)
      throw std::filesystem::filesystem_error("mkdtemp", pattern,
                                              std::error_code(errno, std::generic_category()));
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  /// A file or folder in it, such as "result.json" or "proc/stat".
  std::string path(const std::string& name) const { return path_ / name; }

  /// Makes the folders on the way to the file, too.
  void write(const std::string& name, const std::string& text) const {
    const std::filesystem::path file = path(name);
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
  }

 private:
  std::filesystem::path path_;
};

/// The files are written as "proc/stat", "sys/devices/...".
class SystemTree : public TemporaryFolder {
 public:
  SystemFolders folders() const { return {.proc = path("proc"), .sys = path("sys")}; }
};

}  // namespace cg2d::test
