#include "cg/run/check/check_command.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cg/base/agreement.hpp"
#include "cg/base/output_file.hpp"
#include "cg/base/values.hpp"
#include "cg/machine/environment.hpp"
#include "cg/run/check/check.hpp"
#include "cg/run/check/check_report.hpp"
#include "cg/tuning/run_plan.hpp"
#include "kernels/cpu_features.hpp"

namespace cg2d {
namespace {

CheckReport report_of(const Environment& environment, const CheckList& list) {
  CheckReport report{.machine = environment.nodes.front().processor_with_caches(),
                     .mpi = environment.mpi_version,
                     .blas = environment.blas,
                     .rank_count = list.group().size(),
                     .node_count = static_cast<int>(environment.nodes.size())};
  for (const auto set : kernels::of_this_processor(kernels::all_instruction_sets))
    report.instruction_sets.emplace_back(kernels::name_of(set));
  report.results = list.results();
  report.seconds = list.seconds();
  return report;
}

}  // namespace

ExitCode check_installation(const CheckOptions& options, comm::RankGroup& group) {
  const Progress progress(options.progress, group.rank());
  const auto output = open_output(options.output, group);
  const auto environment = inspect_environment(group, 1, options.memory_limit_bytes, progress);
  group.waiter().set_mode(environment.wait_mode());
  // Beside its process a rank took 46 MB at most, on 1 to 8 ranks (2026-11-25): every transport's buffers and windows one after the
  // other, and the benchmark with every kernel.
  constexpr std::int64_t check_bytes = std::int64_t{48} << 20;
  agree_on(group, [&] {
    check_memory(
        environment, [](int /*rank*/) { return check_bytes; }, "take fewer ranks");
  });
  const auto plan = full_check_plan(group.size());
  CheckList list(plan, group, progress);
  list.run();
  const auto report = report_of(environment, list);
  write_output(output.get(), group, [&] { return write_check_report(report, options.format); });
  if (!report.has_failures()) return ExitCode::success;
  if (group.rank() == 0) {
    const auto first = std::ranges::find(report.results, CheckStatus::failed, &CheckResult::status);
    say_on_stderr(fmt::format("{} failed; the first one: {}",
                              format_count(count_of(report.results, CheckStatus::failed), "check"),
                              sentence_of(*first)));
  }
  return ExitCode::verification_failed;
}

}  // namespace cg2d
