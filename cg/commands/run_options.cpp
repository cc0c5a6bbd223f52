// `cg2d run` and `cg2d solve`: their command lines, and the way from options to a report and an exit code. `cg2d convert`, which makes their matrices.

#include <exception>

#include "cg/base/sample.hpp"
#include "cg/base/storage/unnamed_file.hpp"
#include "cg/commands/shared_options.hpp"
#include "cg/machine/environment.hpp"
#include "cg/matrix/files/matrix_file.hpp"
#include "cg/matrix/files/vector_file.hpp"
#include "cg/report/report.hpp"
#include "cg/run/benchmark_run.hpp"
#include "cg/run/solve/solve_run.hpp"
#include "cg/solver/communicator_setup.hpp"
#include "cg/solver/matrix_cut.hpp"
#include "cg/solver/operators/matrix_free.hpp"
#include "comm/communicator.hpp"
#include "kernels/spmv.hpp"

namespace cg2d {
namespace {

/// Checks what does not depend on the workload. Throws InputError.
void resolve_session(SessionOptions& session, const Subcommand& given) {
  session.transport_is_default = !given.has("--transport");
  const auto& configuration = session.configuration;
  check_configuration(configuration);
  if (const auto width = session.tuning.block_width; width && !kernels::is_block_width(*width))
    throw InputError("--block-width {}: must be a power of two within 64 ... 65536", *width);
  // The critical vector length counts for every kernel: the report says how many rows are shorter.
  if (const auto* const kernel = kernels::find_kernel(configuration.kernel)) {
    const auto reason = fmt::format("--kernel {} has no such setting; leave it out", kernel->name);
    if (!kernel->defaults.prefetch_distance) given.refuse({"--prefetch"}, reason);
    if (!kernel->defaults.block_width) given.refuse({"--block-width"}, reason);
  }
  resolve_profile(session.profile, !configuration.has_transport() || configuration.cut == speed_cut);
}

// ---------------------------------------------------------------- run

std::string list_transports() {
  std::string text;
  for (const auto& row : comm::transport_table())
    text += fmt::format("{:<14} {}\n", row.name, row.description);
  return text;
}

std::string list_kernels() {
  std::string text =
      fmt::format("{:<17} {:>13}  {:<10}  {}\n", "kernel", "bytes/nonzero", "set-up", "description");
  for (const auto& row : kernels::kernel_table())
    text += fmt::format("{:<17} {:>13.4g}  {:<10}  {}\n", row.name, row.bytes_per_nonzero,
                        row.converts ? "conversion" : "none", row.description);
  return text;
}

void check_run(RunOptions& run, Subcommand& given) {
  if (given.has("--list-kernels") || given.has("--list-transports")) {
    given.work = printing(given.has("--list-kernels") ? &list_kernels : &list_transports);
    return;
  }
  resolve_session(run, given);
  complete_problem("run", run.problem, given);
  if (run.planned_ranks > 0 && !run.dry_run)
    throw InputError("--ranks: goes with --dry-run only; the launcher (mpiexec -n) starts ranks");
  if (run.dry_run && !std::ranges::count(plan_formats, run.format))
    throw InputError("--format {}: a plan (--dry-run) has no such form; valid: {}", run.format,
                     fmt::join(plan_formats, ", "));
  const auto* const against_streaming =
      run.planned_ranks > 0     ? "--ranks: plans a matrix in memory only; start as many ranks"
      : !run.export_mtx.empty() ? "--export-mtx: goes with a matrix in memory only"
                                : "";
  resolve_features({.options = run,
                    .repeats = run.repeat_count > 1 || run.least_time_s > 0.0,
                    .against_streaming = against_streaming});
}

// ---------------------------------------------------------------- solve

/// Refuses settings that the products of an operator without a matrix do not have.
void check_matrix_free(const SystemOptions& system, const Subcommand& given) {
  if (!system.is_matrix_free()) {
    given.refuse({"--domain"}, "only with --operator, and without --assembled");
    return;
  }
  const auto& row = matrix_free_row_of(system.operator_text);
  const auto reason =
      fmt::format("{} without a matrix has no such setting; leave it out, or take --assembled", row.name);
  given.refuse({"--cvl", "--prefetch", "--block-width", "--profile", "--keep-disturbed"}, reason);
  if (!row.uses_grid) given.refuse({"--sum", "--overlap"}, reason);
}

void check_solve(SystemOptions& system, const Subcommand& given) {
  check_system("solve", system, given);
  resolve_session(system, given);
  check_matrix_free(system, given);
  const auto* const against_streaming =
      system.symmetrize_tolerance   ? "--symmetrize: give it to cg2d convert, which makes the file"
      : system.mirrors              ? "--mirror: give it to cg2d convert, which makes the file"
      : permutation_seed_of(system) ? "--cut random: takes the matrix into memory"
                                    : "";
  resolve_features({.options = system, .system = &system, .against_streaming = against_streaming});
}

// ---------------------------------------------------------------- the work of both

std::unique_ptr<OutputFile> open_if_named(const std::string& path, comm::RankGroup& group) {
  return path.empty() ? nullptr : open_output(path, group);
}

/// The report of a session, which is written after it, or after its failure, and its trace.
struct SessionResult {
  const SessionOptions& options;
  SessionReport& report;
  comm::RankGroup& group;
  std::function<std::string()> make_text;
  std::unique_ptr<OutputFile> output{};
  std::unique_ptr<OutputFile> trace{};

  /// Does that. Programs that read results get one for a session that could not start, too, if it can be written.
  void attempt(const std::function<void()>& work) {
    try {
      work();
    } catch (const RunError& error) {
      report.record_failure(error);
      if (group.rank() != 0 || options.format != "json") throw;
      try {
        if (!output) output = std::make_unique<OutputFile>(options.output);
        output->write(make_text());
        output->commit();
      } catch (const std::exception& another) {
        if (std::string_view(another.what()) != error.what()) say_on_stderr(another.what());
      }
      throw;
    }
  }

  /// The whole course of the session, and what it leaves. open, write: a file that only this kind of session has.
  ExitCode perform(
      Session& session, const std::function<TraceOrigin()>& trace_origin,
      const std::function<void()>& open = [] {}, const std::function<void()>& write = [] {}) {
    const auto open_files = [&] {
      output = open_output(options.output, group);
      open();
      trace = open_if_named(options.trace.path, group);
    };
    attempt([&] { session.perform(open_files); });
    const auto write_the_trace = [&] {
      if (session.trace()) write_trace(trace_origin(), *session.trace(), trace.get(), group);
    };
    write_each(group, {write, write_the_trace, [&] { write_output(output.get(), group, make_text); }});
    if (group.rank() == 0 && report.code != ExitCode::success) say_on_stderr(report.reason);
    return report.code;
  }
};

void print_plan(const RunOptions& options, BenchmarkRun& run, const RunReport& report,
                comm::RankGroup& group) {
  const auto& configuration = report.configuration;
  const auto layout = make_layout(run.source().facts(), configuration);
  const auto streaming = run.plan_streaming(layout);
  write_output(options.output, group, [&] {
    return describe_plan({.problem = options.problem,
                          .configuration = configuration,
                          .layout = layout,
                          .source = run.source(),
                          .environment = *report.environment,
                          .is_here = options.planned_ranks == 0 || options.planned_ranks == group.size(),
                          .streaming = streaming ? &*streaming : nullptr},
                         options.format);
  });
}

/// Both: collective; the same code on every rank. Throw RunError (on every rank alike), MpiError, std::bad_alloc.
ExitCode run_benchmark(const RunOptions& options, comm::RankGroup& group) {
  const Progress progress(options.progress, group.rank());
  RunReport report;
  BenchmarkRun session(options, group, progress, report);
  SessionResult result{options, report, group, [&] { return write_report(report, options.format); }};
  if (options.dry_run) {
    result.attempt([&] {
      session.begin();
      print_plan(options, session, report, group);
    });
    return ExitCode::success;
  }
  return result.perform(session, [&] { return trace_origin_of(report); });
}

/// The solution is written also where the solve did not converge.
ExitCode solve_system(const SystemOptions& options, comm::RankGroup& group) {
  const Progress progress(options.progress, group.rank());
  SolveReport report;
  SolveRun session(options, group, progress, report);
  SessionResult result{options, report, group, [&] { return write_report(options, report, options.format); }};
  const auto trace_origin = [&] {
    const bool has_grid = !report.matrix_free;
    return TraceOrigin{
        .report = report,
        .arrangement = has_grid ? report.configuration.grid.name() : report.matrix_free->arrangement,
        .has_grid = has_grid,
        .properties = {{"matrix", report.matrix->name},
                       {"variant", options.variant},
                       {"preconditioner", options.preconditioner}}};
  };
  std::unique_ptr<OutputFile> solution;
  return result.perform(
      session, trace_origin, [&] { solution = open_if_named(options.solution_path, group); },
      [&] { session.write_solution(solution.get()); });
}

// ---------------------------------------------------------------- convert

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
  const auto layout = comm::BlockLayout::even(matrix.order(), {.columns = 1, .rows = group.size()});
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

void declare_run(Subcommand& command) {
  command.describe("run NAS CG on a grid of ranks, verify it and time its phases",
                   {"mpiexec -n 4 cg2d run --class S",
                    "mpiexec -n 2 cg2d run --class S --grid 1x2 --format json --output result.json"});
  constexpr int most_ranks = 1'000'000;  // more than any machine has; the plan goes through all ranks
  auto& run = command.with<RunOptions>(&run_benchmark);
  command.begin_group("Problem");
  add_class_option(command, run.problem, "problem class; or all of --n, --nonzer, --shift and --niter", {});
  add_problem_numbers(command, run.problem);
  command.add("--export-mtx FILE",
              "also write the matrix to FILE (Matrix Market, symmetric); -: to standard output, instead of "
              "the report",
              run.export_mtx, {.file = FileUse::writes});
  add_work_options(command, run, run_formats, WorkKind::outer_iterations);
  command.begin_group("Output");
  command.add("--repeat N", "timed repetitions; the median is reported", run.repeat_count,
              {.most = any_count});
  command.add("--min-time TIME",
              "add repetitions until all have taken that long together, such as 10s or 1min",
              run.least_time_s, &seconds_from, {.standing = "0s"});
  command.add("--no-phases", "do not time the phases", run.time_phases);
  command.begin_group("Plan");
  command.add("--dry-run", "print the plan (blocks, memory, messages) and exit", run.dry_run);
  command.add("--ranks N", "with --dry-run: plan for that many ranks", run.planned_ranks,
              {.standing = "those that run", .most = most_ranks});
  command.add_texts("--list-kernels", "list the kernels and exit");
  command.add_texts("--list-transports", "list the transports and exit");
  command.exclude("--ranks", "--memory-limit");
  for (const auto* const of_phases : {"--papi", "--roofline", "--trace"})
    command.exclude(of_phases, "--no-phases");
  for (const auto* const list : {"--list-kernels", "--list-transports"}) command.exclude_others(list);
  command.check = [&] { check_run(run, command); };
}

void declare_solve(Subcommand& command) {
  command.describe("solve A x = b for a matrix of your own, by conjugate gradients",
                   {"mpiexec -n 4 cg2d solve --operator laplace3d:20x20x20",
                    "mpiexec -n 2 cg2d solve A.mtx --rhs random:1 --preconditioner jacobi --solution x.mtx"});
  auto& system = command.with<SystemOptions>(&solve_system);
  command.begin_group("System");
  add_matrix_options(command, system, "assemble the matrix of --operator: of a Laplacian, or of npb:CLASS");
  command.add("--domain PXxPYxPZ", "division of a Laplacian without a matrix: parts along each dimension",
              system.domain_grid, &domain_grid_from, {.standing = "the smallest surface"});
  command.add("--rhs ones|random:SEED|FILE", "right-hand side", system.right_hand_side, &vector_option_from,
              {.standing = system.right_hand_side.text, .file = FileUse::reads});
  command.add("--rhs-count N",
              fmt::format("right-hand sides, solved together: 1 to {}", kernels::vector_counts.back()),
              system.right_hand_side_count,
              {.standing = "the columns of --rhs FILE, else 1", .most = kernels::vector_counts.back()});
  command.add("--x0 zeros|ones|random:SEED|FILE", "initial guess", system.initial_guess, &vector_option_from,
              {.standing = "zeros", .file = FileUse::reads_first});
  command.add("-o,--solution FILE",
              "write x to FILE (Matrix Market, array); -: to standard output, instead of the report",
              system.solution_path, {.file = FileUse::writes_last});
  command.begin_group("Method");
  command.add("--rtol X", "tolerance of || b - A x ||, relative to || b ||", system.relative_tolerance,
              {.is_from_zero = true});
  command.add("--atol X", "absolute tolerance; the larger one counts", system.absolute_tolerance,
              {.is_from_zero = true});
  command.add("--max-iterations N", "iterations at most", system.most_iterations, {.most = any_count});
  add_form_options(command, system);
  command.add("--monitor", "a line on stderr for each iteration", system.monitors);
  add_work_options(command, system, solve_formats, WorkKind::solve);
  command.check = [&] { check_solve(system, command); };
}

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
