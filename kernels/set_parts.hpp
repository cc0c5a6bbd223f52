#pragma once

// The format of kernel "blocks": the sets of each thread (index_sets.hpp), packed by size, and the block without them.

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <vector>

#include "kernels/csr_block.hpp"
#include "kernels/index_sets.hpp"
#include "kernels/page_buffer.hpp"
#include "kernels/spmv.hpp"

namespace cg2d::kernels {

/// The sets of one thread, those of one size one after the other.
struct SetPart {
  std::array<int64_t, largest_index_set + 1> counts{};  // sets of each size
  PageBuffer<double> values;
  PageBuffer<uint32_t> members;
  uint64_t place_count = 0;  // of p; members are less

  bool empty() const { return values.empty(); }
  [[nodiscard]] std::vector<StoredArray> stored_arrays();
  bool has_columns_in_range() const;
};

/// The sets of each thread, by the thread itself. places_per_index: a member is this many times its index, less than 2^32.
/// Throws std::bad_alloc.
std::vector<SetPart> make_set_parts(const IndexSets& sets, const CsrBlock& block, const SharedIndices& shared,
                                    uint32_t places_per_index, int thread_count);

/// Takes the entries that are in sets (entries_in_sets) out of the block.
CsrBlock without_sets(CsrBlock block, const std::vector<bool>& is_in_set);

/// multiply(size, SetRange) for the sets of each size that belong to the share that a mode asks for.
template <typename Multiply>
void multiply_share(const SetPart& part, const ProductMode& mode, int64_t prefetch_distance,
                    const Multiply& multiply) {
  const ShareRange share(std::accumulate(part.counts.begin(), part.counts.end(), int64_t{0}), mode);
  int64_t first_set = 0;
  const double* values = part.values.data();
  const uint32_t* members = part.members.data();
  for (size_t size = 0; size < part.counts.size(); ++size) {
    const auto members_of_set = static_cast<int64_t>(size);
    const auto begin = std::clamp<int64_t>(share.begin - first_set, 0, part.counts[size]);
    const auto end = std::clamp<int64_t>(share.end - first_set, 0, part.counts[size]);
    if (begin < end) {
      multiply(size, SetRange{.values = values + begin * packed_size(members_of_set),
                              .members = members + begin * members_of_set,
                              .count = end - begin,
                              .prefetch_distance = prefetch_distance});
    }
    first_set += part.counts[size];
    values += part.counts[size] * packed_size(members_of_set);
    members += part.counts[size] * members_of_set;
  }
}

}  // namespace cg2d::kernels
