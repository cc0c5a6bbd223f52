// The command line of `cg2d export`.

#include <string>
#include <vector>

#include "cg/base/agreement.hpp"
#include "cg/base/output_file.hpp"
#include "cg/commands/shared_options.hpp"
#include "cg/commands/subcommand.hpp"
#include "cg/report/result_reader.hpp"

namespace cg2d {
namespace {

struct ExportOptions {
  std::vector<std::string> files;
  std::string format = "csv";  ///< one line per run; or for Extra-P
  std::string output;          ///< empty: standard output
};

/// Rank 0 reads and writes. Collective.
ExitCode export_results(const ExportOptions& options, comm::RankGroup& group) {
  std::vector<ResultRecord> records;
  agree_on(group, [&] {
    if (group.rank() == 0) records = read_all_results(options.files);
  });
  write_output(options.output, group,
               [&] { return options.format == "csv" ? csv_lines(records) : extra_p_lines(records); });
  return ExitCode::success;
}

void add_export_options(OptionSet& options, ExportOptions& exported) {
  add_files_argument(options, exported.files, "results of cg2d run --format json, or of cg2d sweep");
  add_result_options(options, exported.format, {"csv", "extra-p"}, exported.output);
}

}  // namespace

SubcommandRow export_subcommand() {
  return {
      .name = "export",
      .description = "write results for Extra-P, or as CSV",
      .examples = {"cg2d export sweep.jsonl --output sweep.csv", "cg2d export sweep.jsonl --format extra-p"},
      .declare = subcommand_with<ExportOptions, add_export_options, no_check<ExportOptions>, export_results>};
}

}  // namespace cg2d
