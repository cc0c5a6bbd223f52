#include "cg/studies/systems/system_scaling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cg/base/agreement.hpp"
#include "cg/base/interrupt.hpp"
#include "cg/base/json_values.hpp"
#include "cg/base/output_file.hpp"
#include "cg/base/progress.hpp"
#include "cg/base/remaining_time.hpp"
#include "cg/base/values.hpp"
#include "cg/machine/environment.hpp"
#include "cg/matrix/stencil.hpp"
#include "cg/report/report.hpp"
#include "cg/report/session_json.hpp"
#include "cg/run/benchmark_run.hpp"
#include "cg/solver/operators/matrix_free.hpp"
#include "cg/studies/scaling_plan.hpp"
#include "cg/studies/scaling_table.hpp"
#include "cg/studies/systems/system_runs.hpp"
#include "comm/communicator.hpp"

namespace cg2d {
namespace {

constexpr int system_scaling_schema_version = 1;

std::vector<SystemWay> ways_of(const SystemScalingOptions& options, const std::vector<int>& rank_counts) {
  const auto& system = options.system;
  const bool is_operator = !system.operator_text.empty();
  std::vector<SystemWay> ways;
  for (const int rank_count : rank_counts) {
    for (const bool is_assembled : {false, true}) {
      if (is_assembled ? is_operator && !system.assembles
                       : !is_operator || find_matrix_free(system.operator_text) == nullptr)
        continue;
      for (const auto& transport : options.transports) {
        ways.push_back({.rank_count = rank_count, .is_assembled = is_assembled, .transport = transport});
        if (rank_count == 1) break;  // it moves no data
      }
    }
  }
  return ways;
}

RoundTimes rounds_of(const SystemScalingRow& row) {
  RoundTimes rounds;
  for (const auto& run : row.runs) rounds.emplace(run.round, run.time_s);
  return rounds;
}

/// The figures that need the other ways on as many ranks.
void rank_rows(std::vector<SystemScalingRow*>& rows) {
  if (rows.empty()) return;
  std::vector<RoundTimes> rounds;
  rounds.reserve(rows.size());
  for (const auto* row : rows) rounds.push_back(rounds_of(*row));
  const auto verdict = find_best(rounds);
  for (std::size_t k = 0; k < rows.size(); ++k) {
    rows[k]->ratio_to_best = k == verdict.candidate ? 1.0 : verdict.against[k].median;
    rows[k]->may_be_best = !verdict.is_better_than(k);
    rows[k]->certainty = verdict.certainty();
  }
}

double rows_per_second(const SystemScalingRow& row) {
  return static_cast<double>(row.order) / row.time_s->median;
}

/// One comparison. Ranks that take no part in a run sleep in the agreement that follows it.
class SystemScaling {
 public:
  SystemScaling(const SystemScalingOptions& options, comm::RankGroup& group)
      : options_(options), group_(group), first_ranks_(group), progress_(options.progress, group.rank()) {
    group_.waiter().set_mode(comm::WaitMode::sleep);
  }

  ExitCode execute() {
    plan();
    const auto output = open_output(options_.output, group_);
    measure();
    set_figures(rows_);
    write_output(output.get(), group_, [&] { return options_.format == "json" ? json() : text(); });
    return conclude();
  }

 private:
  void plan() {
    if (options_.transports.empty()) options_.transports.emplace_back(comm::default_transport().name);
    auto rank_counts = options_.rank_counts;
    if (rank_counts.empty()) rank_counts = usual_core_counts(group_.size());
    rank_counts.push_back(1);  // speed-up and efficiency refer to it
    std::ranges::sort(rank_counts);
    rank_counts.erase(std::unique(rank_counts.begin(), rank_counts.end()), rank_counts.end());
    require_started("--cores", rank_counts.back(), group_.size());
    std::size_t most_ways = 1;
    const auto ways = ways_of(options_, rank_counts);
    for (const auto& way : ways) {
      const auto count = std::ranges::count(ways, way.rank_count, &SystemWay::rank_count);
      most_ways = std::max(most_ways, static_cast<std::size_t>(count));
      auto& row = rows_.emplace_back();
      row.way = way;
      row.matrix = solve_options_for(way).matrix_text();
    }
    round_count_ = options_.round_count.value_or(rounds_for_verdict(most_ways));
    machine_ = inspect_environment(group_, 1);
    if (options_.system.names_hosts) name_by_host(machine_);
    static_cast<void>(load_profile(options_.system.profile, machine_, group_));
    agree_on(group_, [&] {
      for (const auto& way : ways) {
        if (auto* const ranks = first_ranks_.of(way.rank_count))
          systems_.of(solve_options_for(way), *ranks, progress_);
      }
    });
  }

  [[nodiscard]] SystemOptions solve_options_for(const SystemWay& way) const {
    auto system = options_.system;
    system.assembles = way.is_assembled && !system.operator_text.empty();
    if (!system.operator_text.empty())
      system.operator_text = scaled_operator(system.operator_text, way.rank_count, options_.weak);
    system.configuration.transport = way.transport;
    if (!way.is_assembled) system.configuration.kernel = automatic_choice;  // which is the matrix's
    system.open_grid.tries_grids = false;
    return system;
  }

  void measure() {
    const InterruptWatch watch;
    for (int round = 1; round <= round_count_; ++round) {
      for (std::size_t k = 0; k < rows_.size(); ++k) {
        is_interrupted_ = group_.maximum(static_cast<std::int64_t>(watch.asked())) != 0;
        if (is_interrupted_) return;
        // Every second round goes backwards, so that a steady drift of the machine favours no way.
        auto& row = rows_[round % 2 == 0 ? rows_.size() - 1 - k : k];
        begin(row, {.round = round, .index = k});
        perform(row, round);
      }
    }
  }

  /// The place of a run in the rounds: its round, and the runs before it there.
  struct Place {
    int round = 1;
    std::size_t index = 0;
  };

  void begin(const SystemScalingRow& row, Place place) const {
    progress_.begin(fmt::format("{}, round {} of {}", row.way.label(), place.round, round_count_));
    double seconds = 0.0;
    for (int round = place.round; round <= round_count_; ++round) {
      for (std::size_t k = round == place.round ? place.index : 0; k < rows_.size(); ++k) {
        const auto& one = rows_[round % 2 == 0 ? rows_.size() - 1 - k : k];
        seconds += times_.expected(work_of(one.way)).value_or(0.0);
      }
    }
    if (seconds > 0.0) progress_.expect(seconds);
  }

  [[nodiscard]] Work work_of(const SystemWay& way) const {
    return {.key = way.label(),
            .kind = std::string(way.form()),
            .amount = options_.weak ? 1.0 : 1.0 / way.rank_count};
  }

  void perform(SystemScalingRow& row, int round) {
    agree_on(group_, [&] {
      auto* const ranks = first_ranks_.of(row.way.rank_count);
      if (ranks == nullptr) return;
      const auto options = solve_options_for(row.way);
      const Stopwatch watch;
      const Progress within(Progress::Within{progress_, {}});
      const auto report = measure_system(options, *ranks, systems_.of(options, *ranks, within), within);
      times_.add(work_of(row.way), watch.seconds());
      // Every other run would fail in the same way.
      if (report.code == ExitCode::usage || report.code == ExitCode::unavailable)
        throw RunError(report.code, report.reason);
      if (group_.rank() == 0) note(row, round, report);
    });
  }

  void note(SystemScalingRow& row, int round, const SolveReport& report) {
    row.runs.push_back({.round = round,
                        .code = report.code,
                        .reason = report.reason,
                        .time_s = report.repeat.time_s,
                        .disturbance = report.quiet ? report.quiet->reason() : std::string()});
    if (report.matrix) row.order = report.matrix->order;
    row.cut = report.matrix_free ? report.matrix_free->cut : "grid " + report.configuration.grid.name();
    progress_.say(fmt::format("{}, round {} of {}: {:.4g} s", row.way.label(), round, round_count_,
                              report.repeat.time_s));
  }

  [[nodiscard]] std::string text() const {
    const auto& system = options_.system;
    auto text = fmt::format(
        "{} scaling of {}, {}, medians of {}\n\n{:>5}  {:<11} {:<9} {:<13} {:>11} {:>10} {:>7} {:>12} {:>8} "
        "{:>10} {:>7}\n",
        options_.weak ? "Weak" : "Strong", system.matrix_text(),
        format_count(system.most_iterations, "iteration"), format_count(round_count_, "round"), "ranks",
        "form", "transport", "cut", "rows", "seconds", "spread", "ms/iteration", "speed-up", "efficiency",
        "vs best");
    for (const auto& row : rows_) text += line_of(row);
    for (const auto& row : rows_) {
      const auto failed = failure_of(row);
      if (failed != row.runs.end())
        text += fmt::format("  Failed: {}, round {}: {}\n", row.way.label(), failed->round, failed->reason);
      const auto disturbed = disturbed_count(row);
      if (disturbed > 0)
        text += fmt::format("  Disturbed (!): {}, {} of {}\n", row.way.label(), disturbed,
                            format_count(std::ssize(row.runs), "run"));
    }
    return text +
           "\nspeed-up: rows per second by those of the same form on 1 rank; efficiency: speed-up / ranks. "
           "vs best: median\nratio, round by round, to the configuration on as many ranks that is best (*) "
           "or "
           "first of those that may be (~), by the sign test.\n" +
           (options_.weak ? "Each rank has the box of one rank: extents grow by the parts of the cut with "
                            "the smallest faces.\n"
                          : "");
  }

  [[nodiscard]] std::string line_of(const SystemScalingRow& row) const {
    const auto head = fmt::format("{:>5}  {:<11} {:<9} {:<13} {:>11}", row.way.rank_count, row.way.form(),
                                  row.way.rank_count > 1 ? row.way.transport : "-", row.cut, row.order);
    if (!row.time_s) return fmt::format("{} {:>10}\n", head, row.runs.empty() ? "not run" : "failed");
    const auto spread = row.time_s->spread();
    const auto mark = best_mark(row.certainty, row.may_be_best);
    return fmt::format("{} {:>10.6f} {:>7} {:>12.4f} {:>8} {:>10} {:>7.3f}{}{}\n", head, row.time_s->median,
                       spread ? fmt::format("{:.0f} %", 100.0 * *spread) : "",
                       1e3 * row.time_s->median / options_.system.most_iterations,
                       row.speed_up ? fmt::format("{:.2f}", *row.speed_up) : "-",
                       row.efficiency ? fmt::format("{:.1f} %", 100.0 * *row.efficiency) : "-",
                       row.ratio_to_best, mark, disturbed_count(row) > 0 ? "!" : "");
  }

  static std::vector<SystemScalingRun>::const_iterator failure_of(const SystemScalingRow& row) {
    return std::ranges::find_if(row.runs, [](const auto& run) { return run.code != ExitCode::success; });
  }
  static std::ptrdiff_t disturbed_count(const SystemScalingRow& row) {
    return std::ranges::count_if(row.runs, [](const auto& run) { return !run.disturbance.empty(); });
  }

  [[nodiscard]] std::string json() const {
    Json ways = Json::array();
    for (const auto& row : rows_) ways.push_back(way_json(row));
    const auto [code, reason] = verdict();
    return json_text({{"schema_version", system_scaling_schema_version},
                      {"program", program_json()},
                      {"status", status_name(code)},
                      {"reason", reason},
                      {"exit_code", static_cast<int>(code)},
                      {"scaling", options_.weak ? "weak" : "strong"},
                      {"system", system_name_of(options_.system)},
                      {"iterations", options_.system.most_iterations},
                      {"rounds", round_count_},
                      {"machine", machine_json(machine_)},
                      {"ways", std::move(ways)}},
                     2) +
           "\n";
  }

  [[nodiscard]] Json way_json(const SystemScalingRow& row) const {
    Json rounds = Json::array();
    for (const auto& run : row.runs) {
      rounds.push_back({{"round", run.round},
                        {"status", status_name(run.code)},
                        {"reason", run.reason},
                        {"time_s", run.code == ExitCode::success ? Json(run.time_s) : Json(nullptr)},
                        {"disturbance", run.disturbance}});
    }
    Json figures = nullptr;
    if (row.time_s) {
      figures = {{"median_s", row.time_s->median},
                 {"minimum_s", row.time_s->minimum},
                 {"maximum_s", row.time_s->maximum},
                 {"iteration_s", row.time_s->median / options_.system.most_iterations},
                 {"speed_up", value_or_null(row.speed_up)},
                 {"efficiency", value_or_null(row.efficiency)},
                 {"ratio_to_best", row.ratio_to_best},
                 {"may_be_best", row.may_be_best},
                 {"is_decided", row.certainty == Certainty::decided},
                 {"certainty", certainty_name(row.certainty)}};
    }
    return {{"ranks", row.way.rank_count},
            {"form", row.way.form()},
            {"transport", row.way.transport},
            {"matrix", row.matrix},
            {"n", row.order},
            {"cut", row.cut},
            {"figures", std::move(figures)},
            {"rounds", std::move(rounds)}};
  }

  /// On rank 0, which has the runs.
  [[nodiscard]] std::pair<ExitCode, std::string> verdict() const {
    for (const auto& row : rows_) {
      if (const auto failed = failure_of(row); failed != row.runs.end())
        return {failed->code, fmt::format("{}: {}", row.way.label(), failed->reason)};
    }
    if (is_interrupted_) return {ExitCode::interrupted, "interrupted by a signal"};
    return {ExitCode::success, ""};
  }

  ExitCode conclude() {
    std::int64_t result = 0;
    if (group_.rank() == 0) {
      const auto [code, reason] = verdict();
      result = static_cast<std::int64_t>(code);
      if (code != ExitCode::success) say_on_stderr(reason);
    }
    return static_cast<ExitCode>(group_.maximum(result));
  }

  SystemScalingOptions options_;
  comm::RankGroup& group_;
  FirstRanks first_ranks_;
  Progress progress_;
  WorkTimes times_;  // seconds of whole measurements
  KeptSystems systems_;
  Environment machine_;
  int round_count_ = 0;
  std::vector<SystemScalingRow> rows_;  // with runs on rank 0
  bool is_interrupted_ = false;
};

}  // namespace

std::string scaled_operator(const std::string& text, int rank_count, bool weak) {
  if (!weak) return text;
  auto stencil = stencil_from(text);
  // Cubes, so that the number of faces alone counts; a dimension of one point stays one.
  comm::Extents cubes{};
  for (std::size_t dimension = 0; dimension < comm::dimension_count; ++dimension)
    cubes[dimension] = stencil.extents[dimension] > 1 ? std::int64_t{1} << 20 : 1;
  const auto grid = comm::best_domain_grid(cubes, rank_count);
  for (std::size_t dimension = 0; dimension < comm::dimension_count; ++dimension)
    stencil.extents[dimension] *= grid.parts[dimension];
  auto grown = stencil.name();
  static_cast<void>(stencil_from(grown));  // throws where it becomes too large
  return grown;
}

std::string SystemWay::label() const {
  return fmt::format("{}, {}{}", format_count(rank_count, "rank"), form(),
                     rank_count > 1 ? ", " + transport : "");
}

void set_figures(std::vector<SystemScalingRow>& rows) {
  for (auto& row : rows) {
    const bool is_sound =
        std::ranges::all_of(row.runs, [](const auto& run) { return run.code == ExitCode::success; });
    if (row.runs.empty() || !is_sound) continue;
    std::vector<double> times_s;
    for (const auto& run : row.runs) times_s.push_back(run.time_s);
    row.time_s = sample_of(times_s);
  }
  for (auto& row : rows) {
    std::vector<SystemScalingRow*> alternatives;
    for (auto& other : rows) {
      if (other.way.rank_count == row.way.rank_count && other.time_s) alternatives.push_back(&other);
    }
    rank_rows(alternatives);
    const auto base = std::ranges::find_if(rows, [&](const auto& other) {
      return other.way.rank_count == 1 && other.way.is_assembled == row.way.is_assembled && other.time_s;
    });
    if (!row.time_s || base == rows.end()) continue;
    row.speed_up = rows_per_second(row) / rows_per_second(*base);
    row.efficiency = *row.speed_up / row.way.rank_count;
  }
}

ExitCode scale_system(const SystemScalingOptions& options, comm::RankGroup& group) {
  return SystemScaling(options, group).execute();
}

}  // namespace cg2d
