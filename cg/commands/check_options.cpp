// The command line of `cg2d check`.

#include "cg/commands/shared_options.hpp"
#include "cg/commands/subcommand.hpp"
#include "cg/run/check/check.hpp"

namespace cg2d {
namespace {

void add_check_options(OptionSet& options, CheckOptions& check) {
  add_result_options(options, check.format, {"text", "json"}, check.output);
  add_memory_limit_option(options, check.memory_limit_bytes);
  add_progress_options(options, check.progress);
}

}  // namespace

SubcommandRow check_subcommand() {
  return {
      .name = "check",
      .description = "check kernels, transports and results on this machine",
      .examples = {"mpiexec -n 4 cg2d check", "mpiexec -n 2 cg2d check --format json --output check.json"},
      .declare = subcommand_with<CheckOptions, add_check_options, no_check<CheckOptions>, check_installation>,
      .is_task = true};
}

}  // namespace cg2d
