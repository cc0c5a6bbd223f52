// The command line of `cg2d export`.

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "cg/base/agreement.hpp"
#include "cg/base/shared_output.hpp"
#include "cg/commands/option_values.hpp"
#include "cg/commands/subcommand.hpp"
#include "cg/report/result_export.hpp"

namespace cg2d {
namespace {

struct ExportOptions {
  std::vector<std::string> files;
  std::string format = "csv";
  std::string output;  ///< empty: standard output
};

/// Rank 0 reads and writes. Collective.
ExitCode export_results(const ExportOptions& options, comm::RankGroup& group) {
  std::vector<ResultRecord> records;
  agree_on(group, [&] {
    if (group.rank() != 0) return;
    for (const auto& file : options.files) {
      auto more = read_results(file);
      records.insert(records.end(), more.begin(), more.end());
    }
  });
  const auto output = open_output(options.output, group);
  write_output(output.get(), group,
               [&] { return options.format == "csv" ? csv_lines(records) : extra_p_lines(records); });
  return ExitCode::success;
}

class ExportSubcommand final : public Subcommand {
 public:
  void add_options(CLI::App& parser) override {
    parser.add_option("FILE", options_.files, "results of cg2d run --format json, or of cg2d sweep")
        ->required()
        ->check(file_name());
    parser.add_option("--format", options_.format, "extra-p (JSON Lines) or csv; csv if not given");
    parser.add_option("--output", options_.output, "write to FILE, whole or not at all")
        ->check(file_name())
        ->type_name("FILE");
  }
  [[nodiscard]] Action action() const override {
    require_known("--format", options_.format, {"extra-p", "csv"});
    return [options = options_](comm::RankGroup& group) { return export_results(options, group); };
  }

 private:
  ExportOptions options_;
};

}  // namespace

SubcommandRow export_subcommand() {
  return {.name = "export",
          .description = "write results for Extra-P, or as CSV",
          .make = []() -> std::unique_ptr<Subcommand> { return std::make_unique<ExportSubcommand>(); }};
}

}  // namespace cg2d
