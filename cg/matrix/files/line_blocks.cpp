#include "cg/matrix/files/line_blocks.hpp"

#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <array>
#include <new>
#include <utility>

#include "cg/base/interface.hpp"

namespace cg2d {

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
