// The command line of `cg2d sweep`.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "cg/block_product.hpp"
#include "cg/errors.hpp"
#include "cg/option_values.hpp"
#include "cg/result_file.hpp"
#include "cg/subcommand.hpp"
#include "cg/sweep_command.hpp"
#include "cg/sweep_table.hpp"
#include "comm/communicator.hpp"

namespace cg2d {
namespace {

/// What the options said, as far as it is not in SweepOptions as it was said.
struct SweepWords {
  std::vector<std::string> class_letters;
  std::string shown_file;
  SweepOptions options;
};

void add_sweep_options(CLI::App& sweep, SweepWords& words) {
  auto& options = words.options;
  auto& axes = options.axes;
  sweep.add_option("--class", words.class_letters, "classes, such as A or A,B; A if not given")
      ->delimiter(',');
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
  auto kernel_names = names_of(all_kernels());
  kernel_names.emplace_back("auto");
  constexpr int most = std::numeric_limits<int>::max();
  for (const auto& kernel : axes.kernels) require_known("--kernel", kernel, kernel_names);
  for (const auto& transport : axes.transports)
    require_known("--transport", transport, names_of(comm::transport_table()));
  for (const int count : axes.thread_counts) require_within("--threads", count, most_threads);
  for (const int count : axes.rank_counts) require_within("--ranks", count, most);
  for (const int columns : axes.columns) require_within("--px", columns, most);
}

SweepOptions sweep_options_from(const SweepWords& words) {
  SweepOptions options = words.options;
  auto letters = words.class_letters;
  set_default<std::string>(letters, "A");
  for (const auto& letter : letters) options.axes.class_names.push_back(problem_class(letter).class_name);
  set_default<std::string>(options.axes.kernels, "auto");
  set_default<std::string>(options.axes.transports, std::string(comm::default_transport().name));
  set_default(options.axes.thread_counts, 1);
  require_within("--repeat", options.round_count, std::numeric_limits<int>::max());
  check_axes(options.axes);
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
