// The command line of `cg2d model`.

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "cg/commands/shared_options.hpp"
#include "cg/commands/subcommand.hpp"
#include "cg/solver/matrix_cut.hpp"
#include "cg/solver/slow_ranks.hpp"
#include "cg/studies/model_command.hpp"

namespace cg2d {
namespace {

/// The descriptions that --paper and --template take where none is named.
constexpr std::string_view paper_machine = "cp-pacs-measured";
constexpr std::string_view template_machine = "infiniband-cluster";

void add_model_options(OptionSet& options, ModelOptions& model) {
  add_machine_option(options, model.machine, "this machine's", FileUse::updates);
  add_classes_option(options, model.problems, "B; W,A,B with --calibrate");
  options.add_list({"--ranks", "N", "numbers of ranks, such as 1,2,4", "those that run"}, model.rank_counts,
                   {.most = most_modelled_ranks});
  add_grids_option(options, model.grids, "model");
  options.add({"--kernel", "NAME", "a kernel of the description", "the description's"},
              model.configuration.kernel);
  add_axis_option(options, "transport", model.configuration,
                  "how data moves between ranks (cg2d run --list-transports)",
                  comm::default_transport().name);
  add_axis_option(
      options, "cut", model.configuration,
      "pieces of the matrix: equal ones, shares by the speeds of the ranks, or shares from a file");
  options.add({std::string(slow_rank_option), "R:FACTOR[@PRODUCT],...",
               "products of rank R take FACTOR times as long, from that product of the run on", "none"},
              model.slow, &slow_ranks_from);
  options.add_flag(
      "--paper", "the tables of the paper, each number beside the model's; with a description of its machine",
      model.compares_paper);
  options.add_flag(
      "--template",
      fmt::format("write a description to begin one's own with: {}, or the one of --machine NAME",
                  template_machine),
      model.shows_template);
  options.add_flag(
      "--calibrate",
      "measure this machine with the ranks that run, and write its description (to --machine FILE)",
      model.calibrates);
  add_axis_option(options, "threads", model.configuration, "with --calibrate: threads of each rank");
  options.add_flag("--keep-disturbed",
                   "with --calibrate: save also what was measured beside other load; runs that use it say so",
                   model.keeps_disturbed);
  add_memory_limit_option(options, model.memory_limit_bytes);
  for (const auto* const option : {"--threads", "--keep-disturbed", "--memory-limit"})
    options.require_with(option, "--calibrate");
  add_progress_options(options, model.progress);
  add_result_options(options, model.format, {"text", "json"}, model.output);
  options.exclude_others("--paper", {"--machine", "--format", "--output", "--progress", "--quiet"});
  options.exclude_others("--template", {"--machine", "--output", "--progress", "--quiet"});
  options.exclude_others("--calibrate", {"--machine", "--class", "--threads", "--keep-disturbed",
                                         "--memory-limit", "--output", "--progress", "--quiet"});
}

void check_model(ModelOptions& model, const OptionSet& /*given*/) {
  model.configuration = with_cut(model.configuration, even_cut);
  check_configuration(model.configuration);
  require_cut_of_benchmark(model.configuration.cut);
  if (model.compares_paper && model.machine.empty()) model.machine = paper_machine;
  if (model.shows_template && model.machine.empty()) model.machine = template_machine;
  if (model.problems.empty()) {
    for (const auto* const letter : {"W", "A", "B"}) {
      if (model.calibrates || *letter == 'B') model.problems.push_back(problem_class(letter));
    }
  }
  for (const auto& grid : model.grids.grids)
    require_within("--grid " + grid.name() + ": its ranks", grid.rank_count(), most_modelled_ranks);
}

}  // namespace

SubcommandRow model_subcommand() {
  return {.name = "model",
          .description = "predict the time of every phase and grid on a described machine",
          .examples = {"cg2d model --machine cp-pacs --class C --ranks 64 --grid 8x8,4x16",
                       "cg2d model --paper --machine cp-pacs"},
          .declare = subcommand_with<ModelOptions, add_model_options, check_model, model>};
}

}  // namespace cg2d
