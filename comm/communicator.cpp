#include "comm/communicator.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <cstdint>

#include "comm/node_map.hpp"
#include "comm/rank_group.hpp"

namespace cg2d::comm {

// The rows of the table, each defined in the transport's own file.
TransportRow two_sided_transport();
TransportRow native_transport();
TransportRow put_transport();
TransportRow shared_transport();

std::span<const TransportRow> transport_table() {
  static const std::array table{two_sided_transport(), native_transport(), put_transport(),
                                shared_transport()};
  return table;
}

const TransportRow* find_transport(std::string_view name) {
  const auto table = transport_table();
  const auto found = std::ranges::find(table, name, &TransportRow::name);
  return found == table.end() ? nullptr : &*found;
}

const TransportRow& default_transport() { return transport_table().front(); }

namespace {

/// A limit of files (ulimit -f) is one of memory that ranks share, too (shared_segment.hpp).
bool has_limited_files() {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

}  // namespace

const TransportRow& default_transport(RankGroup& group, int ranks_per_node) {
  if (make_node_map(group, ranks_per_node).node_count() > 1) return default_transport();
  if (group.maximum(int64_t{has_limited_files()}) != 0) return default_transport();
  const auto of_a_node = std::ranges::find(transport_table(), true, &TransportRow::is_default_on_a_node);
  return of_a_node->why_unavailable(group).empty() ? *of_a_node : default_transport();
}

bool TransportRow::has(SumForm form) const { return std::ranges::find(sum_forms, form) != sum_forms.end(); }

double Communicator::maximum(RankGroup& group, double value) {
  if (group.size() == 1) return value;
  sent_.add(Operation::dot, sizeof(value));
  return group.maximum(value);
}

Collection::Collection(Communicator& communicator) : UnderWay(communicator) {
  assert(!communicator.is_collecting_ && "the last collection was not finished");
  communicator.is_collecting_ = true;
  communicator.start_collection();
}

void Collection::wait_for_part(size_t part) {
  assert(!is_finished_ && part >= next_part_);
  next_part_ = part + 1;
  communicator_.wait_for_collected(part);
}

void Collection::progress() {
  assert(!is_finished_);
  communicator_.progress_collection();
}

void Collection::finish() {
  assert(!is_finished_);
  communicator_.finish_collection();
  communicator_.is_collecting_ = false;
  is_finished_ = true;
}

ScalarSum::ScalarSum(Communicator& communicator, std::span<double> values)
    : UnderWay(communicator), values_(values) {
  assert(!communicator.is_summing_scalars_ && "the last sum of scalars was not finished");
  // Set afterwards: a transport may complete the sum here, by a sum_scalars().
  communicator.start_scalar_sum(values);
  communicator.is_summing_scalars_ = true;
}

void ScalarSum::finish() {
  assert(!is_finished_);
  communicator_.finish_scalar_sum(values_);
  communicator_.is_summing_scalars_ = false;
  is_finished_ = true;
}

}  // namespace cg2d::comm
