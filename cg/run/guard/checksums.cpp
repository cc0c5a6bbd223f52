#include "cg/run/guard/checksums.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "cg/base/storage/crc32c.hpp"
#include "cg/matrix/half_storage.hpp"
#include "cg/run/guard/blocked_sums.hpp"

namespace cg2d {
namespace {

/// Additions of an element of q beside those of its row: parts of the product, lanes and threads.
constexpr double additions_of_parts = 64.0;
constexpr double unit_roundoff = std::numeric_limits<double>::epsilon() / 2.0;
constexpr double safety = 2.0;

/// Small enough for shares of small blocks, large enough that threads take few; crc32c() takes 24 KiB at a time fastest.
constexpr std::size_t sealed_piece_bytes = std::size_t{3} << 14;

/// The sums over one index of the stored entries.
struct EntrySum {
  void add(double entry) {
    value += entry;
    magnitude += std::abs(entry);
    count += 1.0;
  }

  double value = 0.0;
  double magnitude = 0.0;
  double count = 0.0;
};

/// Positions of a range of rows or columns, for the rule of half storage.
std::vector<HalfStorageRule::Position> positions_of(const comm::IndexRange& range,
                                                    const HalfStorageRule& rule) {
  std::vector<HalfStorageRule::Position> positions;
  positions.reserve(static_cast<std::size_t>(range.size()));
  for (auto index = range.begin; index < range.end; ++index) positions.push_back(rule.position_of(index));
  return positions;
}

}  // namespace

bool CheckedError::holds() const { return error <= tolerance && std::isfinite(tolerance); }

double CheckedError::ratio() const {
  return error == 0.0 ? 0.0 : tolerance > 0.0 ? error / tolerance : std::numeric_limits<double>::infinity();
}

ProductChecksums::ProductChecksums(const kernels::CsrBlock& block, const kernels::KernelRow& kernel,
                                   const comm::BlockLayout& layout, int rank)
    : has_joined_sums_(kernel.joins_sums) {
  const bool is_half = kernel.stores_half();
  const HalfStorageRule rule(layout);
  std::vector<HalfStorageRule::Position> rows;
  std::vector<HalfStorageRule::Position> columns;
  if (is_half) {
    rows = positions_of(layout.rows_of(rank), rule);
    columns = positions_of(layout.columns_of(rank), rule);
  }
  std::vector<EntrySum> of_columns(static_cast<std::size_t>(block.column_count));
  std::vector<EntrySum> of_rows(static_cast<std::size_t>(block.row_count));
  std::vector<double> whole_columns(static_cast<std::size_t>(block.column_count));
  for (std::int64_t local_row = 0; local_row < block.row_count; ++local_row) {
    const auto row = static_cast<std::size_t>(local_row);
    longest_row_ = std::max(longest_row_, block.row_starts[row + 1] - block.row_starts[row]);
    for (auto entry = block.row_starts[row]; entry < block.row_starts[row + 1]; ++entry) {
      const auto place = static_cast<std::size_t>(entry);
      const auto column = static_cast<std::size_t>(block.columns[place]);
      double value = block.values[place];
      whole_columns[column] += std::abs(value);
      if (is_half) {
        if (!HalfStorageRule::keeps(rows[row], columns[column])) continue;
        if (rows[row].index == columns[column].index) value *= 0.5;
      }
      of_columns[column].add(value);
      of_rows[row].add(value);
    }
  }
  if (!whole_columns.empty()) largest_column_sum_ = *std::ranges::max_element(whole_columns);
  const auto direction = [](std::span<const EntrySum> sums, std::span<const EntrySum> others) {
    Direction made;
    double square = 0.0;
    for (const auto& sum : sums) {
      made.weights.push_back(sum.value);
      square += sum.magnitude * sum.magnitude;
    }
    made.absolute_norm = std::sqrt(square);
    for (const auto& other : others) made.chain = std::max(made.chain, other.count);
    return made;
  };
  by_columns_ = direction(of_columns, of_rows);
  if (is_half) by_rows_ = direction(of_rows, of_columns);
}

CheckedError ProductChecksums::excess_of(const Direction& direction, std::span<const double> p,
                                         std::span<const double> q, std::span<const double> q_low) {
  const auto& weights = direction.weights;
  const auto expected = blocked_sums(weights.size(), [&](std::size_t k, double& sum, double& square) {
    sum += weights[k] * p[k];
    square += p[k] * p[k];
  });
  const auto sum_of_all = [](std::span<const double> vector) {
    return blocked_sums(vector.size(),
                        [&](std::size_t k, double& sum, double& /*unused*/) { sum += vector[k]; })
        .first;
  };
  const double roundings = direction.chain + additions_of_parts + roundings_of_blocked_sum(q.size()) +
                           roundings_of_blocked_sum(p.size()) + 2.0;
  return {
      .error = sum_of_all(q) + sum_of_all(q_low) - expected.first,
      .tolerance = safety * unit_roundoff * roundings * direction.absolute_norm * std::sqrt(expected.second)};
}

CheckedError ProductChecksums::error_of(comm::Communicator& communicator,
                                        std::span<const double> low_partial) const {
  auto rows = excess_of(by_columns_, communicator.column_block(), communicator.partial(), low_partial);
  auto* const mirror = communicator.mirror();
  CheckedError columns;
  if (mirror != nullptr) columns = excess_of(by_rows_, mirror->row_block(), mirror->column_partial(), {});
  if (has_joined_sums_ && mirror != nullptr) {
    rows.error += columns.error;
    rows.tolerance += columns.tolerance;
    columns = {};
  }
  rows.error = std::abs(rows.error);
  columns.error = std::abs(columns.error);
  return !columns.holds() || columns.ratio() > rows.ratio() ? columns : rows;
}

MatrixChecksum::MatrixChecksum(const std::vector<kernels::StoredArray>& arrays, int thread_count)
    : thread_count_(thread_count) {
  for (const auto& array : arrays) {
    const std::span<const std::byte> bytes = array.bytes;
    for (std::size_t begin = 0; begin < bytes.size(); begin += sealed_piece_bytes) {
      const auto piece = bytes.subspan(begin, std::min(sealed_piece_bytes, bytes.size() - begin));
      pieces_.push_back({.bytes = piece, .checksum = crc32c(piece)});
    }
  }
}

bool MatrixChecksum::holds(int share, int share_count) const {
  std::vector<Piece> pieces;
  for (auto k = static_cast<std::size_t>(share); k < pieces_.size();
       k += static_cast<std::size_t>(share_count))
    pieces.push_back(pieces_[k]);
  const auto end = std::ssize(pieces);
  int broken_count = 0;
#pragma omp parallel for num_threads(thread_count_) schedule(static) reduction(+ : broken_count) if (thread_count_ > 1)
  for (std::ptrdiff_t k = 0; k < end; ++k) {
    const auto& piece = pieces[static_cast<std::size_t>(k)];
    broken_count += crc32c(piece.bytes) == piece.checksum ? 0 : 1;
  }
  return broken_count == 0;
}

}  // namespace cg2d
