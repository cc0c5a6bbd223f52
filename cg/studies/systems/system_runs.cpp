#include "cg/studies/systems/system_runs.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cg/base/agreement.hpp"
#include "cg/base/json_values.hpp"
#include "cg/machine/environment.hpp"
#include "cg/report/result_file.hpp"
#include "cg/tuning/run_plan.hpp"

#include "cg/report/solve/solve_format.hpp"

namespace cg2d {

SystemOptions measured_system(SystemOptions options, int iteration_count) {
  // Far below what rounding leaves, and its square is still a normal number: subnormal ones are slow.
  options.relative_tolerance = 1e-100;
  options.absolute_tolerance = 0.0;
  options.most_iterations = iteration_count;
  options.measures_iterations = true;
  return options;
}

std::string system_name_of(const SystemOptions& options) {
  // As files have it: bytes that are no text are replaced there.
  return text_in_json(system_name(json_from(json_text(solve_json(options, {}).at("system")))));
}

KeptSystem KeptSystems::of(const SystemOptions& options, comm::RankGroup& group, const Progress& progress) {
  if (options.is_matrix_free()) return {};
  Key key{.text = options.matrix_text(), .rank_count = group.size(), .seed = std::nullopt};
  if (options.cut == MatrixCut::random) key.seed = options.permutation_seed;
  auto& matrix = matrices_[key];
  if (!matrix) {
    const auto environment =
        inspect_environment(group, options.configuration.thread_count).granted(options.memory_limit_bytes);
    matrix = read_system(options, group, progress, [&](const ExpectedMatrix& expected) {
      agree_on(group, [&] {
        check_memory(environment, [&](int /*rank*/) { return expected.making_bytes / group.size(); });
      });
    });
  }
  // Whatever moves the vectors: the transport makes no difference to blocks.
  auto any_transport = options.configuration;
  any_transport.transport = comm::default_transport().name;
  const auto place =
      fmt::format("{} {} {} {}", key.text, group.size(), cut_text(options), configuration_key(any_transport));
  return {.matrix = matrix.get(), .kernel_trial = &kernel_trials_[place]};
}

SolveReport measure_system(const SystemOptions& options, comm::RankGroup& group, const KeptSystem& kept,
                           const Progress& progress) {
  SolveRun run(options, group, progress, kept);
  try {
    run.prepare();
    run.perform(nullptr);
  } catch (const RunError& error) {
    run.note_failure(error);
  }
  return run.report();
}

}  // namespace cg2d
