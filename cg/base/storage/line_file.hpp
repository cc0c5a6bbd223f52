#pragma once

// A file that grows by one line at a time, and survives a kill at any moment. No MPI.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cg2d {

/// The number of bytes in whole lines: a writer that was killed leaves a part of the last one.
std::size_t complete_lines(std::string_view text);

/// The lines of a text, without their ends.
std::vector<std::string_view> lines_of(std::string_view text);

/// Open for appending, and locked against a second writer during its life.
class LineFile {
 public:
  /// Opens or makes the file. writer: in the message about a second one, "another sweep". Throws RunError (cannot_create), and
  /// InputError, without the name of the file, for one that is no regular file or in use.
  LineFile(std::string path, std::string_view writer);
  ~LineFile();
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;

  /// Empties the file. Throws RunError (cannot_write).
  void clear();
  /// All of the file. Throws InputError, without its name.
  [[nodiscard]] std::string text() const;
  /// Drops an incomplete last line of text(). True: there was one. Throws RunError (cannot_write).
  bool drop_cut_line(std::string_view text);

  /// Adds a line, without its end. It outlives this process when this returns, and the system after sync(). Throws RunError
  /// (cannot_write).
  void append(std::string line);
  /// All lines are on disk when this returns. Throws RunError (cannot_write).
  void sync();

 private:
  std::string path_;
  int descriptor_ = -1;
};

}  // namespace cg2d
