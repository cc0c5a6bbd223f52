
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cg/base/errors.hpp"
#include "cg/commands/help/described_option.hpp"
#include "cg/commands/shared_options.hpp"
#include "cg/commands/subcommand.hpp"
#include "cg/studies/tune_command.hpp"

namespace cg2d {
namespace {

/// The parsed arguments of `cg2d tune`; `options` has those that need no conversion.
struct TuneArguments {
  AxisValues axes;
  std::vector<std::string> class_letters;
  std::vector<std::string> grids;
  std::string bind = "auto";
  std::string out_of_core;
  TuneOptions options;
};

void add_tune_options(CLI::App& tune, TuneArguments& arguments) {
  auto& options = arguments.options;
  add_list_option(tune, "--class", arguments.class_letters, "classes, such as A or A,B")
      ->type_name(type_of_values(class_letters()))
      ->default_str("A");
  add_list_option(tune, "--grid", arguments.grids, "grids, such as 1x2,2x1")
      ->type_name(type_of_values({"PXxPY", "official"}))
      ->default_str("all of the ranks");
  add_axis_option(tune, "threads", arguments.axes);
  add_bind_option(tune, arguments.bind);
  add_axis_option(tune, "transport", arguments.axes,
                  "how data moves between ranks (cg2d run --list-transports)");
  tune.add_option("--out-of-core", arguments.out_of_core,
                  "measure how panels are best read from the storage of these folders, instead of kernels")
      ->check(file_name(FileUse::folder))
      ->type_name("DIR,...")
      ->default_str("kernels");
  add_memory_limit_option(tune, options.storage.memory_limit_bytes);
  add_profile_options(tune, options.profile,
                      {.profile = "file for the result instead of the default one",
                       .no_profile = "write no profile: only print"});
  tune.add_flag("--keep-disturbed", options.keeps_disturbed,
                "save also what was measured beside other load; runs that use it say so");
  tune.add_flag("--list", options.lists, "measure nothing: print the contents of the profile");
  tune.add_option("--remove", options.removes,
                  "measure nothing: remove a processor, or the cases of a matrix, as --list names them")
      ->type_name("NAME");
  add_progress_options(tune, options.progress);
  for (const auto* const question : {"--list", "--remove"}) {
    exclude_others(tune, question,
                   {"--list", "--remove", "--profile", "--no-profile", "--progress", "--quiet"});
  }
  for (const auto* const option : {"--threads", "--transport", "--bind"})
    tune.get_option("--out-of-core")->excludes(tune.get_option(option));
}

TuneOptions tune_options_from(const TuneArguments& arguments) {
  TuneOptions options = arguments.options;
  settle_profile(options.profile, true);
  if (options.lists && options.removes) throw InputError("--list and --remove do not go together");
  if ((options.lists || options.removes) && !options.profile.is_used)
    throw InputError("--list and --remove are about the profile; leave --no-profile out");
  auto& storage = options.storage;
  storage.out_of_core = out_of_core_options_from(arguments.out_of_core);
  storage.profile = options.profile;
  storage.keeps_disturbed = options.keeps_disturbed;
  storage.progress = options.progress;
  if (storage.out_of_core.is_used() && (!arguments.class_letters.empty() || !arguments.grids.empty()))
    throw InputError(
        "--out-of-core: measures storage; leave --class and --grid, which are about kernels, out");
  if (!storage.out_of_core.is_used() && storage.memory_limit_bytes > 0)
    throw InputError("--memory-limit: goes with --out-of-core only");
  options.problems = problem_classes(arguments.class_letters, {"A"});
  options.grids = named_grids_from("tune", arguments.grids);
  options.configuration = configuration_from(arguments.axes);
  if (!options.configuration.has_transport()) {
    throw InputError(
        "--transport auto: tune compares kernels over one transport: name it; cg2d run --transport auto "
        "compares transports");
  }
  options.bind = bind_mode_from(arguments.bind);
  return options;
}

}  // namespace

SubcommandRow tune_subcommand() {
  return {.name = "tune",
          .description = "find the fastest kernel and its settings on this machine",
          .examples = {"mpiexec -n 2 cg2d tune --class S",
                       "mpiexec -n 2 cg2d tune --out-of-core /tmp --memory-limit 100MB --no-profile"},
          .declare = subcommand_with<TuneArguments, add_tune_options,
                                     command_action<tune_options_from, tune, TuneArguments>>};
}

}  // namespace cg2d
