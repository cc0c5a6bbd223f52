#pragma once

// Options that several subcommands have, and the checks that need the values of several. All that gets a value must outlive the set.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cg/base/progress.hpp"
#include "cg/commands/option_set.hpp"
#include "cg/machine/thread_binding.hpp"
#include "cg/matrix/problem.hpp"
#include "cg/run/session_options.hpp"
#include "cg/run/solve/solve_options.hpp"
#include "cg/solver/configuration.hpp"
#include "cg/studies/sweep.hpp"
#include "cg/tuning/kernel_choice.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// "8GB" -> 8e9, "8GiB" -> 8 * 2^30; upper or lower case, the B may be missing, no unit means bytes. Throws InputError.
std::int64_t byte_count_from(const std::string& option, const std::string& text);

/// The letters of all classes, with the name of an iteration other than the benchmark's before them.
std::vector<std::string> class_letters();
/// The class of that letter. Throws InputError.
Problem problem_class(const std::string& letter);
/// --class LETTER,... letter: of the class where none is given; note: what the help adds to it.
void add_classes_option(OptionSet& options, std::vector<Problem>& problems, const std::string& letter,
                        const std::string& note = {});

/// --grid PXxPY|auto|rule|official of something with a configuration and an open grid.
template <typename Options>
void add_grid_option(OptionSet& options, Options& target, const std::string& help) {
  const auto take = [&target](const OptionSet::Texts& texts) {
    const auto& text = texts.front();
    target.open_grid.is_official = text == "official";
    target.open_grid.tries_grids = text == "auto";
    if (text == "official" || text == "rule") return;
    if (const auto grid = grid_from(text, ", or auto, rule or official")) target.configuration.grid = *grid;
  };
  options.add_texts("--grid auto|rule|official|PXxPY", help, false, take, {.standing = "auto"});
}
/// --grid PXxPY|official,... command: in messages.
void add_grids_option(OptionSet& options, NamedGrids& grids, const std::string& command);
/// Throws InputError, which names the subcommand, for a text that is no grid, and for "auto".
comm::ProcessGrid named_grid_from(const std::string& command, const std::string& text);

/// --profile FILE and --no-profile.
void add_profile_options(
    OptionSet& options, ProfileSource& profile,
    const std::string& help = "tuning profile to use instead of the default one (cg2d tune)",
    const std::string& help_without = "use no tuning profile");
/// --keep-disturbed, for subcommands whose runs may measure transports or speeds.
void add_keep_disturbed_option(OptionSet& options, ProfileSource& profile);
/// For options that are converted: a profile that is named may be missing only where transports or speeds are measured, which adds to
/// it. Throws InputError for a profile that is named and not to be used, and for --keep-disturbed where neither is measured.
void resolve_profile(ProfileSource& profile, bool measures);

/// --memory-limit SIZE; --bind auto|none; --hostname
void add_memory_limit_option(OptionSet& options, std::int64_t& bytes);
void add_bind_option(OptionSet& options, BindMode& bind);
void add_host_name_option(OptionSet& options, bool& names_hosts);
/// The options of every command that runs the benchmark or solves systems: --profile, --no-profile, --memory-limit, --hostname.
void add_session_options(OptionSet& options, SessionOptions& session);

/// --format NAME and --output FILE.
void add_result_options(OptionSet& options, std::string& format, const std::vector<std::string>& names,
                        std::string& output);

/// --progress and --quiet.
void add_progress_options(OptionSet& options, ProgressMode& mode);

/// --papi, --papi-multiplex and --roofline; --trace-steps, which goes only with the option `trace`.
void add_event_options(OptionSet& options, CounterOptions& counters, bool& measures_limits,
                       const std::string& standing);
void add_trace_steps_option(OptionSet& options, int& step_count, const std::string& trace);

/// The option of one axis for one value. help, standing: instead of the table's text and default.
void add_axis_option(OptionSet& options, std::string_view axis, Configuration& configuration,
                     std::string_view help = {}, std::string_view standing = {});
/// For a list of values.
void add_axis_list(OptionSet& options, std::string_view axis, AxisValues& values,
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
void add_problem_options(OptionSet& options, ProblemArguments& arguments);

/// The problem of a class, with the numbers that override it; without a class (empty) all must be given.
/// Throws InputError, which names the subcommand.
Problem problem_from(const std::string& command, const ProblemArguments& arguments);

/// --symmetrize and --mirror, for subcommands that read a matrix.
void add_symmetrize_options(OptionSet& options, std::optional<double>& tolerance, bool& mirrors);
/// A user's own system: FILE, --operator, --assembled, --symmetrize and --mirror; --preconditioner and --variant.
void add_matrix_options(OptionSet& options, SystemOptions& system, const std::string& help_of_assembled);
void add_form_options(OptionSet& options, SystemOptions& system);
/// Checks the matrix of a system that is there. Throws InputError, which names the command.
void check_system(const std::string& command, const SystemOptions& system, const OptionSet& given);

inline bool has_system(const SystemOptions& system) { return !system.matrix_text().empty(); }

/// `cg2d run` and `cg2d solve`: the way from options to a report and an exit code; they write the report, and the solution also of a solve that
/// did not converge. Collective; the same code on every rank. Throw RunError (on every rank alike), MpiError, std::bad_alloc.
ExitCode run_benchmark(const RunOptions& options, comm::RankGroup& group);
ExitCode solve_system(const SystemOptions& options, comm::RankGroup& group);

}  // namespace cg2d
