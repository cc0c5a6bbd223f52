#pragma once

// The binary form of a matrix, .cg2d: its layout, and reading any part of it with its checksums. No MPI.
//
//     bytes 0 ... 4095   header, see CacheHeader, then zeros
//     row starts         order + 1 numbers of 8 bytes: the rows as in CSR
//     diagonal           order numbers of 8 bytes
//     values             one of 8 bytes per nonzero
//     columns            one of 4 bytes per nonzero, rising in each row
//     checksums          CRC-32C, 4 bytes each: one for each 64 KiB from byte 4096 to the end of the columns
//
// The header has its own checksum, and that of the checksums.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cg/base/storage/open_file.hpp"

namespace cg2d {

/// At the begin of the file.
struct CacheHeader {
  static constexpr FileFormat format{.mark = {.magic = {'C', 'G', '2', 'D', 'M', 'T', 'X', '\n'}},
                                     .content = "a matrix in binary form",
                                     .remedy = "; make it anew by cg2d convert"};

  FileMark mark = format.mark;
  int64_t order = 0;
  int64_t nonzero_count = 0;
  uint64_t pattern_sum = 0;  ///< of the places of all entries, from which the hash of MatrixKey follows
  uint32_t checksum_of_checksums = 0;
  uint32_t checksum = 0;
};
static_assert(sizeof(CacheHeader) == 48);

/// Positions in the file.
struct CacheLayout {
  static constexpr int64_t data_begin = 4096;
  static constexpr int64_t chunk_bytes = int64_t{1} << 16;

  explicit CacheLayout(const CacheHeader& header)
      : row_starts(data_begin),
        diagonal(row_starts + 8 * (header.order + 1)),
        values(diagonal + 8 * header.order),
        columns(values + 8 * header.nonzero_count),
        data_end(columns + 4 * header.nonzero_count),
        chunk_count((data_end - data_begin + chunk_bytes - 1) / chunk_bytes),
        file_end(data_end + 4 * chunk_count) {}

  /// Position of a chunk in the file, bytes.
  static int64_t chunk_begin(int64_t chunk) { return data_begin + chunk * chunk_bytes; }
  int64_t chunk_size(int64_t chunk) const { return std::min(chunk_bytes, data_end - chunk_begin(chunk)); }

  int64_t row_starts;
  int64_t diagonal;
  int64_t values;
  int64_t columns;
  int64_t data_end;
  int64_t chunk_count;
  int64_t file_end;
};

/// Whether a file begins as a matrix in binary form does. Throws FileError.
bool is_cache_file(const std::string& path);

/// Reads parts of a file; what it returns has been checked: by the checksums, and row starts and columns for being within the
/// matrix, since a program may also write a wrong file with right checksums. Throws FileError.
class CacheReader {
 public:
  explicit CacheReader(const std::string& path);

  const CacheHeader& header() const { return header_; }
  /// Elements first ... first + values.size() - 1 of a section. Cost: one pass over the bytes, and up to 64 KiB on
  /// either side of them.
  void read_row_starts(int64_t first, std::span<int64_t> row_starts) const;
  void read_diagonal(int64_t first, std::span<double> diagonal) const;
  void read_values(int64_t first, std::span<double> values) const;
  void read_columns(int64_t first, std::span<int32_t> columns) const;
  int64_t row_start(int64_t row) const;
  /// The checksums of all chunks, as the file has them.
  std::span<const uint32_t> checksums() const { return checksums_; }

 private:
  void read(int64_t position, std::span<std::byte> bytes) const;

  OpenFile file_;
  CacheHeader header_;
  std::vector<uint32_t> checksums_;
};

}  // namespace cg2d
