// The command line of `cg2d tune`.

#include "cg/commands/shared_options.hpp"
#include "cg/commands/subcommand.hpp"
#include "cg/studies/tune_command.hpp"

namespace cg2d {
namespace {

void add_tune_options(OptionSet& options, TuneOptions& tune) {
  add_classes_option(options, tune.problems, "A");
  add_grids_option(options, tune.grids, "tune");
  add_axis_option(options, "threads", tune.configuration);
  add_bind_option(options, tune.bind);
  add_axis_option(options, "transport", tune.configuration,
                  "how data moves between ranks (cg2d run --list-transports)");
  add_out_of_core_option(
      options, tune.storage.out_of_core.folders,
      "measure how panels are best read from the storage of these folders, instead of kernels", "kernels");
  add_memory_limit_option(options, tune.storage.memory_limit_bytes);
  add_profile_options(options, tune.profile, "file for the result instead of the default one",
                      "write no profile: only print");
  options.add_flag("--keep-disturbed",
                   "save also what was measured beside other load; runs that use it say so",
                   tune.keeps_disturbed);
  options.add_flag("--list", "measure nothing: print the contents of the profile", tune.lists);
  options.add({"--remove", "NAME",
               "measure nothing: remove a processor, or the cases of a matrix, as --list names them"},
              tune.removes);
  add_progress_options(options, tune.progress);
  for (const auto* const question : {"--list", "--remove"})
    options.exclude_others(question,
                           {"--list", "--remove", "--profile", "--no-profile", "--progress", "--quiet"});
  for (const auto* const option : {"--threads", "--transport", "--bind"})
    options.exclude("--out-of-core", option);
}

void check_tune(TuneOptions& tune, const OptionSet& given) {
  resolve_profile(tune.profile, true);
  if (tune.lists && tune.removes) throw InputError("--list and --remove do not go together");
  if ((tune.lists || tune.removes) && !tune.profile.is_used)
    throw InputError("--list and --remove are about the profile; leave --no-profile out");
  auto& storage = tune.storage;
  storage.profile = tune.profile;
  storage.keeps_disturbed = tune.keeps_disturbed;
  storage.progress = tune.progress;
  if (storage.out_of_core.is_used() && (given.has("--class") || given.has("--grid")))
    throw InputError(
        "--out-of-core: measures storage; leave --class and --grid, which are about kernels, out");
  if (tune.problems.empty()) tune.problems.push_back(problem_class("A"));
  check_configuration(tune.configuration);
  tune.transport_is_default = !given.has("--transport");
  if (!tune.configuration.has_transport())
    throw InputError(
        "--transport auto: tune compares kernels over one transport: name it; cg2d run --transport auto "
        "compares transports");
}

}  // namespace

SubcommandRow tune_subcommand() {
  return {.name = "tune",
          .description = "find the fastest kernel and its settings on this machine",
          .examples = {"mpiexec -n 2 cg2d tune --class S",
                       "mpiexec -n 2 cg2d tune --out-of-core /tmp --memory-limit 100MB --no-profile"},
          .declare = subcommand_with<TuneOptions, add_tune_options, check_tune, tune>};
}

}  // namespace cg2d
