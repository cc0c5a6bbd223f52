#include "cg/run/guard/checksums.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "cg/base/storage/crc32c.hpp"
#include "cg/matrix/half_storage.hpp"
#include "cg/run/guard/blocked_sums.hpp"

namespace cg2d {
namespace {

/// Additions of an element of q beside those of its row: parts of the product, lanes and threads.
constexpr double additions_of_parts = 64.0;
constexpr double unit_roundoff = std::numeric_limits<double>::epsilon() / 2.0;
constexpr double safety = 2.0;

/// Small enough for shares of small blocks, large enough that threads take few.
constexpr std::size_t sealed_piece_bytes = std::size_t{1} << 15;

/// The sums over one index of the stored entries.
struct EntrySums {
  explicit EntrySums(std::int64_t size)
      : values(static_cast<std::size_t>(size)),
        magnitudes(static_cast<std::size_t>(size)),
        counts(static_cast<std::size_t>(size)) {}

  void add(std::int64_t index, double value) {
    const auto place = static_cast<std::size_t>(index);
    values[place] += value;
    magnitudes[place] += std::abs(value);
    ++counts[place];
  }
  [[nodiscard]] double magnitude_norm() const {
    double square = 0.0;
    for (const double magnitude : magnitudes) square += magnitude * magnitude;
    return std::sqrt(square);
  }
  [[nodiscard]] double largest_count() const {
    return counts.empty() ? 0.0 : static_cast<double>(*std::ranges::max_element(counts));
  }

  std::vector<double> values;
  std::vector<double> magnitudes;
  std::vector<std::int64_t> counts;
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
  EntrySums of_columns(block.column_count);
  EntrySums of_rows(block.row_count);
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
      of_columns.add(block.columns[place], value);
      of_rows.add(local_row, value);
    }
  }
  if (!whole_columns.empty()) largest_column_sum_ = *std::ranges::max_element(whole_columns);
  by_columns_ = {.weights = of_columns.values,
                 .absolute_norm = of_columns.magnitude_norm(),
                 .chain = of_rows.largest_count()};
  if (is_half)
    by_rows_ = {.weights = of_rows.values,
                .absolute_norm = of_rows.magnitude_norm(),
                .chain = of_columns.largest_count()};
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
  // Three pieces at once: see crc32c_of_three().
  constexpr std::size_t at_once = 3;
  const auto place_of = [&](std::size_t number) {
    return static_cast<std::size_t>(share) + number * static_cast<std::size_t>(share_count);
  };
  const auto holds_alone = [this](std::size_t place) {
    return place >= pieces_.size() || crc32c(pieces_[place].bytes) == pieces_[place].checksum;
  };
  const auto holds_all = [&](std::size_t group) {
    const std::array places{place_of(at_once * group), place_of(at_once * group + 1),
                            place_of(at_once * group + 2)};
    const bool are_equally_long =
        places.back() < pieces_.size() && std::ranges::all_of(places, [this](std::size_t place) {
          return pieces_[place].bytes.size() == sealed_piece_bytes;
        });
    if (!are_equally_long) return std::ranges::all_of(places, holds_alone);
    const auto found =
        crc32c_of_three({pieces_[places[0]].bytes, pieces_[places[1]].bytes, pieces_[places[2]].bytes});
    for (std::size_t k = 0; k < at_once; ++k) {
      if (found[k] != pieces_[places[k]].checksum) return false;
    }
    return true;
  };
  const auto group_count =
      static_cast<std::int64_t>(pieces_.size() / (at_once * static_cast<std::size_t>(share_count)) + 1);
  int broken_count = 0;
#pragma omp parallel for num_threads(thread_count_) schedule(static) reduction(+ : broken_count) if (thread_count_ > 1)
  for (std::int64_t group = 0; group < group_count; ++group)
    broken_count += holds_all(static_cast<std::size_t>(group)) ? 0 : 1;
  return broken_count == 0;
}

}  // namespace cg2d
