#include "cg/matrix/row_lengths.hpp"

#include <algorithm>
#include <cassert>

namespace cg2d {
namespace {

double share_or_zero(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0.0;
}

}  // namespace

double RowLengths::mean() const { return share_or_zero(nonzero_count, row_count); }

double RowLengths::short_row_share() const { return share_or_zero(short_row_count, row_count); }

double RowLengths::short_row_nonzero_share() const {
  return share_or_zero(short_row_nonzero_count, nonzero_count);
}

RowLengths row_lengths(const kernels::CsrBlock& block, std::int64_t critical_vector_length) {
  RowLengths lengths{.critical_vector_length = critical_vector_length,
                     .row_count = block.row_count,
                     .nonzero_count = block.nonzero_count()};
  for (std::int64_t row = 0; row < block.row_count; ++row) {
    const auto r = static_cast<std::size_t>(row);
    const std::int64_t length = block.row_starts[r + 1] - block.row_starts[r];
    lengths.shortest = row == 0 ? length : std::min(lengths.shortest, length);
    lengths.longest = std::max(lengths.longest, length);
    if (length >= critical_vector_length) continue;
    ++lengths.short_row_count;
    lengths.short_row_nonzero_count += length;
  }
  return lengths;
}

RowLengths merged(const RowLengths& first, const RowLengths& second) {
  assert(first.critical_vector_length == second.critical_vector_length);
  if (first.row_count == 0) return second;
  if (second.row_count == 0) return first;
  return {.critical_vector_length = first.critical_vector_length,
          .row_count = first.row_count + second.row_count,
          .nonzero_count = first.nonzero_count + second.nonzero_count,
          .shortest = std::min(first.shortest, second.shortest),
          .longest = std::max(first.longest, second.longest),
          .short_row_count = first.short_row_count + second.short_row_count,
          .short_row_nonzero_count = first.short_row_nonzero_count + second.short_row_nonzero_count};
}

}  // namespace cg2d
