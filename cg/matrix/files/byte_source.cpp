#include "cg/matrix/files/byte_source.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>

#include "cg/base/storage/open_file.hpp"

namespace cg2d {
namespace {

class PlainSource final : public ByteSource {
 public:
  explicit PlainSource(std::unique_ptr<OpenFile> file) : file_(std::move(file)) {}

  std::size_t read(std::span<char> bytes) override {
    const std::size_t count = file_->read_at(position_, std::as_writable_bytes(bytes));
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

std::unique_ptr<ByteSource> open_source(const std::string& path) {
  constexpr std::string_view gzip_magic = "\x1f\x8b";
  constexpr std::string_view zstd_magic = "\x28\xb5\x2f\xfd";
  // The magic number that pzstd begins its files with: one of 16 for frames to be skipped (RFC 8878, 3.1.2).
  constexpr std::string_view skippable_magic = "\x50\x2a\x4d\x18";
  auto file = std::make_unique<OpenFile>(path);
  std::array<char, 4> first{};
  const auto count = file->read_at(0, std::as_writable_bytes(std::span(first)));
  const std::string_view begin(first.data(), count);
  if (begin.starts_with(gzip_magic)) return gzip_source(std::move(file));
  if (begin.starts_with(zstd_magic) || begin.starts_with(skippable_magic))
    return zstd_source(std::move(file));
  return std::make_unique<PlainSource>(std::move(file));
}

}  // namespace cg2d
