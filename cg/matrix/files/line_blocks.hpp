#pragma once

// The bytes of a file, decompressed where it is a gzip or zstd file, its lines that belong to one rank, in blocks of whole lines, and the values in the
// lines of a file of vectors. No MPI.

#include <fmt/format.h>

#include <limits>
#include <memory>

#include "cg/base/storage/open_file.hpp"
#include "cg/base/values.hpp"
#include "cg/matrix/files/market_text.hpp"
#include "comm/block_layout.hpp"

namespace cg2d {

/// A regular file, open for reading, whose first bytes tell whether it is compressed, not the name. Local. Every operation throws FileError.
class ByteSource {
 public:
  class Stream;

  explicit ByteSource(const std::string& path);
  ~ByteSource();
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  /// Fills the bytes from the present position on; fewer only at the end of the file. Returns how many.
  size_t read(std::span<char> bytes);
  /// Goes forward to a position, at most to the end. Compressed bytes are decompressed and dropped.
  void skip_to(int64_t position);
  /// The place in the decompressed content, in bytes.
  int64_t position() const { return position_; }
  /// Bytes of the whole content; -1 where only reading it to the end would tell, as for compressed files.
  int64_t size() const { return stream_ ? -1 : file_.size(); }
  bool can_be_cut() const { return size() >= 0; }

 private:
  OpenFile file_;
  std::unique_ptr<Stream> stream_;  // nullptr: it is not compressed
  int64_t position_ = 0;
};

/// Hands out the lines that begin in a range of the content, in blocks that end with a line feed. One that the
/// last line of the file lacks is added.
class LineBlocks {
 public:
  /// Longer lines are refused: the standard has at most 1024 bytes.
  static constexpr size_t most_line_bytes = size_t{1} << 20;

  /// The end of a range that goes to the end of the file.
  static constexpr int64_t end_of_file = std::numeric_limits<int64_t>::max();

  /// All lines, unless start() is called.
  explicit LineBlocks(const std::string& path);

  /// From now on the lines that begin in [begin, end), which must lie after those handed out so far; in a stream (ByteSource::can_be_cut), 2 MiB
  /// after them, since next() reads ahead.
  void start(int64_t begin, int64_t end);
  /// The next block, valid until the next call; empty at the end of the range or of the file. Throws FileError,
  /// and TextFault for a line that is too long, whose offset is that in the file.
  std::string_view next();
  /// Calls visit(line, position) for the lines that are left, each without its end, until it returns false. Throws as next().
  template <typename Visit>
  void for_each_line(const Visit& visit) {
    for (auto block = next(); !block.empty(); block = next()) {
      for (size_t begin = 0; begin < block.size();) {
        const auto end = block.find('\n', begin);
        if (!visit(block.substr(begin, end - begin), offset_ + static_cast<int64_t>(begin))) return;
        begin = end + 1;
      }
    }
  }
  /// The position of the block that next() has returned.
  int64_t offset() const { return offset_; }
  /// Whether the file has ended within the lines handed out so far.
  bool at_end_of_file() const { return at_end_of_file_; }
  const ByteSource& source() const { return source_; }

 private:
  static constexpr size_t most_bytes = most_line_bytes + 1;  // with its end

  std::string_view content() const { return {buffer_.get(), filled_}; }
  bool read_more();

  ByteSource source_;
  std::unique_ptr<char[]> buffer_;  // not zeroed: a small file touches few of its pages
  size_t filled_ = 0;               // bytes in the buffer
  size_t handed_out_ = 0;           // bytes of the buffer that the last next() handed out
  int64_t offset_ = 0;              // offset of the buffer's first byte in the content
  int64_t end_ = end_of_file;
  bool at_end_of_file_ = false;
};

/// The header of a Matrix Market file, and where it ends.
struct LocatedHeader {
  MarketHeader header;
  int64_t line_count = 0;   ///< lines of the header
  int64_t body_offset = 0;  ///< offset of the first byte after the header
};
/// Reads it. Throws FileError.
LocatedHeader read_market_header(const std::string& path);

/// The number of the line at an offset, counted from 1; beyond the end: that of the line after the last. Cost: reads the file up to there.
/// Throws FileError.
int64_t line_number_at(const std::string& path, int64_t offset);

/// Goes through all lines of a file in array or coordinate form, and parses some: calls put(index, value) for each of the values `parsed`, of those
/// that the header announces, and for its mirror image in a symmetric file; the index counts the columns of the file one after the other. Returns the first
/// fault, whose offset() is the number of its line, counted from 1; a file with more or fewer lines than announced has one. Throws FileError.
template <typename Put>
std::optional<TextFault> parse_vector_lines(const std::string& path, const LocatedHeader& located,
                                            const comm::IndexRange& parsed, const Put& put) {
  const auto& header = located.header;
  const bool is_array = header.form == MarketForm::array;
  int64_t line_number = located.line_count + 1;  // number of the next line, whole or too long
  int64_t value_count = 0;
  // Place of the next value of an array: column by column, of a symmetric one from the diagonal on.
  MatrixEntry next;
  const auto take_value = [&](std::string_view line) {
    auto entry = next;
    if (is_array && value_count < header.line_count && ++next.row == header.row_count) {
      ++next.column;
      next.row = header.symmetry == MarketSymmetry::symmetric ? next.column : 0;
    }
    if (!parsed.contains(value_count++)) return;
    if (is_array) {
      entry.value = *parse_value_line(line, header);
    } else {
      entry = *parse_entry_line(line, header);
    }
    visit_images(entry, header.symmetry, [&](const MatrixEntry& image) {
      put(image.row + image.column * header.row_count, image.value);
    });
  };
  try {
    LineBlocks blocks(path);
    blocks.start(located.body_offset, LineBlocks::end_of_file);
    blocks.for_each_line([&](std::string_view line, int64_t /*position*/) {
      if (!is_blank_line(line)) take_value(line);
      ++line_number;
      return true;
    });
    if (value_count != header.line_count)
      throw TextFault(0, fmt::format("found the end of the file after {}, expected the {} that are announced",
                                     format_count(value_count, "value"), header.line_count));
  } catch (const TextFault& fault) {
    return TextFault(line_number, fault.what());
  }
  return std::nullopt;
}

}  // namespace cg2d
