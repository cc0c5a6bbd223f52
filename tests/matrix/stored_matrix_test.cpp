// Entries of a user's matrix on their way to blocks: every grid and cut against a matrix that is summed in a map.

#include "cg/matrix/files/system_matrix.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "cg/base/process_memory.hpp"
#include "cg/base/storage/unnamed_file.hpp"
#include "support/error_of.hpp"
#include "support/layouts.hpp"
#include "support/mpi_test.hpp"
#include "support/npb_reference.hpp"
#include "support/temporary_folder.hpp"

namespace cg2d::stored_matrix_test {
namespace {

using test::group;
using test::ReferenceMatrix;

struct Entry {
  std::pair<int64_t, int64_t> place;
  double value;
};

/// Symmetric, with a dense row, empty rows where n allows it, and places that come several times. Values are
/// multiples of 1/8: their sums are exact in any order.
std::vector<Entry> symmetric_entries(int64_t n) {
  std::mt19937_64 random(static_cast<uint64_t>(n) + 18);
  const auto below = [&](int64_t bound) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(bound));
  };
  std::vector<Entry> entries;
  const auto add = [&](int64_t row, int64_t column, double value) {
    entries.push_back({{row, column}, value});
    if (row != column) entries.push_back({{column, row}, value});
  };
  for (int64_t k = 0; k < 5 * n; ++k) add(below(n), below(n), static_cast<double>(1 + below(64)) / 8.0);
  const auto dense = below(n);
  for (int64_t column = 0; column < n; ++column) add(dense, column, 0.5);
  std::shuffle(entries.begin(), entries.end(), random);
  return entries;
}

ReferenceMatrix summed(int64_t n, const std::vector<Entry>& entries) {
  ReferenceMatrix rows(static_cast<size_t>(n));
  for (const auto& [place, value] : entries)
    rows[static_cast<size_t>(place.first)][static_cast<int32_t>(place.second)] += value;
  return rows;
}

double at(const ReferenceMatrix& matrix, int64_t row, int64_t column) {
  const auto& entries = matrix[static_cast<size_t>(row)];
  const auto found = entries.find(static_cast<int32_t>(column));
  return found == entries.end() ? 0.0 : found->second;
}

/// Every rank adds each P-th entry.
std::unique_ptr<StoredMatrix> stored(int64_t n, const std::vector<Entry>& entries) {
  EntryCollector collector(n, group());
  for (size_t k = static_cast<size_t>(group().rank()); k < entries.size();
       k += static_cast<size_t>(group().size()))
    collector.add(entries[k].place.first, entries[k].place.second, entries[k].value);
  return std::make_unique<StoredMatrix>(collector.finish(), "test", std::nullopt, group());
}

void expect_block(const kernels::CsrBlock& block, const comm::BlockLayout& layout,
                  const ReferenceMatrix& reference) {
  test::expect_block(block, reference, layout.rows_of(group().rank()), layout.columns_of(group().rank()));
}

/// Expects the block of the even cut on a grid.
void expect_even_block(const StoredMatrix& matrix, const comm::ProcessGrid& grid,
                       const ReferenceMatrix& reference) {
  const auto layout = comm::BlockLayout::even(matrix.order(), grid);
  expect_block(matrix.build(layout, group(), 1).block, layout, reference);
}

/// Expects the blocks and diagonals of the matrix on all grids and cuts, and pieces with even numbers of nonzeros.
void expect_blocks(int64_t n, const std::vector<Entry>& entries) {
  const auto reference = summed(n, entries);
  const auto matrix = stored(n, entries);
  std::vector<double> nonzeros_before{0.0};  // each row, and all
  for (const auto& row : reference)
    nonzeros_before.push_back(nonzeros_before.back() + static_cast<double>(row.size()));
  EXPECT_EQ(static_cast<double>(matrix->nonzero_count()), nonzeros_before.back());
  matrix->require_symmetric(group());
  test::for_every_layout(n, group().size(), [&](const test::NamedLayout& named) {
    const auto block = matrix->build(named.layout, group(), 1).block;
    expect_block(block, named.layout, reference);
    const auto counts = matrix->nonzeros_of_blocks(named.layout, group());
    EXPECT_EQ(counts[static_cast<size_t>(group().rank())], block.nonzero_count());
    const auto piece = named.layout.own_piece(group().rank());
    std::vector<double> diagonal;
    for (int64_t k = piece.begin; k < piece.end; ++k) diagonal.push_back(at(reference, k, k));
    EXPECT_TRUE(std::ranges::equal(matrix->diagonal(named.layout, group()), diagonal));
  });
  const auto starts = matrix->balanced_piece_starts(comm::equal_shares(group().size()), group());
  EXPECT_EQ(starts.front(), 0);
  EXPECT_EQ(starts.back(), n);
  EXPECT_TRUE(std::ranges::is_sorted(starts));
  for (size_t k = 1; k + 1 < starts.size(); ++k) {
    const double goal = nonzeros_before.back() * static_cast<double>(k) / group().size();
    const auto distance = [&](double nonzeros) { return std::abs(nonzeros - goal); };
    const double nearest = distance(std::ranges::min(nonzeros_before, {}, distance));
    EXPECT_NEAR(distance(nonzeros_before.at(static_cast<size_t>(starts[k]))), nearest, 1e-6) << "piece " << k;
  }
  const auto last = test::layouts_of(n, comm::factorizations(group().size()).front()).front().layout;
  expect_block(matrix->take(last, group()), last, reference);
  matrix->store().for_each_part([](const RowPart& /*part*/) { ADD_FAILURE() << "a row is left"; });
}

TEST(StoredMatrixTest, GivesTheBlocksOfEveryGridAndCut) {
  for (const int64_t n : {1, 5, 97, 1400}) expect_blocks(n, symmetric_entries(n));
}

TEST(StoredMatrixTest, RowsLongerThanAMessageAndAChunkComeWhole) {
  constexpr int64_t n = 40'000;  // a chunk has 4680 entries, a message 4096, a round 65536 words
  std::vector<Entry> entries;
  for (int64_t k = 0; k < n; ++k) {
    entries.push_back({{k, k}, 2.0});
    if (k != 17) {
      entries.push_back({{17, k}, 0.25});
      entries.push_back({{k, 17}, 0.25});
    }
  }
  const auto reference = summed(n, entries);
  const auto matrix = stored(n, entries);
  for (const auto& grid : comm::factorizations(group().size())) expect_even_block(*matrix, grid, reference);
}

TEST(WordRoundsTest, ARankWhoseWordsAreItsOwnDoesNotKeepOthersWaiting) {
  const int target = group().rank() + 1 == group().size() ? 0 : group().rank();
  bool has_received = false;
  WordRounds rounds(group(), [&](WordRounds::Words /*words*/, int sender) {
    has_received = has_received || sender != group().rank();
  });
  const auto rank_count = static_cast<size_t>(group().size());
  for (size_t k = 0; k < round_words(rank_count) * rank_count; ++k) rounds.to(target, 1).push_back(k);
  EXPECT_EQ(has_received, group().rank() == 0 && rank_count > 1) << "before the end";
  rounds.finish();
}

TEST(StoredMatrixTest, ADeviceWithoutRoomIsToldOnEveryRankInTheEnd) {
  constexpr int64_t n = 4000;
  const test::TemporaryFolder folder;
  EntryCollector collector(n, group(), std::make_unique<ScratchChunks>(folder.path()));
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  auto* const signal_before = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{.rlim_cur = group().rank() + 1 == group().size() ? 40'000'000 : RLIM_INFINITY,
                     .rlim_max = before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &limit);
  // The ranks that send entries are not told before all have sent theirs, in several rounds.
  EXPECT_NO_THROW(for (int64_t k = 0; k < 3'000'000; ++k) collector.add(k * 77 % n, k % n, 1.0));
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, signal_before);
  const auto error = test::error_of(ExitCode::cannot_create, [&] { collector.finish(); });
  EXPECT_NE(error.find("not enough room in the folder "), std::string::npos) << error;
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(StoredMatrixTest, SumsDoNotDependOnTheOrderOfArrival) {
  // 1e16 + 1 - 1e16 is 0 or 1, as it is added.
  std::vector<Entry> entries{{{0, 0}, 1e16}, {{0, 0}, 1.0}, {{0, 0}, -1e16}, {{1, 1}, 1.0}};
  const auto layout = comm::BlockLayout::even(2, comm::factorizations(group().size()).front());
  for (int k = 0; k < 3; ++k) {
    std::rotate(entries.begin(), entries.begin() + 1, entries.begin() + 3);
    const auto diagonal = stored(2, entries)->diagonal(layout, group());
    const auto piece = layout.piece(layout.column_piece_of(group().rank()));
    if (piece.contains(0)) {
      EXPECT_EQ(diagonal[0], -1e16 + 1.0 + 1e16);
    }
  }
}

TEST(StoredMatrixTest, TheFirstPairThatDiffersIsNamedWithBothValues) {
  constexpr int64_t n = 300;
  auto entries = symmetric_entries(n);
  entries.push_back({{7, 299}, 0.0});  // a stored zero needs no partner
  stored(n, entries)->require_symmetric(group());
  // Changed twice, far from each other; the later one has one entry only.
  entries.push_back({{250, 3}, 1000.0});
  const double lower = at(summed(n, entries), 201, 77);
  entries.push_back({{77, 201}, 0.125});
  const double upper = at(summed(n, entries), 77, 201);
  std::ostringstream text;
  text << "test: not symmetric: entry (202, 78) is " << lower << ", entry (78, 202) is " << upper
       << "; conjugate gradients need equal ones";
  EXPECT_EQ(test::error_of(ExitCode::bad_data, [&] { stored(n, entries)->require_symmetric(group()); }),
            text.str());
}

/// Entries of all signs and sizes, with pairs that differ by rounding, pairs that do not, entries without a partner, and duplicates whose
/// sum depends on nothing. The diagonal is large.
std::vector<Entry> nearly_symmetric_entries(int64_t n) {
  std::mt19937_64 random(static_cast<uint64_t>(n) + 41);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  std::vector<Entry> entries;
  for (int64_t row = 0; row < n; ++row) {
    const double diagonal = 2.0 * std::pow(10.0, 2.0 + 2.0 * uniform(random));
    entries.push_back({{row, row}, diagonal});
    for (const int64_t step : {1, 3, 7, 31}) {
      if (row + step >= n) continue;
      const double value = uniform(random);
      entries.push_back({{row, row + step}, value});
      if (step == 7) continue;
      entries.push_back({{row + step, row}, step == 3 ? value : value * (1.0 + 1e-12 * uniform(random))});
      if (step == 1) entries.push_back({{row, row + step}, 1e-13 * uniform(random)});
    }
  }
  std::shuffle(entries.begin(), entries.end(), random);
  return entries;
}

struct Symmetrized {
  ReferenceMatrix means;
  int64_t nonzero_count = 0;
  Symmetrization largest{};  ///< the pair with the largest difference, the first of several
};

Symmetrized symmetrized(const ReferenceMatrix& matrix) {
  const auto n = std::ssize(matrix);
  Symmetrized result{.means = ReferenceMatrix(matrix.size())};
  auto& largest = result.largest;
  for (int64_t row = 0; row < n; ++row) {
    for (int64_t column = 0; column <= row; ++column) {
      const auto has = [&](int64_t i, int64_t j) {
        return matrix[static_cast<size_t>(i)].contains(static_cast<int32_t>(j));
      };
      if (!has(row, column) && !has(column, row)) continue;
      const double lower = at(matrix, row, column);
      const double upper = at(matrix, column, row);
      auto& means = result.means;
      means[static_cast<size_t>(row)][static_cast<int32_t>(column)] = (lower + upper) / 2.0;
      means[static_cast<size_t>(column)][static_cast<int32_t>(row)] = (lower + upper) / 2.0;
      result.nonzero_count += row == column ? 1 : 2;
      const double difference = std::abs(lower - upper) / (std::sqrt(std::abs(at(matrix, row, row))) *
                                                           std::sqrt(std::abs(at(matrix, column, column))));
      if (difference > largest.largest_difference)
        largest = {.largest_difference = difference, .row = row, .column = column};
    }
  }
  return result;
}

TEST(SymmetrizeTest, GivesTheMeansOfBothTrianglesAndTheLargestDifference) {
  for (const int64_t n : {2, 5, 97, 1400}) {
    SCOPED_TRACE(n);
    const auto entries = nearly_symmetric_entries(n);
    const auto [means, nonzero_count, expected] = symmetrized(summed(n, entries));
    const auto matrix = stored(n, entries);
    matrix->symmetrize(0.9, nullptr, group());
    EXPECT_EQ(matrix->nonzero_count(), nonzero_count);
    matrix->require_symmetric(group());
    const auto found = matrix->symmetrization();
    ASSERT_TRUE(found);
    EXPECT_EQ(found->tolerance, 0.9);
    EXPECT_EQ(found->largest_difference, expected.largest_difference);
    EXPECT_EQ(std::pair(found->row, found->column), std::pair(expected.row, expected.column));
    for (const auto& grid : comm::factorizations(group().size())) expect_even_block(*matrix, grid, means);
    const auto again = stored(n, entries);
    again->symmetrize(0.9, std::make_unique<ScratchChunks>("."), group());
    expect_even_block(*again, comm::factorizations(group().size()).back(), means);
  }
}

TEST(SymmetrizeTest, NeitherTheMeanNorTheDifferenceOverflows) {
  constexpr double huge = 1.5e308;
  const auto matrix = stored(2, {{{0, 0}, huge}, {{1, 1}, huge}, {{0, 1}, huge}, {{1, 0}, 0.75 * huge}});
  matrix->symmetrize(0.5, nullptr, group());
  EXPECT_DOUBLE_EQ(matrix->symmetrization()->largest_difference, 0.25);
  expect_even_block(*matrix, comm::factorizations(group().size()).front(),
                    {{{0, huge}, {1, 0.875 * huge}}, {{0, 0.875 * huge}, {1, huge}}});
}

TEST(SymmetrizeTest, TheFirstPairBeyondTheToleranceIsNamed) {
  const auto message_of = [](const std::vector<Entry>& entries, double tolerance) {
    return test::error_of(ExitCode::bad_data,
                          [&] { stored(60, entries)->symmetrize(tolerance, nullptr, group()); });
  };
  std::vector<Entry> entries;
  for (int64_t row = 0; row < 60; ++row) entries.push_back({{row, row}, row < 30 ? 4.0 : 1e-4});
  entries.push_back({{1, 9}, 1e-9});   // within
  entries.push_back({{50, 2}, 0.25});  // the largest
  entries.push_back({{3, 20}, 0.5});
  entries.push_back({{20, 3}, 1.0});
  EXPECT_EQ(
      message_of(entries, 1e-3),
      "test: not symmetric, to --symmetrize 0.001: entry (21, 4) is 1, entry (4, 21) is 0.5; they differ by "
      "0.125 of sqrt(a_ii a_jj)");
  EXPECT_EQ(
      message_of(entries, 0.125),
      "test: not symmetric, to --symmetrize 0.125: entry (51, 3) is 0.25, entry (3, 51) is 0; they differ by "
      "12.5 of sqrt(a_ii a_jj)");
  entries[9].value = 0.0;
  EXPECT_EQ(message_of(entries, 0.9),
            "test: not symmetric, to --symmetrize 0.9: entry (10, 2) is 0, entry (2, 10) is 1e-09; they "
            "differ beside "
            "a diagonal entry that is 0 or nearly so");
}

TEST(SymmetrizeTest, ARefusalOfRoundingNamesTheOption) {
  const std::vector<Entry> entries{{{0, 0}, 4.0}, {{1, 1}, 1.0},           {{2, 2}, 1.0},
                                   {{1, 0}, 0.5}, {{0, 1}, 0.5 + 0x1p-53}, {{2, 1}, 0x1p-40}};
  EXPECT_EQ(test::error_of(ExitCode::bad_data, [&] { stored(3, entries)->require_symmetric(group()); }),
            "test: not symmetric: entry (2, 1) is 0.5, entry (1, 2) is 0.5000000000000001; conjugate "
            "gradients need equal ones; no pair differs by more than 9.09e-13 of sqrt(a_ii a_jj): "
            "--symmetrize 1e-12 of cg2d solve and convert takes the means");
  stored(3, entries)->symmetrize(1e-12, nullptr, group());
}

TEST(StoredMatrixTest, TheFirstSumOfDuplicatesThatIsNotFiniteIsNamed) {
  // Each number of a file is finite. NaN differs from itself, and from 0: neither end as "not symmetric" nor as "not
  // positive definite" is meant.
  const std::vector<Entry> diagonal{{{0, 0}, 1.0}, {{1, 1}, 1.0}, {{2, 2}, 1.0}, {{3, 3}, 1.0}};
  const auto expect = [&](std::vector<Entry> entries, const std::string& first) {
    SCOPED_TRACE(first);
    entries.insert(entries.end(), diagonal.begin(), diagonal.end());
    EXPECT_EQ(test::error_of(ExitCode::not_finite, [&] { stored(4, entries); }),
              "test: not finite: the sum of the duplicates at " + first +
                  ": it leaves the range of double precision; scale the matrix and b");
  };
  constexpr double huge = 1.5e308;
  expect({{{2, 2}, huge}, {{2, 2}, huge}}, "entry (3, 3) is inf");
  expect({{{1, 1}, -huge}, {{1, 1}, -huge}, {{3, 3}, huge}, {{3, 3}, huge}}, "entry (2, 2) is -inf");
  expect({{{0, 3}, huge}, {{0, 3}, huge}, {{3, 0}, huge}, {{3, 0}, huge}}, "entry (4, 1) is inf");
  expect({{{0, 3}, huge}, {{0, 3}, huge}}, "entry (1, 4) is inf");
}

TEST(StoredMatrixTest, TheFirstRowWithoutAPositiveDiagonalIsNamed) {
  const std::vector<Entry> entries{{{0, 0}, 1.0}, {{1, 1}, 2.0}, {{2, 2}, -3.0}, {{4, 4}, 1.0}};
  EXPECT_EQ(
      test::error_of(ExitCode::not_positive_definite,
                     [&] { stored(5, entries)->require_positive_diagonal(group()); }),
      "test: not positive definite: the diagonal entry of row 3 is -3; it must be greater than 0 (if -A is "
      "meant, change the sign of A and b)");
}

TEST(StoredMatrixTest, TheFactsAreThoseOfTheRows) {
  const std::vector<Entry> entries{{{0, 0}, 1.0}, {{1, 1}, 2.0}, {{0, 1}, 1.0}, {{1, 0}, 1.0}, {{2, 2}, 1.0}};
  const auto facts = stored(4, entries)->facts();
  EXPECT_EQ(facts.key.order, 4);
  EXPECT_EQ(facts.key.name, "test");
  EXPECT_DOUBLE_EQ(facts.nonzero_count, 5.0);
  EXPECT_EQ(facts.row_lengths(1).share, (std::vector<double>{0.25, 0.25, 0.5}));
  auto other = entries;
  other.back().place = {3, 3};
  EXPECT_FALSE(stored(4, other)->facts().key == facts.key) << "nonzeros in other places";
}

TEST(StoredMatrixTest, MemoryThatIsNotThereIsNamedOnEveryRank) {
  require_memory({}, "A.mtx", {.making_bytes = stored_bytes(1000, 5000)}, group());
  const auto error = test::error_of(
      ExitCode::memory, [] { require_memory({}, "A.mtx", {.making_bytes = int64_t{1} << 61}, group()); });
  EXPECT_EQ(error.substr(0, 47), "A.mtx: not enough memory: storing its rows take");
  // Half as much again as there is for all, of which each rank's share would fit.
  const auto too_much = memory_room(group().size()).available_bytes / 2 * 3;
  EXPECT_NE(test::error_of(ExitCode::memory,
                           [&] { require_memory({}, "A.mtx", {.making_bytes = too_much}, group()); }),
            "no error");
}

TEST(RandomPermutationTest, IsAPermutationWithItsInverse) {
  for (const int64_t size : {1, 2, 3, 64, 1000}) {
    const RandomPermutation permutation(size, 7);
    std::vector<bool> is_taken(static_cast<size_t>(size));
    for (int64_t k = 0; k < size; ++k) {
      const auto image = permutation(k);
      EXPECT_FALSE(is_taken.at(static_cast<size_t>(image)));
      is_taken[static_cast<size_t>(image)] = true;
      EXPECT_EQ(permutation.inverse(image), k);
    }
    EXPECT_NE(permutation(0), RandomPermutation(1000, 8)(0)) << "another seed, another order";
  }
}

}  // namespace
}  // namespace cg2d::stored_matrix_test
