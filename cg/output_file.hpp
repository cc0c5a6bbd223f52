#pragma once

// A file that is written whole or not at all.

#include <cstdio>
#include <string>
#include <string_view>

namespace cg2d {

/// Writes to a temporary file beside the target and renames it over the target in commit(); without commit()
/// nothing remains. A target that is no regular file (a pipe, a device) is written directly; an empty path is
/// standard output.
class OutputFile {
 public:
  /// Throws RunError (cannot_create) when the file can't be made, so that a run fails before its hours, not
  /// behind them.
  explicit OutputFile(std::string path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  OutputFile(OutputFile&&) = delete;
  OutputFile& operator=(OutputFile&&) = delete;

  /// Throws RunError (cannot_write).
  void write(std::string_view text);
  /// Everything is on disk and under its name, or RunError (cannot_write) is thrown.
  void commit();

 private:
  [[noreturn]] void fail() const;

  std::string path_;
  std::string temporary_path_;  // empty: written directly
  std::FILE* file_ = nullptr;
};

}  // namespace cg2d
