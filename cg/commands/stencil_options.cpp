// The command line of `cg2d stencil`.

#include <fmt/format.h>

#include <string>

#include "cg/commands/shared_options.hpp"
#include "cg/commands/subcommand.hpp"
#include "cg/stencil/stencil_method.hpp"
#include "cg/stencil/stencil_options.hpp"
#include "cg/stencil/stencil_report.hpp"
#include "cg/stencil/stencil_run.hpp"

namespace cg2d {
namespace {

double stencil_tolerance_from(const std::string& option, const std::string& text) {
  const auto value = decimal_from<double>(option, text);
  if (value < 0.0 || !(value < 1.0))
    throw InputError("{} {}: must be at least 0, and less than 1", option, value);
  return value;
}

void add_stencil_options(OptionSet& options, StencilOptions& stencil) {
  stencil.shape = {128, 128, 128};
  options.add({"--shape", "NXxNYxNZ", "points along x, y and z; ranks share the planes along z",
               shape_text(stencil.shape)},
              stencil.shape, &shape_from);
  options.add({"--method", one_of(names_of(stencil_method_table())),
               "steps of the heat equation, or of conjugate gradients in s-step form"},
              stencil.method);
  constexpr int most_steps = 1'000'000'000;
  options.add({"--steps", "N", "steps in time, or of CG at most"}, stencil.step_count, {.most = most_steps});
  options.add({"--rtol", "X", "s-step-cg ends at this residual, relative to b; 0: after all steps", "0"},
              stencil.tolerance, &stencil_tolerance_from);
  options.add({"--temporal-block", "auto|N",
               "temporal blocking depth: steps in each pass over the domain; auto: by a trial", "auto"},
              stencil.block, &block_from);
  add_out_of_core_option(options, stencil.folders,
                         "keep the domain in unlinked temporary files in the folder DIR on local storage, or "
                         "by rank in several");
  add_memory_limit_option(options, stencil.memory_limit_bytes);
  add_result_options(options, stencil.format, {"text", "json"}, stencil.output);
  add_progress_options(options, stencil.progress);
}

void check_stencil(StencilOptions& stencil, const OptionSet& /*given*/) {
  if (stencil.tolerance > 0.0 && !stencil_method(stencil.method).has_residual)
    throw InputError("--rtol: steps of the heat equation have no residual; it belongs to --method s-step-cg");
}

}  // namespace

SubcommandRow stencil_subcommand() {
  return {
      .name = "stencil",
      .description = "steps of the heat equation, or of CG, on a domain in memory or on local storage",
      .examples = {"mpiexec -n 2 cg2d stencil --shape 128x128x128 --steps 64",
                   "mpiexec -n 2 cg2d stencil --method s-step-cg --steps 500 --rtol 1e-6 --out-of-core ."},
      .declare = subcommand_with<StencilOptions, add_stencil_options, check_stencil, run_stencil>,
      .is_task = true};
}

}  // namespace cg2d
