#pragma once

// A file that grows by one line at a time, and survives a kill at any moment. No MPI.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cg/base/storage/open_file.hpp"

namespace cg2d {

/// The number of bytes in whole lines: a writer that was killed leaves a part of the last one.
size_t complete_lines(std::string_view text);

/// The lines of a text, without their ends.
std::vector<std::string_view> lines_of(std::string_view text);

/// Open for appending, and locked against a second writer during its life. All of its text is in memory, too: a file that was
/// removed, replaced or cut off meanwhile is found at the next line, and written anew.
class LineFile {
 public:
  /// Opens or makes the file. writer: in the message about a second one, "another sweep". is_fresh: the file is emptied. Throws
  /// RunError: cannot_create; usage, with a whole message, for a file that is no regular one or in use.
  LineFile(std::string path, std::string_view writer, bool is_fresh);

  /// All that the file is to hold.
  const std::string& text() const { return text_; }
  /// Drops an incomplete last line of the text. Throws RunError (cannot_write).
  void drop_cut_line();

  /// Adds a line, without its end. Where the file takes it, it outlives this process when this returns; sync() tells.
  void append(std::string_view line);
  /// All lines are on disk, and the name leads to them, when this returns. Else it throws RunError (cannot_write), which says where
  /// all lines are: in the first other folder that takes them (see OutputFile), where further ones follow.
  void sync();
  /// Removes the file, if its name still leads to it.
  void remove() const;

 private:
  /// Returns what is in the file.
  std::string open(bool is_fresh);
  void write_rest();

  std::string path_;
  std::string writer_;
  Descriptor file_;
  std::string text_;
  size_t written_ = 0;  // bytes of the text that are in the file
};

}  // namespace cg2d
