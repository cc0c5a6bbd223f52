// The command line of `cg2d compare`.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cg/base/errors.hpp"
#include "cg/base/output_file.hpp"
#include "cg/commands/shared_options.hpp"
#include "cg/commands/subcommand.hpp"
#include "cg/report/result_compare.hpp"

namespace cg2d {
namespace {

struct CompareOptions {
  std::string before;
  std::string after;
  std::string threshold = "5%";
  std::string format = "text";
  std::string output;
};

std::vector<std::string> compare_format_names() { return {"text", "json"}; }

/// Rank 0 reads, compares and prints. Collective.
ExitCode compare(const CompareOptions& options, double threshold, comm::RankGroup& group) {
  std::int64_t code = 0;
  write_output(open_output(options.output, group).get(), group, [&] {
    const auto comparison =
        compare_results(read_results(options.before), read_results(options.after), threshold);
    if (comparison.common.empty()) {
      throw InputError(fmt::format("{} and {}: no configuration is in both; {}", options.before,
                                   options.after, difference_between(comparison)));
    }
    code = static_cast<std::int64_t>(comparison.exit_code());
    return options.format == "json" ? comparison_json(comparison) : comparison_text(comparison);
  });
  return static_cast<ExitCode>(group.maximum(code));
}

void add_compare_options(CLI::App& parser, CompareOptions& options) {
  parser.add_option("A", options.before, "results before: of cg2d run --format json, or of cg2d sweep")
      ->required()
      ->check(file_name(FileUse::reads));
  parser.add_option("B", options.after, "results after")->required()->check(file_name(FileUse::reads));
  parser.add_option("--threshold", options.threshold, "the increase in time that is a regression")
      ->type_name("PERCENT");
  add_format_option(parser, options.format, compare_format_names());
  add_file_option(parser, "--output", FileUse::writes, options.output,
                  "write the comparison to FILE, whole or not at all")
      ->default_str("standard output");
}

Action compare_action(const CompareOptions& options) {
  const auto threshold = percentage_from(options.threshold);
  if (!threshold)
    throw InputError(
        fmt::format("--threshold {}: must be a percentage from 0 on, such as 5%", options.threshold));
  require_known("--format", options.format, compare_format_names());
  return [options, threshold = *threshold](comm::RankGroup& group) {
    return compare(options, threshold, group);
  };
}

}  // namespace

SubcommandRow compare_subcommand() {
  return {.name = "compare",
          .description = "compare two results or sweeps, and find the configurations that became slower",
          .examples = {"cg2d compare before.json after.json",
                       "cg2d compare before.jsonl after.jsonl --threshold 2%"},
          .declare = subcommand_with<CompareOptions, add_compare_options, compare_action>};
}

}  // namespace cg2d
