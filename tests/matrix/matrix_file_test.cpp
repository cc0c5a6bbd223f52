// Reading matrices: the same matrix from every spelling, compression and number of ranks.

#include "cg/matrix/files/matrix_file.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <utility>

#include "support/common_folder.hpp"
#include "support/compressed_text.hpp"
#include "support/error_of.hpp"

namespace cg2d::matrix_file_test {
namespace {

using test::group;

using Entries = std::map<std::pair<int64_t, int64_t>, double>;

/// All entries of the matrix, on every rank.
Entries entries_of(const StoredMatrix& matrix) {
  struct Entry {
    int64_t row;
    int64_t column;
    double value;
  };
  std::vector<Entry> mine;
  matrix.store().for_each_part([&](const RowPart& part) {
    for (size_t k = 0; k < part.columns.size(); ++k)
      mine.push_back({.row = part.row, .column = part.columns[k], .value = part.values[k]});
  });
  Entries all;
  for (const auto& theirs : group().gather_all(std::span<const Entry>(mine))) {
    for (const auto& entry : theirs)
      EXPECT_TRUE(all.emplace(std::pair(entry.row, entry.column), entry.value).second);
  }
  return all;
}

class MatrixFileTest : public test::SharedFileTest {
 protected:
  Entries read(const std::string& content, const MatrixFileOptions& options = {}) const {
    write(content);
    auto all_options = options;
    all_options.path = path_;
    return entries_of(*read_market_matrix(all_options, group()));
  }
};

TEST_F(MatrixFileTest, EverySpellingOfOneMatrix) {
  const Entries expected{{{0, 0}, 4.0}, {{0, 2}, -1.5}, {{2, 0}, -1.5}, {{1, 1}, 3.0}, {{2, 2}, 5.0}};
  const std::string entries = "1 1 4\n3 1 -1.5\n2 2 3\n3 3 5\n";
  const std::string symmetric = "%%MatrixMarket matrix coordinate real symmetric\n3 3 4\n";
  EXPECT_EQ(read(symmetric + entries), expected);
  EXPECT_EQ(read("%%MatrixMarket matrix coordinate real general\n3 3 5\n1 3 -1.5\n" + entries), expected);
  EXPECT_EQ(read("%%matrixmarket MATRIX Coordinate DOUBLE Symmetric\n3 3 4\n" + entries), expected)
      << "letters";
  EXPECT_EQ(read("%%MatrixMarket matrix coordinate real symmetric\n% a\n\n%\n \t\n3 3 4\n" + entries),
            expected)
      << "comments and blank lines before the sizes";
  EXPECT_EQ(read(symmetric + "\n1 1 4\n\n \n3 1 -1.5\n2 2 3\n3 3 5\n\n\n"), expected) << "blank lines";
  EXPECT_EQ(read(symmetric + entries.substr(0, entries.size() - 1)), expected) << "no last line feed";
  EXPECT_EQ(
      read("%%MatrixMarket matrix coordinate real symmetric\r\n% a\r\n3 3 4\r\n1 1 4\r\n\r\n3 1 -1.5\r\n2 2 "
           "3\r\n3 3 5\r\n"),
      expected)
      << "line ends of DOS";
  EXPECT_EQ(read(symmetric + "  1\t1   4.0  \n3 1 -15e-1\n+2 02 +3.\n3 3 .5E+1"), expected) << "numbers";
  EXPECT_EQ(read(symmetric.substr(0, symmetric.size() - 2) + "6\n3 3 2\n3 1 -1\n" + entries.substr(0, 6) +
                 "3 1 -0.5\n2 2 3\n3 3 3\n"),
            expected)
      << "entries that come twice are summed";
  EXPECT_EQ(read(test::gzip(symmetric + entries)), expected);
  EXPECT_EQ(read(test::zstd(symmetric + entries)), expected);
  EXPECT_EQ(read(test::zstd_with_long_window(symmetric, entries)), expected);
  EXPECT_EQ(read("\xef\xbb\xbf" + symmetric + entries), expected) << "a byte order mark";
}

TEST_F(MatrixFileTest, CompressedInSeveralParts) {
  const Entries expected{{{0, 0}, 4.0}, {{1, 1}, 3.0}};
  const std::string text = "%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 4\n2 2 3\n";
  const std::string skipped("\x50\x2a\x4d\x18\x04\0\0\0abcd", 12);  // as pzstd begins its files
  for (const size_t cut : {size_t{0}, size_t{1}, size_t{60}, text.size()}) {
    const auto first = text.substr(0, cut);
    const auto second = text.substr(cut);
    EXPECT_EQ(read(test::gzip(first) + test::gzip("") + test::gzip(second)), expected) << cut;
    EXPECT_EQ(read(test::zstd(first) + test::zstd(second)), expected) << cut;
    EXPECT_EQ(read(skipped + test::zstd(first) + skipped + test::zstd(second) + skipped), expected) << cut;
  }
}

TEST_F(MatrixFileTest, IntegersPatternsAndFilesWithoutEntries) {
  EXPECT_EQ(read("%%MatrixMarket matrix coordinate real general\n4 4 0\n"), Entries());
  const Entries integers{{{0, 0}, 7.0}, {{1, 0}, -2.0}, {{0, 1}, -2.0}};
  EXPECT_EQ(read("%%MatrixMarket matrix coordinate integer symmetric\n2 2 2\n1 1 7\n2 1 -2\n"), integers);
  const Entries ones{{{0, 0}, 1.0}, {{1, 0}, 1.0}, {{0, 1}, 1.0}};
  EXPECT_EQ(read("%%MatrixMarket matrix coordinate pattern symmetric\n2 2 2\n1 1\n2 1\n"), ones);
  const Entries multiples{{{0, 0}, 3.0}, {{1, 0}, 2.0}, {{0, 1}, 2.0}, {{1, 1}, 1.0}};
  EXPECT_EQ(read("%%MatrixMarket matrix coordinate pattern symmetric\n2 2 6\n1 1\n2 1\n1 1\n2 2\n2 1\n1 1\n"),
            multiples);
}

TEST_F(MatrixFileTest, LargeFilesAreTheSameFromAnyNumberOfRanks) {
  // Several blocks of 1 MiB per rank, and several parts of 4 MiB of a compressed file; lines of all lengths.
  constexpr int64_t n = 5000;
  constexpr int line_count = 120'000;
  std::mt19937_64 random(18);
  Entries expected;
  std::string text = "%%MatrixMarket matrix coordinate real symmetric\n" + std::to_string(n) + " " +
                     std::to_string(n) + " " + std::to_string(line_count) + "\n";
  for (int k = 0; k < line_count; ++k) {
    auto row = static_cast<int64_t>(random() % n);
    auto column = static_cast<int64_t>(random() % n);
    if (row < column) std::swap(row, column);
    const auto eighths = static_cast<int64_t>(random() % 4096);  // exact sums
    text += std::to_string(row + 1) + std::string(1 + random() % 90, ' ') + std::to_string(column + 1) + " " +
            std::to_string(eighths / 8) + "." + std::to_string(eighths % 8 * 125 + 1000).substr(1) + "\n";
    expected[{row, column}] += static_cast<double>(eighths) / 8.0;
    if (row != column) expected[{column, row}] += static_cast<double>(eighths) / 8.0;
  }
  EXPECT_GT(text.size(), size_t{6} << 20);
  EXPECT_TRUE(read(text) == expected);
  EXPECT_TRUE(read(test::gzip(text)) == expected);
  EXPECT_TRUE(read(test::zstd(text)) == expected);
}

TEST_F(MatrixFileTest, LongLinesAreRefusedAlikeWhereverTheyStand) {
  // 1 MiB without the line feed is allowed. They stand within a block, across its end, and at the end of the
  // file; with more than one rank also at the begin of a share and across several.
  constexpr size_t most = size_t{1} << 20;
  const std::string entry = "1 1 1";
  for (const size_t lines_before : {0U, 11'000U, 180'000U}) {
    for (const size_t lines_after : {0U, 40'000U}) {
      std::string text = "%%MatrixMarket matrix coordinate real general\n1 1 " +
                         std::to_string(lines_before + lines_after + 1) + "\n";
      for (size_t k = 0; k < lines_before; ++k) text += entry + "\n";
      const auto with_line = [&](size_t length) {
        auto whole = text + entry + std::string(length - entry.size(), ' ');
        for (size_t k = 0; k < lines_after; ++k) whole += "\n" + entry;
        return whole;
      };
      SCOPED_TRACE(std::to_string(lines_before) + " lines before, " + std::to_string(lines_after) + " after");
      const Entries expected{{{0, 0}, static_cast<double>(lines_before + lines_after + 1)}};
      EXPECT_TRUE(read(with_line(most)) == expected);
      for (const size_t length : {most + 1, 3 * most}) {
        EXPECT_EQ(test::error_of(ExitCode::bad_data, [&] { read(with_line(length)); }),
                  path_ + ":" + std::to_string(lines_before + 3) +
                      ": found a line of more than 1048576 bytes, expected a shorter one");
      }
    }
  }
}

TEST_F(MatrixFileTest, APermutationMovesRowsAndColumnsAlike) {
  const std::string text =
      "%%MatrixMarket matrix coordinate real symmetric\n5 5 4\n1 1 1\n2 2 2\n5 3 3\n4 4 4\n";
  const RandomPermutation permutation(5, 42);
  Entries expected;
  for (const auto& [place, value] : read(text))
    expected[{permutation(place.first), permutation(place.second)}] = value;
  EXPECT_EQ(read(text, {.path = "", .permutation_seed = 42}), expected);
}

}  // namespace
}  // namespace cg2d::matrix_file_test
