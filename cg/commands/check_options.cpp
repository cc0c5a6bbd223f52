// The command line of `cg2d check`.

#include <CLI/CLI.hpp>

#include "cg/base/values.hpp"
#include "cg/commands/shared_options.hpp"
#include "cg/commands/subcommand.hpp"
#include "cg/run/check/check_command.hpp"
#include "cg/run/check/check_report.hpp"

namespace cg2d {
namespace {

void add_check_options(CLI::App& parser, CheckOptions& options) {
  add_format_option(parser, options.format, check_format_names());
  add_file_option(parser, "--output", FileUse::writes, options.output,
                  "write the table to FILE, whole or not at all")
      ->default_str("standard output");
  add_progress_options(parser, options.progress);
}

CheckOptions check_options_from(const CheckOptions& options) {
  require_known("--format", options.format, check_format_names());
  return options;
}

}  // namespace

SubcommandRow check_subcommand() {
  return {
      .name = "check",
      .description = "check kernels, transports and results on this machine",
      .examples = {"mpiexec -n 4 cg2d check", "mpiexec -n 2 cg2d check --format json --output check.json"},
      .declare = subcommand_with<CheckOptions, add_check_options,
                                 command_action<check_options_from, check_installation, CheckOptions>>};
}

}  // namespace cg2d
