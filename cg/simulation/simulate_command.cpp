#include "cg/simulation/simulate_command.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "cg/base/build_info.hpp"
#include "cg/base/child_process.hpp"
#include "cg/base/output_file.hpp"
#include "cg/base/table.hpp"

namespace cg2d {
namespace {

// ---------------------------------------------------------------- the simulator, a program of its own

constexpr std::string_view command = "simulate";

/// By which the other program opens a file in memory.
std::string path_of(const MemoryFile& file) {
  return fmt::format("/proc/{}/fd/{}", getpid(), file.descriptor());
}

/// Throws RunError (unavailable) where the simulator was not built: how to get it.
std::string simulator_path() {
  return file_beside_program(
      build_info::programs_from_program, "libexec/cg2d", "simulator", command,
      "build it: cmake --preset release -DCG2D_BUILD_SIMULATOR=ON, with SimGrid (Debian's libsimgrid-dev)");
}

/// Replays a plan, which it leaves as it is: [rank]. Throws RunError: unavailable where the simulator was not built, memory where it
/// needs more, internal where it fails. Local.
std::vector<SimulatedRank> replay(ReplayPlan& plan) {
  const MemoryFile input;
  const MemoryFile output;
  std::ofstream plan_file(path_of(input));
  transfer(plan_file, plan);
  if (!plan_file.flush())
    throw RunError(ExitCode::memory, "{}: no room for the plan: {}", command, std::strerror(errno));
  const auto program = simulator_path();
  const auto end = run_child({program, path_of(input), path_of(output)}, command);
  if (!end.is_started) throw RunError(ExitCode::unavailable, "{}: {} cannot be started", command, program);
  if (end.signal == 0 && end.code == static_cast<int>(ExitCode::memory))
    throw RunError(ExitCode::memory, "{}: not enough memory for the simulator; take fewer ranks or --steps",
                   command);
  if (end.signal != 0 || end.code != 0)
    throw RunError(ExitCode::internal, "{}: the simulator ended with {} {}", command,
                   end.signal != 0 ? "signal" : "code", end.signal != 0 ? end.signal : end.code);
  std::ifstream result_file(path_of(output));
  std::vector<SimulatedRank> ranks;
  transfer(result_file, ranks);
  if (!result_file) throw RunError(ExitCode::internal, "{}: the simulator's result is cut off", command);
  return ranks;
}

// ---------------------------------------------------------------- the results

constexpr double trace_ticks_per_s = 1e9;

/// One phase of a CG step.
struct SimulatedPhase {
  Phase phase = Phase::multiply;
  double mean_s = 0.0;     ///< over the ranks, with waiting
  double slowest_s = 0.0;  ///< of the rank that it took longest
  double model_s = 0.0;    ///< where nobody waits, and no link is shared but that of a node
  PhaseTraffic traffic;
};

/// One grid.
struct GridSimulation {
  Configuration configuration;
  double clock_hz = 0.0;
  double step_s = 0.0;  ///< one CG step
  double outside_s = 0.0;
  std::vector<SimulatedPhase> phases{};

  double model_step_s() const {
    double sum = 0.0;
    for (const auto& phase : phases) sum += phase.model_s;
    return sum;
  }
};

const GridSimulation& best_of(const std::vector<GridSimulation>& grids) {
  return *std::ranges::min_element(grids, {}, &GridSimulation::step_s);
}

struct ProblemSimulation {
  Problem problem;
  std::vector<GridSimulation> grids{};
  Named<std::vector<GridSimulation>> others{};  ///< the same on machines that differ in one respect
};

/// A question of --what-if. change(): of ranks that are placed, with the traffic of the machine as it is described.
struct WhatIfRow {
  std::string_view name;
  void (*change)(PlacedRun& run, const GridSimulation& described);
};

constexpr std::array what_if_table{
    WhatIfRow{"links twice as fast",
              [](PlacedRun& run, const GridSimulation&) {
                run.machine.network.bytes_per_s *= 2.0;
                run.machine.node.link_bytes_per_s *= 2.0;
                run.interconnect.link_bytes_per_s *= 2.0;
              }},
    WhatIfRow{"half the latency",
              [](PlacedRun& run, const GridSimulation&) {
                run.machine.network.start_up_s /= 2.0;
                run.interconnect.hop_s /= 2.0;
              }},
    WhatIfRow{"ranks four times as fast",
              [](PlacedRun& run, const GridSimulation&) { run.work_factor = 0.25; }},
    // The link with most bytes of any phase.
    WhatIfRow{"one link with a quarter of its rate",
              [](PlacedRun& run, const GridSimulation& described) {
                const auto bytes = [](const auto& phase) { return phase.traffic.busiest.byte_count; };
                run.slow_link = std::ranges::max_element(described.phases, {}, bytes)->traffic.busiest_link;
              }},
    // Products of its ranks take twice as long.
    WhatIfRow{"one node half as fast", [](PlacedRun& run, const GridSimulation&) {
                const int middle = static_cast<int>(run.slowness.size() / 2);
                for (int rank = 0; rank < std::ssize(run.slowness); ++rank) {
                  if (run.node_of(rank) == run.node_of(middle))
                    run.slowness[static_cast<size_t>(rank)] *= 2.0;
                }
              }}};

/// Everything that was simulated.
struct Simulation {
  SimulateOptions options;
  std::string machine;
  std::string interconnect;
  std::vector<ProblemSimulation> problems{};
};

/// Seconds of the phases of a CG step where all is as the description says, and no rank waits: those of the slowest rank.
PhaseSeconds model_of(const PlacedRun& run) {
  const bool is_symmetric = run.machine.kernel(run.configuration.kernel).is_symmetric;
  auto seconds =
      communication_costs(run.machine, run.layout, communicator_options(run.configuration, is_symmetric));
  RankCosts slowest;
  for (int rank = 0; rank < run.layout.grid().rank_count(); ++rank) {
    const auto costs = costs_of(run, rank);
    for (const auto cost :
         {&RankCosts::multiply_s, &RankCosts::waiting_s, &RankCosts::dot_s, &RankCosts::update_s})
      slowest.*cost = std::max(slowest.*cost, costs.*cost);
  }
  const auto of = [&](Phase phase) -> double& { return seconds[index_of(phase)]; };
  of(Phase::multiply) = slowest.multiply_s;
  of(Phase::dot) = StepCalls::sums * (of(Phase::dot) + slowest.dot_s);
  of(Phase::vector_updates) = StepCalls::updates_of(is_symmetric) * slowest.update_s;
  of(waiting_phase(run.layout.grid(), is_symmetric)) += slowest.waiting_s;
  return seconds;
}

/// The time line of one rank: its CG steps, and in each of them its phases.
std::vector<TraceEvent> trace_events(const SimulatedRank& rank,
                                     const std::vector<RankOperation>& operations) {
  std::vector<TraceEvent> events;
  const auto clocks = [](double seconds) { return static_cast<uint64_t>(seconds * trace_ticks_per_s); };
  for (size_t k = 0; k < rank.size(); ++k) {
    const auto& [begin_s, end_s] = rank[k];
    const auto place = k % operations.size();
    const auto step = static_cast<int32_t>(k / operations.size());
    const int kind = static_cast<int>(operations[place].phase);
    if (place == 0) {
      const double step_end_s = rank[k + operations.size() - 1].end_s;
      events.push_back({clocks(begin_s), clocks(step_end_s), TraceEvent::cg_step, step});
    }
    if (place > 0 && events.back().kind == kind)
      events.back().end = clocks(end_s);
    else
      events.push_back({clocks(begin_s), clocks(end_s), kind, step});
  }
  return events;
}

std::string trace_of(const PlacedRun& run, const StepPlan& plan, const std::vector<SimulatedRank>& ranks,
                     const std::string& class_name) {
  SessionReport report;
  report.configuration = run.configuration;
  auto& environment = report.environment.emplace();
  std::vector<std::vector<TraceEvent>> events;
  std::vector<RankTrace> traces;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    events.push_back(trace_events(ranks[rank], plan.replay.ranks[rank].operations));
    const int number = static_cast<int>(rank);
    const int node = run.node_of(number);
    for (int next = static_cast<int>(environment.nodes.size()); next <= node; ++next)
      environment.nodes.emplace_back().name = fmt::format("{}, node {}", run.machine.name, next);
    environment.ranks.emplace_back().node = node;
    traces.push_back({.events = events[rank],
                      .clocks = ClockMap({}, {.local_clocks = 1, .reference_clocks = 1}),
                      .ticks_per_second = trace_ticks_per_s,
                      .rank = number,
                      .node = node});
  }
  const TraceOrigin origin{.report = report,
                           .arrangement = run.configuration.grid.name(),
                           .properties = {{"class", class_name}, {"simulated", run.machine.name}}};
  return trace_text(origin, traces);
}

/// trace: gets the text of a time line; nullptr: none is asked for.
GridSimulation simulate_grid(const PlacedRun& run, const MatrixFacts& matrix, int step_count,
                             std::string* trace = nullptr) {
  auto plan = plan_step(run, step_count);
  const auto ranks = replay(plan.replay);
  const auto model = model_of(run);
  if (trace != nullptr) *trace = trace_of(run, plan, ranks, matrix.key.name);
  GridSimulation grid{.configuration = run.configuration,
                      .clock_hz = run.machine.clock_hz,
                      .outside_s = run.machine.outside_s_per_nonzero * matrix.nonzero_count /
                                   run.configuration.grid.rank_count()};
  for (size_t k = 0; k < benchmark_phase_count; ++k)
    grid.phases.push_back({.phase = phase_at(k), .model_s = model[k], .traffic = plan.phases[k]});
  for (size_t number = 0; number < ranks.size(); ++number) {
    const auto& operations = plan.replay.ranks[number].operations;
    PhaseSeconds seconds{};
    for (size_t k = 0; k < ranks[number].size(); ++k)
      seconds[index_of(operations[k % operations.size()].phase)] +=
          ranks[number][k].end_s - ranks[number][k].begin_s;
    double step_s = 0.0;
    for (size_t k = 0; k < benchmark_phase_count; ++k) {
      const double own_s = seconds[k] / step_count;
      grid.phases[k].mean_s += own_s / static_cast<double>(ranks.size());
      grid.phases[k].slowest_s = std::max(grid.phases[k].slowest_s, own_s);
      step_s += own_s;
    }
    grid.step_s = std::max(grid.step_s, step_s);
  }
  for (auto& phase : grid.phases) phase.mean_s = std::min(phase.mean_s, phase.slowest_s);  // despite rounding
  require_some_time(grid.step_s, run.machine.name, grid.configuration.kernel);
  return grid;
}

std::string phase_table(const GridSimulation& grid) {
  Table table;
  for (const auto& one : grid.phases) {
    const auto& traffic = one.traffic;
    table.line().word("phase", phase_name(one.phase)).number("mean, us", "{:.2f}", 1e6 * one.mean_s);
    table.number("slowest, us", "{:.2f}", 1e6 * one.slowest_s);
    table.number("model, us", "{:.2f}", 1e6 * one.model_s);
    if (grid.clock_hz > 0.0) table.number("clocks", "{:.0f}", one.mean_s * grid.clock_hz);
    table.number("messages", "{}", traffic.all_ranks.message_count);
    table.number("bytes", format_bytes(traffic.all_ranks.byte_count));
    table.number("at once", "{}", traffic.most_at_once);
    const auto bytes = traffic.busiest.byte_count;
    if (traffic.used_link_count > 0)
      table.word("busiest link",
                 fmt::format("{}: {}, {:.2f} x the mean", traffic.busiest_link, format_bytes(bytes),
                             static_cast<double>(bytes) / traffic.mean_link_bytes));
  }
  return table.text();
}

/// One line for each machine: its best grid, and what becomes of the one that is best as described.
std::string what_if_text(const Problem& problem, const std::vector<GridSimulation>& grids,
                         const Named<std::vector<GridSimulation>>& others) {
  const auto best = static_cast<size_t>(&best_of(grids) - grids.data());
  Table table;
  const auto add_line = [&](std::string_view name, const std::vector<GridSimulation>& on_machine) {
    const auto& own_best = best_of(on_machine);
    table.line().word("what if", name).word("best grid", own_best.configuration.grid.name());
    table.number("CG step, s", "{:.6g}", own_best.step_s);
    table.number("times", "{:.3f}", own_best.step_s / grids[best].step_s);
    table.number(grids[best].configuration.grid.name() + ", s", "{:.6g}", on_machine[best].step_s);
  };
  add_line("as described", grids);
  for (const auto& [name, on_other] : others) add_line(name, on_other);
  return fmt::format("\n Class {}, on other machines\n{}", problem.class_name, table.text());
}

std::string text_of(const Simulation& simulation) {
  const auto& options = simulation.options;
  std::string text =
      fmt::format("\n cg2d simulate - {}, {}, ranks {}{}\n", simulation.machine, simulation.interconnect,
                  options.placement, options.slow.empty() ? "" : ", slowed" + text_of(options.slow));
  for (const auto& [problem, grids, others] : simulation.problems) {
    for (const auto& grid : grids) {
      text += fmt::format("\n Class {}, grid {}, {}: a CG step in {:.6g} s (model {:.6g} s)\n",
                          problem.class_name, grid.configuration.grid.name(), grid.configuration.kernel,
                          grid.step_s, grid.model_step_s());
      text += phase_table(grid);
    }
    if (grids.size() > 1)
      text +=
          fmt::format("\n Best of {} grids: {}\n", grids.size(), best_of(grids).configuration.grid.name());
    if (!others.empty()) text += what_if_text(problem, grids, others);
  }
  return text +
         " mean, slowest: time of the phase with waiting, over the ranks; model: without waiting and shared "
         "links;\n"
         " at once: most messages of one round on a link\n";
}

void describe(Members& m, SimulatedPhase& phase) {
  auto& traffic = phase.traffic;
  m.derived("phase", phase_name(phase.phase));
  m("mean_s", phase.mean_s, at_least(0, "Over the ranks, with waiting."));
  m("slowest_s", phase.slowest_s, at_least(0));
  m("model_s", phase.model_s,
    at_least(0, "Of the slowest rank, without waiting and without shared links but those of nodes."));
  m("messages", traffic.all_ranks.message_count, at_least(0, "Of all ranks."));
  m("bytes", traffic.all_ranks.byte_count, at_least(0));
  m("used_links", traffic.used_link_count, at_least(0));
  m("mean_link_bytes", traffic.mean_link_bytes, at_least(0, "Of the links that it uses."));
  m.object("busiest_link", [&] {
    m("link", traffic.busiest_link, meaning("Empty where no link is used."));
    m("messages", traffic.busiest.message_count, at_least(0));
    m("bytes", traffic.busiest.byte_count, at_least(0));
    m("most_at_once", traffic.most_at_once,
      at_least(0, "Messages of one round on a link, the most of any link."));
  });
}

void describe(Members& m, GridSimulation& grid) {
  describe_name(m, "grid", grid.configuration.grid);
  m.derived("columns", grid.configuration.grid.columns, at_least(1));
  m.derived("rows", grid.configuration.grid.rows, at_least(1));
  m("kernel", grid.configuration.kernel);
  m("step_s", grid.step_s, positive("One CG step of the slowest rank."));
  m.derived("model_step_s", grid.model_step_s(), positive());
  m("outside_s", grid.outside_s, at_least(0, "Of a whole run, outside of the phases."));
  m("phases", grid.phases, meaning("Of one CG step."));
}

void describe(Members& m, ProblemSimulation& simulated) {
  m("class", simulated.problem.class_name, not_empty());
  m("n", simulated.problem.n, at_least(1));
  m.derived("best_grid", {}, [&] { return best_of(simulated.grids).configuration.grid.name(); });
  m("grids", simulated.grids, {.fewest = 1});
  m.list("what_if", simulated.others, meaning("Of --what-if."), [&](auto& other, size_t /*index*/) {
    m("name", other.first);
    m.derived("best_grid", {}, [&] { return best_of(other.second).configuration.grid.name(); });
    m.list("grids", other.second, {.fewest = 1}, [&](GridSimulation& grid, size_t /*index*/) {
      describe_name(m, "grid", grid.configuration.grid);
      m("step_s", grid.step_s, positive());
    });
  });
}

void describe(Members& m, Simulation& simulation) {
  m.constant("schema_version", 1);
  m("machine", simulation.machine, not_empty());
  m("interconnect", simulation.interconnect, not_empty());
  m("placement", simulation.options.placement);
  m("slow_ranks", simulation.options.slow);
  m("steps", simulation.options.step_count, at_least(1, "CG steps that were simulated."));
  m("problems", simulation.problems, {.fewest = 1});
}

Simulation simulate_all(const SimulateOptions& options, const Progress& progress, std::string* trace) {
  static_cast<void>(simulator_path());
  const auto machine = find_machine(options.machine);
  Simulation simulation{.options = options, .machine = machine.conditions.front().name, .interconnect = {}};
  const auto counts =
      options.rank_count > 0 ? std::vector{options.rank_count} : usual_rank_counts(options.grids, 1);
  for (const auto& problem : options.problems) {
    auto& simulated = simulation.problems.emplace_back(ProblemSimulation{.problem = problem});
    const auto matrix = facts_of(problem);
    const auto placed = [&](const comm::ProcessGrid& grid) {
      return place_run(options, machine.for_ranks(grid.rank_count()), matrix, grid);
    };
    for (const int count : counts) {
      for (const auto& grid : grids_for(options.grids, count)) {
        progress.say(fmt::format("class {}, grid {}", problem.class_name, grid.name()));
        const auto run = placed(grid);
        simulation.interconnect = text_of(run.interconnect.shape);
        simulated.grids.push_back(simulate_grid(run, matrix, options.step_count, trace));
      }
    }
    if (!options.asks_what_if) continue;
    for (const auto& row : what_if_table) {
      progress.say(fmt::format("class {}, {}", problem.class_name, row.name));
      auto& on_other = simulated.others.emplace_back(row.name, std::vector<GridSimulation>()).second;
      for (const auto& described : simulated.grids) {
        auto run = placed(described.configuration.grid);
        row.change(run, described);
        on_other.push_back(simulate_grid(run, matrix, options.step_count));
      }
    }
  }
  return simulation;
}

}  // namespace

void visit_simulation(Members& m) { visit_new<Simulation>(m); }

ExitCode simulate(const SimulateOptions& options, comm::RankGroup& group) {
  const Progress progress(options.progress, group.rank());
  const auto output = open_output(options.output, group);
  const auto trace_file = options.trace.empty() ? nullptr : open_output(options.trace, group);
  std::string trace;
  std::string text;
  agree_on(group, [&] {
    if (group.rank() != 0) return;
    const auto simulation = simulate_all(options, progress, options.trace.empty() ? nullptr : &trace);
    text = options.format == "json" ? document_text(simulation) : text_of(simulation);
  });
  write_each(group, {[&] { write_output(output.get(), group, [&] { return text; }); },
                     [&] { write_output(trace_file.get(), group, [&] { return trace; }); }});
  return ExitCode::success;
}

}  // namespace cg2d
