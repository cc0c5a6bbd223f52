#include "cg/studies/scaling_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cg/base/errors.hpp"
#include "cg/base/paired_comparison.hpp"
#include "cg/base/values.hpp"
#include "comm/communicator.hpp"

namespace cg2d {
namespace {

bool reads_in_place(const std::string& transport) {
  const auto* const row = comm::find_transport(transport);
  return row != nullptr && row->reads_in_place;
}

int core_count_of(const Environment& environment) {
  int count = 0;
  for (const auto& node : environment.nodes) count += node.core_count;
  return count;
}

/// Cores of the node of that name, as the ranks of an environment see it.
int core_count_on(const Environment& environment, const std::string& host) {
  const auto node = std::ranges::find(environment.nodes, host, &NodeInfo::host);
  return node == environment.nodes.end() ? 0 : node->core_count;
}

}  // namespace

std::string ScalingWay::name() const {
  if (core_count() == 1) return "one core";
  if (rank_count == 1) return "threads only";
  if (configuration.thread_count > 1) return "ranks x threads";
  return reads_in_place(configuration.transport) ? "shared-memory ranks" : "ranks only";
}

std::string ScalingWay::shape() const {
  return fmt::format("{} x {}", rank_count, configuration.thread_count);
}

std::string ScalingWay::label() const {
  return fmt::format("{}, {}{}, {}", format_count(core_count(), "core"), name(),
                     rank_count > 1 ? ", " + configuration.transport : "", shape());
}

std::vector<int> usual_core_counts(int rank_count) {
  std::vector<int> counts;
  for (int count = 1; count < rank_count; count *= 2) counts.push_back(count);
  counts.push_back(rank_count);
  return counts;
}

std::vector<ScalingWay> ways_of(const std::vector<int>& core_counts,
                                const std::vector<std::string>& transports, const Configuration& common) {
  std::vector<ScalingWay> ways;
  for (const int core_count : core_counts) {
    for (int rank_count = core_count; rank_count >= 1; --rank_count) {
      if (core_count % rank_count != 0 || core_count / rank_count > most_threads) continue;
      ScalingWay way{.rank_count = rank_count, .configuration = common};
      way.configuration.transport = comm::default_transport().name;
      way.configuration.thread_count = core_count / rank_count;
      if (rank_count == 1) {
        ways.push_back(std::move(way));
        continue;
      }
      for (const auto& transport : transports) {
        way.configuration.transport = transport;
        ways.push_back(way);
      }
    }
  }
  return ways;
}

int rounds_for_verdicts(const std::vector<ScalingWay>& ways) {
  std::map<int, std::size_t> way_counts;
  for (const auto& way : ways) ++way_counts[way.core_count()];
  int rounds = rounds_for_verdict(1);
  for (const auto& [core_count, count] : way_counts) rounds = std::max(rounds, rounds_for_verdict(count));
  return rounds;
}

Problem scaled_problem(const Problem& problem, int core_count, bool weak) {
  if (!weak || core_count == 1) return problem;
  Problem scaled = problem;
  scaled.class_name = "U";
  scaled.reference_zeta.reset();
  scaled.n *= core_count;
  try {
    check_problem(scaled);
  } catch (const InputError& error) {
    throw InputError(fmt::format("--weak on {}: {}; take fewer cores or a smaller class",
                                 format_count(core_count, "core"), error.what()));
  }
  return scaled;
}

Room room_for(const ScalingWay& way, const Environment& all, const Environment& of_way) {
  auto room = Room::enough;
  for (const auto& node : of_way.nodes) {
    const int needed = node.rank_count * way.configuration.thread_count;
    if (needed <= node.core_count) continue;
    // Ranks of one thread run in any case: the benchmark then reports that they share cores.
    if (way.configuration.thread_count > 1) {
      if (needed <= core_count_on(all, node.host)) return Room::bound;
      if (way.core_count() <= core_count_of(all)) return Room::no_node;
    }
    room = Room::shared;
  }
  return room;
}

}  // namespace cg2d
