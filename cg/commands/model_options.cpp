// The command line of `cg2d model`.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cg/base/errors.hpp"
#include "cg/commands/help/described_option.hpp"
#include "cg/commands/shared_options.hpp"
#include "cg/commands/subcommand.hpp"
#include "cg/studies/model_command.hpp"

namespace cg2d {
namespace {

/// The parsed arguments of `cg2d model`; `options` has those that need no conversion.
struct ModelArguments {
  AxisValues axes;
  std::vector<std::string> class_letters;
  std::vector<std::string> rank_counts;
  std::vector<std::string> grids;
  ModelOptions options;
};

std::vector<std::string> model_formats() { return {"text", "json"}; }

void add_model_options(CLI::App& parser, ModelArguments& arguments) {
  auto& options = arguments.options;
  parser
      .add_option("--machine", options.machine,
                  "a machine that comes with cg2d (cp-pacs) or a description file")
      ->check(file_name(FileUse::updates))
      ->type_name(type_of_values({"cp-pacs", "FILE"}))
      ->default_str("this machine's");
  add_list_option(parser, "--class", arguments.class_letters, "classes, such as B or C,D")
      ->type_name(type_of_values(class_letters()))
      ->default_str("B; W,A,B with --calibrate");
  add_list_option(parser, "--ranks", arguments.rank_counts, "numbers of ranks, such as 1,2,4")
      ->type_name("N")
      ->default_str("those that run");
  add_list_option(parser, "--grid", arguments.grids, "grids, such as 1x2,2x1")
      ->type_name(type_of_values({"PXxPY", "official"}))
      ->default_str("all of the ranks");
  parser.add_option("--kernel", options.configuration.kernel, "a kernel of the description")
      ->type_name("NAME")
      ->default_str("the description's");
  add_axis_option(parser, "transport", arguments.axes,
                  "how data moves between ranks (cg2d run --list-transports)");
  parser.add_flag(
      "--calibrate", options.calibrates,
      "measure this machine with the ranks that run, and write its description (to --machine FILE)");
  add_axis_option(parser, "threads", arguments.axes, "with --calibrate: threads of each rank");
  parser.add_flag("--keep-disturbed", options.keeps_disturbed,
                  "with --calibrate: save also what was measured beside other load; runs that use it say so");
  for (const auto* const option : {"--threads", "--keep-disturbed"})
    parser.get_option(option)->needs(parser.get_option("--calibrate"));
  add_progress_options(parser, options.progress);
  add_format_option(parser, options.format, model_formats());
  add_file_option(parser, "--output", FileUse::writes, options.output, "write the result to FILE")
      ->default_str("standard output");
}

ModelOptions model_options_from(const ModelArguments& arguments) {
  ModelOptions options = arguments.options;
  options.configuration = configuration_from(arguments.axes, options.configuration);
  if (options.calibrates &&
      (!arguments.rank_counts.empty() || !arguments.grids.empty() || options.configuration.has_kernel() ||
       options.format != "text" || options.configuration.transport != comm::default_transport().name)) {
    throw InputError(
        "--calibrate measures every grid of the ranks that run, and every transport: --ranks, --grid, "
        "--kernel, --transport and --format do not go with it");
  }
  using Letters = std::vector<std::string>;
  options.problems =
      problem_classes(arguments.class_letters, options.calibrates ? Letters{"W", "A", "B"} : Letters{"B"});
  for (const auto& text : arguments.rank_counts) {
    const auto count = number_from<int>(text);
    if (!count) throw InputError(fmt::format("--ranks: \"{}\" is not a whole number", text));
    require_within("--ranks", *count, most_modelled_ranks);
    options.rank_counts.push_back(*count);
  }
  options.grids = named_grids_from("model", arguments.grids);
  for (const auto& grid : options.grids.grids)
    require_within("--grid " + grid.name() + ": its ranks", grid.rank_count(), most_modelled_ranks);
  require_known("--format", options.format, model_formats());
  return options;
}

}  // namespace

SubcommandRow model_subcommand() {
  return {.name = "model",
          .description = "predict the time of every phase and grid on a described machine",
          .examples = {"cg2d model --machine cp-pacs --class A,B --ranks 16",
                       "cg2d model --machine cp-pacs --class C --ranks 64 --grid 8x8,4x16"},
          .declare = subcommand_with<ModelArguments, add_model_options,
                                     command_action<model_options_from, model, ModelArguments>>};
}

}  // namespace cg2d
