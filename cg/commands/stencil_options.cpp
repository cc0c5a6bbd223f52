// The command line of `cg2d stencil`.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>

#include "cg/base/errors.hpp"
#include "cg/base/storage/folders.hpp"
#include "cg/base/values.hpp"
#include "cg/commands/help/described_option.hpp"
#include "cg/commands/shared_options.hpp"
#include "cg/commands/subcommand.hpp"
#include "cg/stencil/stencil_command.hpp"
#include "cg/stencil/stencil_method.hpp"
#include "cg/stencil/stencil_options.hpp"
#include "cg/stencil/stencil_report.hpp"

namespace cg2d {
namespace {

constexpr int most_steps = 1'000'000'000;

/// The parsed arguments of `cg2d stencil`; `options` has those that need no conversion.
struct StencilArguments {
  std::string shape = "128x128x128";
  std::string block = "auto";
  std::string out_of_core;
  StencilOptions options;
};

void add_stencil_options(CLI::App& parser, StencilArguments& arguments) {
  auto& options = arguments.options;
  parser.add_option("--shape", arguments.shape, "points along x, y and z; ranks share the planes along z")
      ->type_name("NXxNYxNZ");
  parser
      .add_option("--method", options.method,
                  "steps of the heat equation, or of conjugate gradients in s-step form")
      ->type_name(type_of_values(names_of(stencil_method_table())));
  add_number_option(parser, "--steps", options.step_count, "steps in time, or of CG at most");
  add_number_option(parser, "--rtol", options.tolerance,
                    "s-step-cg ends at this residual, relative to b; 0: after all steps");
  parser
      .add_option("--temporal-block", arguments.block, "steps in each pass over the domain; auto: by a trial")
      ->type_name("auto|N");
  parser
      .add_option(
          "--out-of-core", arguments.out_of_core,
          "keep the domain in files without names in the folder DIR on local storage, or by rank in several")
      ->check(file_name(FileUse::folder))
      ->type_name("DIR,...")
      ->default_str("in memory");
  add_memory_limit_option(parser, options.memory_limit_bytes);
  add_format_option(parser, options.format, stencil_format_names());
  add_file_option(parser, "--output", FileUse::writes, options.output,
                  "write the report to FILE, whole or not at all")
      ->default_str("standard output");
  add_progress_options(parser, options.progress);
}

StencilOptions stencil_options_from(const StencilArguments& arguments) {
  StencilOptions options = arguments.options;
  options.shape = shape_from(arguments.shape);
  options.block = block_from(arguments.block);
  options.folders = folders_from("--out-of-core", arguments.out_of_core);
  require_within("--steps", options.step_count, most_steps);
  require_known("--method", options.method, names_of(stencil_method_table()));
  if (options.tolerance < 0.0 || !(options.tolerance < 1.0))
    throw InputError(fmt::format("--rtol {}: must be at least 0, and less than 1", options.tolerance));
  if (options.tolerance > 0.0 && !stencil_method(options.method).has_residual)
    throw InputError("--rtol: steps of the heat equation have no residual; it belongs to --method s-step-cg");
  require_known("--format", options.format, stencil_format_names());
  return options;
}

}  // namespace

SubcommandRow stencil_subcommand() {
  return {
      .name = "stencil",
      .description = "steps of the heat equation, or of CG, on a domain in memory or on local storage",
      .examples = {"mpiexec -n 2 cg2d stencil --shape 128x128x128 --steps 64",
                   "mpiexec -n 2 cg2d stencil --method s-step-cg --steps 500 --rtol 1e-6 --out-of-core ."},
      .declare = subcommand_with<StencilArguments, add_stencil_options,
                                 command_action<stencil_options_from, run_stencil, StencilArguments>>};
}

}  // namespace cg2d
