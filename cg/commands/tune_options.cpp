#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "cg/base/errors.hpp"
#include "cg/commands/option_values.hpp"
#include "cg/commands/shared_options.hpp"
#include "cg/commands/subcommand.hpp"
#include "cg/studies/tune_command.hpp"
#include "cg/tuning/transport_choice.hpp"

namespace cg2d {
namespace {

/// What the options said, as far as it is not in TuneOptions as it was said.
struct TuneWords {
  std::vector<std::string> class_letters;
  std::vector<std::string> grids;
  std::string bind = "auto";
  TuneOptions options;
};

void add_tune_options(CLI::App& tune, TuneWords& words) {
  auto& options = words.options;
  tune.add_option("--class", words.class_letters, "classes, such as A or A,B; A if not given")
      ->delimiter(',');
  tune.add_option("--grid", words.grids, "grids as PXxPY, such as 1x2,2x1; all of the ranks if not given")
      ->delimiter(',');
  tune.add_option("--threads", options.thread_count, "threads of each rank")->transform(decimal<int>());
  add_bind_option(tune, words.bind);
  tune.add_option("--transport", options.transport, "way to move data (cg2d run --list-transports)");
  add_profile_options(tune, options.profile,
                      {.profile = "file for the result instead of the default one",
                       .no_profile = "write no profile: only print"});
  tune.add_flag("--progress", options.progress, "progress on stderr (a terminal gets it anyway)");
}

TuneOptions tune_options_from(const TuneWords& words) {
  TuneOptions options = words.options;
  check_profile(options.profile);
  const auto letters = words.class_letters.empty() ? std::vector<std::string>{"A"} : words.class_letters;
  for (const auto& letter : letters) options.problems.push_back(problem_class(letter));
  for (const auto& text : words.grids) {
    const auto grid = grid_from(text);
    if (!grid) throw InputError("--grid auto: tune takes named grids, or all of them without --grid");
    options.grids.push_back(*grid);
  }
  require_within("--threads", options.thread_count, most_threads);
  require_transport_name(options.transport);
  if (options.transport == automatic_choice) {
    throw InputError(
        "--transport auto: tune compares kernels over one transport: name it; cg2d run --transport auto "
        "compares transports");
  }
  options.bind = bind_wish_from(words.bind);
  return options;
}

class TuneSubcommand final : public Subcommand {
 public:
  void add_options(CLI::App& parser) override { add_tune_options(parser, words_); }
  [[nodiscard]] Action action() const override {
    return [options = tune_options_from(words_)](comm::RankGroup& group) { return tune(options, group); };
  }

 private:
  TuneWords words_;
};

}  // namespace

SubcommandRow tune_subcommand() {
  return {.name = "tune",
          .description = "find the fastest kernel and its settings on this machine",
          .make = []() -> std::unique_ptr<Subcommand> { return std::make_unique<TuneSubcommand>(); }};
}

}  // namespace cg2d
