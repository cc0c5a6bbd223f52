#include <filesystem>
#include <iterator>
#include <system_error>

#include "cg/base/output_file.hpp"
#include "cg/base/table.hpp"
#include "cg/matrix/matrix_source.hpp"
#include "cg/solver/communicator_setup.hpp"
#include "cg/solver/operators/matrix_free.hpp"
#include "cg/studies/model_command.hpp"
#include "cg/tuning/trial.hpp"

namespace cg2d {
namespace {

/// A critical vector length for people: "16", "none".
std::string vector_length_text(int length) {
  return length == never_in_vectors ? "none" : std::to_string(length);
}

/// A line for each measurement.
std::string processor_text(const ProcessorProfile& processor) {
  std::string text;
  const auto add = [&](const MeasurementRecord& measured, const std::string& what, const std::string& found) {
    text += fmt::format("   {}: {}, {}\n", what, found, describe(measured));
  };
  const auto work = [](const MatrixKey& matrix, const Configuration& configuration) {
    return fmt::format("{}, grid {}, {}{}", matrix.name, configuration.grid.name(),
                       format_count(configuration.thread_count, "thread"),
                       configuration.has_kernel() ? ", kernel " + configuration.kernel : "");
  };
  if (processor.knows_kernels())
    add(processor.measured, "critical vector length", vector_length_text(*processor.critical_vector_length));
  for (const auto& tuned : processor.cases)
    add(tuned.measured, work(tuned.matrix, tuned.configuration), "kernel " + tuned.kernels.front().name);
  for (const auto& timed : processor.transports)
    add(timed.measured, work(timed.matrix, timed.configuration),
        "transport " + timed.transports.front().name);
  for (const auto& timed : processor.speeds)
    add(timed.measured, work(timed.matrix, timed.configuration),
        "speeds of " + format_count(std::ssize(timed.ranks), "rank"));
  return text;
}

/// Removes all of the processor of that name, or, where there is no such processor, the cases of the matrix of
/// that name on all processors, and says the number of measurements removed.
std::string remove_from_profile(const std::string& path, const std::string& name) {
  auto profile = profile_file.read(path);
  auto count = remove_measurements(profile, name);
  if (count == 0)
    throw InputError(
        "--remove {}: {} has neither a processor nor a matrix of that name; cg2d tune --list names them",
        name, path);
  profile_file.change(path, [&](TuningProfile& known) { count = remove_measurements(known, name); });
  return fmt::format(" {} of {} removed from {}\n", format_count(count, "measurement"), name, path);
}

/// Every matrix on every grid. Throws InputError that lists the valid grids when one does not match the rank count.
std::vector<CaseConfig> cases_of(const TuneOptions& options, int rank_count) {
  for (const auto& grid : options.grids.grids) require_grid_of(grid, rank_count);
  std::vector<CaseConfig> cases;
  for (const auto& problem : options.problems) {
    const std::shared_ptr<MatrixSource> source = default_source().make(problem);
    for (const auto& grid : grids_for(options.grids, rank_count)) {
      cases.push_back({.source = source,
                       .configuration = {.grid = grid,
                                         .transport = options.configuration.transport,
                                         .thread_count = options.configuration.thread_count},
                       .shift = problem.shift});
    }
  }
  return cases;
}

std::string setting_text(const std::optional<int>& value) { return value ? vector_length_text(*value) : "-"; }

std::string case_text(const TunedCase& tuned) {
  Table table;
  for (const auto& kernel : tuned.kernels) {
    table.line().word("kernel", kernel.name).number("us per step", "{:.1f}", 1e6 * kernel.step_s);
    table.number("x first", "{:.2f}", kernel.step_s / tuned.kernels.front().step_s);
    table.number("cvl", setting_text(kernel.tuning.critical_vector_length));
    table.number("prefetch", setting_text(kernel.tuning.prefetch_distance));
    table.number("block width", setting_text(kernel.tuning.block_width));
  }
  return fmt::format("\n Class {}, grid {}: microseconds per CG step, messages included; {}\n{}{}",
                     tuned.matrix.name, tuned.configuration.grid.name(), describe(tuned.measured),
                     table.text(), tuned.verdict.empty() ? "" : fmt::format(" {}\n", tuned.verdict));
}

constexpr const char* curve_stage = "rows of one length";

ExitCode measure_profile(TuneOptions options, comm::RankGroup& group) {
  if (options.transport_is_default)
    options.configuration = with_default_transport(group, options.configuration);
  const Progress progress(options.progress, group.rank());
  auto cases = cases_of(options, group.size());
  const auto environment =
      inspect_environment(group, options.configuration.thread_count, options.memory_limit_bytes, &progress);
  if (options.profile.is_used && !common_processor(environment))
    throw RunError(
        ExitCode::unavailable,
        "the nodes have different processors, and a profile is for one: take nodes of one kind, or "
        "--no-profile");
  group.waiter().set_mode(environment.wait_mode());
  static_cast<void>(transport_of(options.configuration, group));  // refuses one that cannot serve here
  agree_on(group, [&] {
    check_memory(environment, [&](int rank) {
      auto most = row_length_bytes();
      for (const auto& one : cases) most = std::max(most, case_bytes(one, rank));
      return most;
    });
  });
  const ThreadBinding binding(group, environment, options.bind, options.configuration.thread_count);
  std::string file;  // of rank 0
  agree_on(group, [&] {
    if (group.rank() == 0) file = writable_profile(options.profile);
  });
  const auto print = [&](const std::string& text) { write_output("", group, [&] { return text; }); };
  const auto processor = environment.nodes.front().processor_with_caches();
  const int thread_count = options.configuration.thread_count;
  print(fmt::format("\n cg2d tune - {}, {} x {}\n", processor, format_count(group.size(), "rank"),
                    format_count(thread_count, "thread")));
  constexpr double curve_s = 1.9;  // most of it are budgets of its races
  std::vector<Work> works{{.key = curve_stage, .amount = curve_s}};
  for (const auto& one : cases) std::ranges::move(works_of_case(one), std::back_inserter(works));
  PlannedProgress planned(progress, std::move(works));
  const auto say = [&](const std::string& stage) { planned.say(stage); };
  const auto measure = [&](const std::string& name, MeasurementRecord& record, const auto& once,
                           const auto& text) {
    const auto refusal = measure_with_retries(group, {.name = name,
                                                      .environment = environment,
                                                      .keeps_disturbed = options.profile.takes_disturbed(),
                                                      .say = say,
                                                      .record = record,
                                                      .measure = once});
    print(text());
    if (!refusal.empty()) throw RunError(ExitCode::try_again, "{}: {}", name, refusal);
  };
  say(curve_stage);
  ProcessorProfile found;
  measure(
      curve_stage, found.measured,
      [&] {
        found = measure_row_lengths(group, thread_count);
        return why_unphysical(found.curve, thread_count);
      },
      [&] {
        return fmt::format("\n Critical vector length, from which on vectors are faster: {}; {}\n",
                           vector_length_text(*found.critical_vector_length), describe(found.measured));
      });
  for (auto& one : cases) {
    one.critical_vector_length = *found.critical_vector_length;
    auto& tuned = found.cases.emplace_back();
    measure(
        one.name(), tuned.measured,
        [&] {
          tuned = measure_case(group, one, say);
          return why_unphysical_steps(tuned.kernels, tuned.nonzeros_per_rank / thread_count);
        },
        [&] { return case_text(tuned); });
  }
  agree_on(group, [&] {
    if (!file.empty()) add_to_profile(file, processor, found);
  });
  print(file.empty() ? "\n No profile written (--no-profile)\n"
                     : fmt::format("\n Profile written to {}; cg2d run uses it\n", file));
  return ExitCode::success;
}

}  // namespace

ExitCode tune(const TuneOptions& options, comm::RankGroup& group) {
  if (options.lists || options.removes) {
    write_output("", group, [&] {
      const auto path = options.profile.place();
      std::error_code error;
      if (!std::filesystem::exists(path, error))
        throw InputError("no profile at {}; cg2d tune makes one", path);
      if (options.removes) return remove_from_profile(path, *options.removes);
      std::string text;  // what is known of each processor, its date, and the disturbance if there was one
      for (const auto& [name, processor] : profile_file.read(path))
        text += fmt::format(" {}\n{}", name, processor_text(processor));
      return fmt::format("\n cg2d tune --list - {}\n\n{}", path, text.empty() ? " nothing\n" : text);
    });
    return ExitCode::success;
  }
  return measure_profile(options, group);
}

}  // namespace cg2d
