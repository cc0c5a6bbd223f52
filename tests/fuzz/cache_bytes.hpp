#pragma once

// Matrices in binary form as bytes in memory: written here a second time but for the checksums, from the description in
// cg/matrix/files/cache_file.hpp, for fuzz targets and their seeds.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "cg/base/storage/crc32c.hpp"
#include "cg/matrix/files/cache_file.hpp"

namespace cg2d::fuzz {

/// The arrays of a matrix.
struct CacheContents {
  uint64_t pattern_sum = 0;
  std::vector<int64_t> row_starts;
  std::vector<double> diagonal;
  std::vector<double> values;
  std::vector<int32_t> columns;
};

namespace detail {

template <typename T>
void append(std::string& bytes, const std::vector<T>& values) {
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

}  // namespace detail

/// Puts the checksums of the data and of the header in their places. `bytes` must be as long as the header says.
inline void put_checksums(std::string& bytes) {
  CacheHeader header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  const CacheLayout layout(header);
  const auto data_begin = static_cast<size_t>(CacheLayout::data_begin);
  const auto data_end = static_cast<size_t>(layout.data_end);
  const auto chunk_bytes = static_cast<size_t>(CacheLayout::chunk_bytes);
  bytes.resize(data_end);
  std::vector<uint32_t> sums;
  for (auto begin = data_begin; begin < data_end; begin += chunk_bytes)
    sums.push_back(
        crc32c(std::as_bytes(std::span(bytes)).subspan(begin, std::min(chunk_bytes, data_end - begin))));
  detail::append(bytes, sums);
  header.checksum_of_checksums = crc32c(std::as_bytes(std::span(sums)));
  std::memcpy(bytes.data(), sealed(header).data(), sizeof(header));
}

/// The whole file.
inline std::string cache_bytes(const CacheContents& contents) {
  const CacheHeader header{.order = std::ssize(contents.diagonal),
                           .nonzero_count = std::ssize(contents.values),
                           .pattern_sum = contents.pattern_sum};
  std::string bytes(static_cast<size_t>(CacheLayout::data_begin), '\0');
  std::memcpy(bytes.data(), &header, sizeof(header));
  detail::append(bytes, contents.row_starts);
  detail::append(bytes, contents.diagonal);
  detail::append(bytes, contents.values);
  detail::append(bytes, contents.columns);
  put_checksums(bytes);
  return bytes;
}

/// All that a reader finds in a file. Throws FileError.
inline CacheContents contents_of(const CacheReader& reader) {
  const auto order = static_cast<size_t>(reader.header().order);
  const auto nonzero_count = static_cast<size_t>(reader.header().nonzero_count);
  CacheContents contents{.pattern_sum = reader.header().pattern_sum,
                         .row_starts = std::vector<int64_t>(order + 1),
                         .diagonal = std::vector<double>(order),
                         .values = std::vector<double>(nonzero_count),
                         .columns = std::vector<int32_t>(nonzero_count)};
  reader.read_row_starts(0, contents.row_starts);
  reader.read_diagonal(0, contents.diagonal);
  reader.read_values(0, contents.values);
  reader.read_columns(0, contents.columns);
  return contents;
}

}  // namespace cg2d::fuzz
