// The command line of `cg2d explain`.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cg/base/errors.hpp"
#include "cg/commands/help/described_option.hpp"
#include "cg/commands/shared_options.hpp"
#include "cg/commands/subcommand.hpp"
#include "cg/explain/explain_command.hpp"
#include "cg/explain/explanation.hpp"

namespace cg2d {
namespace {

/// The parsed arguments of `cg2d explain`; `options` has those that need no conversion.
struct ExplainArguments {
  std::string class_letter = "S";
  ProblemArguments problem;
  std::string grid = "2x3";
  AxisValues axes;
  ExplainOptions options;
};

/// "all" and the steps.
std::vector<std::string> step_words() {
  auto words = explained_step_names();
  words.insert(words.begin(), "all");
  return words;
}

void add_explain_options(CLI::App& parser, ExplainArguments& arguments) {
  auto& options = arguments.options;
  parser.add_option("--grid", arguments.grid, "process columns x process rows; as many ranks are not needed")
      ->type_name("PXxPY")
      ->group("Picture");
  parser.add_option("--step", options.step, "one operation of the CG step")
      ->type_name(type_of_values(step_words()))
      ->group("Picture");
  add_format_option(parser, options.format, explain_format_names());
  add_file_option(parser, "--output", FileUse::writes, options.output,
                  "write the picture to FILE, whole or not at all")
      ->default_str("standard output");
  for (const auto* const name : {"--format", "--output"}) parser.get_option(name)->group("Picture");
  parser.add_option("--class", arguments.class_letter, "problem class: the order of its matrix")
      ->type_name(type_of_values(class_letters()))
      ->group("Sizes of the messages");
  add_number_option(parser, "--n", arguments.problem.n, "another order of the matrix")
      ->default_str("the class's")
      ->group("Sizes of the messages");
  add_axis_option(parser, "sum_form", arguments.axes);
  add_axis_option(parser, "kernel", arguments.axes,
                  "those with symmetric storage exchange in both directions (cg2d run --list-kernels)");
  for (const auto* const name : {"--sum", "--kernel"})
    parser.get_option(name)->group("Sizes of the messages");
}

ExplainOptions explain_options_from(const ExplainArguments& arguments) {
  ExplainOptions options = arguments.options;
  options.configuration = configuration_from(arguments.axes, options.configuration);
  const auto grid = grid_from(arguments.grid);
  if (!grid) throw InputError("--grid auto: explain takes a grid, such as 2x3");
  require_within("--grid " + grid->name() + ": its ranks", grid->rank_count(), most_explained_ranks);
  options.configuration.grid = *grid;
  options.problem = problem_from("explain", arguments.class_letter, arguments.problem);
  require_known("--step", options.step, step_words());
  require_known("--format", options.format, explain_format_names());
  return options;
}

}  // namespace

SubcommandRow explain_subcommand() {
  return {.name = "explain",
          .description = "draw who sends what to whom in one CG step, on any grid",
          .examples = {"cg2d explain --grid 2x3",
                       "cg2d explain --grid 4x2 --step shuffle --format svg --output shuffle.svg"},
          .declare = subcommand_with<ExplainArguments, add_explain_options,
                                     command_action<explain_options_from, explain, ExplainArguments>>};
}

}  // namespace cg2d
