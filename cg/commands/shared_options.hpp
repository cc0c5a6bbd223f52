#pragma once

// Options that several subcommands have, and the checks that need the values of several. All that gets a value must outlive the subcommand.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cg/base/progress.hpp"
#include "cg/commands/subcommand.hpp"
#include "cg/machine/thread_binding.hpp"
#include "cg/matrix/problem.hpp"
#include "cg/run/session_options.hpp"
#include "cg/run/solve/solve_options.hpp"
#include "cg/solver/configuration.hpp"
#include "cg/studies/sweep.hpp"
#include "cg/tuning/run_plan.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// "8GB" -> 8e9, "8GiB" -> 8 * 2^30; upper or lower case, the B may be missing, no unit means bytes. Throws InputError.
std::int64_t byte_count_from(const std::string& option, const std::string& text);

/// The letters of all classes, with the name of an iteration other than the benchmark's before them.
std::vector<std::string> class_letters();
/// The class of that letter. Throws InputError.
Problem problem_class(const std::string& letter);
/// --class LETTER,... letter: of the class where none is given; note: what the help adds to it.
void add_classes_option(Subcommand& command, std::vector<Problem>& problems, const std::string& letter,
                        const std::string& note = {});

/// --grid PXxPY|auto|rule|official.
void add_grid_option(Subcommand& command, OpenGridOptions& open, Configuration& configuration,
                     const std::string& help);
/// --grid PXxPY|official,... name: the subcommand's, in messages.
void add_grids_option(Subcommand& command, NamedGrids& grids, const std::string& name);
/// Throws InputError, which names the subcommand, for a text that is no grid, and for "auto".
comm::ProcessGrid named_grid_from(const std::string& command, const std::string& text);

/// --keep-disturbed, for subcommands whose runs may measure transports or speeds.
void add_keep_disturbed_option(Subcommand& command, ProfileSource& profile);
/// For options that are converted: a profile that is named may be missing only where transports or speeds are measured, which adds to
/// it. Throws InputError for a profile that is named and not to be used, and for --keep-disturbed where neither is measured.
void resolve_profile(ProfileSource& profile, bool measures);

/// --memory-limit SIZE; --bind auto|none
void add_memory_limit_option(Subcommand& command, std::int64_t& bytes);
void add_bind_option(Subcommand& command, BindMode& bind);
/// The options of every command that runs the benchmark or solves systems: --profile, --no-profile, --memory-limit, --hostname.
void add_session_options(Subcommand& command, SessionOptions& session);

/// --format NAME and --output FILE.
void add_result_options(Subcommand& command, std::string& format, const std::vector<std::string>& names,
                        std::string& output);

/// --progress and --quiet.
void add_progress_options(Subcommand& command, ProgressMode& mode);

/// --papi, --papi-multiplex and --roofline; --trace-steps, which goes only with the option `trace`.
void add_event_options(Subcommand& command, CounterOptions& counters, bool& measures_limits,
                       const std::string& standing);
void add_trace_steps_option(Subcommand& command, int& step_count, const std::string& trace);

/// The option of one axis for one value. help, standing: instead of the table's text and default.
void add_axis_option(Subcommand& command, std::string_view axis, Configuration& configuration,
                     std::string_view help = {}, std::string_view standing = {});
/// For a list of values.
void add_axis_list(Subcommand& command, std::string_view axis, AxisValues& values,
                   std::string_view standing = {});

/// A problem as given; what is not given comes from the class.
struct ProblemArguments {
  std::string class_letter;
  std::optional<std::int64_t> n;
  std::optional<int> nonzer;
  std::optional<int> niter;
  std::optional<double> shift;
  std::optional<double> reference_zeta;

  /// Whether anything but a class was given.
  [[nodiscard]] bool has_any() const { return n || nonzer || niter || shift || reference_zeta; }
};

/// --n, --nonzer, --shift, --niter and --reference.
void add_problem_options(Subcommand& command, ProblemArguments& arguments);

/// The problem of a class, with the numbers that override it; without a class (empty) all must be given.
/// Throws InputError, which names the subcommand.
Problem problem_from(const std::string& command, const ProblemArguments& arguments);

/// --symmetrize and --mirror, for subcommands that read a matrix.
void add_symmetrize_options(Subcommand& command, std::optional<double>& tolerance, bool& mirrors);
/// A user's own system: FILE, --operator, --assembled, --symmetrize and --mirror; --preconditioner and --variant.
void add_matrix_options(Subcommand& command, SystemOptions& system, const std::string& help_of_assembled);
void add_form_options(Subcommand& command, SystemOptions& system);
/// Checks the matrix of a system that is there. Throws InputError, which names the command.
void check_system(const std::string& command, const SystemOptions& system, const Subcommand& given);

/// `cg2d run` and `cg2d solve`: the way from options to a report and an exit code; they write the report, and the solution also of a solve that
/// did not converge. Collective; the same code on every rank. Throw RunError (on every rank alike), MpiError, std::bad_alloc.
ExitCode run_benchmark(const RunOptions& options, comm::RankGroup& group);
ExitCode solve_system(const SystemOptions& options, comm::RankGroup& group);

}  // namespace cg2d
