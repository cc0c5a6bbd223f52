#include "cg/matrix/files/cache_file.hpp"

#include <array>

#include "cg/base/storage/crc32c.hpp"
#include "cg/matrix/files/market_file.hpp"

namespace cg2d {

bool is_cache_file(const std::string& path) { return has_magic(OpenFile(path), CacheHeader::format); }

CacheReader::CacheReader(const std::string& path) : file_(path), header_(read_header<CacheHeader>(file_)) {
  constexpr int64_t most_nonzeros = int64_t{1} << 58;  // positions stay within 63 bits
  const bool is_sound = header_.order >= 1 && header_.order <= largest_order && header_.nonzero_count >= 0 &&
                        header_.nonzero_count <= most_nonzeros;
  if (!is_sound) file_.refuse("found a damaged header, expected one that meets its checksum");
  std::array<char, CacheLayout::data_begin - sizeof(CacheHeader)> rest{};
  static_cast<void>(file_.fill(sizeof(header_), std::span<char>(rest)));
  if (!std::ranges::all_of(rest, [](char byte) { return byte == 0; }))
    file_.refuse("found damaged bytes after the header, expected zeros");
  const CacheLayout layout(header_);
  if (file_.size() != layout.file_end)
    file_.refuse("found {} bytes, expected {} for a matrix of order {} with {} nonzeros", file_.size(),
                 layout.file_end, header_.order, header_.nonzero_count);
  checksums_.resize(static_cast<size_t>(layout.chunk_count));
  static_cast<void>(file_.fill(layout.data_end, std::span(checksums_)));
  if (crc32c(std::as_bytes(std::span(checksums_))) != header_.checksum_of_checksums)
    file_.refuse("found damaged checksums, expected those of the header");
}

/// Chunks that lie within the bytes are read to their place; those at the ends pass through a buffer.
void CacheReader::read(int64_t position, std::span<std::byte> bytes) const {
  const CacheLayout layout(header_);
  std::vector<std::byte> buffer;
  while (!bytes.empty()) {
    const auto chunk = (position - CacheLayout::data_begin) / CacheLayout::chunk_bytes;
    const auto begin = CacheLayout::chunk_begin(chunk);
    const auto size = static_cast<size_t>(layout.chunk_size(chunk));
    const auto within = static_cast<size_t>(position - begin);
    const auto count = std::min(bytes.size(), size - within);
    const bool is_whole = count == size;
    if (!is_whole) buffer.resize(size);
    const auto target = is_whole ? bytes.first(size) : std::span<std::byte>(buffer);
    static_cast<void>(file_.fill(begin, target));
    if (crc32c(target) != checksums_[static_cast<size_t>(chunk)])
      file_.refuse("found damaged data in bytes {} to {}, expected what meets its checksum", begin,
                   begin + std::ssize(target) - 1);
    if (!is_whole) std::memcpy(bytes.data(), buffer.data() + within, count);
    bytes = bytes.subspan(count);
    position += static_cast<int64_t>(count);
  }
}

void CacheReader::read_row_starts(int64_t first, std::span<int64_t> row_starts) const {
  read(CacheLayout(header_).row_starts + 8 * first, std::as_writable_bytes(row_starts));
  if (row_starts.empty()) return;
  const bool has_last = first + std::ssize(row_starts) == header_.order + 1;
  const bool is_sound = std::ranges::is_sorted(row_starts) && row_starts.front() >= 0 &&
                        row_starts.back() <= header_.nonzero_count &&
                        (first > 0 || row_starts.front() == 0) &&
                        (!has_last || row_starts.back() == header_.nonzero_count);
  if (!is_sound)
    file_.refuse("found row starts out of order, expected numbers that rise from 0 to {}",
                 header_.nonzero_count);
}
void CacheReader::read_diagonal(int64_t first, std::span<double> diagonal) const {
  read(CacheLayout(header_).diagonal + 8 * first, std::as_writable_bytes(diagonal));
}
void CacheReader::read_values(int64_t first, std::span<double> values) const {
  read(CacheLayout(header_).values + 8 * first, std::as_writable_bytes(values));
}
void CacheReader::read_columns(int64_t first, std::span<int32_t> columns) const {
  read(CacheLayout(header_).columns + 4 * first, std::as_writable_bytes(columns));
  uint32_t largest = 0;  // a negative one is larger than any order
  for (const auto column : columns) largest = std::max(largest, static_cast<uint32_t>(column));
  if (!columns.empty() && largest >= static_cast<uint32_t>(header_.order))
    file_.refuse("found column {}, expected 0 to {}", static_cast<int32_t>(largest), header_.order - 1);
}
int64_t CacheReader::row_start(int64_t row) const {
  int64_t start = 0;
  read_row_starts(row, {&start, 1});
  return start;
}

}  // namespace cg2d
