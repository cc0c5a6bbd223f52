// The command line of `cg2d sweep`.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "cg/base/errors.hpp"
#include "cg/commands/option_values.hpp"
#include "cg/commands/problem_options.hpp"
#include "cg/commands/shared_options.hpp"
#include "cg/commands/subcommand.hpp"
#include "cg/report/result_file.hpp"
#include "cg/studies/sweep_command.hpp"
#include "cg/studies/sweep_table.hpp"
#include "comm/communicator.hpp"

namespace cg2d {
namespace {

/// What the options said, as far as it is not in SweepOptions as it was said.
struct SweepWords {
  std::vector<std::string> class_letters;
  ProblemWords problem;
  std::vector<std::string> sum_forms;
  std::string bind = "auto";
  std::vector<std::string> overlaps;
  std::string shown_file;
  SweepOptions options;
};

void add_sweep_options(CLI::App& sweep, SweepWords& words) {
  auto& options = words.options;
  auto& axes = options.axes;
  sweep.add_option("--class", words.class_letters, "classes, such as A or A,B; A if not given")
      ->delimiter(',');
  add_problem_options(sweep, words.problem, common_option_group);
  sweep.add_option("--ranks", axes.rank_counts, "rank counts, such as 2,4,8; all ranks started if not given")
      ->delimiter(',')
      ->transform(decimal<int>());
  sweep
      .add_option("--px", axes.columns,
                  "process columns, such as 1,2,4; all that divide the ranks if not given")
      ->delimiter(',')
      ->transform(decimal<int>());
  sweep.add_option("--kernel", axes.kernels, "kernels, such as auto,sell; auto if not given")->delimiter(',');
  sweep.add_option("--transport", axes.transports, "ways to move data (cg2d run --list-transports)")
      ->delimiter(',');
  sweep.add_option("--threads", axes.thread_counts, "threads of each rank, such as 1,2; 1 if not given")
      ->delimiter(',')
      ->transform(decimal<int>());
  sweep.add_option("--sum", words.sum_forms, "sums over a process row: reduce-scatter, whole-block")
      ->delimiter(',');
  sweep.add_option("--overlap", words.overlaps, "off, on, or off,on: multiply while the rest is under way")
      ->delimiter(',');
  add_profile_options(sweep, options.common.profile, profile_is_used());
  add_bind_option(sweep, words.bind);
  add_memory_limit_option(sweep, options.common.memory_limit_bytes);
  sweep.add_option("--repeat", options.round_count, "rounds: runs of each configuration; 3 if not given")
      ->transform(decimal<int>());
  sweep
      .add_option("--output", options.output, "file that gets a line per run; a sweep goes on where it ends")
      ->check(file_name())
      ->type_name("FILE");
  sweep.add_flag("--fresh", options.fresh, "empty the file first");
  sweep.add_option("--show", words.shown_file, "print the tables of a file, and run nothing")
      ->check(file_name())
      ->type_name("FILE");
  sweep.add_flag("--progress", options.progress, "progress on stderr (a terminal gets it anyway)");
}

template <typename T>
void set_default(std::vector<T>& list, T value) {
  if (list.empty()) list.push_back(std::move(value));
}

void check_axes(const SweepAxes& axes) {
  constexpr int most = std::numeric_limits<int>::max();
  for (const auto& kernel : axes.kernels) require_kernel_name(kernel);
  for (const auto& transport : axes.transports) {
    require_transport_name(transport);
    require_sum_form(transport, axes.sum_forms);
  }
  for (const int count : axes.thread_counts) require_within("--threads", count, most_threads);
  for (const int count : axes.rank_counts) require_within("--ranks", count, most);
  for (const int columns : axes.columns) require_within("--px", columns, most);
}

/// Classes, or the one problem that the numbers make.
std::vector<Problem> problems_from(const SweepWords& words) {
  auto letters = words.class_letters;
  if (words.problem.has_any()) {
    if (letters.size() > 1) {
      throw InputError(
          fmt::format("--class {}: with --n, --nonzer, --shift, --niter or --reference give one at most",
                      fmt::join(letters, ",")));
    }
    return {problem_from("sweep", letters.empty() ? "" : letters.front(), words.problem)};
  }
  set_default<std::string>(letters, "A");
  std::vector<Problem> problems;
  problems.reserve(letters.size());
  for (const auto& letter : letters) problems.push_back(problem_class(letter));
  return problems;
}

SweepOptions sweep_options_from(const SweepWords& words) {
  SweepOptions options = words.options;
  options.axes.problems = problems_from(words);
  set_default<std::string>(options.axes.kernels, "auto");
  set_default<std::string>(options.axes.transports, std::string(comm::default_transport().name));
  set_default(options.axes.thread_counts, 1);
  for (const auto& name : words.sum_forms) options.axes.sum_forms.push_back(sum_form_from(name));
  options.common.bind = bind_wish_from(words.bind);
  if (!words.overlaps.empty()) options.axes.overlaps.clear();
  for (const auto& name : words.overlaps) options.axes.overlaps.push_back(overlap_from(name));
  require_within("--repeat", options.round_count, std::numeric_limits<int>::max());
  check_axes(options.axes);
  check_profile(options.common.profile);
  return options;
}

class SweepSubcommand final : public Subcommand {
 public:
  void add_options(CLI::App& parser) override { add_sweep_options(parser, words_); }
  [[nodiscard]] Action action() const override {
    if (!words_.shown_file.empty()) {
      return print_made_text([file = words_.shown_file] { return sweep_tables(read_results(file)); });
    }
    return [options = sweep_options_from(words_)](comm::RankGroup& group) { return sweep(options, group); };
  }

 private:
  SweepWords words_;
};

}  // namespace

SubcommandRow sweep_subcommand() {
  return {.name = "sweep",
          .description = "measure every grid in turns, and print which is best",
          .make = []() -> std::unique_ptr<Subcommand> { return std::make_unique<SweepSubcommand>(); }};
}

}  // namespace cg2d
