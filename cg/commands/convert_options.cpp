// The command line of `cg2d convert`.

#include "cg/base/sample.hpp"
#include "cg/base/storage/unnamed_file.hpp"
#include "cg/commands/shared_options.hpp"
#include "cg/machine/environment.hpp"
#include "cg/matrix/files/matrix_file.hpp"
#include "cg/matrix/files/vector_file.hpp"
#include "cg/solver/communicator_setup.hpp"
#include "cg/tuning/run_plan.hpp"

namespace cg2d {
namespace {

struct ConvertOptions {
  std::string source;
  std::string target;
  std::vector<std::string> scratch;  ///< folders, by rank
  std::optional<double> symmetrize_tolerance;
  bool mirrors = false;
  int64_t memory_limit_bytes = 0;  ///< of a node; 0: all that is free there
  ProgressMode progress = ProgressMode::on_a_terminal;
};

/// Times: since the begin. Collective.
ExitCode print_conversion(const ConvertOptions& options, const SystemMatrix& matrix, double read_s,
                          double all_s, comm::RankGroup& group) {
  return print_text({}, group, [&] {
    const auto symmetrization = matrix.symmetrization();
    return fmt::format(
        " {} to {}: {} rows, {} nonzeros; read in {:.3g} s, written in {:.3g} s\n{}", options.source,
        options.target, matrix.order(), matrix.nonzero_count(), read_s, all_s - read_s,
        symmetrization ? fmt::format(" Symmetrized: {}\n", symmetrization->text()) : std::string());
  });
}

/// From the binary form to Matrix Market, with all digits. Takes the matrix in the memory of all ranks. Collective.
ExitCode convert_back(const ConvertOptions& options, const Environment& environment, const Progress& progress,
                      comm::RankGroup& group) {
  if (!options.scratch.empty())
    throw InputError("--scratch: a binary matrix is in order; leave it out to get the Matrix Market file");
  if (options.symmetrize_tolerance || options.mirrors)
    throw InputError("{}: a binary matrix is symmetric; leave it out to get the Matrix Market file",
                     options.mirrors ? "--mirror" : "--symmetrize");
  const Stopwatch watch;
  progress.say(fmt::format("reading {}", options.source));
  const auto file = open_output(options.target, group);
  const auto opened = open_cache({.path = options.source}, options.source, group);
  auto& matrix = *opened;
  const auto layout = equal_pieces(matrix.order(), {.columns = 1, .rows = group.size()});
  agree_on(group, [&] {
    check_memory(matrix, {.grid = layout.grid(), .kernel = "csr-short"}, layout, environment);
  });
  const auto block = matrix.take(layout, group);
  const double read_s = watch.seconds();
  progress.say(fmt::format("writing {} nonzeros to {}", matrix.nonzero_count(), options.target));
  export_matrix_market(block, layout, "from the binary form, by cg2d convert", group, file.get());
  if (options.target == standard_output_name) return ExitCode::success;
  return print_conversion(options, matrix, read_s, watch.seconds(), group);
}

/// All ranks read and write. Collective.
ExitCode convert(const ConvertOptions& options, comm::RankGroup& group) {
  const Progress progress(options.progress, group.rank());
  bool is_binary = false;
  agree_on(group, [&] { is_binary = is_cache_file(options.source); });
  const auto environment = inspect_environment(group, 1, options.memory_limit_bytes, &progress);
  if (is_binary) return convert_back(options, environment, progress, group);
  if (options.target == standard_output_name)
    throw InputError(
        "TARGET -: ranks write the binary form at places of their own, which standard output has not; name a "
        "file, such as A.cg2d");
  const Stopwatch watch;
  progress.say(fmt::format("reading {}", options.source));
  const auto matrix = read_market_matrix(
      {.path = options.source,
       .scratch_folder =
           options.scratch.empty() ? std::string() : folder_of_rank(options.scratch, group.rank()),
       .symmetrize_tolerance = options.symmetrize_tolerance,
       .mirrors = options.mirrors,
       .check_memory =
           [&](const ExpectedMatrix& expected) {
             agree_on(group, [&] {
               check_memory(environment, [&](int /*rank*/) { return expected.making_bytes / group.size(); });
             });
           }},
      group);
  matrix->require_symmetric(group);
  progress.say(fmt::format("writing {} nonzeros to {}", matrix->nonzero_count(), options.target));
  const double read_s = watch.seconds();
  write_cache(*matrix, options.target, group);
  return print_conversion(options, *matrix, read_s, watch.seconds(), group);
}

}  // namespace

void declare_convert(Subcommand& command) {
  command.describe(
      "write a matrix in binary form, which cg2d solve reads much faster, or such a one in Matrix Market",
      {"cg2d convert A.mtx A.cg2d", "mpiexec -n 2 cg2d convert A.mtx A.cg2d --scratch . --progress"});
  auto& convert = command.with<ConvertOptions>(&cg2d::convert);
  command.add("FILE", "matrix: Matrix Market, plain or compressed by gzip or zstd; or in binary form",
              convert.source, {.file = FileUse::reads, .is_required = true});
  command.add("TARGET",
              "the same matrix in binary form, such as A.cg2d; of a binary one in Matrix Market, such as "
              "A.mtx or -, standard output",
              convert.target, {.file = FileUse::writes, .is_required = true});
  command.add("--scratch DIR,...",
              "keep the entries in unlinked temporary files on local storage while they are put in order, "
              "in the folder DIR or, by rank, in several: for a matrix that is larger than memory",
              convert.scratch, &folders_from, {.standing = "in memory", .file = FileUse::folder});
  add_symmetrize_options(command, convert.symmetrize_tolerance, convert.mirrors);
  add_memory_limit_option(command, convert.memory_limit_bytes);
  add_progress_options(command, convert.progress);
}

}  // namespace cg2d
