#include "cg/matrix/files/system_matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "cg/base/agreement.hpp"
#include "cg/base/errors.hpp"
#include "cg/base/storage/crc32c.hpp"
#include "cg/base/storage/open_file.hpp"
#include "cg/matrix/files/value_scatter.hpp"
#include "cg/matrix/value_hash.hpp"

namespace cg2d {

MatrixFacts facts_of_rows(const MatrixKey& key, std::span<const std::uint32_t> row_lengths,
                          std::uint64_t pattern_sum, comm::RankGroup& group) {
  std::map<std::uint32_t, std::int64_t> rows_of_length;
  for (const auto length : row_lengths) ++rows_of_length[length];
  std::vector<std::int64_t> pairs;
  for (const auto& [length, count] : rows_of_length) pairs.insert(pairs.end(), {length, count});
  std::vector<std::int64_t> counts;
  for (const auto& theirs : group.gather_all(std::span<const std::int64_t>(pairs))) {
    for (std::size_t k = 0; k < theirs.size(); k += 2) {
      const auto length = static_cast<std::size_t>(theirs[k]);
      counts.resize(std::max(counts.size(), length + 1));
      counts[length] += theirs[k + 1];
    }
  }
  auto whole_key = key;
  whole_key.pattern_hash =
      mixed_bits(sum_of_words(group, pattern_sum) ^ static_cast<std::uint64_t>(key.order));
  return counted_facts(whole_key, counts);
}

std::string Symmetrization::text() const {
  if (largest_difference == 0.0) return "both triangles were equal";
  return fmt::format("the largest difference was {:.3g} of sqrt(a_ii a_jj), at ({}, {})", largest_difference,
                     row + 1, column + 1);
}

void SystemMatrix::require_positive_diagonal(comm::RankGroup& group) const {
  struct DiagonalOfRow {
    std::int64_t row = 0;  // in the original order
    double value = 0.0;
  };
  DiagonalOfRow lowest{.row = order()};
  visit_own_rows(group, [&](const OwnRow& row) {
    if (row.diagonal > 0.0) return;
    const auto original = permutation_ ? permutation_->inverse(row.row) : row.row;
    if (original < lowest.row) lowest = {.row = original, .value = row.diagonal};
  });
  const auto first = std::ranges::min(group.gather_one(lowest), {}, &DiagonalOfRow::row);
  if (first.row >= order()) return;
  throw RunError(
      ExitCode::not_positive_definite,
      fmt::format("{}: not positive definite: the diagonal entry of row {} is {}; it must be greater than 0 "
                  "(if -A is meant, change the sign of A and b)",
                  facts_.key.name, first.row + 1, first.value));
}

HugePageVector SystemMatrix::diagonal(const comm::BlockLayout& layout, comm::RankGroup& group) const {
  return scattered(layout, group, [&](const auto& put) {
    visit_own_rows(group, [&](const OwnRow& row) { put(row.row, row.diagonal); });
  });
}

/// A border is the number of rows whose middle of weight lies before its goal.
std::vector<std::int64_t> SystemMatrix::balanced_piece_starts(std::span<const double> shares,
                                                              comm::RankGroup& group) const {
  const auto before = comm::sums_before(shares);
  const auto piece_count = shares.size();
  std::vector<std::int64_t> rows_before(piece_count + 1);
  std::size_t piece = 1;
  std::int64_t row_count = 0;
  visit_own_rows(group, [&](const OwnRow& row) {
    const double middle = static_cast<double>(row.nonzeros_before) + 0.5 * static_cast<double>(row.length);
    for (; piece < piece_count; ++piece) {
      if (middle < static_cast<double>(nonzero_count_) * before[piece] / before.back()) break;
      rows_before[piece] = row_count;
    }
    ++row_count;
  });
  for (; piece <= piece_count; ++piece) rows_before[piece] = row_count;
  group.sums(rows_before);
  return rows_before;
}

std::uint64_t sum_of_words(comm::RankGroup& group, std::uint64_t word) {
  return static_cast<std::uint64_t>(group.sum(static_cast<std::int64_t>(word)));
}

void require_same_file(const std::string& path, comm::RankGroup& group) {
  constexpr std::size_t compared_bytes = std::size_t{1} << 20;
  std::array<std::int64_t, 2> own{};  // size and checksum
  agree_on(group, [&] {
    const OpenFile file(path);
    std::vector<std::byte> first(compared_bytes);
    const auto count = file.read_at(0, first);
    own = {file.size(), crc32c(std::span(first).first(count))};
  });
  const auto all = group.gather_one(own);
  const auto other = std::ranges::find_if(all, [&](const auto& theirs) { return theirs != all.front(); });
  if (other == all.end()) return;
  throw FileError(path,
                  fmt::format("found another content on rank {} than on rank 0, expected the same file on "
                              "every node",
                              other - all.begin()));
}

}  // namespace cg2d
