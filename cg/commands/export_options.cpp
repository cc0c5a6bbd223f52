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

/// JSON Lines for Extra-P, and one line per run.
std::vector<std::string> export_formats() { return {"csv", "extra-p"}; }

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
      ->check(file_name(FileUse::reads));
  add_format_option(parser, options.format, export_formats());
  add_file_option(parser, "--output", FileUse::writes, options.output, "write to FILE, whole or not at all")
      ->default_str("standard output");
}

Action export_action(const ExportOptions& options) {
  require_known("--format", options.format, export_formats());
  return [options](comm::RankGroup& group) { return export_results(options, group); };
}

}  // namespace

SubcommandRow export_subcommand() {
  return {
      .name = "export",
      .description = "write results for Extra-P, or as CSV",
      .examples = {"cg2d export sweep.jsonl --output sweep.csv", "cg2d export sweep.jsonl --format extra-p"},
      .declare = subcommand_with<ExportOptions, add_export_options, export_action>};
}

}  // namespace cg2d
