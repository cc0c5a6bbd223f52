// Files that are no matrix: each ends with one line, the same on every rank, never with a crash, a hang or a matrix.

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "cg/base/errors.hpp"
#include "cg/files/matrix_file.hpp"
#include "support/compressed_text.hpp"
#include "support/mpi_test.hpp"

namespace cg2d {
namespace {

using test::group;

struct MalformedFile {
  std::string name;
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
      {"empty", "", ":1: found an empty file, " + banner_line},
      {"one line feed", "\n", R"(:1: found "", )" + banner_line},
      {"no banner", "3 3 1\n1 1 1.0\n", R"(:1: found "3 3 1", )" + banner_line},
      {"wrong banner", "%MatrixMarket matrix coordinate real general\n1 1 0\n",
       R"(:1: found "%MatrixMarket matrix coordinate real gen...", )" + banner_line},
      {"byte order mark", "\xef\xbb\xbf" + banner + "1 1 0\n",
       R"(:1: found "\xef\xbb\xbf%%MatrixMarket matrix coordinate real...", )" + banner_line},
      {"blank before the banner", "\n" + banner + "1 1 0\n", R"(:1: found "", )" + banner_line},
      {"binary junk", std::string("\x7f\x45LF\x02\x01\x00\x00", 8) + "\xff\xfe",
       R"(:1: found "\x7fELF\x02\x01\x00\x00\xff\xfe", )" + banner_line},
      {"zeros", std::string(5, '\0'), R"(:1: found "\x00\x00\x00\x00\x00", )" + banner_line},
      {"Harwell-Boeing", "1U 12 9 0 0\nRUA 3 3\n", R"(:1: found "1U 12 9 0 0", )" + banner_line},
      {"four words", "%%MatrixMarket matrix coordinate real\n1 1 0\n",
       R"(:1: found 4 words, expected 5 words, as in "%%MatrixMarket matrix coordinate real symmetric")"},
      {"six words", "%%MatrixMarket matrix coordinate real general x\n1 1 0\n",
       R"(:1: found 6 words, expected 5 words, as in "%%MatrixMarket matrix coordinate real symmetric")"},
      {"no matrix", "%%MatrixMarket tensor coordinate real general\n1 1 0\n",
       R"(:1: found "tensor", expected matrix)"},
      {"no form", "%%MatrixMarket matrix sparse real general\n1 1 0\n",
       R"(:1: found "sparse", expected coordinate or array)"},
      {"complex", "%%MatrixMarket matrix coordinate complex general\n1 1 0\n",
       R"(:1: found "complex", expected real, integer or pattern)"},
      {"skew-symmetric", "%%MatrixMarket matrix coordinate real skew-symmetric\n1 1 0\n",
       R"(:1: found "skew-symmetric", expected general or symmetric)"},
      {"hermitian", "%%MatrixMarket matrix coordinate real Hermitian\n1 1 0\n",
       R"(:1: found "Hermitian", expected general or symmetric)"},
      {"pattern array", "%%MatrixMarket matrix array pattern general\n1 1\n",
       R"(:1: found "pattern", expected real or integer, since an array has values)"},
      {"dense matrix", "%%MatrixMarket matrix array real general\n1 1\n1.0\n",
       R"(:1: found "array", expected coordinate, the form of sparse matrices)"},
      {"banner only", banner, ":2: found the end of the file, expected the line of sizes"},
      {"banner without line feed", banner.substr(0, banner.size() - 1),
       ":2: found the end of the file, expected the line of sizes"},
      {"comments only", banner + "% a\n% b\n", ":4: found the end of the file, expected the line of sizes"},
      {"two sizes", banner + "3 3\n",
       ":2: found 2 of 3 numbers, expected 3 sizes: rows, columns and entries"},
      {"four sizes", banner + "3 3 1 7\n",
       R"(:2: found "7" after 3 numbers, expected 3 sizes: rows, columns and entries)"},
      {"no rows", banner + "0 0 0\n", R"(:2: found "0", expected the number of rows (1 to 2147483647))"},
      {"negative rows", banner + "-3 3 1\n",
       R"(:2: found "-3", expected the number of rows (1 to 2147483647))"},
      {"rows are no number", banner + "three 3 1\n",
       R"(:2: found "three", expected the number of rows (1 to 2147483647))"},
      {"fractional size", banner + "3.0 3 1\n",
       R"(:2: found "3.0", expected the number of rows (1 to 2147483647))"},
      {"n of 2^31", banner + "2147483648 2147483648 1\n",
       R"(:2: found "2147483648", expected the number of rows (1 to 2147483647))"},
      {"n of 2^63", banner + "9223372036854775808 3 1\n",
       R"(:2: found "9223372036854775808", expected the number of rows (1 to 2147483647))"},
      {"columns of 2^64", banner + "3 18446744073709551616 1\n",
       R"(:2: found "18446744073709551616", expected the number of columns (1 to 2147483647))"},
      {"negative entries", banner + "3 3 -1\n",
       R"(:2: found "-1", expected the number of entries (0 to 9223372036854775807))"},
      {"entries of 2^63", banner + "3 3 9223372036854775808\n",
       R"(:2: found "9223372036854775808", expected the number of entries (0 to 9223372036854775807))"},
      {"not square", "%%MatrixMarket matrix coordinate real general\n%\n\n3 4 1\n1 1 1\n",
       ":4: found 3 rows and 4 columns, expected a square matrix"},
      {"long comment", banner + "%" + std::string(2'000'000, 'x') + "\n1 1 1\n1 1 1\n",
       ":2: found a line of more than 65536 bytes, expected a shorter one"},
  };
}

std::vector<MalformedFile> malformed_entries() {
  const std::string sized = general + "3 3 2\n";
  const std::string good = "1 1 1.0\n";
  return {
      {"fewer entries", sized + good,
       ":4: found the end of the file after 1 entry, expected the 2 that are announced"},
      {"no entries", sized,
       ":3: found the end of the file after 0 entries, expected the 2 that are announced"},
      {"sizes without line feed", general + "3 3 2",
       ":3: found the end of the file after 0 entries, expected the 2 that are announced"},
      {"entries of 2^62", general + "3 3 4611686018427387904\n" + good,
       ":4: found the end of the file after 1 entry, expected the 4611686018427387904 that are announced"},
      {"blank lines are no entries", sized + "\n" + good + "\n\n",
       ":7: found the end of the file after 1 entry, expected the 2 that are announced"},
      {"more entries", sized + good + good + "2 2 1\n3 3 1\n",
       ":5: found one more entry, expected the end of the file after the 2 that are announced"},
      {"more, then a fault", sized + good + good + "2 2 1\nx\n",
       ":5: found one more entry, expected the end of the file after the 2 that are announced"},
      {"a fault, then more", sized + good + "x\n" + good + good,
       ":4: found 1 of 3 numbers, expected row, column and value"},
      {"row 0", sized + good + "0 1 1\n", R"(:4: found "0", expected a row (1 to 3))"},
      {"column 0", sized + good + "1 0 1\n", R"(:4: found "0", expected a column (1 to 3))"},
      {"row too large", sized + good + "4 1 1\n", R"(:4: found "4", expected a row (1 to 3))"},
      {"column too large", sized + good + "1 4 1\n", R"(:4: found "4", expected a column (1 to 3))"},
      {"negative row", sized + good + "-1 1 1\n", R"(:4: found "-1", expected a row (1 to 3))"},
      {"row of 2^32 + 1", sized + good + "4294967297 1 1\n",
       R"(:4: found "4294967297", expected a row (1 to 3))"},
      {"row of 2^64 + 1", sized + good + "18446744073709551617 1 1\n",
       R"(:4: found "18446744073709551617", expected a row (1 to 3))"},
      {"fractional row", sized + good + "1.5 1 1\n", R"(:4: found "1.5", expected a row (1 to 3))"},
      {"hexadecimal row", sized + good + "0x1 1 1\n", R"(:4: found "0x1", expected a row (1 to 3))"},
      {"row is no number", sized + good + "one 1 1\n", R"(:4: found "one", expected a row (1 to 3))"},
      {"value is no number", sized + good + "1 1 abc\n", R"(:4: found "abc", expected a finite number)"},
      {"value with a tail", sized + good + "1 1 1.0x\n", R"(:4: found "1.0x", expected a finite number)"},
      {"decimal comma", sized + good + "1 1 1,5\n", R"(:4: found "1,5", expected a finite number)"},
      {"Fortran exponent", sized + good + "1 1 1.0D+00\n",
       R"(:4: found "1.0D+00", expected a finite number)"},
      {"two signs", sized + good + "1 1 +-1\n", R"(:4: found "+-1", expected a finite number)"},
      {"sign alone", sized + good + "1 1 -\n", R"(:4: found "-", expected a finite number)"},
      {"NaN", sized + good + "1 1 NaN\n", R"(:4: found "NaN", expected a finite number)"},
      {"infinity", sized + good + "1 1 -inf\n", R"(:4: found "-inf", expected a finite number)"},
      {"overflow", sized + good + "1 1 1e400\n", R"(:4: found "1e400", expected a finite number)"},
      {"no value", sized + good + "1 1\n", ":4: found 2 of 3 numbers, expected row, column and value"},
      {"row only", sized + good + "1", ":4: found 1 of 3 numbers, expected row, column and value"},
      {"complex value", sized + good + "1 1 1.0 0.0\n",
       R"(:4: found "0.0" after 3 numbers, expected row, column and value)"},
      {"values glued", sized + good + "1 1 1.0 2 2 1.0\n",
       R"(:4: found "2" after 3 numbers, expected row, column and value)"},
      {"comment among entries", sized + good + "% late\n" + good,
       ":4: found a comment, expected an entry: comments stand before the line of sizes"},
      {"comment at the end", sized + good + good + "% end\n",
       ":5: found a comment, expected an entry: comments stand before the line of sizes"},
      {"old Mac line ends", general + "3 3 2\r1 1 1\r2 2 2\r",
       R"(:2: found "1" after 3 numbers, expected 3 sizes: rows, columns and entries)"},
      {"zero byte", sized + good + std::string("1 1 1\0\n", 7),
       R"(:4: found "1\x00", expected a finite number)"},
      {"text after entries", sized + good + good + "the end\n",
       ":5: found 2 of 3 numbers, expected row, column and value"},
      {"above the diagonal", banner + "3 3 2\n" + good + "1 2 1\n",
       ":4: found entry (1, 2) above the diagonal, expected entries on or below it, since the file is "
       "symmetric"},
      {"integer with a point", integer + "3 3 2\n1 1 1\n1 1 2.5\n",
       R"(:4: found "2.5", expected a whole number of 64 bits)"},
      {"integer overflow", integer + "3 3 2\n1 1 1\n1 1 9223372036854775808\n",
       R"(:4: found "9223372036854775808", expected a whole number of 64 bits)"},
      {"pattern with a value", pattern + "3 3 2\n1 1\n2 2 1.0\n",
       R"(:4: found "1.0" after 2 numbers, expected row and column)"},
      {"long line", sized + good + "1 1 1" + std::string(3'000'000, ' ') + "\n",
       ":4: found a line of more than 65536 bytes, expected a shorter one"},
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
      {"truncated gzip", gzip.substr(0, gzip.size() - 9),
       ": found a gzip file that ends too early, expected a whole one"},
      {"gzip header only", gzip.substr(0, 10),
       ": found a gzip file that ends too early, expected a whole one"},
      {"gzip checksum", flipped,
       ": found damaged gzip data (incorrect data check), expected a whole gzip file"},
      {"junk after gzip", gzip + "junk",
       ": found damaged gzip data (incorrect header check), expected a whole gzip file"},
      {"no gzip", "\x1f\x8bjunk and more junk",
       ": found damaged gzip data (unknown compression method), expected a whole gzip file"},
      {"truncated zstd", zstd.substr(0, zstd.size() - 3),
       ": found a zstd file that ends too early, expected a whole one"},
      {"damaged zstd", damaged, ": found damaged zstd data"},
      {"fault in gzip", test::gzip(sized + "0 2 2\n"), R"(:4: found "0", expected a row (1 to 3))"},
      {"fewer in zstd", test::zstd(sized),
       ":4: found the end of the file after 1 entry, expected the 2 that are announced"},
  };
}

class MalformedFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ = group().broadcast(testing::TempDir() + "cg2d_malformed_" + std::to_string(getpid()) + ".mtx");
  }
  void TearDown() override {
    group().barrier();
    if (group().rank() == 0) std::filesystem::remove_all(path_);
  }

  [[nodiscard]] std::string message_of_reading() const {
    group().barrier();
    std::string message;
    try {
      static_cast<void>(read_market_matrix({.path = path_}, group()));
      message = "no error";
    } catch (const RunError& error) {
      EXPECT_EQ(error.code(), ExitCode::bad_data);
      message = error.what();
    }
    group().barrier();
    return message;
  }

  /// `exact`: the message is all of it, not its begin.
  void expect_messages(const std::vector<MalformedFile>& files) const {
    for (const auto& file : files) {
      SCOPED_TRACE(file.name);
      if (group().rank() == 0) std::ofstream(path_, std::ios::binary) << file.content;
      const auto message = message_of_reading();
      EXPECT_EQ(message.substr(0, path_.size() + file.message.size()), path_ + file.message);
      if (file.name != "damaged zstd") {  // zstd's own words differ between versions
        EXPECT_EQ(message, path_ + file.message);
      }
    }
  }

  std::string path_;
};

TEST_F(MalformedFilesTest, ThereAreManyOfThem) {
  EXPECT_GE(malformed_headers().size() + malformed_entries().size() + malformed_streams().size(), 80U);
}

TEST_F(MalformedFilesTest, Headers) { expect_messages(malformed_headers()); }
TEST_F(MalformedFilesTest, Entries) { expect_messages(malformed_entries()); }
TEST_F(MalformedFilesTest, Streams) { expect_messages(malformed_streams()); }

TEST_F(MalformedFilesTest, LinesAreCountedFromTheBeginOfTheFileOnEveryRank) {
  // The fault lies in the share of each rank in turn, in a file of several blocks.
  constexpr int entry_count = 300'000;
  for (const int faulty : {0, 1, entry_count / 3, entry_count / 2 + 7, entry_count - 1}) {
    SCOPED_TRACE(faulty);
    std::string text = general + "% comment\n3 3 " + std::to_string(entry_count) + "\n";
    for (int k = 0; k < entry_count; ++k) text += k == faulty ? "1 9 1.0\n" : "1 2 1.0\n";
    for (const auto& content : {text, test::gzip(text)}) {
      if (group().rank() == 0) std::ofstream(path_, std::ios::binary) << content;
      EXPECT_EQ(message_of_reading(),
                path_ + ":" + std::to_string(faulty + 4) + R"(: found "9", expected a column (1 to 3))");
    }
  }
}

TEST_F(MalformedFilesTest, TheFirstOfTwoFaultsIsReported) {
  std::string text = general + "3 3 3000\n";
  for (int k = 0; k < 3000; ++k) text += k == 10 ? "1 8 1.0\n" : (k == 2990 ? "1 9 1.0\n" : "1 2 1.0\n");
  if (group().rank() == 0) std::ofstream(path_, std::ios::binary) << text;
  EXPECT_EQ(message_of_reading(), path_ + R"(:13: found "8", expected a column (1 to 3))");
}

TEST_F(MalformedFilesTest, NoFile) {
  EXPECT_EQ(message_of_reading(), path_ + ": found no such file, expected a file to read");
}

TEST_F(MalformedFilesTest, Directory) {
  if (group().rank() == 0) std::filesystem::create_directory(path_);
  EXPECT_EQ(message_of_reading(), path_ + ": found a directory, expected a file");
}

TEST_F(MalformedFilesTest, Pipe) {
  if (group().rank() == 0) {
    EXPECT_EQ(mkfifo(path_.c_str(), S_IRUSR | S_IWUSR), 0);
  }
  EXPECT_EQ(message_of_reading(),
            path_ + ": found a pipe or a device, expected a file, which every rank can open");
}

TEST_F(MalformedFilesTest, NoPermission) {
  if (geteuid() == 0) GTEST_SKIP() << "root may read everything";
  if (group().rank() == 0) {
    std::ofstream(path_) << banner;
    std::filesystem::permissions(path_, std::filesystem::perms::none);
  }
  EXPECT_EQ(message_of_reading(), path_ + ": found Permission denied, expected a file to read");
}

}  // namespace
}  // namespace cg2d
