// Matrices whose rows are not in memory, those in binary form and those of the library's own sources: the same facts and blocks as from stored rows, and
// no block from a file that is damaged anywhere.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cg/base/storage/crc32c.hpp"
#include "cg/matrix/files/matrix_file.hpp"
#include "support/block_entries.hpp"
#include "support/common_folder.hpp"
#include "support/error_of.hpp"
#include "support/layouts.hpp"
#include "support/test_extent.hpp"

namespace cg2d::system_matrix_test {
namespace {

using test::group;

/// Symmetric, with a dense first row, rows of many lengths and, for n >= 3, an empty one.
std::unique_ptr<StoredMatrix> made_matrix(int64_t n) {
  EntryCollector collector(n, group());
  for (int64_t row = group().rank(); row < n; row += group().size()) {
    if (n >= 3 && row == n / 2) continue;
    collector.add(row, row, 4.0 + static_cast<double>(row));
    for (int64_t column = 0; column < row; column += 1 + row % 7 * (column > 0 ? 5 : 1)) {
      if (n >= 3 && column == n / 2) continue;
      const double value = -1.0 / static_cast<double>(row + column + 1);
      collector.add(row, column, value);
      collector.add(column, row, value);
    }
  }
  return std::make_unique<StoredMatrix>(collector.finish(), "made", std::nullopt, group());
}

/// The matrix of a source; every rank adds the entries of an equal share of the rows.
std::unique_ptr<StoredMatrix> stored_source(const std::string& text) {
  const auto source = source_from(text);
  const auto order = source->facts().key.order;
  const auto layout = comm::BlockLayout::even(order, {.columns = 1, .rows = group().size()});
  const auto first_row = layout.row_block(group().rank()).begin;
  const auto block = source->build(layout, group(), 1).block;
  const double sign = source_row_of(text).is_negative_definite ? -1.0 : 1.0;
  EntryCollector collector(order, group());
  for (int64_t row = 0; row < block.row_count; ++row) {
    for (size_t k = 0; k < block.columns_of(row).size(); ++k)
      collector.add(first_row + row, block.columns_of(row)[k], sign * block.values_of(row)[k]);
  }
  return std::make_unique<StoredMatrix>(collector.finish(), text, std::nullopt, group());
}

/// The facts and cuts of both, and blocks, whole and in strips, diagonals and counts on every grid and cut. most_strips: more than rows, or
/// few where each takes its time. counts_strips: the matrix knows how long its strips are.
void expect_same(const SystemMatrix& matrix, const SystemMatrix& stored, int most_strips,
                 bool counts_strips) {
  EXPECT_EQ(matrix.order(), stored.order());
  EXPECT_EQ(matrix.nonzero_count(), stored.nonzero_count());
  EXPECT_EQ(matrix.facts().key.name, stored.facts().key.name);
  EXPECT_TRUE(matrix.facts().key == stored.facts().key);
  EXPECT_EQ(matrix.facts().row_lengths(2).share, stored.facts().row_lengths(2).share);
  for (const auto& shares : {comm::equal_shares(group().size()), comm::equal_shares(5), {3.0, 0.5, 1.0, 7.0}})
    EXPECT_EQ(matrix.balanced_piece_starts(shares, group()), stored.balanced_piece_starts(shares, group()));
  test::for_every_layout(matrix.order(), group().size(), [&](const test::NamedLayout& named) {
    const auto expected = test::entries_of(stored.build(named.layout, group(), 1).block);
    const auto column_count = named.layout.columns_of(group().rank()).size();
    EXPECT_EQ(matrix.diagonal(named.layout, group()), stored.diagonal(named.layout, group()));
    EXPECT_EQ(matrix.nonzeros_of_blocks(named.layout, group()),
              stored.nonzeros_of_blocks(named.layout, group()));
    for (const Strips& strips :
         {Strips{}, Strips{.count = 7, .row_multiple = 64}, Strips{.count = most_strips}}) {
      test::BlockEntries found;
      int64_t longest = 0;
      int strip_count = 0;
      matrix.build_strips(named.layout, group(), 1, strips, [&](const kernels::CsrBlock& strip) {
        EXPECT_EQ(strip.column_count, column_count);
        found.append(strip);
        longest = std::max(longest, strip.nonzero_count());
        ++strip_count;
      });
      EXPECT_TRUE(found == expected);
      EXPECT_EQ(strip_count, strips.count);
      if (!counts_strips) continue;
      const auto most = matrix.longest_strip(named.layout, group().rank(), strips);
      EXPECT_LE(longest, most);
      if (named.layout.grid().columns == 1) {
        EXPECT_EQ(longest, most);
      }
    }
  });
}

class CachedMatrixTest : public test::SharedFileTest {
 protected:
  std::string content() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  /// The message, after the name of the file, of opening it and reading all blocks.
  std::string message_of_reading() const {
    const auto error = test::error_of(ExitCode::bad_data, [&] {
      const auto matrix = open_cache({.path = path_}, "made", group());
      const comm::ProcessGrid grid{.columns = 1, .rows = group().size()};
      static_cast<void>(matrix->build(comm::BlockLayout::even(matrix->order(), grid), group(), 1));
      matrix->require_positive_diagonal(group());
    });
    EXPECT_EQ(error.substr(0, path_.size()), path_);
    return error.substr(std::min(path_.size(), error.size()));
  }
};

TEST_F(CachedMatrixTest, IsTheMatrixOfTheRows) {
  for (const int64_t n : {1, 2, 97, test::by_extent(500, 3000)}) {
    const auto stored = made_matrix(n);
    write_cache(*stored, path_, group());
    expect_same(*open_cache({.path = path_}, "made", group()), *stored, test::is_thorough() ? 4000 : 40,
                true);
  }
}

TEST_F(CachedMatrixTest, OtherContentsHaveAnotherHash) {
  write_cache(*made_matrix(200), path_, group());
  const auto hash = open_cache({.path = path_}, "made", group())->content_hash();
  EXPECT_EQ(open_cache({.path = path_}, "another name", group())->content_hash(), hash);
  write_cache(*made_matrix(201), path_, group());
  EXPECT_NE(open_cache({.path = path_}, "made", group())->content_hash(), hash);
  EXPECT_FALSE(made_matrix(200)->content_hash());
}

TEST_F(CachedMatrixTest, EveryByteIsTheSameFromAnyNumberOfRanks) {
  write_cache(*made_matrix(500), path_, group());
  // A change of the layout that changes this number changes the version, too.
  const auto bytes = content();
  EXPECT_EQ(crc32c(std::as_bytes(std::span(bytes))), 0xa06594f1U);
}

TEST_F(CachedMatrixTest, ARandomOrderIsThatOfTheRows) {
  write_cache(*made_matrix(200), path_, group());
  const auto matrix = open_matrix({.path = path_, .permutation_seed = 3}, group());
  const auto layout = comm::BlockLayout::even(200, comm::factorizations(group().size()).front());
  const auto diagonal = matrix->diagonal(layout, group());
  const auto piece = layout.piece(layout.column_piece_of(group().rank()));
  for (int64_t k = piece.begin; k < piece.end; ++k) {
    const auto row = RandomPermutation(200, 3).inverse(k);
    EXPECT_EQ(diagonal[static_cast<size_t>(k - piece.begin)],
              row == 100 ? 0.0 : 4.0 + static_cast<double>(row));
  }
}

TEST_F(CachedMatrixTest, NothingIsLeftWhereRanksHaveDifferentFolders) {
  if (group().size() == 1) GTEST_SKIP() << "one rank sees one folder";
  const auto matrix = made_matrix(3);
  const std::filesystem::path folder = path_ + "." + std::to_string(group().rank() % 2);
  std::filesystem::create_directory(folder);
  const auto before = std::filesystem::current_path();
  group().barrier();
  std::filesystem::current_path(folder);
  EXPECT_EQ(
      test::error_of(ExitCode::cannot_create, [&] { write_cache(*matrix, "A.cg2d", group()); }),
      "cannot create A.cg2d: rank 1 cannot open what rank 0 has made there (No such file or directory); "
      "name a file in a folder that all ranks can write");
  group().barrier();
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  std::filesystem::current_path(before);
  group().barrier();
  if (group().rank() < 2) std::filesystem::remove_all(folder);
}

/// damaged_cache_test has every truncation and every flip of a bit, on one rank.
TEST_F(CachedMatrixTest, DamagedFilesAreRefusedAlikeOnAllRanks) {
  write_cache(*made_matrix(3000), path_, group());
  const auto good = content();
  const CacheReader reader(path_);
  const CacheLayout layout(reader.header());
  for (const auto position : {layout.row_starts + 8, layout.values + 100'000, layout.data_end}) {
    auto bad = good;
    bad[static_cast<size_t>(position)] = static_cast<char>(bad[static_cast<size_t>(position)] ^ 0x10);
    write(bad);
    const auto message = message_of_reading();
    EXPECT_TRUE(message.starts_with(": found damaged ")) << message;
    for (const auto& other : group().gather_all(message)) EXPECT_EQ(other, message);
  }
}

TEST_F(CachedMatrixTest, DamageInAStripEndsTheStripsOnAllRanks) {
  write_cache(*made_matrix(3000), path_, group());
  const auto opened = open_cache({.path = path_}, "made", group());
  const auto& cached = *opened;
  auto bad = content();
  bad[bad.size() / 2] = static_cast<char>(bad[bad.size() / 2] ^ 1);  // a value of some rank's rows
  write(bad);
  const comm::ProcessGrid grid{.columns = 1, .rows = group().size()};
  EXPECT_THROW(cached.build_strips(comm::BlockLayout::even(cached.order(), grid), group(), 1, {.count = 5},
                                   [](const kernels::CsrBlock&) {}),
               RunError);
}

constexpr int64_t much_memory = int64_t{1} << 30;

TEST(SourceMatrixTest, IsTheMatrixOfTheRows) {
  for (const std::string text : {"laplace2d:7x9", "laplace3d:4x5x6:27", "npb:S"}) {
    SCOPED_TRACE(text);
    const auto made = open_source({.path = text}, much_memory, group());
    expect_same(*made, *stored_source(text), 5, false);
    EXPECT_NO_THROW(made->require_positive_diagonal(group()));
  }
}

TEST(SourceMatrixTest, AnotherMatrixHasAnotherHash) {
  std::vector<uint64_t> hashes;
  for (const std::string text : {"laplace2d:7x9", "laplace2d:9x7", "laplace3d:7x9x2", "npb:S"})
    hashes.push_back(open_source({.path = text}, much_memory, group())->content_hash().value());
  EXPECT_EQ(hashes.front(), open_source({.path = "laplace2d:7x9"}, much_memory, group())->content_hash());
  std::ranges::sort(hashes);
  EXPECT_TRUE(std::ranges::adjacent_find(hashes) == hashes.end());
}

TEST(SourceMatrixTest, TheMemoryForCountingIsAskedForBefore) {
  int64_t making_bytes = 0;
  const MemoryCheck check = [&](const ExpectedMatrix& expected) {
    making_bytes = expected.making_bytes;
    throw RunError(ExitCode::memory, "too much");
  };
  const auto open = [&] { open_source({.path = "npb:S", .check_memory = check}, 1000, group()); };
  EXPECT_EQ(test::error_of(ExitCode::memory, open), "too much");
  EXPECT_GT(making_bytes, 1000);
}

TEST(Crc32cTest, ChecksumsOfTheStandard) {
  const auto checksum = [](std::string_view text) { return crc32c(std::as_bytes(std::span(text))); };
  EXPECT_EQ(checksum("123456789"), 0xe3069283U);
  EXPECT_EQ(checksum(std::string(32, '\0')), 0x8a9136aaU) << "RFC 3720, B.4";
  EXPECT_EQ(checksum(std::string(32, '\xff')), 0x62a8ab43U) << "RFC 3720, B.4";
}

}  // namespace
}  // namespace cg2d::system_matrix_test
