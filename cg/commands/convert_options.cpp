// The command line of `cg2d convert`.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>

#include "cg/base/output_file.hpp"
#include "cg/base/progress.hpp"
#include "cg/commands/shared_options.hpp"
#include "cg/commands/subcommand.hpp"
#include "cg/files/cached_matrix.hpp"
#include "cg/files/matrix_file.hpp"
#include "cg/storage/folder_list.hpp"

namespace cg2d {
namespace {

struct ConvertOptions {
  std::string source;
  std::string target;
  std::string scratch;
  ProgressMode progress = ProgressMode::on_a_terminal;
};

/// All ranks read and write. Collective.
ExitCode convert(const ConvertOptions& options, comm::RankGroup& group) {
  const auto folders = folders_from("--scratch", options.scratch);
  const Progress progress(options.progress, group.rank());
  progress.say(fmt::format("reading {}", options.source));
  const auto matrix = read_market_matrix(
      {.path = options.source,
       .scratch_folder = folders.empty() ? std::string() : folder_of_rank(folders, group.rank())},
      group);
  matrix->require_symmetric(group);
  progress.say(fmt::format("writing {} nonzeros to {}", matrix->nonzero_count(), options.target));
  write_cache(*matrix, options.target, group);
  return ExitCode::success;
}

void add_convert_options(CLI::App& parser, ConvertOptions& options) {
  parser.add_option("FILE", options.source, "matrix: Matrix Market, plain or compressed by gzip or zstd")
      ->required()
      ->check(file_name(FileUse::reads));
  parser.add_option("TARGET", options.target, "the same matrix in binary form, such as A.cg2d")
      ->required()
      ->check(file_name(FileUse::writes));
  parser
      .add_option("--scratch", options.scratch,
                  "keep the entries in files without names on local storage while they are put in order, in "
                  "the folder DIR or, by rank, in several: for a matrix that is larger than memory")
      ->check(file_name(FileUse::folder))
      ->type_name("DIR,...")
      ->default_str("in memory");
  add_progress_options(parser, options.progress);
}

Action convert_action(const ConvertOptions& options) {
  return [options](comm::RankGroup& group) { return convert(options, group); };
}

}  // namespace

SubcommandRow convert_subcommand() {
  return {.name = "convert",
          .description = "write a matrix in binary form, which cg2d solve reads much faster",
          .examples = {"cg2d convert A.mtx A.cg2d",
                       "mpiexec -n 2 cg2d convert A.mtx A.cg2d --scratch . --progress"},
          .declare = subcommand_with<ConvertOptions, add_convert_options, convert_action>};
}

}  // namespace cg2d
