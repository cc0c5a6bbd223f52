#include "cg/studies/scaling_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cg/base/errors.hpp"
#include "cg/base/paired_comparison.hpp"
#include "cg/base/values.hpp"
#include "cg/matrix/stencil.hpp"
#include "cg/solver/matrix_cut.hpp"
#include "comm/communicator.hpp"
#include "comm/domain_layout.hpp"

namespace cg2d {
namespace {

bool reads_in_place(const std::string& transport) {
  const auto* const row = comm::find_transport(transport);
  return row != nullptr && row->reads_in_place;
}

}  // namespace

std::string ScalingCase::name() const {
  if (core_count() == 1) return "one core";
  if (rank_count == 1) return "threads only";
  if (asked.configuration.thread_count > 1) return "ranks x threads";
  return reads_in_place(transport()) ? "shared-memory ranks" : "ranks only";
}

std::string ScalingCase::cut() const {
  return rank_count == 1 || asked.is_matrix_free() ? std::string() : asked.configuration.cut;
}

std::string ScalingCase::shape() const {
  return fmt::format("{} x {}", rank_count, asked.configuration.thread_count);
}

std::string ScalingCase::form() const {
  if (!asked.is_system()) return {};
  return asked.is_matrix_free() ? "matrix-free" : "matrix";
}

std::string ScalingCase::label() const {
  const bool has_usual_cut = cut().empty() || cut() == asked.usual_cut();
  return fmt::format("{}, {}{}{}{}, {}{}", format_count(core_count(), "core"), form(),
                     asked.is_system() ? ", " : "", name(), rank_count > 1 ? ", " + transport() : "", shape(),
                     has_usual_cut ? "" : ", cut " + cut());
}

std::vector<int> usual_core_counts(int rank_count) {
  std::vector<int> counts;
  for (int count = 1; count < rank_count; count *= 2) counts.push_back(count);
  counts.push_back(rank_count);
  return counts;
}

std::vector<ScalingCase> cases_of(const std::vector<int>& core_counts, const AxisValues& values,
                                  const ConfiguredProblem& common) {
  std::vector<ScalingCase> cases;
  for (const int core_count : core_counts) {
    for (int rank_count = core_count; rank_count >= 1; --rank_count) {
      if (core_count % rank_count != 0 || core_count / rank_count > most_threads) continue;
      ScalingCase one{.rank_count = rank_count, .asked = common};
      auto several_ranks = common.configuration;
      several_ranks.thread_count = core_count / rank_count;
      for (const auto& configuration : crossed(several_ranks, values)) {
        one.asked.configuration = configuration;
        if (rank_count == 1) {
          one.asked.configuration.transport = comm::default_transport().name;
          one.asked.configuration.cut = automatic_choice;
        }
        one.asked.configuration = with_cut(one.asked.configuration, common.usual_cut());
        if (std::ranges::find(cases, one) == cases.end()) cases.push_back(one);
      }
    }
  }
  return cases;
}

int rounds_for_verdicts(const std::vector<ScalingCase>& cases) {
  std::map<int, std::size_t> case_counts;
  for (const auto& one : cases) ++case_counts[one.core_count()];
  int rounds = rounds_for_verdict(1);
  for (const auto& [core_count, count] : case_counts) rounds = std::max(rounds, rounds_for_verdict(count));
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

std::string scaled_operator(const std::string& text, int core_count, bool weak) {
  if (!weak) return text;
  auto stencil = stencil_from(text);
  // Cubes, so that the number of faces alone counts; a dimension of one point stays one.
  comm::Extents cubes{};
  for (std::size_t dimension = 0; dimension < comm::dimension_count; ++dimension)
    cubes[dimension] = stencil.extents[dimension] > 1 ? std::int64_t{1} << 20 : 1;
  const auto grid = comm::best_domain_grid(cubes, core_count);
  for (std::size_t dimension = 0; dimension < comm::dimension_count; ++dimension)
    stencil.extents[dimension] *= grid.parts[dimension];
  auto grown = stencil.name();
  static_cast<void>(stencil_from(grown));  // throws where it becomes too large
  return grown;
}

Room room_for(const ScalingCase& one, const Environment& all, const Environment& of_case) {
  auto room = Room::enough;
  int all_cores = 0;
  for (const auto& node : all.nodes) all_cores += node.core_count;
  for (const auto& node : of_case.nodes) {
    const int needed = node.rank_count * one.asked.configuration.thread_count;
    if (needed <= node.core_count) continue;
    // Ranks of one thread run in any case: the benchmark then reports that they share cores.
    if (one.asked.configuration.thread_count > 1) {
      const auto same = std::ranges::find(all.nodes, node.host, &NodeInfo::host);
      if (same != all.nodes.end() && needed <= same->core_count) return Room::bound;
      if (one.core_count() <= all_cores) return Room::no_node;
    }
    room = Room::shared;
  }
  return room;
}

}  // namespace cg2d
