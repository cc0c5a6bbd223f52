#include "comm/shared_areas.hpp"

namespace cg2d::comm {
namespace {

constexpr size_t page_bytes = 4096;

}  // namespace

size_t SharedAreas::PartPlan::add(size_t size, size_t border) {
  const auto begin = (byte_count + border - 1) / border * border;
  byte_count = begin + size;
  return begin;
}

/// A vector has pages of its own: each is first touched, and so placed, by the rank that writes it.
SharedAreas::Area SharedAreas::PartPlan::add_vector(int64_t element_count) {
  const auto count = static_cast<size_t>(element_count);
  return {.offset = add(count * sizeof(double), page_bytes), .element_count = count};
}

SharedAreas::SharedAreas(const BlockLayout& layout, const NodeMap& nodes, int node, bool mirrored)
    : nodes_(nodes) {
  const auto grid = layout.grid();
  std::vector<Line> summed{Line::process_row};
  if (mirrored) summed.push_back(Line::process_column);
  for (const int rank : nodes.ranks_of(node)) {
    PartPlan plan;
    plan.byte_count = sizeof(RankControl);
    for (const auto over : summed)
      plan.partial[index_of(over)] = plan.add_vector(layout.block_of(over, grid.line_of(over, rank)).size());
    plans_.push_back(plan);
  }
  auto& first = plans_.front();
  const auto counters = [&](int count) {
    return first.add(static_cast<size_t>(count) * sizeof(SharedCounter), alignof(SharedCounter));
  };
  first.node_control = first.add(sizeof(NodeControl), alignof(NodeControl));
  first.operand_ready = counters(grid.columns);
  first.partial_ready[index_of(Line::process_row)] = counters(grid.rows);
  first.partial_ready[index_of(Line::process_column)] = counters(grid.columns);
  first.operand = first.add_vector(layout.size());
  for (const auto over : summed) {
    int64_t sent = 0;
    int64_t received = 0;
    for (int other = 0; other < nodes.node_count(); ++other) {
      if (other == node) continue;
      sent += sums_between(layout, nodes, over, node, other).element_count;
      received += sums_between(layout, nodes, over, other, node).element_count;
    }
    first.outgoing[index_of(over)] = first.add_vector(sent);
    first.incoming[index_of(over)] = first.add_vector(received);
  }
}

}  // namespace cg2d::comm
