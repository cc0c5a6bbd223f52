// The command line of `cg2d report`.

#include <CLI/CLI.hpp>
#include <string>

#include "cg/base/errors.hpp"
#include "cg/commands/page_command.hpp"
#include "cg/commands/shared_options.hpp"
#include "cg/commands/subcommand.hpp"

namespace cg2d {
namespace {

void add_report_options(CLI::App& parser, PageOptions& options) {
  parser
      .add_option(
          "FILE", options.files,
          "results of run, sweep, scaling, pingpong, solve and compare as JSON, tuning profiles, traces")
      ->required()
      ->check(file_name(FileUse::reads))
      ->type_name("FILE");
  add_file_option(parser, "-o,--output", FileUse::writes, options.page,
                  "the page: one file that needs no other")
      ->check(default_is_a_file());
  parser.add_flag("--compare", options.compares,
                  "each file on its own, side by side, and against the first by paired rounds");
  parser.add_option("--figures", options.figure_folder, "also every figure as PNG and SVG, into DIR")
      ->check(file_name(FileUse::fills))
      ->type_name("DIR")
      ->default_str("none");
  parser.add_option("--small", options.small_folder, "also PNG of 700 pixels, for a README, into DIR")
      ->check(file_name(FileUse::fills))
      ->type_name("DIR")
      ->default_str("none");
  add_list_option(parser, "--only", options.only, "only these figures, by their names in the page's links")
      ->type_name("NAME,...")
      ->default_str("all");
  add_progress_options(parser, options.progress);
}

PageOptions report_options_from(const PageOptions& options) {
  if (options.compares && options.files.size() < 2)
    throw InputError("--compare: takes two files or more, such as before.jsonl after.jsonl");
  return options;
}

}  // namespace

SubcommandRow report_subcommand() {
  return {.name = "report",
          .description = "make a page of figures from results, which opens offline",
          .examples = {"cg2d report sweep.jsonl -o report.html",
                       "cg2d report before.jsonl after.jsonl --compare"},
          .declare = subcommand_with<PageOptions, add_report_options,
                                     command_action<report_options_from, make_page, PageOptions>>};
}

}  // namespace cg2d
