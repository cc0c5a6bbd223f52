#include "kernels/set_parts.hpp"

#include <cstddef>

#include "kernels/parallel_parts.hpp"

namespace cg2d::kernels {
namespace {

/// Sets [first, last), and what lies before them in the lists of all sets.
struct SetSpan {
  size_t first = 0;
  size_t last = 0;
  size_t first_member = 0;
  size_t first_entry = 0;
};

/// Cuts the sets into consecutive parts of about equally many elements.
std::vector<SetSpan> split_sets(const IndexSets& sets, int part_count) {
  std::vector<SetSpan> parts;
  SetSpan next;
  for (int part = 1; part <= part_count; ++part) {
    const auto goal = sets.entries.size() * static_cast<size_t>(part) / static_cast<size_t>(part_count);
    SetSpan own = next;
    while (next.last < sets.sizes.size() && next.first_entry < goal) {
      const auto size = sets.sizes[next.last++];
      next.first_member += size;
      next.first_entry += static_cast<size_t>(packed_size(size));
    }
    own.last = next.first = next.last;
    parts.push_back(own);
  }
  return parts;
}

SetPart make_part(const IndexSets& sets, const SetSpan& span, const CsrBlock& block,
                  uint32_t places_per_index) {
  SetPart part;
  std::array<size_t, largest_index_set + 1> next_value{};
  std::array<size_t, largest_index_set + 1> next_member{};
  for (auto set = span.first; set < span.last; ++set) ++part.counts[sets.sizes[set]];
  size_t value_count = 0;
  size_t member_count = 0;
  for (size_t size = 0; size < part.counts.size(); ++size) {
    next_value[size] = value_count;
    next_member[size] = member_count;
    const auto count = static_cast<size_t>(part.counts[size]);
    value_count += count * static_cast<size_t>(packed_size(static_cast<int64_t>(size)));
    member_count += count * size;
  }
  if (value_count == 0) return part;
  part.values = PageBuffer<double>(value_count + spare_values);
  part.members = PageBuffer<uint32_t>(member_count + spare_members);
  const auto* member = sets.members.data() + span.first_member;
  const auto* entry = sets.entries.data() + span.first_entry;
  for (auto set = span.first; set < span.last; ++set) {
    const size_t size = sets.sizes[set];
    for (size_t k = 0; k < size; ++k) part.members[next_member[size]++] = places_per_index * *member++;
    const auto element_count = static_cast<size_t>(packed_size(static_cast<int64_t>(size)));
    for (size_t k = 0; k < element_count; ++k, ++entry) {
      // Half of an entry on the diagonal is stored.
      const double value = *entry == IndexSets::no_entry ? 0.0 : block.values[*entry - 1];
      part.values[next_value[size]++] = k < size ? 2.0 * value : value;
    }
  }
  return part;
}

}  // namespace

std::vector<StoredArray> SetPart::stored_arrays() {
  return {stored_array(ArrayKind::values, values), stored_array(ArrayKind::columns, members)};
}

bool SetPart::has_columns_in_range() const {
  return std::ranges::all_of(members.span(), [this](uint32_t member) { return member < place_count; });
}

std::vector<SetPart> make_set_parts(const IndexSets& sets, const CsrBlock& block, const SharedIndices& shared,
                                    uint32_t places_per_index, int thread_count) {
  const auto spans = split_sets(sets, thread_count);
  std::vector<SetPart> parts(spans.size());
  make_on_threads(thread_count, [&](size_t thread) {
    parts[thread] = make_part(sets, spans[thread], block, places_per_index);
    parts[thread].place_count = static_cast<uint64_t>(shared.count) * places_per_index;
  });
  return parts;
}

CsrBlock without_sets(CsrBlock block, const std::vector<bool>& is_in_set) {
  size_t kept = 0;
  size_t entry = 0;
  for (size_t row = 0; row < static_cast<size_t>(block.row_count); ++row) {
    for (const auto end = static_cast<size_t>(block.row_starts[row + 1]); entry < end; ++entry) {
      if (is_in_set[entry + 1]) continue;
      block.columns[kept] = block.columns[entry];
      block.values[kept++] = block.values[entry];
    }
    block.row_starts[row + 1] = static_cast<int64_t>(kept);
  }
  block.columns.resize(kept);
  block.values.resize(kept);
  return block;
}

}  // namespace cg2d::kernels
