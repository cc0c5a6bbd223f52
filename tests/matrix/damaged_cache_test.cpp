// A small matrix in binary form: every truncation of the file and every flip of a single bit is refused with its reason.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "cg/base/errors.hpp"
#include "cg/matrix/files/matrix_file.hpp"
#include "fuzz/cache_bytes.hpp"
#include "fuzz/memory_file.hpp"
#include "support/mpi_test.hpp"
#include "support/temporary_folder.hpp"

namespace cg2d::damaged_cache_test {
namespace {

using test::group;

const test::TemporaryFolder& folder() {
  static const test::TemporaryFolder own;
  return own;
}

/// The file of a matrix of order 5, as cg2d convert writes it.
const std::string& whole_file() {
  static const std::string bytes = [] {
    folder().write("A.mtx",
                   "%%MatrixMarket matrix coordinate real symmetric\n"
                   "5 5 8\n1 1 4\n2 1 -1\n2 2 4.25\n3 3 4\n4 2 -0.5\n4 4 1e-3\n5 1 0.125\n5 5 7\n");
    const auto matrix = read_market_matrix({.path = folder().path("A.mtx")}, group());
    write_cache(*matrix, folder().path("A.cg2d"), group());
    std::ifstream file(folder().path("A.cg2d"), std::ios::binary);
    return std::string{std::istreambuf_iterator<char>(file), {}};
  }();
  return bytes;
}

/// The reason why the reader refuses a file, without its name; empty: everything in it was read.
std::string why_refused(const std::string& bytes) {
  const fuzz::MemoryFile file(bytes);
  const auto path = file.path();
  try {
    static_cast<void>(fuzz::contents_of(CacheReader(path)));
  } catch (const FileError& error) {
    EXPECT_EQ(error.code(), ExitCode::bad_data);
    const std::string message = error.what();
    EXPECT_EQ(message.substr(0, path.size() + 8), path + ": found ") << message;
    EXPECT_NE(message.find(", expected "), std::string::npos) << message;
    return message.substr(path.size() + 2);
  }
  return {};
}

/// The beginning of the reason that a flip in a byte must have.
std::string reason_of_flip(size_t place) {
  CacheHeader header;
  std::memcpy(&header, whole_file().data(), sizeof(header));
  const auto position = static_cast<int64_t>(place);
  if (place < offsetof(FileMark, version)) return "found other first bytes";
  if (place < offsetof(FileMark, byte_order)) return "found version ";
  if (place < offsetof(CacheHeader, order)) return "found another order of bytes, expected ";
  if (place < sizeof(header)) return "found a damaged header, expected one that meets its checksum";
  if (position < CacheLayout::data_begin) return "found damaged bytes after the header, expected zeros";
  return position < CacheLayout(header).data_end ? "found damaged data in bytes "
                                                 : "found damaged checksums, expected ";
}

TEST(DamagedCacheTest, WholeFileIsAccepted) {
  EXPECT_EQ(why_refused(whole_file()), "");
  folder().write("B.cg2d", whole_file());
  EXPECT_EQ(fuzz::cache_bytes(fuzz::contents_of(CacheReader(folder().path("B.cg2d")))), whole_file())
      << "the writer of the fuzz targets writes what cg2d writes";
}

TEST(DamagedCacheTest, EveryOtherLengthIsRefused) {
  const auto& whole = whole_file();
  for (size_t size = 0; size < whole.size(); ++size) {
    const auto reason = why_refused(whole.substr(0, size));
    EXPECT_TRUE(reason.starts_with("found " + std::to_string(size) + " bytes, expected "))
        << size << ": " << reason;
  }
  EXPECT_TRUE(why_refused(whole + '\0').starts_with("found "));
}

TEST(DamagedCacheTest, EveryFlipOfABitIsRefused) {
  auto bytes = whole_file();
  for (size_t place = 0; place < bytes.size(); ++place) {
    const auto expected = reason_of_flip(place);
    for (unsigned bit = 0; bit < 8; ++bit) {
      const char before = bytes[place];
      bytes[place] = static_cast<char>(static_cast<unsigned char>(before) ^ (1U << bit));
      const auto reason = why_refused(bytes);
      EXPECT_TRUE(reason.starts_with(expected)) << "bit " << bit << " of byte " << place << ": " << reason;
      bytes[place] = before;
    }
  }
}

/// Wrong contents with right checksums, as no defect of a disk makes them, but a wrong program.
TEST(DamagedCacheTest, ContentsBeyondTheMatrixAreRefused) {
  folder().write("B.cg2d", whole_file());
  const auto sound = fuzz::contents_of(CacheReader(folder().path("B.cg2d")));
  for (const auto& [row, start] : {std::pair(2, 100), std::pair(2, -1), std::pair(0, 1)}) {
    auto rows = sound;
    rows.row_starts[static_cast<size_t>(row)] = start;
    EXPECT_TRUE(why_refused(fuzz::cache_bytes(rows)).starts_with("found row starts out of order")) << start;
  }
  auto columns = sound;
  columns.columns[3] = 5;
  EXPECT_EQ(why_refused(fuzz::cache_bytes(columns)), "found column 5, expected 0 to 4");
  columns.columns[3] = -7;
  EXPECT_EQ(why_refused(fuzz::cache_bytes(columns)), "found column -7, expected 0 to 4");
}

}  // namespace
}  // namespace cg2d::damaged_cache_test
