// The command line of `cg2d explain`.

#include <string>
#include <vector>

#include "cg/commands/shared_options.hpp"
#include "cg/commands/subcommand.hpp"
#include "cg/explain/explanation.hpp"

namespace cg2d {
namespace {

/// The options, with those that only the command line has.
struct ExplainArguments : ExplainOptions {
  ProblemArguments given_problem;
};

/// "all" and the steps.
std::vector<std::string> step_words() {
  auto words = explained_step_names();
  words.insert(words.begin(), "all");
  return words;
}

comm::ProcessGrid explained_grid_from(const std::string& text) {
  const auto grid = grid_from(text);
  if (!grid) throw InputError("--grid auto: explain takes a grid, such as 2x3");
  require_within("--grid " + grid->name() + ": its ranks", grid->rank_count(), most_explained_ranks);
  return *grid;
}

void add_explain_options(OptionSet& options, ExplainArguments& explain) {
  auto& configuration = explain.configuration;
  configuration.grid = {.columns = 2, .rows = 3};
  explain.given_problem.class_letter = "S";
  options.begin_group("Picture");
  options.add({"--grid", "PXxPY", "process columns x process rows; as many ranks are not needed",
               configuration.grid.name()},
              configuration.grid, &explained_grid_from);
  options.add({"--step", one_of(step_words()), "one operation of the CG step"}, explain.step);
  add_result_options(options, explain.format, explain_format_names(), explain.output);
  options.begin_group("Sizes of the messages");
  add_class_option(options, explain.given_problem.class_letter, "problem class: the order of its matrix");
  add_order_option(options, explain.given_problem, "another order of the matrix");
  add_axis_option(options, "sum_form", configuration);
  add_axis_option(options, "kernel", configuration,
                  "those with symmetric storage exchange in both directions (cg2d run --list-kernels)");
}

void check_explain(ExplainArguments& explain, const OptionSet& /*given*/) {
  check_configuration(explain.configuration);
  explain.problem = problem_from("explain", explain.given_problem);
}

}  // namespace

SubcommandRow explain_subcommand() {
  return {.name = "explain",
          .description = "draw who sends what to whom in one CG step, on any grid",
          .examples = {"cg2d explain --grid 2x3",
                       "cg2d explain --grid 4x2 --step shuffle --format svg --output shuffle.svg"},
          .declare = subcommand_with<ExplainArguments, add_explain_options, check_explain, explain>};
}

}  // namespace cg2d
