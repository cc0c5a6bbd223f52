#pragma once

// The Matrix Market exchange format: the text of its header and of its lines of entries and values, and its files, plain or compressed by gzip or
// zstd, in blocks of the lines that belong to one rank. No MPI. Source of the rules: Boisvert, Pozo, Remington: The Matrix Market Exchange Formats, NISTIR 5935
// (1996). Blank lines may stand anywhere after the first line, comments between the first line and the line of
// sizes; letters may be upper or lower case; numbers are separated by blanks; indices begin with 1. About entries
// that are there twice it says nothing: they are summed, as assembly needs it and as other readers do.

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>

#include "cg/base/storage/open_file.hpp"
#include "cg/base/values.hpp"
#include "comm/block_layout.hpp"

namespace cg2d {

/// A text that breaks the rules: what() is "found ..., expected ...".
class TextFault : public std::runtime_error {
 public:
  /// offset: of the first byte of the line at fault, counted from the begin of the text.
  TextFault(int64_t offset, const std::string& message) : std::runtime_error(message), offset_(offset) {}
  int64_t offset() const { return offset_; }

 private:
  int64_t offset_;
};

enum class MarketForm { coordinate, array };
enum class MarketField { real, integer, pattern };
enum class MarketSymmetry { general, symmetric };

struct MarketHeader {
  MarketForm form = MarketForm::coordinate;
  MarketField field = MarketField::real;
  MarketSymmetry symmetry = MarketSymmetry::general;
  int64_t row_count = 0;
  int64_t column_count = 0;
  /// Number of lines of entries or values, as announced; blank lines do not count. A symmetric array has the values on and below the
  /// diagonal, column by column.
  int64_t line_count = 0;
};

/// Larger orders have no 32-bit column numbers.
inline constexpr int64_t largest_order = 2'147'483'647;

/// Takes the header line by line.
struct MarketHeaderParser {
  MarketHeader header{};
  bool has_banner = false;

  /// Takes the next line, without its end. Returns true when the header is complete. Throws TextFault with
  /// offset 0.
  bool take(std::string_view line);
  /// The fault of a text that ends before its header does.
  TextFault end_fault() const;
};

/// An entry of a matrix, counted from 0.
struct MatrixEntry {
  int32_t row = 0;
  int32_t column = 0;
  double value = 0.0;
};

/// Calls visit(entry) for what a line stands for: its entry and, off the diagonal of a symmetric file, its mirror image.
template <typename Visit>
void visit_images(const MatrixEntry& entry, MarketSymmetry symmetry, Visit&& visit) {
  visit(entry);
  if (symmetry == MarketSymmetry::symmetric && entry.row != entry.column)
    visit(MatrixEntry{.row = entry.column, .column = entry.row, .value = entry.value});
}

inline bool is_blank_line(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

/// A text in a message: in quotes, shortened, with unprintable bytes as \x00.
std::string quoted(std::string_view text);

/// Parses one line of a body, which may be blank (empty result). Exact in its messages, and slow. Throws
/// TextFault with offset 0.
std::optional<MatrixEntry> parse_entry_line(std::string_view line, const MarketHeader& header);
std::optional<double> parse_value_line(std::string_view line, const MarketHeader& header);

/// Digits at the begin of a text: 8 at most.
struct DigitRun {
  uint64_t value = 0;
  unsigned length = 0;
};

/// The first digits of the text place ... end-1. Cost: about 2 ns, as long as 8 bytes are left: no branch depends on their number then, which
/// changes from line to line.
inline DigitRun digits_at(const char* place, const char* end) {
  if (std::endian::native == std::endian::little && end - place >= 8) {
    // The first letter in the lowest byte, each xor '0'. A sum that overflows spoils only letters after one that is no digit.
    uint64_t letters = 0;
    std::memcpy(&letters, place, sizeof(letters));
    letters ^= 0x3030303030303030U;
    const uint64_t others = ((letters + 0x7676767676767676U) | letters) & 0x8080808080808080U;
    const auto length = static_cast<unsigned>(std::countr_zero(others)) / 8;  // 64 zeros: 8 digits
    // Zeros take the place of digits before the first one. Two shifts, since one by 64 is undefined.
    const unsigned half = 32 - 4 * length;
    uint64_t digits = (letters << half) << half;
    // Neighbours are joined to pairs, to fours, and to all eight.
    digits = digits * 10 + (digits >> 8U);
    constexpr uint64_t pairs = 0x000000ff000000ffU;
    constexpr uint64_t first_and_third = 100 + (uint64_t{1'000'000} << 32U);
    constexpr uint64_t second_and_fourth = 1 + (uint64_t{10'000} << 32U);
    digits = ((digits & pairs) * first_and_third + ((digits >> 16U) & pairs) * second_and_fourth) >> 32U;
    return {.value = digits, .length = length};
  }
  DigitRun run;
  for (; run.length < 8 && place != end && *place >= '0' && *place <= '9'; ++place, ++run.length)
    run.value = run.value * 10 + static_cast<uint64_t>(*place - '0');
  return run;
}

namespace detail {

constexpr bool is_blank(char letter) { return letter == ' ' || letter == '\t'; }
constexpr bool is_end_of_word(char letter) { return is_blank(letter) || letter == '\r' || letter == '\n'; }

/// The number at `place`, which moves to its end; larger than any index where there is none or where only the
/// slow path can tell.
inline uint64_t index_at(const char*& place, const char* end) {
  const DigitRun run = digits_at(place, end);
  place += run.length;
  if (run.length < 8) return run.length == 0 ? UINT64_MAX : run.value;
  constexpr int most_further_digits = 2;
  uint64_t value = run.value;
  const char* const begin = place;
  for (; *place >= '0' && *place <= '9'; ++place) {
    if (place - begin == most_further_digits) return UINT64_MAX;
    value = value * 10 + static_cast<uint64_t>(*place - '0');
  }
  return value;
}

inline bool parse_value(const char*& place, const char* end, MarketField field, double& value) {
  if (field == MarketField::pattern) {
    value = 1.0;
    return true;
  }
  const bool is_negative = *place == '-';
  const char* const first = is_negative ? place + 1 : place;
  if (!(*first >= '0' && *first <= '9') && *first != '.') return false;  // "nan", "+1", nothing at all
  // Values of a few digits, as stencils have them, are whole numbers as a double has them. For all others the
  // standard library finds the nearest double: it has the algorithms of Clinger and of Eisel and Lemire.
  const DigitRun run = digits_at(first, end);
  if (run.length > 0 && run.length < 8 && is_end_of_word(first[run.length])) {
    const auto whole = static_cast<double>(static_cast<int64_t>(run.value));
    value = is_negative && (run.value != 0 || field == MarketField::real) ? -whole : whole;
    place = first + run.length;
    return true;
  }
  if (field == MarketField::integer) return false;
  const auto [after, error] = std::from_chars(place, end, value);
  place = after;
  return error == std::errc();
}

/// The usual line; false: left to parse_entry_line(). place moves to the begin of the next line.
inline bool parse_usual(const char*& place, const char* end, const MarketHeader& header, MatrixEntry& entry) {
  while (is_blank(*place)) ++place;
  const uint64_t row = index_at(place, end) - 1;
  if (row >= static_cast<uint64_t>(header.row_count) || !is_blank(*place)) return false;
  while (is_blank(*place)) ++place;
  const uint64_t column = index_at(place, end) - 1;
  if (column >= static_cast<uint64_t>(header.column_count)) return false;
  if (header.symmetry == MarketSymmetry::symmetric && column > row) return false;
  if (header.field != MarketField::pattern && !is_blank(*place)) return false;
  while (is_blank(*place)) ++place;
  if (!parse_value(place, end, header.field, entry.value)) return false;
  while (is_blank(*place)) ++place;
  if (*place == '\r') ++place;
  if (*place != '\n') return false;
  ++place;
  entry.row = static_cast<int32_t>(row);
  entry.column = static_cast<int32_t>(column);
  return true;
}

}  // namespace detail

/// Parses whole lines of entries of a matrix, each of which ends with a line feed, and calls visit(entry) for each entry. offset: that of the
/// lines in the text. Throws TextFault.
template <typename Visit>
void parse_entries(std::string_view lines, MarketHeader header, Visit&& visit, int64_t offset = 0) {
  const char* const begin = lines.data();
  const char* const end = begin + lines.size();
  for (const char* line = begin; line != end;) {
    const char* place = line;
    MatrixEntry entry;
    bool is_entry = detail::parse_usual(place, end, header, entry);
    if (!is_entry) {
      const auto length = std::string_view(line, static_cast<size_t>(end - line)).find('\n');
      try {
        const auto parsed = parse_entry_line({line, length}, header);
        is_entry = parsed.has_value();
        if (parsed) entry = *parsed;
      } catch (const TextFault& fault) {
        throw TextFault(offset + (line - begin), fault.what());
      }
      place = line + length + 1;
    }
    line = place;
    if (is_entry) visit(entry);
  }
}

// ---------------------------------------------------------------- files

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
