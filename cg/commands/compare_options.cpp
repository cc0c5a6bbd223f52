// The command line of `cg2d compare`.

#include <fmt/format.h>

#include <string>
#include <vector>

#include "cg/base/output_file.hpp"
#include "cg/commands/shared_options.hpp"
#include "cg/commands/subcommand.hpp"
#include "cg/report/result_compare.hpp"

namespace cg2d {
namespace {

struct CompareOptions {
  std::string before;
  std::string after;
  double threshold = 0.05;
  std::vector<std::string> labels;  ///< of the two sets; empty: A and B
  std::string format = "text";
  std::string output;
};

/// Rank 0 reads, compares and prints. Collective.
ExitCode compare(const CompareOptions& options, comm::RankGroup& group) {
  std::int64_t code = 0;
  write_output(options.output, group, [&] {
    const auto& labels = options.labels;
    const auto comparison =
        compare_results(read_results(options.before), read_results(options.after), options.threshold,
                        labels.empty() ? SetNames{} : SetNames{.before = labels[0], .after = labels[1]});
    if (comparison.common.empty())
      throw InputError("{} and {}: no configuration is in both; {}", options.before, options.after,
                       difference_between(comparison));
    code = static_cast<std::int64_t>(comparison.exit_code());
    return options.format == "json" ? comparison_json(comparison) : comparison_text(comparison);
  });
  return static_cast<ExitCode>(group.maximum(code));
}

double threshold_from(const std::string& text) {
  const auto threshold = percentage_from(text);
  if (!threshold) throw InputError("--threshold {}: must be a percentage from 0 on, such as 5%", text);
  return *threshold;
}

void add_compare_options(OptionSet& options, CompareOptions& compare) {
  options.add({"A", "", "results before: of cg2d run --format json, or of cg2d sweep"}, compare.before,
              {.file = FileUse::reads, .is_required = true});
  options.add({"B", "", "results after"}, compare.after, {.file = FileUse::reads, .is_required = true});
  options.add({"--threshold", "PERCENT", "the increase in time that is a regression", "5%"},
              compare.threshold, &threshold_from);
  add_label_option(options, compare.labels, "A,B");
  add_result_options(options, compare.format, {"text", "json"}, compare.output);
}

void check_comparison(CompareOptions& compare, const OptionSet& /*given*/) {
  const auto& labels = compare.labels;
  if (!labels.empty() && (labels.size() != 2 || labels.front() == labels.back()))
    throw InputError("--label: must be two different names, one for each set, such as before,after");
}

}  // namespace

SubcommandRow compare_subcommand() {
  return {.name = "compare",
          .description = "compare two results or sweeps, and find the configurations that became slower",
          .examples = {"cg2d compare before.json after.json",
                       "cg2d compare before.jsonl after.jsonl --threshold 2%"},
          .declare = subcommand_with<CompareOptions, add_compare_options, check_comparison, compare>};
}

}  // namespace cg2d
