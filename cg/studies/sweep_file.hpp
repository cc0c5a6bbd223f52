#pragma once

// The file of a sweep: JSON Lines that grow by one run at a time, and survive a kill at any moment.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cg/base/storage/line_file.hpp"
#include "cg/report/result_reader.hpp"

namespace cg2d {

/// The result of a run as a sweep's file holds it: of run_document() or solve_document(), with the key "sweep".
nlohmann::ordered_json sweep_json(nlohmann::ordered_json run, SweptRun swept);

/// A file that is open for appending, and locked against a second sweep, during the object's life.
class SweepFile {
 public:
  /// Opens or makes the file and drops an incomplete last line, which a killed writer leaves. With `fresh` it
  /// is emptied. Throws RunError: cannot_create, or usage for a file that is in use, or holds anything but
  /// results of a sweep by this maker (see maker_of()). A file that is refused stays as it is.
  SweepFile(const std::string& path, bool fresh, const std::string& maker);

  /// The records that it had when it was opened, and those appended since.
  [[nodiscard]] const std::vector<ResultRecord>& records() const { return records_; }
  /// Whether the last line of the file was incomplete.
  [[nodiscard]] bool was_cut() const { return was_cut_; }

  /// The session that the file's records belong to; a new one where there is none yet.
  [[nodiscard]] const std::string& session() const { return session_; }
  /// The number of this sitting, from 1 on.
  [[nodiscard]] int sitting() const { return sitting_; }

  /// A line for a result of sweep_json(). It is on disk when this returns. Throws RunError (cannot_write).
  void append(const nlohmann::ordered_json& run);

 private:
  void require_maker(const std::string& maker) const;
  void begin_sitting();

  std::optional<LineFile> file_;
  bool was_cut_ = false;
  std::string session_;
  int sitting_ = 1;
  std::vector<ResultRecord> records_;
};

}  // namespace cg2d
