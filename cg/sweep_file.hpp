#pragma once

// The file of a sweep: JSON Lines that grow by one run at a time, and survive a kill at any moment.

#include <string>
#include <string_view>
#include <vector>

#include "cg/result_file.hpp"

namespace cg2d {

/// Open for appending, and locked against a second sweep, for as long as it lives.
class SweepFile {
 public:
  /// Opens or makes the file and drops what a killed writer left of a line. With `fresh` it is emptied.
  /// Throws RunError: cannot_create, or usage for a file that is in use, or holds anything else than results.
  SweepFile(std::string path, bool fresh);
  ~SweepFile();
  SweepFile(const SweepFile&) = delete;
  SweepFile& operator=(const SweepFile&) = delete;
  SweepFile(SweepFile&&) = delete;
  SweepFile& operator=(SweepFile&&) = delete;

  /// What was there when it was opened, and what was appended since.
  [[nodiscard]] const std::vector<ResultRecord>& records() const { return records_; }
  /// Whether the end of the file was a part of a line.
  [[nodiscard]] bool was_cut() const { return was_cut_; }

  /// Throws InputError when a record comes from another maker than this one.
  void require_maker(const std::string& maker) const;
  /// One line with its end. It is on disk when this returns. Throws RunError (cannot_write).
  void append(std::string_view line);

 private:
  void open();
  /// From the file, and from its text.
  void drop_cut_line(std::string& text);

  std::string path_;
  int descriptor_ = -1;
  bool was_cut_ = false;
  std::vector<ResultRecord> records_;
};

}  // namespace cg2d
