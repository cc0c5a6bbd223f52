#include "cg/matrix/files/line_blocks.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace cg2d {
LineBlocks::LineBlocks(const std::string& path)
    : source_(path), buffer_(std::make_unique_for_overwrite<char[]>(most_bytes + 1)) {}

void LineBlocks::start(std::int64_t begin, std::int64_t end) {
  end_ = end;
  filled_ = 0;
  handed_out_ = 0;
  // A line that begins before the range belongs to another one, unless it ends just before it.
  source_.skip_to(std::max<std::int64_t>(begin - 1, 0));
  offset_ = source_.position();
  while (begin > 0 && handed_out_ == 0 && offset_ < end_ && read_more()) {
    handed_out_ = content().find('\n') + 1;  // 0: none, since npos + 1 is 0
    if (handed_out_ == 0) offset_ += static_cast<std::int64_t>(std::exchange(filled_, std::size_t{0}));
  }
}

/// Fills the buffer. False: it is empty, at the end of the file.
bool LineBlocks::read_more() {
  if (!at_end_of_file_) {
    const auto room = most_bytes - filled_;
    const auto count = source_.read({buffer_.get() + filled_, room});
    filled_ += count;
    at_end_of_file_ = count < room;
    if (at_end_of_file_ && filled_ > 0 && content().back() != '\n') buffer_[filled_++] = '\n';
  }
  return filled_ > 0;
}

/// The end of the lines before the first one that is too long, among the first `end` bytes, which are whole lines.
/// Searches from the end of the longest line that is allowed, so that it looks at few bytes and at most lines not at
/// all. Only so are the same lines refused wherever the blocks and the shares of the ranks begin.
std::size_t LineBlocks::end_of_short_lines(std::size_t end) const {
  std::size_t line = 0;
  while (end - line > most_line_bytes + 1) {
    const auto found = content().substr(line, most_line_bytes + 1).rfind('\n');
    if (found == std::string_view::npos) return line;
    line += found + 1;
  }
  return end;
}

std::string_view LineBlocks::next() {
  std::memmove(buffer_.get(), buffer_.get() + handed_out_, filled_ - handed_out_);
  filled_ -= handed_out_;
  offset_ += static_cast<std::int64_t>(std::exchange(handed_out_, std::size_t{0}));
  if (offset_ >= end_ || !read_more()) return {};
  const auto range_left = static_cast<std::uint64_t>(end_ - offset_);
  auto last = std::string_view::npos;
  if (range_left < filled_) last = content().find('\n', range_left - 1);
  if (last == std::string_view::npos) last = content().rfind('\n');
  handed_out_ = end_of_short_lines(last + 1);  // of none: npos + 1 is 0
  if (handed_out_ == 0)
    throw TextFault(
        offset_, fmt::format("found a line of more than {} bytes, expected a shorter one", most_line_bytes));
  return {buffer_.get(), handed_out_};
}

namespace {

/// Whether the third line is that of a Harwell-Boeing or Rutherford-Boeing file: "RSA" and sizes (Duff, Grimes, Lewis: Users' Guide
/// for the Harwell-Boeing Sparse Matrix Collection, 1992, section 2).
bool is_harwell_boeing(std::string_view begin) {
  const auto lines = split_at(begin, '\n');
  const auto is_one_of = [&](std::size_t place, std::string_view letters) {
    return letters.find(lines[2][place]) != std::string_view::npos;
  };
  return lines.size() > 2 && lines[2].size() > 3 && is_one_of(0, "RCPIQrcpiq") &&
         is_one_of(1, "SUHZRsuhzr") && is_one_of(2, "AEae") && is_one_of(3, " ");
}

/// Whether it is a zip archive whose first file is an array of NumPy, as savez and SciPy's save_npz write them (APPNOTE.TXT, section 4.3.7).
bool is_npz(std::string_view begin) {
  constexpr std::size_t name_length_at = 26;
  constexpr std::size_t name_at = 30;
  return begin.starts_with("PK\x03\x04") && begin.size() > name_at &&
         begin.substr(name_at, static_cast<unsigned char>(begin[name_length_at])).ends_with(".npy");
}

/// Names the format of a file that is no Matrix Market file, and how to get one from it; empty where that is not known.
std::string foreign_format(std::string_view begin) {
  constexpr std::size_t tar_mark_at = 257;  // POSIX.1, ustar header
  struct Mark {
    std::size_t place;
    std::string_view bytes;
    std::string_view name;
  };
  using namespace std::string_view_literals;
  constexpr std::string_view unpack = "expected a file of its own: unpack it first";
  constexpr std::string_view write_anew =
      "expected a Matrix Market file: write one there, by mmwrite (in Python: scipy.io.mmwrite)";
  constexpr std::array marks{Mark{0, "MATLAB "sv, "a MATLAB file"},
                             Mark{0, "\x89HDF\r\n"sv, "an HDF5 file"},
                             Mark{0, "\x93NUMPY"sv, "a NumPy file"},
                             Mark{0, "\x00\x12\x7b\x50"sv, "a binary matrix of PETSc"},
                             Mark{tar_mark_at, "ustar"sv, "a tar archive"},
                             Mark{0, "PK\x03\x04"sv, "a zip archive"},
                             Mark{0, "7z\xbc\xaf"sv, "a 7z archive"},
                             Mark{0, "\xfd\x37zXZ"sv, "an xz file"},
                             Mark{0, "BZh"sv, "a bzip2 file"}};
  constexpr std::size_t first_archive = 4;
  if (is_npz(begin)) return fmt::format("found a file of NumPy or SciPy (.npz), {}", write_anew);
  for (std::size_t k = 0; k < marks.size(); ++k) {
    if (begin.size() > marks[k].place && begin.substr(marks[k].place).starts_with(marks[k].bytes))
      return fmt::format("found {}, {}", marks[k].name, k < first_archive ? write_anew : unpack);
  }
  if (is_harwell_boeing(begin))
    return fmt::format("found a Harwell-Boeing or Rutherford-Boeing file, {}", write_anew);
  return {};
}

}  // namespace

LocatedHeader read_market_header(const std::string& path) {
  MarketHeaderParser parser;
  LocatedHeader located;
  bool is_complete = false;
  try {
    LineBlocks blocks(path);
    blocks.for_each_line([&](std::string_view line, std::int64_t offset) {
      is_complete = parser.take(line);
      ++located.line_count;
      located.body_offset = offset + static_cast<std::int64_t>(line.size()) + 1;
      return !is_complete;
    });
    if (!is_complete) throw parser.end_fault();
  } catch (const TextFault& fault) {
    if (located.line_count == 0) {
      std::string begin(1024, '\0');
      begin.resize(ByteSource(path).read(begin));
      if (const auto foreign = foreign_format(begin); !foreign.empty()) throw FileError(path, foreign);
    }
    throw FileError(path, located.line_count + 1, fault.what());
  }
  located.header = parser.header;
  return located;
}

LocatedLine locate_line(const std::string& path, std::int64_t offset, std::int64_t allowed_count) {
  const auto body_offset = read_market_header(path).body_offset;
  LocatedLine located{.number = 0, .is_surplus = false};
  std::int64_t entry_count = 0;
  bool is_found = false;
  try {
    LineBlocks blocks(path);
    blocks.for_each_line([&](std::string_view line, std::int64_t begin) {
      ++located.number;
      if (begin >= body_offset && !is_blank_line(line)) ++entry_count;
      located.is_surplus = entry_count > allowed_count && begin < offset;
      is_found = located.is_surplus || begin >= offset;
      return !is_found;
    });
  } catch (const TextFault&) {
    // A line that is too long: it begins after the last one, and none is found.
  }
  if (!is_found) ++located.number;
  return located;
}

}  // namespace cg2d
