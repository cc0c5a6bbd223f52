#include "cg/studies/pingpong_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "cg/base/agreement.hpp"
#include "cg/base/output_file.hpp"
#include "cg/base/progress.hpp"
#include "cg/base/values.hpp"
#include "cg/machine/environment.hpp"
#include "cg/machine/noise_monitor.hpp"
#include "cg/solver/communicator_setup.hpp"
#include "cg/studies/pingpong_report.hpp"
#include "cg/tuning/run_plan.hpp"

namespace cg2d {
namespace {

void require_ranks_for(const PingPongOptions& options, int rank_count) {
  if (rank_count < 2)
    throw InputError("pingpong goes between two ranks: start it on at least 2, by mpiexec -n 2");
  for (const auto& pair : options.pairs) {
    const int larger = std::max(pair.first, pair.second);
    if (larger >= rank_count) {
      throw InputError(fmt::format("--pairs {}:{}: there is no rank {}; the {} are 0 ... {}", pair.first,
                                   pair.second, larger, format_count(rank_count, "rank"), rank_count - 1));
    }
  }
  if (options.configuration.has_grid()) require_grid_of(options.configuration.grid, rank_count);
}

Configuration resolved(const PingPongOptions& options, int rank_count) {
  auto configuration = options.configuration;
  if (const auto named = grid_named_by(options.open_grid, rank_count)) configuration.grid = *named;
  if (!configuration.has_grid())
    configuration.grid = choose_grid(facts_of(options.problem), configuration, rank_count);
  return configuration;
}

/// Throws RunError where the memory of a node does not suffice: for the transfers of a pair, or for the vectors of all transports.
/// Collective.
void require_memory(const PingPongReport& report, const TransferOptions& transfers,
                    std::span<const RankPair> pairs, const Environment& environment, comm::RankGroup& group) {
  const auto facts = facts_of(report.problem);
  const auto layout = make_layout(facts, report.configuration);
  agree_on(group, [&] {
    const auto bytes_of_rank = [&](int rank) {
      const auto vector_bytes = plan_memory(facts, 0, report.configuration, layout, rank).vector_bytes;
      const bool is_in_pair = std::ranges::any_of(
          pairs, [&](const auto& pair) { return pair.first == rank || pair.second == rank; });
      return std::max(2 * vector_bytes * std::ssize(comm::transport_table()),
                      is_in_pair ? transfer_bytes(transfers) : 0);
    };
    check_memory(environment, bytes_of_rank, "take smaller --sizes, fewer --variables or a smaller --class");
  });
}

}  // namespace

ExitCode pingpong(const PingPongOptions& options, comm::RankGroup& group) {
  require_ranks_for(options, group.size());
  const Progress progress(options.progress, group.rank());
  const auto output = open_output(options.output, group);
  auto environment = inspect_environment(group, 1, options.memory_limit_bytes, progress);
  if (options.names_hosts) name_by_host(environment);
  PingPongReport report{.machine = environment.nodes.front().processor_with_caches(),
                        .provenance = {},
                        .rank_count = group.size(),
                        .problem = options.problem,
                        .configuration = resolved(options, group.size())};
  if (group.rank() == 0) report.provenance = inspect_provenance(environment, options.names_hosts);
  require_memory(report, options.transfers, options.pairs, environment, group);
  NoiseMonitor quiet(group, environment, 1);
  quiet.begin();
  // The other ranks must not disturb the pair.
  group.waiter().set_mode(comm::WaitMode::sleep);
  for (const auto& pair : options.pairs) {
    progress.say(fmt::format("transfers between ranks {} and {}", pair.first, pair.second));
    report.pairs.push_back(measure_pair(group, pair, options.transfers, report.configuration));
  }
  const bool share_cores = environment.ranks_oversubscribed;
  group.waiter().set_mode(environment.wait_mode());
  const auto transports = transports_for(group);
  report.transports_left_out = transports.left_out;
  progress.say("dot products");
  if (share_cores)
    report.sums_left_out = {
        {"MPI_Allreduce", "the ranks share cores, and MPI_Allreduce keeps its core while it waits"}};
  report.sums = time_sums(group, transports.available, !share_cores,
                          {.fewest_rounds = 15,
                           .most_rounds = 51,
                           .budget_s = 0.3,
                           .hopeless_factor = std::numeric_limits<double>::infinity(),
                           .shortest_turn_s = 1e-3});
  progress.say(fmt::format("phases of class {}, grid {}", options.problem.class_name,
                           report.configuration.grid.name()));
  report.phases = measure_phases(group, transports, options.problem, report.configuration);
  quiet.end();
  report.quiet = quiet.result();
  write_output(output.get(), group, [&] { return write_pingpong(report, options.format); });
  return ExitCode::success;
}

}  // namespace cg2d
