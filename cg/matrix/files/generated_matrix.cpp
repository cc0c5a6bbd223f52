#include "cg/matrix/files/generated_matrix.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "cg/matrix/matrix_source.hpp"

namespace cg2d {

std::unique_ptr<SystemMatrix> generate_matrix(const GeneratedMatrixOptions& options, comm::RankGroup& group) {
  const auto source = source_from(options.text);
  const auto order = source->facts().key.order;
  const auto layout = comm::BlockLayout::even(order, {.columns = 1, .rows = group.size()});
  const auto nonzeros = static_cast<std::int64_t>(source->facts().nonzero_count);
  auto expected = expected_matrix(order, nonzeros, EntryValues::any, group.size());
  const auto block_bytes = 12 * nonzeros + 8 * order;  // made first, and then stored
  // The source's working memory is gone when the rows are stored.
  const auto storing_bytes = expected.making_bytes;
  expected.making_bytes =
      block_bytes + std::max(storing_bytes, group.size() * source->plan(layout).working_bytes);
  require_memory(options.check_memory, options.text, expected, group);
  const auto first_row = layout.row_block(group.rank()).begin;
  const auto block = source->build(layout, group, 1).block;
  const double sign = source_row_of(options.text).is_negative_definite ? -1.0 : 1.0;
  std::optional<RandomPermutation> permutation;
  if (options.permutation_seed) permutation.emplace(order, *options.permutation_seed);
  const auto stored = [&](std::int64_t index) { return permutation ? (*permutation)(index) : index; };
  EntryCollector collector(order, group);
  for (std::int64_t row = 0; row < block.row_count; ++row) {
    const auto stored_row = stored(first_row + row);
    for (auto entry = block.row_starts[static_cast<std::size_t>(row)];
         entry < block.row_starts[static_cast<std::size_t>(row) + 1]; ++entry) {
      const auto place = static_cast<std::size_t>(entry);
      collector.add(stored_row, stored(block.columns[place]), sign * block.values[place]);
    }
  }
  return std::make_unique<StoredMatrix>(collector.finish(), options.text, permutation, group);
}

}  // namespace cg2d
