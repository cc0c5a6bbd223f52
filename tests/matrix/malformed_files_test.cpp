// Files that are no matrix: each ends with one line, the same on every rank, never with a crash, a hang or a matrix.

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include "cg/base/process_memory.hpp"
#include "cg/matrix/files/matrix_file.hpp"
#include "cg/matrix/files/vector_file.hpp"
#include "support/common_folder.hpp"
#include "support/compressed_text.hpp"
#include "support/error_of.hpp"

namespace cg2d::malformed_files_test {
namespace {

using test::group;

struct MalformedFile {
  std::string content;
  std::string message;  ///< after the name of the file
};

const std::string banner = "%%MatrixMarket matrix coordinate real symmetric\n";
const std::string general = "%%MatrixMarket matrix coordinate real general\n";
const std::string integer = "%%MatrixMarket matrix coordinate integer general\n";
const std::string pattern = "%%MatrixMarket matrix coordinate pattern symmetric\n";
const std::string banner_line =
    R"(expected a line such as "%%MatrixMarket matrix coordinate real symmetric")";

std::vector<MalformedFile> malformed_headers() {
  return {
      {"", ":1: found an empty file, " + banner_line},
      {"3 3 1\n1 1 1.0\n", R"(:1: found "3 3 1", )" + banner_line},
      {"%MatrixMarket matrix coordinate real general\n1 1 0\n",
       R"(:1: found "%MatrixMarket matrix coordinate real gen...", )" + banner_line},
      {"\xef\xbb\xbf\xef\xbb\xbf" + banner + "1 1 0\n",
       R"(:1: found "\xef\xbb\xbf%%MatrixMarket matrix coordinate real...", )" + banner_line},
      {std::string("\x7f\x45LF\x02\x01\x00\x00", 8) + "\xff\xfe",
       R"(:1: found "\x7fELF\x02\x01\x00\x00\xff\xfe", )" + banner_line},
      {"%%MatrixMarket matrix coordinate real\n1 1 0\n",
       R"(:1: found 4 words, expected 5 words, as in "%%MatrixMarket matrix coordinate real symmetric")"},
      {"%%MatrixMarket tensor coordinate real general\n1 1 0\n", R"(:1: found "tensor", expected matrix)"},
      {"%%MatrixMarket matrix sparse real general\n1 1 0\n",
       R"(:1: found "sparse", expected coordinate or array)"},
      {"%%MatrixMarket matrix coordinate complex general\n1 1 0\n",
       R"(:1: found "complex", expected real, integer or pattern)"},
      {"%%MatrixMarket matrix coordinate real skew-symmetric\n1 1 0\n",
       R"(:1: found "skew-symmetric", expected general or symmetric)"},
      {"%%MatrixMarket matrix array pattern general\n1 1\n",
       R"(:1: found "pattern", expected real or integer, since an array has values)"},
      {"%%MatrixMarket matrix array real general\n1 1\n1.0\n",
       R"(:1: found "array", expected coordinate, the form of sparse matrices)"},
      {banner, ":2: found the end of the file, expected the line of sizes"},
      {banner + "3 3\n", ":2: found 2 of 3 numbers, expected 3 sizes: rows, columns and entries"},
      {banner + "3 3 1 7\n", R"(:2: found "7" after 3 numbers, expected 3 sizes: rows, columns and entries)"},
      {banner + "0 0 0\n", R"(:2: found "0", expected the number of rows (1 to 2147483647))"},
      {banner + "three 3 1\n", R"(:2: found "three", expected the number of rows (1 to 2147483647))"},
      {banner + "2147483648 2147483648 1\n",
       R"(:2: found "2147483648", expected the number of rows (1 to 2147483647))"},
      {banner + "3 18446744073709551616 1\n",
       R"(:2: found "18446744073709551616", expected the number of columns (1 to 2147483647))"},
      {banner + "3 3 -1\n", R"(:2: found "-1", expected the number of entries (0 to 9223372036854775807))"},
      {"%%MatrixMarket matrix coordinate real general\n%\n\n3 4 1\n1 1 1\n",
       ":4: found 3 rows and 4 columns, expected a square matrix"},
      {banner + "%" + std::string(2'000'000, 'x') + "\n1 1 1\n1 1 1\n",
       ":2: found a line of more than 1048576 bytes, expected a shorter one"},
  };
}

std::vector<MalformedFile> malformed_entries() {
  const std::string sized = general + "3 3 2\n";
  const std::string good = "1 1 1.0\n";
  return {
      {sized + good, ":4: found the end of the file after 1 entry, expected the 2 that are announced"},
      {general + "3 3 4611686018427387904\n" + good,
       ":4: found the end of the file after 1 entry, expected the 4611686018427387904 that are announced"},
      {sized + good + good + "2 2 1\n3 3 1\n",
       ":7: found the end of the file after 4 entries, expected the 2 that are announced"},
      {sized + good + "x\n" + good + good, ":4: found 1 of 3 numbers, expected row, column and value"},
      {sized + good + "0 1 1\n", R"(:4: found "0", expected a row (1 to 3))"},
      {sized + good + "1 0 1\n", R"(:4: found "0", expected a column (1 to 3))"},
      {sized + good + "4 1 1\n", R"(:4: found "4", expected a row (1 to 3))"},
      {sized + good + "1 4 1\n", R"(:4: found "4", expected a column (1 to 3))"},
      {sized + good + "18446744073709551617 1 1\n",
       R"(:4: found "18446744073709551617", expected a row (1 to 3))"},
      {sized + good + "1 1 abc\n", R"(:4: found "abc", expected a finite number)"},
      {sized + good + "1 1 NaN\n", R"(:4: found "NaN", expected a finite number)"},
      {sized + good + "1 1\n", ":4: found 2 of 3 numbers, expected row, column and value"},
      {sized + good + "1 1 1.0 0.0\n", R"(:4: found "0.0" after 3 numbers, expected row, column and value)"},
      {sized + good + "% late\n" + good,
       ":4: found a comment, expected an entry: comments stand before the line of sizes"},
      {general + "3 3 2\r1 1 1\r2 2 2\r",
       R"(:2: found "1" after 3 numbers, expected 3 sizes: rows, columns and entries)"},
      {banner + "3 3 2\n" + good + "1 2 1\n",
       ":4: found entry (1, 2) above the diagonal, expected entries on or below it, since the file is "
       "symmetric"},
      {integer + "3 3 2\n1 1 1\n1 1 2.5\n", R"(:4: found "2.5", expected a whole number of 64 bits)"},
      {integer + "3 3 2\n1 1 1\n1 1 9223372036854775808\n",
       R"(:4: found "9223372036854775808", expected a whole number of 64 bits)"},
      {pattern + "3 3 2\n1 1\n2 2 1.0\n", R"(:4: found "1.0" after 2 numbers, expected row and column)"},
  };
}

std::vector<MalformedFile> malformed_streams() {
  const std::string sized = general + "3 3 2\n1 1 1\n";
  const auto gzip = test::gzip(sized + "2 2 2\n");
  const auto zstd = test::zstd(sized + "2 2 2\n");
  auto flipped = gzip;
  flipped[flipped.size() - 6] ^= 1;  // in the checksum
  auto damaged = zstd;
  damaged[6] ^= 0x55;
  return {
      {gzip.substr(0, gzip.size() - 9), ": found a gzip file that ends too early, expected a whole one"},
      {flipped, ": found damaged gzip data (incorrect data check), expected a whole gzip file"},
      {gzip + "junk", ": found damaged gzip data (incorrect header check), expected a whole gzip file"},
      {"\x1f\x8bjunk and more junk",
       ": found damaged gzip data (unknown compression method), expected a whole gzip file"},
      {zstd.substr(0, zstd.size() - 3), ": found a zstd file that ends too early, expected a whole one"},
      {damaged, ": found damaged zstd data"},
      {test::zstd(sized), ":4: found the end of the file after 1 entry, expected the 2 that are announced"},
  };
}

/// Right-hand sides and initial guesses for a matrix of order 3.
std::vector<MalformedFile> malformed_vectors() {
  const std::string array = "%%MatrixMarket matrix array real general\n";
  const std::string whole = "%%MatrixMarket matrix array integer general\n3 1\n";
  const std::string sparse = "%%MatrixMarket matrix coordinate real general\n";
  return {
      {"", ":1: found an empty file, " + banner_line},
      {array + "3\n", ":2: found 1 of 2 numbers, expected 2 sizes: rows and columns"},
      {array + "4 1\n", ":2: found 4 rows and 1 columns, expected 3 rows and 1 column, as the matrix needs"},
      {array + "3 1\n1\n2",
       ":5: found the end of the file after 2 values, expected the 3 that are announced"},
      {array + "3 1\n1\n2\n3\n\n4\n",
       ":8: found the end of the file after 4 values, expected the 3 that are announced"},
      {array + "3 1\n1\nx\n3\n", R"(:4: found "x", expected a finite number)"},
      {array + "3 1\n1 2\n3\n", R"(:3: found "2" after 1 numbers, expected one value)"},
      {array + "3 1\n1\n% b\n2\n3\n",
       ":4: found a comment, expected a value: comments stand before the line of sizes"},
      {whole + "1\n2.5\n3\n", R"(:4: found "2.5", expected a whole number of 64 bits)"},
      {sparse + "3 1 1\n0 1 5\n", R"(:3: found "0", expected a row (1 to 3))"},
      {sparse + "3 1 1\n1 2 5\n", R"(:3: found "2", expected a column (1 to 1))"},
      {sparse + "3 1 2\n1 1 5\n",
       ":4: found the end of the file after 1 value, expected the 2 that are announced"},
  };
}

class MalformedFilesTest : public test::SharedFileTest {
 protected:
  template <typename Read>
  std::string message_of(const Read& read) const {
    group().barrier();
    auto message = test::error_of(ExitCode::bad_data, read);
    group().barrier();
    return message;
  }
  std::string message_of_reading() const {
    return message_of([&] { static_cast<void>(read_market_matrix({.path = path_}, group())); });
  }
  /// The message of reading a vector of 3 elements, which lie on the last rank.
  std::string message_of_reading_a_vector() const {
    const VectorPlace place{.size = 3,
                            .local_size = group().rank() + 1 == group().size() ? size_t{3} : 0,
                            .row_of = [](size_t element) { return static_cast<int64_t>(element); }};
    return message_of([&] { static_cast<void>(read_vector(path_, place, group())); });
  }
  void expect_messages(const std::vector<MalformedFile>& files, bool are_vectors = false) const {
    for (const auto& file : files) {
      SCOPED_TRACE(file.message);
      write(file.content);
      const auto message = are_vectors ? message_of_reading_a_vector() : message_of_reading();
      EXPECT_EQ(message.substr(0, path_.size() + file.message.size()), path_ + file.message);
      if (!file.message.ends_with("zstd data")) {  // zstd's own words differ between versions
        EXPECT_EQ(message, path_ + file.message);
      }
    }
  }
};

TEST_F(MalformedFilesTest, Headers) { expect_messages(malformed_headers()); }
TEST_F(MalformedFilesTest, Entries) { expect_messages(malformed_entries()); }
TEST_F(MalformedFilesTest, Streams) { expect_messages(malformed_streams()); }

TEST_F(MalformedFilesTest, Vectors) { expect_messages(malformed_vectors(), true); }

TEST_F(MalformedFilesTest, CompressedFilesThatEndAnywhereOrGoOn) {
  const std::string text = general + "3 3 2\n1 1 1\n2 2 2\n";
  for (const std::string name : {"gzip", "zstd"}) {
    const auto whole = name == "gzip" ? test::gzip(text) : test::zstd(text);
    write(whole);
    EXPECT_EQ(message_of_reading(), "no error");
    for (size_t size = 0; size < whole.size(); ++size) {
      SCOPED_TRACE(name + ", " + std::to_string(size) + " bytes");
      write(whole.substr(0, size));
      const auto message = message_of_reading();
      // Shorter ones have no magic number.
      const size_t magic_size = name == "gzip" ? 2 : 4;
      if (size >= magic_size) {
        EXPECT_EQ(message, path_ + ": found a " + name + " file that ends too early, expected a whole one");
      } else {
        EXPECT_EQ(message.substr(0, path_.size() + 10), path_ + ":1: found ");
      }
    }
    for (const std::string& tail : {std::string(1, '\0'), std::string(600, '\0'), std::string("\n"), text,
                                    std::string("\x1f"), std::string("\x28\xb5\x2f")}) {
      SCOPED_TRACE(name + ", tail of " + std::to_string(tail.size()) + " bytes");
      write(whole + tail);
      EXPECT_EQ(message_of_reading().substr(0, path_.size() + 8), path_ + ": found ");
    }
  }
}

TEST_F(MalformedFilesTest, RanksThatFindDifferentFilesSaySo) {
  if (group().size() == 1) GTEST_SKIP() << "one rank sees one file";
  const std::string small = general + "3 3 1\n1 1 1\n";
  const std::string expected =
      ": found another content on rank 1 than on rank 0, expected the same file on every node";
  const bool is_odd = group().rank() == 1;
  const auto own_path = path_ + (is_odd ? ".odd" : "");
  for (const auto& other : {small + "\n", general + "9 9 1\n1 1 1\n", general + "3 3 1\n2 1 1\n",
                            general + "2000000000 2000000000 1\n1 1 1\n", test::gzip(small),
                            std::string("CG2DMTX\nand no more")}) {
    for (const bool are_swapped : {false, true}) {
      group().barrier();
      std::ofstream(own_path, std::ios::binary) << (is_odd != are_swapped ? other : small);
      EXPECT_EQ(message_of([&] { static_cast<void>(open_matrix({.path = own_path}, group())); }),
                own_path + expected);
    }
  }
  if (is_odd) std::filesystem::remove(own_path);
}

TEST_F(MalformedFilesTest, MoreRowsThanMemoryAreRefusedBeforeTheyAreMade) {
  if (memory_room().available_bytes > stored_bytes(2'147'483'647, 1)) GTEST_SKIP() << "they fit";
  write(banner + "2147483647 2147483647 1\n1 1 1\n");
  const auto message = test::error_of(
      ExitCode::memory, [&] { static_cast<void>(read_market_matrix({.path = path_}, group())); });
  // 38.7 GB, and what the processes will grow by, which is more with a sanitizer.
  EXPECT_TRUE(message.starts_with(path_ + ": not enough memory: storing its rows takes 3")) << message;
  EXPECT_TRUE(std::regex_search(message, std::regex("takes 3[89](\\.[0-9])? GB on"))) << message;
}

TEST_F(MalformedFilesTest, LinesAreCountedFromTheBeginOfTheFileOnEveryRank) {
  // The fault lies in the share of each rank in turn, in a file of several blocks.
  constexpr int entry_count = 300'000;
  for (const int faulty : {0, entry_count / 3, entry_count / 2 + 7, entry_count - 1}) {
    SCOPED_TRACE(faulty);
    std::string text = general + "% comment\n3 3 " + std::to_string(entry_count) + "\n";
    for (int k = 0; k < entry_count; ++k) text += k == faulty ? "1 9 1.0\n" : "1 2 1.0\n";
    for (const auto& content : {text, test::gzip(text)}) {
      write(content);
      EXPECT_EQ(message_of_reading(),
                path_ + ":" + std::to_string(faulty + 4) + R"(: found "9", expected a column (1 to 3))");
    }
  }
}

TEST_F(MalformedFilesTest, TheFirstOfTwoFaultsIsReported) {
  std::string text = general + "3 3 3000\n";
  for (int k = 0; k < 3000; ++k) text += k == 10 ? "1 8 1.0\n" : (k == 2990 ? "1 9 1.0\n" : "1 2 1.0\n");
  write(text);
  EXPECT_EQ(message_of_reading(), path_ + R"(:13: found "8", expected a column (1 to 3))");
}

TEST_F(MalformedFilesTest, NoPermission) {
  if (group().rank() == 0) {
    std::ofstream(path_) << banner;
    std::filesystem::permissions(path_, std::filesystem::perms::none);
  }
  group().barrier();
  const bool is_root = geteuid() == 0;  // who may read everything
  constexpr uid_t nobody = 65534;
  EXPECT_TRUE(!is_root || seteuid(nobody) == 0);
  const auto message = message_of_reading();
  EXPECT_TRUE(!is_root || seteuid(0) == 0);
  EXPECT_EQ(message, path_ + ": cannot be read: Permission denied");
}

}  // namespace
}  // namespace cg2d::malformed_files_test
