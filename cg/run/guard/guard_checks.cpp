#include "cg/run/guard/guard.hpp"

#include <cmath>
#include <limits>

#include "cg/base/storage/crc32c.hpp"
#include "cg/matrix/half_storage.hpp"

namespace cg2d {
namespace {

/// Additions of an element of q beside those of its row: parts of the product, lanes and threads.
constexpr double additions_of_parts = 64.0;
constexpr double unit_roundoff = std::numeric_limits<double>::epsilon() / 2.0;
constexpr double safety = 2.0;

/// Small enough for shares of small blocks, large enough for crc32c() to take three parts at a time, and for threads to take few.
constexpr size_t sealed_piece_bytes = size_t{3} << 13;

/// Roundings on the longest way of an element into a sum of that many, its product included.
double roundings_of_blocked_sum(size_t size) {
  const size_t blocks = (size + block_of_sums - 1) / block_of_sums;
  const size_t within_a_block = block_of_sums / lanes_of_sums;
  return static_cast<double>(within_a_block + 2 * lanes_of_sums + 1 + blocks);
}

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
  const auto positions_of = [&](const comm::IndexRange& range) {
    std::vector<HalfStorageRule::Position> positions;
    if (is_half) positions.reserve(static_cast<size_t>(range.size()));
    for (auto index = range.begin; is_half && index < range.end; ++index)
      positions.push_back(rule.position_of(index));
    return positions;
  };
  const auto rows = positions_of(layout.rows_of(rank));
  const auto columns = positions_of(layout.columns_of(rank));
  std::vector<EntrySum> of_columns(static_cast<size_t>(block.column_count));
  std::vector<EntrySum> of_rows(static_cast<size_t>(block.row_count));
  std::vector<double> whole_columns(static_cast<size_t>(block.column_count));
  for (int64_t local_row = 0; local_row < block.row_count; ++local_row) {
    const auto row = static_cast<size_t>(local_row);
    longest_row = std::max(longest_row, block.row_starts[row + 1] - block.row_starts[row]);
    for (auto entry = block.row_starts[row]; entry < block.row_starts[row + 1]; ++entry) {
      const auto place = static_cast<size_t>(entry);
      const auto column = static_cast<size_t>(block.columns[place]);
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
  if (!whole_columns.empty()) largest_column_sum = *std::ranges::max_element(whole_columns);
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
  const auto expected = blocked_sums(weights.size(), [&](size_t k, double& sum, double& square) {
    sum += weights[k] * p[k];
    square += p[k] * p[k];
  });
  const auto sum_of_all = [](std::span<const double> vector) {
    return blocked_sum(vector.size(), [&](size_t k) { return vector[k]; });
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
    for (size_t begin = 0; begin < bytes.size(); begin += sealed_piece_bytes) {
      const auto piece = bytes.subspan(begin, std::min(sealed_piece_bytes, bytes.size() - begin));
      pieces_.push_back({.bytes = piece, .checksum = crc32c(piece)});
    }
  }
}

bool MatrixChecksum::holds(int share, int share_count) const {
  const auto end = std::ssize(pieces_);
  int broken_count = 0;
#pragma omp parallel for num_threads(thread_count_) schedule(static) reduction(+ : broken_count) if (thread_count_ > 1)
  for (ptrdiff_t k = share; k < end; k += ptrdiff_t{share_count}) {
    const auto& piece = pieces_[static_cast<size_t>(k)];
    broken_count += crc32c(piece.bytes) == piece.checksum ? 0 : 1;
  }
  return broken_count == 0;
}

StepRelation::StepRelation(const MatrixScale& scale) {
  constexpr double twice_roundoff = std::numeric_limits<double>::epsilon();
  dot_unit_ = twice_roundoff * (16.0 * std::sqrt(scale.order) + 64.0);
  product_unit_ = twice_roundoff * (scale.longest_row + 4.0) * scale.norm;
}

CheckedError StepRelation::after_step(const CgState& state, double product_square) {
  largest_rho_ = std::max({largest_rho_, std::abs(state.alpha * state.curvature), std::abs(state.rho)});
  const bool is_first = state.replacement_count != replacement_count_;
  Step step{.alpha = state.alpha,
            .beta_before = is_first ? 0.0 : last_.next_rho / last_.rho,
            .rho = is_first ? state.alpha * state.curvature : last_.next_rho,
            .next_rho = state.rho,
            .product_norm = std::sqrt(product_square),
            .next_direction_norm = std::sqrt(state.direction_square)};
  replacement_count_ = state.replacement_count;
  step.direction_norm = is_first ? std::sqrt(step.rho) : last_.next_direction_norm;
  // An exact solution: further steps change nothing.
  if (step.rho == 0.0 && step.next_rho == 0.0) {
    replacement_count_ = -1;
    return {};
  }
  double product_overlap = 0.0;  // at least | p_before . q |, which is 0 in exact arithmetic
  if (!is_first) {
    const double norms = std::sqrt(last_.rho) + std::sqrt(step.rho);
    step.direction_overlap =
        last_.beta_before * last_.direction_overlap +
        dot_unit_ * last_.direction_norm * (std::abs(last_.alpha) * last_.product_norm + norms);
    const double of_roundings = dot_unit_ * (2.0 * norms * step.direction_norm + step.rho +
                                             step.beta_before * std::sqrt(last_.rho) * last_.direction_norm);
    const double of_last_step =
        last_.residual_overlap +
        step.beta_before * (last_.beta_before * last_.direction_overlap + step.direction_overlap);
    product_overlap = 2.0 * product_unit_ * last_.direction_norm * step.direction_norm +
                      (of_roundings + of_last_step) / std::abs(last_.alpha);
  }
  const double whole = step.rho + step.next_rho;
  step.residual_overlap = std::abs(step.alpha) * (dot_unit_ * step.direction_norm * step.product_norm +
                                                  step.beta_before * product_overlap) +
                          dot_unit_ * whole;
  last_ = step;
  return {.error = std::abs(step.alpha * step.alpha * product_square - whole),
          .tolerance = 2.0 * step.residual_overlap};
}

}  // namespace cg2d
