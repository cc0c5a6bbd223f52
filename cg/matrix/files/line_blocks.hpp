#pragma once

// The lines of a file that belong to one rank, in blocks of whole lines. No MPI.

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

#include "cg/matrix/files/byte_source.hpp"
#include "cg/matrix/files/market_text.hpp"

namespace cg2d {

/// Hands out the lines that begin in a range of the content, in blocks that end with a line feed. One that the
/// last line of the file lacks is added.
class LineBlocks {
 public:
  /// Longer lines are refused: the standard has at most 1024 bytes.
  static constexpr std::size_t most_line_bytes = std::size_t{1} << 16;

  /// The end of a range that goes to the end of the file.
  static constexpr std::int64_t end_of_file = std::numeric_limits<std::int64_t>::max();

  explicit LineBlocks(std::unique_ptr<ByteSource> source);

  /// From now on the lines that begin in [begin, end), which must lie after those handed out so far; in a stream (ByteSource::can_be_cut), 2 MiB
  /// after them, since next() reads ahead.
  void start(std::int64_t begin, std::int64_t end);
  /// The next block, valid until the next call; empty at the end of the range or of the file. Throws FileError,
  /// and TextFault for a line that is too long, whose offset is that in the file.
  std::string_view next();
  /// Calls visit(line, position) for the lines that are left, each without its end, until it returns false. Throws as next().
  template <typename Visit>
  void for_each_line(const Visit& visit) {
    for (auto block = next(); !block.empty(); block = next()) {
      for (std::size_t begin = 0; begin < block.size();) {
        const auto end = block.find('\n', begin);
        if (!visit(block.substr(begin, end - begin), offset_ + static_cast<std::int64_t>(begin))) return;
        begin = end + 1;
      }
    }
  }
  /// The position of the block that next() has returned.
  [[nodiscard]] std::int64_t offset() const { return offset_; }
  /// Whether the file has ended within the lines handed out so far.
  [[nodiscard]] bool at_end_of_file() const { return at_end_of_file_; }
  [[nodiscard]] const ByteSource& source() const { return *source_; }

 private:
  static constexpr std::size_t most_bytes = (std::size_t{1} << 20) + most_line_bytes;

  [[nodiscard]] std::string_view content() const { return {buffer_.get(), filled_}; }
  bool read_more();
  [[nodiscard]] std::size_t end_of_short_lines(std::size_t end) const;

  std::unique_ptr<ByteSource> source_;
  std::unique_ptr<char[]> buffer_;  // not zeroed: a small file touches few of its pages
  std::size_t filled_ = 0;          // bytes in the buffer
  std::size_t handed_out_ = 0;      // bytes of the buffer that the last next() handed out
  std::int64_t offset_ = 0;         // offset of the buffer's first byte in the content
  std::int64_t end_ = 0;
  bool at_end_of_file_ = false;
};

/// The header of a Matrix Market file, and where it ends.
struct LocatedHeader {
  MarketHeader header;
  std::int64_t line_count = 0;   ///< lines of the header
  std::int64_t body_offset = 0;  ///< offset of the first byte after the header
};
/// Reads it. Throws FileError.
LocatedHeader read_market_header(const std::string& path);

/// A line of a file, found by reading the file from its begin.
struct LocatedLine {
  std::int64_t number = 0;  ///< counted from 1
  bool is_surplus = false;  ///< not the line that was looked for, but the first one after the last allowed
};
/// The line at the offset or, if one comes before it, the first line with an entry after the `allowed_count` that
/// the header announces. Without either: the line after the last. Throws FileError.
LocatedLine locate_line(const std::string& path, std::int64_t offset, std::int64_t allowed_count);

}  // namespace cg2d
