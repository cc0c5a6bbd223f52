// The command line of `cg2d compare`.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "cg/base/agreement.hpp"
#include "cg/base/errors.hpp"
#include "cg/base/output_file.hpp"
#include "cg/commands/option_values.hpp"
#include "cg/commands/subcommand.hpp"
#include "cg/report/result_compare.hpp"

namespace cg2d {
namespace {

struct CompareOptions {
  std::string before;
  std::string after;
  double threshold = 0.05;
};

/// Rank 0 reads, compares and prints. Collective.
ExitCode compare(const CompareOptions& options, comm::RankGroup& group) {
  std::int64_t regression_count = 0;
  agree_on(group, [&] {
    if (group.rank() != 0) return;
    const auto comparison =
        compare_results(read_results(options.before), read_results(options.after), options.threshold);
    if (comparison.common.empty()) {
      throw InputError(
          fmt::format("{} and {}: no configuration is in both; class, grid, kernel, transport and "
                      "threads must be the same",
                      options.before, options.after));
    }
    OutputFile standard_output("");
    standard_output.write(comparison_text(comparison, options.threshold));
    standard_output.commit();
    regression_count = comparison.regression_count();
  });
  return group.maximum(regression_count) > 0 ? ExitCode::regression : ExitCode::success;
}

class CompareSubcommand final : public Subcommand {
 public:
  void add_options(CLI::App& parser) override {
    parser.add_option("A", options_.before, "results before: of cg2d run --format json, or of cg2d sweep")
        ->required()
        ->check(file_name());
    parser.add_option("B", options_.after, "results after")->required()->check(file_name());
    parser.add_option("--threshold", threshold_,
                      "the increase in time that is a regression, such as 5%; 5% if not given");
  }
  [[nodiscard]] Action action() const override {
    auto options = options_;
    const auto threshold = percentage_from(threshold_);
    if (!threshold)
      throw InputError(fmt::format("--threshold {}: must be a percentage from 0 on, such as 5%", threshold_));
    options.threshold = *threshold;
    return [options](comm::RankGroup& group) { return compare(options, group); };
  }

 private:
  CompareOptions options_;
  std::string threshold_ = "5%";
};

}  // namespace

SubcommandRow compare_subcommand() {
  return {.name = "compare",
          .description = "compare two results or sweeps, and find the configurations that became slower",
          .make = []() -> std::unique_ptr<Subcommand> { return std::make_unique<CompareSubcommand>(); }};
}

}  // namespace cg2d
