// The command line of `cg2d simulate`.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>

#include "cg/commands/shared_options.hpp"
#include "cg/commands/subcommand.hpp"
#include "cg/machine/interconnect.hpp"
#include "cg/simulation/simulate_command.hpp"
#include "cg/simulation/step_plan.hpp"
#include "cg/solver/matrix_cut.hpp"
#include "cg/solver/slow_ranks.hpp"

namespace cg2d {
namespace {

void add_simulate_options(OptionSet& options, SimulateOptions& simulate) {
  add_machine_option(options, simulate.machine, "cp-pacs", FileUse::reads);
  options.add({"--interconnect", "TOPOLOGY[:AxB...]",
               fmt::format("another network between its nodes: {}", fmt::join(interconnect_names(), ", ")),
               "the description's"},
              simulate.interconnect);
  add_classes_option(options, simulate.problems, "B");
  options.add({"--ranks", "N", "number of ranks", "those of the grids"}, simulate.rank_count,
              {.most = most_simulated_ranks});
  add_grids_option(options, simulate.grids, "simulate");
  options.add({"--kernel", "NAME", "a kernel of the description", "the description's"},
              simulate.configuration.kernel);
  add_axis_option(options, "transport", simulate.configuration,
                  "how data moves between ranks (cg2d run --list-transports)",
                  comm::default_transport().name);
  options.add(
      {"--placement", "WHERE", fmt::format("where ranks are: {}", placement_values), simulate.placement},
      simulate.placement);
  options.add(
      {std::string(slow_rank_option), "R:FACTOR,...", "products of rank R take FACTOR times as long", "none"},
      simulate.slow, &slow_ranks_from);
  options.add({"--steps", "N", "CG steps, one after the other", "1"}, simulate.step_count,
              {.most = 1'000'000});
  options.add({"--trace", "FILE", "a time line of the ranks, for one class and grid, as of cg2d run --trace"},
              simulate.trace, {.file = FileUse::writes});
  options.add_flag("--what-if",
                   "also with links twice as fast, half the latency, ranks four times as fast, one slow "
                   "link, and one slow node",
                   simulate.asks_what_if);
  add_progress_options(options, simulate.progress);
  add_result_options(options, simulate.format, {"text", "json"}, simulate.output);
}

void check_simulate(SimulateOptions& simulate, const OptionSet& /*given*/) {
  simulate.configuration = with_cut(simulate.configuration, even_cut);
  check_configuration(simulate.configuration);
  if (simulate.machine.empty()) simulate.machine = "cp-pacs";
  if (!simulate.interconnect.empty()) {
    try {
      static_cast<void>(interconnect_from(simulate.interconnect));
    } catch (const InputError& error) {
      throw InputError("--interconnect {}: {}", simulate.interconnect, error.what());
    }
  }
  if (simulate.problems.empty()) simulate.problems.push_back(problem_class("B"));
  if (!simulate.trace.empty() &&
      (simulate.problems.size() > 1 || simulate.grids.grids.size() != 1 || simulate.grids.has_official))
    throw InputError("--trace is of one class on one grid: give --grid PXxPY");
  if (simulate.rank_count == 0 && simulate.grids.grids.empty())
    throw InputError("--ranks or --grid is needed: how many ranks are simulated");
  for (const auto& grid : simulate.grids.grids) {
    require_within("--grid " + grid.name() + ": its ranks", grid.rank_count(), most_simulated_ranks);
    if (simulate.rank_count > 0) require_grid_of(grid, simulate.rank_count);
  }
}

}  // namespace

SubcommandRow simulate_subcommand() {
  return {
      .name = "simulate",
      .description = "simulate CG steps on a described machine whose links are shared",
      .examples = {"cg2d simulate --interconnect hyper-crossbar:4x8x8 --ranks 256",
                   "cg2d simulate --machine infiniband-cluster --class C --grid 30x8 --placement blocked"},
      .declare = subcommand_with<SimulateOptions, add_simulate_options, check_simulate, simulate>};
}

}  // namespace cg2d
