#pragma once

// Options that several subcommands have, and the checks that need the values of several. All that gets a value must outlive the subcommand.

#include <cstdint>

#include "cg/base/progress.hpp"
#include "cg/commands/subcommand.hpp"
#include "cg/machine/thread_binding.hpp"
#include "cg/matrix/problem.hpp"
#include "cg/run/feature.hpp"
#include "cg/run/session_options.hpp"
#include "cg/solver/configuration.hpp"
#include "cg/studies/sweep.hpp"
#include "cg/tuning/run_plan.hpp"

namespace cg2d {

/// "8GB" -> 8e9, "8GiB" -> 8 * 2^30; upper or lower case, the B may be missing, no unit means bytes. Throws InputError.
int64_t byte_count_from(const std::string& option, const std::string& text);

/// The class of that letter. Throws InputError.
Problem problem_class(const std::string& letter);
/// --class LETTER,... letter: of the class where none is given; note: what the help adds to it; last: gets the last one that is given.
void add_classes_option(Subcommand& command, std::vector<Problem>& problems, const std::string& letter,
                        const std::string& note = {}, Problem* last = nullptr);

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
/// it. Throws InputError for --keep-disturbed where neither is measured, or nothing is kept.
void resolve_profile(ProfileSource& profile, bool measures);

/// --memory-limit SIZE; --bind auto|none
void add_memory_limit_option(Subcommand& command, int64_t& bytes);
void add_bind_option(Subcommand& command, BindMode& bind);
/// The options of every command that runs the benchmark or solves systems: --profile, --no-profile, --memory-limit, --hostname.
void add_session_options(Subcommand& command, SessionOptions& session);

/// --format NAME and --output FILE.
void add_result_options(Subcommand& command, std::string& format, const std::vector<std::string>& names,
                        std::string& output);

/// --progress and --quiet.
void add_progress_options(Subcommand& command, ProgressMode& mode);

/// --papi, --papi-multiplex and --roofline.
void add_event_options(Subcommand& command, CounterOptions& counters, bool& measures_limits,
                       const std::string& standing);

/// The option of one axis for one value. help, standing: instead of the table's text and default.
void add_axis_option(Subcommand& command, std::string_view axis, Configuration& configuration,
                     std::string_view help = {}, std::string_view standing = {});
/// For a list of values.
void add_axis_list(Subcommand& command, std::string_view axis, AxisValues& values,
                   std::string_view standing = {});

/// --class LETTER. standing: the help's default.
void add_class_option(Subcommand& command, Problem& problem, const std::string& help,
                      const std::string& standing);
/// The options that override numbers of the class, which is declared before them: --n, --nonzer, --shift, --niter, --reference.
void add_problem_numbers(Subcommand& command, Problem& problem);
/// Completes a problem after conversion: with other numbers than those of its class it is of class U, and without a class all must be given.
/// Throws InputError, which names the subcommand.
void complete_problem(const std::string& command, Problem& problem, const Subcommand& given);

/// --symmetrize and --mirror, for subcommands that read a matrix.
void add_symmetrize_options(Subcommand& command, std::optional<double>& tolerance, bool& mirrors);
/// A user's own system: FILE, --operator, --assembled, --symmetrize and --mirror; --preconditioner and --variant.
void add_matrix_options(Subcommand& command, SystemOptions& system, const std::string& help_of_assembled);
void add_form_options(Subcommand& command, SystemOptions& system);
/// Checks that there is one matrix, and what belongs to it. Throws InputError, which names the command.
void check_system(const std::string& command, const SystemOptions& system, const Subcommand& given);

/// The options that runs and solves have alike: the grid, the axes of the configuration, the settings of kernels, the output, and all features.
void add_work_options(Subcommand& command, SessionOptions& session, const std::vector<std::string>& formats,
                      WorkKind kind);

}  // namespace cg2d
