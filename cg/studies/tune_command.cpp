#include "cg/studies/tune_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>

#include "cg/base/agreement.hpp"
#include "cg/base/output_file.hpp"
#include "cg/base/progress.hpp"
#include "cg/base/table.hpp"
#include "cg/base/values.hpp"
#include "cg/machine/environment.hpp"
#include "cg/matrix/matrix_source.hpp"
#include "cg/solver/communicator_setup.hpp"
#include "cg/tuning/retried_measurement.hpp"
#include "cg/tuning/run_plan.hpp"
#include "cg/tuning/tune_measure.hpp"
#include "cg/tuning/tuning_profile.hpp"

namespace cg2d {
namespace {

/// A matrix on a grid.
struct PlannedCase {
  const Problem& problem;
  std::shared_ptr<MatrixSource> source;
  Configuration configuration;
};

/// All of them. Throws InputError that lists the valid grids when one does not match the rank count.
std::vector<PlannedCase> cases_of(const TuneOptions& options, int rank_count) {
  for (const auto& grid : options.grids.grids) require_grid_of(grid, rank_count);
  std::vector<PlannedCase> cases;
  for (const auto& problem : options.problems) {
    const std::shared_ptr<MatrixSource> source = default_source().make(problem);
    for (const auto& grid : grids_for(options.grids, rank_count)) {
      cases.push_back({.problem = problem,
                       .source = source,
                       .configuration = {.grid = grid,
                                         .transport = options.configuration.transport,
                                         .thread_count = options.configuration.thread_count}});
    }
  }
  return cases;
}

std::string setting_text(const std::optional<int>& value) { return value ? vector_length_text(*value) : "-"; }

std::string head_text(const Environment& environment, const TuneOptions& options, int rank_count) {
  return fmt::format("\n cg2d tune - {}, {} x {}\n", environment.nodes.front().processor_with_caches(),
                     format_count(rank_count, "rank"),
                     format_count(options.configuration.thread_count, "thread"));
}

/// A line for a measurement that other load disturbed; nothing for a good one.
std::string disturbance_text(const MeasurementRecord& record) {
  return record.disturbance.empty() ? "" : fmt::format(" Disturbed: {}\n", record.disturbance);
}

std::string curve_text(const ProcessorProfile& profile, int critical_vector_length) {
  Table table;
  for (const auto& point : profile.curve) {
    table.line().number("row length", "{}", point.row_length).number("scalar", "{:.3f}", point.scalar_ns);
    table.number("vectors", "{:.3f}", point.vector_ns);
  }
  auto text = "\n Rows of one length, plain CSR: ns per nonzero\n" + table.text();
  text += disturbance_text(profile.measured);
  if (critical_vector_length == never_in_vectors)
    return text + " Critical vector length: none; the scalar loop is faster on every length here\n";
  return text + fmt::format(" Critical vector length: {}; from there on vectors are faster\n",
                            critical_vector_length);
}

constexpr double microseconds = 1e6;

std::string case_text(const TunedCase& tuned) {
  Table table;
  for (const auto& kernel : tuned.kernels) {
    table.line().word("kernel", kernel.name).number("us per step", "{:.1f}", microseconds * kernel.step_s);
    table.number("x first", "{:.2f}", kernel.step_s / tuned.kernels.front().step_s);
    table.number("cvl", setting_text(kernel.tuning.critical_vector_length));
    table.number("prefetch", setting_text(kernel.tuning.prefetch_distance));
    table.number("block width", setting_text(kernel.tuning.block_width));
  }
  auto text = fmt::format("\n Class {}, grid {}: microseconds per CG step, messages included\n{}",
                          tuned.matrix.name, tuned.configuration.grid.name(), table.text());
  if (!tuned.verdict.empty()) text += fmt::format(" {}\n", tuned.verdict);
  return text + disturbance_text(tuned.measured);
}

constexpr const char* curve_stage = "rows of one length";

/// All stages, in their order.
std::vector<Work> works_of(const std::vector<PlannedCase>& cases) {
  constexpr double curve_s = 1.9;  // most of it are budgets of its races
  std::vector<Work> works{{curve_stage, "curve", curve_s}};
  for (const auto& planned : cases)
    std::ranges::move(works_of_case(*planned.source, {.configuration = planned.configuration}),
                      std::back_inserter(works));
  return works;
}

ExitCode measure_profile(TuneOptions options, comm::RankGroup& group) {
  if (options.transport_is_default)
    options.configuration = with_default_transport(group, options.configuration);
  const Progress progress(options.progress, group.rank());
  const auto cases = cases_of(options, group.size());
  const auto environment = inspect_environment(group, options.configuration.thread_count,
                                               options.storage.memory_limit_bytes, progress);
  group.waiter().set_mode(environment.wait_mode());
  const auto& transport = *comm::find_transport(options.configuration.transport);
  if (const auto reason = transport.why_unavailable(group); !reason.empty())
    throw RunError(ExitCode::unavailable, fmt::format("--transport {}: {}", transport.name, reason));
  agree_on(group, [&] {
    check_memory(environment, [&](int rank) {
      auto most = row_length_bytes();
      for (const auto& planned : cases)
        most = std::max(most, case_bytes(*planned.source, planned.configuration, rank));
      return most;
    });
  });
  const ThreadBinding binding(group, environment, options.bind, options.configuration.thread_count);
  std::optional<ProfileFile> file;
  agree_on(group, [&] {
    if (group.rank() == 0 && options.profile.is_used) file.emplace(options.profile);
  });
  const auto output = open_output("", group);
  const auto print = [&](const std::string& text) {
    write_output(output.get(), group, [&] { return text; });
  };

  print(head_text(environment, options, group.size()));
  PlannedProgress planned(progress, works_of(cases));
  const std::function<void(const std::string&)> say = [&](const std::string& stage) { planned.say(stage); };
  const int thread_count = options.configuration.thread_count;
  const RetryConfig retry{.environment = environment,
                          .thread_count = thread_count,
                          .keeps_disturbed = options.keeps_disturbed || !options.profile.is_used,
                          .say = say};
  say(curve_stage);
  ProcessorProfile found;
  int critical_vector_length = 0;
  const auto keep_curve = [&](const auto& curve) {
    found.curve = curve.result.points;
    found.measured = curve.record;
    critical_vector_length = critical_vector_length_of(found.curve);
    found.critical_vector_length = critical_vector_length;
    print(curve_text(found, critical_vector_length));
  };
  keep_curve(measure_or_refuse(
      group, retry, curve_stage, [&] { return measure_row_lengths(group, thread_count); },
      [&](const auto& result) { return why_unphysical(result.points, thread_count); }, keep_curve));
  for (const auto& [problem, source, configuration] : cases) {
    const CaseConfig config{.configuration = configuration,
                            .shift = problem.shift,
                            .critical_vector_length = critical_vector_length};
    const auto keep_case = [&](const auto& measured) {
      found.cases.push_back(measured.result.tuned);
      found.cases.back().measured = measured.record;
      print(case_text(found.cases.back()));
    };
    const auto name = fmt::format("class {}, grid {}", problem.class_name, configuration.grid.name());
    keep_case(measure_or_refuse(
        group, retry, name, [&, &source = source] { return measure_case(group, *source, config, say); },
        [](const auto& result) { return why_unphysical(result.tuned); }, keep_case));
  }
  agree_on(group, [&] {
    if (file) file->add(environment.nodes.front().processor_with_caches(), found);
  });
  print(file ? fmt::format("\n Profile written to {}; cg2d run uses it\n", file->path())
             : std::string("\n No profile written (--no-profile)\n"));
  return ExitCode::success;
}

}  // namespace

ExitCode tune(const TuneOptions& options, comm::RankGroup& group) {
  if (options.lists) return list_profile(options.profile, group);
  if (options.removes) return remove_from_profile(options.profile, *options.removes, group);
  if (options.storage.out_of_core.is_used()) return tune_storage(options.storage, group);
  return measure_profile(options, group);
}

}  // namespace cg2d
