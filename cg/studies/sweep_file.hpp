#pragma once

// The file of a sweep: JSON Lines that grow by one run at a time, and survive a kill at any moment.

#include <string>
#include <string_view>
#include <vector>

#include "cg/report/result_file.hpp"
#include "cg/studies/sweep_plan.hpp"

namespace cg2d {

/// A run object as one line, with the "sweep" key: what is in a sweep's file. run_json: of the report format
/// "json".
std::string sweep_line(std::string_view run_json, const SweepStep& step, int round_count, double duration_s);

/// Open for appending, and locked against a second sweep, for as long as it lives.
class SweepFile {
 public:
  /// Opens or makes the file and drops what a killed writer left of a line. With `fresh` it is emptied.
  /// Throws RunError: cannot_create, or usage for a file that is in use, or holds anything else than results
  /// of a sweep by this maker (see maker_of()). A file that is refused stays as it is.
  SweepFile(std::string path, bool fresh, const std::string& maker);
  ~SweepFile();
  SweepFile(const SweepFile&) = delete;
  SweepFile& operator=(const SweepFile&) = delete;
  SweepFile(SweepFile&&) = delete;
  SweepFile& operator=(SweepFile&&) = delete;

  /// What was there when it was opened, and what was appended since.
  [[nodiscard]] const std::vector<ResultRecord>& records() const { return records_; }
  /// Whether the end of the file was a part of a line.
  [[nodiscard]] bool was_cut() const { return was_cut_; }

  /// One line with its end. It is on disk when this returns. Throws RunError (cannot_write).
  void append(std::string_view line);

 private:
  void open();
  void require_maker(const std::string& maker) const;
  void drop_cut_line(std::string_view text);

  std::string path_;
  int descriptor_ = -1;
  bool was_cut_ = false;
  std::vector<ResultRecord> records_;
};

}  // namespace cg2d
