#include "cg/matrix/files/cache_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "cg/base/storage/crc32c.hpp"
#include "cg/matrix/files/market_text.hpp"

namespace cg2d {
namespace {

std::span<char> as_characters(std::span<std::byte> bytes) {
  return {reinterpret_cast<char*>(bytes.data()), bytes.size()};
}

template <typename T>
std::span<std::byte> bytes_of(T& value) {
  return std::as_writable_bytes(std::span<T>(&value, 1));
}

}  // namespace

std::uint32_t checksum_of(const CacheHeader& header) {
  return crc32c(std::as_bytes(std::span(&header, 1)).first(offsetof(CacheHeader, checksum)));
}

bool is_cache_file(const std::string& path) {
  std::array<char, 8> first{};
  return OpenFile(path).read_at(0, first) == first.size() && first == CacheHeader::expected_magic;
}

CacheReader::CacheReader(const std::string& path) : file_(path) {
  check_header();
  const CacheLayout layout(header_);
  if (file_.size() != layout.file_end) {
    throw FileError(path, fmt::format("found {} bytes, expected {} for a matrix of order {} with {} nonzeros",
                                      file_.size(), layout.file_end, header_.order, header_.nonzero_count));
  }
  checksums_.resize(static_cast<std::size_t>(layout.chunk_count));
  static_cast<void>(
      file_.read_at(layout.data_end, as_characters(std::as_writable_bytes(std::span(checksums_)))));
  if (crc32c(std::as_bytes(std::span(checksums_))) != header_.checksum_of_checksums)
    throw FileError(path, "found damaged checksums, expected those of the header");
}

void CacheReader::check_header() {
  const auto& path = file_.path();
  if (file_.read_at(0, as_characters(bytes_of(header_))) < sizeof(header_))
    throw FileError(path,
                    fmt::format("found {} bytes, expected a header of {}", file_.size(), sizeof(header_)));
  if (header_.magic != CacheHeader::expected_magic) {
    throw FileError(path, fmt::format("found {}, expected a matrix in binary form",
                                      quoted({header_.magic.data(), header_.magic.size()})));
  }
  if (header_.byte_order != CacheHeader::expected_byte_order)
    throw FileError(path,
                    "found another order of bytes, expected a file that was made on such a machine as this");
  if (header_.version != CacheHeader::expected_version) {
    throw FileError(path, fmt::format("found version {}, expected {}; make it anew by cg2d convert",
                                      header_.version, CacheHeader::expected_version));
  }
  constexpr std::int64_t most_nonzeros = std::int64_t{1} << 58;  // positions stay within 63 bits
  const bool is_sound = header_.checksum == checksum_of(header_) && header_.order >= 1 &&
                        header_.order <= largest_order && header_.nonzero_count >= 0 &&
                        header_.nonzero_count <= most_nonzeros;
  if (!is_sound) throw FileError(path, "found a damaged header, expected one that meets its checksum");
  std::array<char, CacheLayout::data_begin - sizeof(CacheHeader)> rest{};
  static_cast<void>(file_.read_at(sizeof(header_), rest));
  if (!std::ranges::all_of(rest, [](char byte) { return byte == 0; }))
    throw FileError(path, "found damaged bytes after the header, expected zeros");
}

void CacheReader::check_chunk(std::int64_t chunk, std::span<const std::byte> bytes) const {
  if (crc32c(bytes) == checksums_[static_cast<std::size_t>(chunk)]) return;
  throw FileError(
      file_.path(),
      fmt::format("found damaged data in bytes {} to {}, expected what meets its checksum",
                  CacheLayout::data_begin + chunk * CacheLayout::chunk_bytes,
                  CacheLayout::data_begin + chunk * CacheLayout::chunk_bytes + std::ssize(bytes) - 1));
}

/// Chunks that lie within the bytes are read to their place; those at the ends pass through a buffer.
void CacheReader::read(std::int64_t position, std::span<std::byte> bytes) const {
  const CacheLayout layout(header_);
  std::vector<std::byte> buffer;
  while (!bytes.empty()) {
    const auto chunk = (position - CacheLayout::data_begin) / CacheLayout::chunk_bytes;
    const auto begin = CacheLayout::data_begin + chunk * CacheLayout::chunk_bytes;
    const auto size = static_cast<std::size_t>(std::min(CacheLayout::chunk_bytes, layout.data_end - begin));
    const auto within = static_cast<std::size_t>(position - begin);
    const auto count = std::min(bytes.size(), size - within);
    const bool is_whole = count == size;
    if (!is_whole) buffer.resize(size);
    const auto target = is_whole ? bytes.first(size) : std::span<std::byte>(buffer);
    static_cast<void>(file_.read_at(begin, as_characters(target)));
    check_chunk(chunk, target);
    if (!is_whole) std::memcpy(bytes.data(), buffer.data() + within, count);
    bytes = bytes.subspan(count);
    position += static_cast<std::int64_t>(count);
  }
}

void CacheReader::read_row_starts(std::int64_t first, std::span<std::int64_t> row_starts) const {
  read(CacheLayout(header_).row_starts + 8 * first, std::as_writable_bytes(row_starts));
  bool is_sound = std::ranges::is_sorted(row_starts);
  if (!row_starts.empty()) {
    is_sound = is_sound && row_starts.front() >= 0 && row_starts.back() <= header_.nonzero_count;
    if (first == 0) is_sound = is_sound && row_starts.front() == 0;
    if (first + std::ssize(row_starts) == header_.order + 1)
      is_sound = is_sound && row_starts.back() == header_.nonzero_count;
  }
  if (!is_sound)
    throw FileError(file_.path(),
                    fmt::format("found row starts out of order, expected numbers that rise from 0 to {}",
                                header_.nonzero_count));
}
void CacheReader::read_diagonal(std::int64_t first, std::span<double> diagonal) const {
  read(CacheLayout(header_).diagonal + 8 * first, std::as_writable_bytes(diagonal));
}
void CacheReader::read_values(std::int64_t first, std::span<double> values) const {
  read(CacheLayout(header_).values + 8 * first, std::as_writable_bytes(values));
}
void CacheReader::read_columns(std::int64_t first, std::span<std::int32_t> columns) const {
  read(CacheLayout(header_).columns + 4 * first, std::as_writable_bytes(columns));
  std::uint32_t largest = 0;  // a negative one is larger than any order
  for (const auto column : columns) largest = std::max(largest, static_cast<std::uint32_t>(column));
  if (!columns.empty() && largest >= static_cast<std::uint32_t>(header_.order))
    throw FileError(file_.path(), fmt::format("found column {}, expected 0 to {}",
                                              static_cast<std::int32_t>(largest), header_.order - 1));
}
std::int64_t CacheReader::row_start(std::int64_t row) const {
  std::int64_t start = 0;
  read_row_starts(row, {&start, 1});
  return start;
}

}  // namespace cg2d
