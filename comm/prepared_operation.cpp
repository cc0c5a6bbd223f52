#include "comm/prepared_operation.hpp"

namespace cg2d::comm {

void add_to_ranges(std::span<const double> packed, const std::vector<IndexRange>& ranges,
                   std::span<double> block) {
  const double* source = packed.data();
  for (const auto& range : ranges) {
    double* const target = block.data() + range.begin;
    const auto count = range.size();
#pragma omp simd
    for (std::int64_t k = 0; k < count; ++k) target[k] += source[k];
    source += count;
  }
}

}  // namespace cg2d::comm
