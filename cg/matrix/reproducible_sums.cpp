#include "cg/matrix/reproducible_sums.hpp"

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/exact_sums.hpp"

namespace cg2d {
ReproducibleSums agree_on_sums(const kernels::CsrBlock& block, const comm::BlockLayout& layout,
                               comm::RankGroup& group) {
  const auto row_count = static_cast<std::size_t>(block.row_count);
  std::vector<double> largest(row_count);
  std::vector<std::int64_t> lengths(row_count);
  for (std::size_t row = 0; row < row_count; ++row) {
    lengths[row] = block.row_starts[row + 1] - block.row_starts[row];
    for (auto k = block.row_starts[row]; k < block.row_starts[row + 1]; ++k)
      largest[row] = std::max(largest[row], std::abs(block.values[static_cast<std::size_t>(k)]));
  }
  std::vector<int> ranks;  // those that have blocks of the same rows
  for (int rank = 0; rank < layout.grid().rank_count(); ++rank) {
    if (layout.grid().row_of(rank) == layout.grid().row_of(group.rank())) ranks.push_back(rank);
  }
  group.maxima(ranks, largest);
  group.sums(ranks, lengths);
  ReproducibleSums sums;
  sums.most_terms = kernels::power_of_two_for(static_cast<double>(layout.size()));
  sums.row_bounds.resize(row_count);
  for (std::size_t row = 0; row < row_count; ++row) {
    sums.row_bounds[row] = kernels::power_of_two_for(largest[row]) *
                           kernels::power_of_two_for(static_cast<double>(lengths[row]));
  }
  return sums;
}

std::string why_not_reproducible_here() {
  if (std::fegetround() != FE_TONEAREST) return "the processor does not round to nearest";
  // volatile: computed here and now, not by the compiler.
  const volatile double smallest = std::numeric_limits<double>::min();
  const volatile double half = smallest / 2.0;
  if (half == 0.0 || half + half != smallest) return "the processor flushes small numbers to zero";
  return {};
}

}  // namespace cg2d
