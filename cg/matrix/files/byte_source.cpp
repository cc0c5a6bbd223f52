#include "cg/matrix/files/byte_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "cg/matrix/files/open_file.hpp"

namespace cg2d {
namespace {

[[noreturn]] void refuse(const std::string& path) {
  const int reason = errno;
  throw FileError(
      path, reason == ENOENT ? "no such file" : fmt::format("cannot be read: {}", std::strerror(reason)));
}

class PlainSource final : public ByteSource {
 public:
  explicit PlainSource(std::unique_ptr<OpenFile> file) : file_(std::move(file)) {}

  std::size_t read(std::span<char> bytes) override {
    const std::size_t count = file_->read_at(position_, bytes);
    position_ += static_cast<std::int64_t>(count);
    return count;
  }
  void skip_to(std::int64_t position) override { position_ = std::min(position, file_->size()); }
  [[nodiscard]] std::int64_t position() const override { return position_; }
  [[nodiscard]] std::int64_t size() const override { return file_->size(); }

 private:
  std::unique_ptr<OpenFile> file_;
  std::int64_t position_ = 0;
};

}  // namespace

// Without O_NONBLOCK a pipe that nobody writes to would hold the process here.
OpenFile::OpenFile(std::string path)
    : path_(std::move(path)), descriptor_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (descriptor_ < 0) refuse(path_);
  struct stat status {};
  const bool is_known = ::fstat(descriptor_, &status) == 0;
  if (is_known && S_ISREG(status.st_mode)) {
    size_ = status.st_size;
    return;
  }
  ::close(descriptor_);
  throw FileError(path_, is_known && S_ISDIR(status.st_mode)
                             ? "found a directory, expected a file"
                             : "found a pipe or a device, expected a file, which every rank can open");
}

std::size_t OpenFile::read_at(std::int64_t position, std::span<char> bytes) const {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const auto count = ::pread(descriptor_, bytes.data() + done, bytes.size() - done,
                               static_cast<off_t>(position + static_cast<std::int64_t>(done)));
    if (count == 0) break;
    if (count > 0) {
      done += static_cast<std::size_t>(count);
    } else if (errno != EINTR) {
      refuse(path_);
    }
  }
  return done;
}

std::unique_ptr<ByteSource> open_source(const std::string& path) {
  constexpr std::array<char, 2> gzip_magic{'\x1f', '\x8b'};
  constexpr std::array<char, 4> zstd_magic{'\x28', '\xb5', '\x2f', '\xfd'};
  // The magic number that pzstd begins its files with: one of 16 for frames to be skipped (RFC 8878, 3.1.2).
  constexpr std::array<char, 4> skippable_magic{'\x50', '\x2a', '\x4d', '\x18'};
  auto file = std::make_unique<OpenFile>(path);
  std::array<char, 4> first{};
  const auto count = file->read_at(0, first);
  const auto begins_with = [&](const auto& magic) {
    return count >= magic.size() && std::equal(magic.begin(), magic.end(), first.begin());
  };
  if (begins_with(gzip_magic)) return gzip_source(std::move(file));
  if (begins_with(zstd_magic) || begins_with(skippable_magic)) return zstd_source(std::move(file));
  return std::make_unique<PlainSource>(std::move(file));
}

}  // namespace cg2d
