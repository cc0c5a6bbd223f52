// The command line of `cg2d export`.

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cg/base/agreement.hpp"
#include "cg/base/output_file.hpp"
#include "cg/commands/shared_options.hpp"
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
    if (group.rank() == 0) records = read_all_results(options.files);
  });
  const auto output = open_output(options.output, group);
  write_output(output.get(), group,
               [&] { return options.format == "csv" ? csv_lines(records) : extra_p_lines(records); });
  return ExitCode::success;
}

void add_export_options(CLI::App& parser, ExportOptions& options) {
  parser.add_option("FILE", options.files, "results of cg2d run --format json, or of cg2d sweep")
      ->required()
      ->check(file_name());
  parser.add_option("--format", options.format, "extra-p (JSON Lines) or csv; csv if not given");
  add_file_option(parser, "--output", options.output, "write to FILE, whole or not at all");
}

Action export_action(const ExportOptions& options) {
  require_known("--format", options.format, {"extra-p", "csv"});
  return [options](comm::RankGroup& group) { return export_results(options, group); };
}

}  // namespace

SubcommandRow export_subcommand() {
  return {.name = "export",
          .description = "write results for Extra-P, or as CSV",
          .declare = subcommand_with<ExportOptions, add_export_options, export_action>};
}

}  // namespace cg2d
