#include "cg/matrix/files/market_file.hpp"

#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <array>
#include <clocale>
#include <cmath>
#include <cstdlib>
#include <initializer_list>
#include <iterator>
#include <new>
#include <utility>
#include <vector>

#include "cg/base/interface.hpp"

namespace cg2d {
namespace {

constexpr std::string_view banner_example = "\"%%MatrixMarket matrix coordinate real symmetric\"";

TextFault fault(const std::string& found, std::string_view expected) {
  return {0, fmt::format("found {}, expected {}", found, expected)};
}

std::string_view without_carriage_return(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::vector<std::string_view> words_of(std::string_view line) {
  constexpr std::string_view blanks = " \t";
  std::vector<std::string_view> words;
  for (auto begin = line.find_first_not_of(blanks); begin != std::string_view::npos;) {
    const auto end = std::min(line.find_first_of(blanks, begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    begin = line.find_first_not_of(blanks, end);
  }
  return words;
}

template <typename Value>
Value value_of(std::string_view word, std::initializer_list<NamedValue<Value>> words,
               std::string_view expected) {
  const auto value = value_in(std::span<const NamedValue<Value>>(words), word);
  if (!value) throw fault(quoted(word), expected);
  return *value;
}

/// A count or an index. `meaning`: of the number, for the message.
int64_t number_within(std::string_view word, int64_t least, int64_t largest, std::string_view meaning) {
  const auto value = number_from<int64_t>(word);
  if (!value || *value < least || *value > largest)
    throw fault(quoted(word), fmt::format("{} ({} to {})", meaning, least, largest));
  return *value;
}

/// A finite number; numbers below the smallest double become 0 or that.
double real_number(std::string_view word) {
  constexpr std::string_view expected = "a finite number";
  auto digits = word;
  if (digits.starts_with('+') && !digits.starts_with("+-")) digits.remove_prefix(1);
  double value = 0.0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (end != digits.data() + digits.size() || error == std::errc::invalid_argument)
    throw fault(quoted(word), expected);
  if (error ==
      std::errc::result_out_of_range) {  // in the notation of C whatever the locale of the program is
    static const locale_t c_locale = newlocale(LC_ALL_MASK, "C", nullptr);
    value = strtod_l(std::string(digits).c_str(), nullptr, c_locale);
  }
  if (!std::isfinite(value)) throw fault(quoted(word), expected);
  return value;
}

double value_of_field(std::string_view word, MarketField field) {
  if (field == MarketField::real) return real_number(word);
  const auto value = number_from<int64_t>(word);
  if (!value) throw fault(quoted(word), "a whole number of 64 bits");
  return static_cast<double>(*value);
}

void require_word_count(const std::vector<std::string_view>& words, size_t count, std::string_view meaning) {
  if (words.size() < count) throw fault(fmt::format("{} of {} numbers", words.size(), count), meaning);
  if (words.size() > count)
    throw fault(fmt::format("{} after {} numbers", quoted(words[count]), count), meaning);
}

/// The words of a line of a body, which must be so many; none of a blank one. content, meaning: for the messages.
std::vector<std::string_view> body_words(std::string_view line, std::string_view content, size_t count,
                                         std::string_view meaning) {
  auto words = words_of(without_carriage_return(line));
  if (words.empty()) return words;
  if (words[0].starts_with('%'))
    throw fault("a comment", fmt::format("{}: comments stand before the line of sizes", content));
  require_word_count(words, count, meaning);
  return words;
}

/// Takes the first line.
void take_banner(std::string_view line, MarketHeader& header) {
  std::string lower(line);
  std::ranges::transform(lower, lower.begin(), lower_letter);
  const auto words = words_of(lower);
  if (words.empty() || words[0] != "%%matrixmarket")
    throw fault(quoted(line), fmt::format("a line such as {}", banner_example));
  constexpr size_t word_count = 5;
  if (words.size() != word_count)
    throw fault(fmt::format("{} words", words.size()),
                fmt::format("{} words, as in {}", word_count, banner_example));
  if (words[1] != "matrix") throw fault(quoted(words[1]), "matrix");
  header.form =
      value_of<MarketForm>(words[2], {{"coordinate", MarketForm::coordinate}, {"array", MarketForm::array}},
                           "coordinate or array");
  header.field = value_of<MarketField>(words[3],
                                       {{"real", MarketField::real},
                                        {"double", MarketField::real},
                                        {"integer", MarketField::integer},
                                        {"pattern", MarketField::pattern}},
                                       "real, integer or pattern");
  header.symmetry = value_of<MarketSymmetry>(
      words[4], {{"general", MarketSymmetry::general}, {"symmetric", MarketSymmetry::symmetric}},
      "general or symmetric");
  if (header.form == MarketForm::array && header.field == MarketField::pattern)
    throw fault("\"pattern\"", "real or integer, since an array has values");
}

void take_sizes(std::string_view line, MarketHeader& header) {
  const auto words = words_of(line);
  const bool is_coordinate = header.form == MarketForm::coordinate;
  require_word_count(words, is_coordinate ? 3 : 2,
                     is_coordinate ? "3 sizes: rows, columns and entries" : "2 sizes: rows and columns");
  header.row_count = number_within(words[0], 1, largest_order, "the number of rows");
  header.column_count = number_within(words[1], 1, largest_order, "the number of columns");
  const auto n = header.row_count;  // below 2^31, as the columns
  const bool is_symmetric = header.symmetry == MarketSymmetry::symmetric;
  if (is_symmetric && n != header.column_count)
    throw fault(fmt::format("{} rows and {} columns", n, header.column_count),
                "a square matrix, since the file is symmetric");
  const auto value_count = is_symmetric ? n * (n + 1) / 2 : n * header.column_count;
  header.line_count =
      is_coordinate ? number_within(words[2], 0, INT64_MAX, "the number of entries") : value_count;
}

}  // namespace

std::string quoted(std::string_view text) {
  constexpr size_t most_bytes = 40;
  std::string result = "\"";
  for (const char letter : text.substr(0, most_bytes)) {
    if (letter >= ' ' && letter <= '~') {
      result += letter;
    } else {
      fmt::format_to(std::back_inserter(result), "\\x{:02x}", static_cast<unsigned char>(letter));
    }
  }
  return result + (text.size() > most_bytes ? "...\"" : "\"");
}

bool MarketHeaderParser::take(std::string_view line) {
  line = without_carriage_return(line);
  if (!has_banner) {
    take_banner(without_byte_order_mark(line), header);
    has_banner = true;
    return false;
  }
  if (line.starts_with('%') || words_of(line).empty()) return false;
  take_sizes(line, header);
  return true;
}

TextFault MarketHeaderParser::end_fault() const {
  if (!has_banner) return fault("an empty file", fmt::format("a line such as {}", banner_example));
  return fault("the end of the file", "the line of sizes");
}

std::optional<MatrixEntry> parse_entry_line(std::string_view line, const MarketHeader& header) {
  const bool has_value = header.field != MarketField::pattern;
  const auto words =
      body_words(line, "an entry", has_value ? 3 : 2, has_value ? "row, column and value" : "row and column");
  if (words.empty()) return std::nullopt;
  const auto row = number_within(words[0], 1, header.row_count, "a row");
  const auto column = number_within(words[1], 1, header.column_count, "a column");
  if (header.symmetry == MarketSymmetry::symmetric && column > row) {
    throw fault(fmt::format("entry ({}, {}) above the diagonal", row, column),
                "entries on or below it, since the file is symmetric");
  }
  return MatrixEntry{.row = static_cast<int32_t>(row - 1),
                     .column = static_cast<int32_t>(column - 1),
                     .value = has_value ? value_of_field(words[2], header.field) : 1.0};
}

std::optional<double> parse_value_line(std::string_view line, const MarketHeader& header) {
  const auto words = body_words(line, "a value", 1, "one value");
  if (words.empty()) return std::nullopt;
  return value_of_field(words[0], header.field);
}

// ---------------------------------------------------------------- bytes

/// Compressed bytes, which come in portions.
class ByteSource::Stream : public Interface {
 public:
  explicit Stream(const OpenFile& file)
      : file_(file), portion_(std::make_unique_for_overwrite<char[]>(portion_bytes)) {}

  /// Fills some of the bytes, at least one unless the content has ended. Returns how many.
  virtual size_t decompress(std::span<char> bytes) = 0;

 protected:
  /// The next compressed bytes; empty at the end of the file.
  std::span<char> next_portion() {
    const std::span<char> portion(portion_.get(), portion_bytes);
    const auto count = file_.read_at(position_, std::as_writable_bytes(portion));
    position_ += static_cast<int64_t>(count);
    return portion.first(count);
  }

  const OpenFile& file_;

 private:
  static constexpr size_t portion_bytes = size_t{1} << 18;

  std::unique_ptr<char[]> portion_;
  int64_t position_ = 0;
};

namespace {

/// One member or several, one after the other (RFC 1952).
class GzipStream final : public ByteSource::Stream {
 public:
  explicit GzipStream(const OpenFile& file) : Stream(file) {
    constexpr int gzip_window = 15 + 16;  // the largest window; 16: gzip's own header (zlib.h)
    if (inflateInit2(&stream_, gzip_window) != Z_OK) throw std::bad_alloc();
  }
  ~GzipStream() override { inflateEnd(&stream_); }
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;

  size_t decompress(std::span<char> bytes) override {
    const auto room = static_cast<uInt>(std::min<size_t>(bytes.size(), std::numeric_limits<uInt>::max()));
    stream_.next_out = reinterpret_cast<Bytef*>(bytes.data());
    stream_.avail_out = room;
    while (stream_.avail_out == room) {
      if (stream_.avail_in == 0) {
        const auto portion = next_portion();
        if (portion.empty() && !is_between_members_)
          file_.refuse("found a gzip file that ends too early, expected a whole one");
        if (portion.empty()) break;
        stream_.next_in = reinterpret_cast<Bytef*>(portion.data());
        stream_.avail_in = static_cast<uInt>(portion.size());
      }
      if (is_between_members_) inflateReset(&stream_);
      is_between_members_ = false;
      const int result = inflate(&stream_, Z_NO_FLUSH);
      if (result == Z_STREAM_END) {
        is_between_members_ = true;
      } else if (result == Z_MEM_ERROR) {
        throw std::bad_alloc();
      } else if (result != Z_OK && result != Z_BUF_ERROR) {
        file_.refuse("found damaged gzip data ({}), expected a whole gzip file",
                     stream_.msg == nullptr ? "unknown" : stream_.msg);
      }
    }
    return room - stream_.avail_out;
  }

 private:
  z_stream stream_{};
  bool is_between_members_ = false;
};

/// One frame or several.
class ZstdStream final : public ByteSource::Stream {
 public:
  explicit ZstdStream(const OpenFile& file) : Stream(file), stream_(ZSTD_createDStream(), &ZSTD_freeDStream) {
    if (stream_ == nullptr) throw std::bad_alloc();
    // Windows up to the format's own bound (zstd --long): the library refuses long ones unless it is told to take them.
    ZSTD_DCtx_setParameter(stream_.get(), ZSTD_d_windowLogMax,
                           ZSTD_dParam_getBounds(ZSTD_d_windowLogMax).upperBound);
  }

  size_t decompress(std::span<char> bytes) override {
    ZSTD_outBuffer output{.dst = bytes.data(), .size = bytes.size(), .pos = 0};
    while (output.pos == 0) {
      // Bytes may wait inside the stream after the last input has been taken.
      if (input_.pos == input_.size) {
        const auto portion = next_portion();
        input_ = {.src = portion.data(), .size = portion.size(), .pos = 0};
        if (portion.empty() && is_between_frames_) break;
      }
      const bool had_input = input_.pos < input_.size;
      const size_t hint = ZSTD_decompressStream(stream_.get(), &output, &input_);
      if (ZSTD_getErrorCode(hint) == ZSTD_error_memory_allocation) throw std::bad_alloc();
      if (ZSTD_isError(hint) != 0U)
        file_.refuse("found damaged zstd data ({}), expected a whole zstd file", ZSTD_getErrorName(hint));
      is_between_frames_ = hint == 0;
      if (!had_input && output.pos == 0 && !is_between_frames_)
        file_.refuse("found a zstd file that ends too early, expected a whole one");
    }
    return output.pos;
  }

 private:
  std::unique_ptr<ZSTD_DStream, decltype(&ZSTD_freeDStream)> stream_;
  ZSTD_inBuffer input_{};
  bool is_between_frames_ = false;
};

}  // namespace

ByteSource::ByteSource(const std::string& path) : file_(path) {
  constexpr std::string_view gzip_magic = "\x1f\x8b";
  constexpr std::string_view zstd_magic = "\x28\xb5\x2f\xfd";
  // The magic number that pzstd begins its files with: one of 16 for frames to be skipped (RFC 8878, 3.1.2).
  constexpr std::string_view skippable_magic = "\x50\x2a\x4d\x18";
  std::array<char, 4> first{};
  const auto count = file_.read_at(0, std::as_writable_bytes(std::span(first)));
  const std::string_view begin(first.data(), count);
  if (begin.starts_with(gzip_magic)) stream_ = std::make_unique<GzipStream>(file_);
  if (begin.starts_with(zstd_magic) || begin.starts_with(skippable_magic))
    stream_ = std::make_unique<ZstdStream>(file_);
}

ByteSource::~ByteSource() = default;

size_t ByteSource::read(std::span<char> bytes) {
  size_t done = stream_ ? 0 : file_.read_at(position_, std::as_writable_bytes(bytes));
  while (stream_ && done < bytes.size()) {
    const size_t count = stream_->decompress(bytes.subspan(done));
    if (count == 0) break;
    done += count;
  }
  position_ += static_cast<int64_t>(done);
  return done;
}

void ByteSource::skip_to(int64_t position) {
  if (!stream_) {
    position_ = std::min(position, file_.size());
    return;
  }
  std::vector<char> dropped(size_t{1} << 18);
  while (position_ < position) {
    const auto missing = static_cast<size_t>(position - position_);
    if (read(std::span(dropped).first(std::min(missing, dropped.size()))) == 0) return;
  }
}

// ---------------------------------------------------------------- lines

LineBlocks::LineBlocks(const std::string& path)
    : source_(path), buffer_(std::make_unique_for_overwrite<char[]>(most_bytes + 1)) {}

void LineBlocks::start(int64_t begin, int64_t end) {
  end_ = end;
  filled_ = 0;
  handed_out_ = 0;
  // A line that begins before the range belongs to another one, unless it ends just before it.
  source_.skip_to(std::max<int64_t>(begin - 1, 0));
  offset_ = source_.position();
  while (begin > 0 && handed_out_ == 0 && offset_ < end_ && read_more()) {
    handed_out_ = content().find('\n') + 1;  // 0: none, since npos + 1 is 0
    if (handed_out_ == 0) offset_ += static_cast<int64_t>(std::exchange(filled_, size_t{0}));
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

/// The buffer begins with a line: so the same lines are too long wherever the blocks and the shares of the ranks begin.
std::string_view LineBlocks::next() {
  std::memmove(buffer_.get(), buffer_.get() + handed_out_, filled_ - handed_out_);
  filled_ -= handed_out_;
  offset_ += static_cast<int64_t>(std::exchange(handed_out_, size_t{0}));
  if (offset_ >= end_ || !read_more()) return {};
  const auto range_left = static_cast<uint64_t>(end_ - offset_);
  auto last = std::string_view::npos;
  if (range_left < filled_) last = content().find('\n', range_left - 1);
  if (last == std::string_view::npos) last = content().rfind('\n');
  handed_out_ = last + 1;  // 0: none, since npos + 1 is 0
  if (handed_out_ == 0)
    throw TextFault(
        offset_, fmt::format("found a line of more than {} bytes, expected a shorter one", most_line_bytes));
  return {buffer_.get(), handed_out_};
}

LocatedHeader read_market_header(const std::string& path) {
  MarketHeaderParser parser;
  LocatedHeader located;
  bool is_complete = false;
  try {
    LineBlocks blocks(path);
    blocks.for_each_line([&](std::string_view line, int64_t offset) {
      is_complete = parser.take(line);
      ++located.line_count;
      located.body_offset = offset + static_cast<int64_t>(line.size()) + 1;
      return !is_complete;
    });
    if (!is_complete) throw parser.end_fault();
  } catch (const TextFault& fault) {
    throw FileError(path, located.line_count + 1, fault.what());
  }
  located.header = parser.header;
  return located;
}

int64_t line_number_at(const std::string& path, int64_t offset) {
  int64_t number = 1;
  try {
    LineBlocks blocks(path);
    blocks.for_each_line([&](std::string_view /*line*/, int64_t begin) {
      number += begin < offset ? 1 : 0;
      return begin < offset;
    });
  } catch (const TextFault&) {
    // A line that is too long: the one at the offset.
  }
  return number;
}

}  // namespace cg2d
