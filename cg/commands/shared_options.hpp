#pragma once

// Options that several subcommands have, the validators of their values, and the checks that need the parsed
// values.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "cg/base/paired_comparison.hpp"
#include "cg/base/progress.hpp"
#include "cg/base/values.hpp"
#include "cg/commands/help/file_options.hpp"
#include "cg/matrix/problem.hpp"
#include "cg/run/checkpoint/checkpoint_interval.hpp"
#include "cg/solver/configuration.hpp"
#include "cg/studies/sweep_plan.hpp"
#include "cg/timing/phase_counters.hpp"
#include "cg/timing/phase_trace.hpp"
#include "cg/tuning/kernel_choice.hpp"

namespace cg2d {

/// A whole or finite decimal number. CLI11's own conversion does not say why it fails, takes an empty text
/// for a missing option, and reads 010 as 8.
template <typename Number>
CLI::Validator decimal() {
  return {[](std::string& text) {
            const auto value = number_from<Number>(text);
            if constexpr (std::is_integral_v<Number>) {
              if (!value)
                return fmt::format("\"{}\" is not a whole number up to {}", text,
                                   std::numeric_limits<Number>::max());
            } else {
              if (!value || !std::isfinite(*value)) return fmt::format("\"{}\" is not a finite number", text);
            }
            text = fmt::format("{}", *value);
            return std::string();
          },
          ""};
}

/// A size such as "8GB" or "512MiB".
CLI::Validator byte_count();

/// Puts the value of --grid PXxPY|auto|rule|official into the options of a run or a solve. Throws InputError.
template <typename Options>
void set_grid(Options& options, const std::string& text) {
  options.open_grid.is_official = text == "official";
  options.open_grid.tries_grids = text == "auto";
  if (text == "official" || text == "rule") return;
  if (const auto grid = grid_from(text, ", or auto, rule or official")) options.configuration.grid = *grid;
}

/// The letters of all classes.
std::vector<std::string> class_letters();
/// The class of that letter. Throws InputError.
Problem problem_class(const std::string& letter);
/// The classes of these letters; without letters those of `usual`. Throws InputError.
std::vector<Problem> problem_classes(const std::vector<std::string>& letters,
                                     const std::vector<std::string>& usual);
/// The grids of a list, with "official" among them. Throws as named_grids().
NamedGrids named_grids_from(const std::string& command, std::vector<std::string> texts);
/// Throws InputError, which names the subcommand, for a text that is no grid, and for "auto".
std::vector<comm::ProcessGrid> named_grids(const std::string& command, const std::vector<std::string>& texts);

/// An option that names a file and says what the command does with it, one that takes a number, and one that takes a
/// list with commas between the values.
CLI::Option* add_file_option(CLI::App& parser, const std::string& name, FileUse use, std::string& path,
                             const std::string& help);
template <typename Number>
CLI::Option* add_number_option(CLI::App& parser, const std::string& name, std::optional<Number>& value,
                               const std::string& help) {
  return parser.add_option(name, value, help)
      ->transform(decimal<Number>())
      ->type_name(std::is_integral_v<Number> ? "N" : "X");
}
inline CLI::Option* add_number_option(CLI::App& parser, const std::string& name, int& value,
                                      const std::string& help) {
  return parser.add_option(name, value, help)->transform(decimal<int>())->type_name("N");
}
inline CLI::Option* add_number_option(CLI::App& parser, const std::string& name, double& value,
                                      const std::string& help) {
  return parser.add_option(name, value, help)
      ->transform(decimal<double>())
      ->type_name("X")
      ->default_str(fmt::format("{}", value));
}
template <typename Value>
CLI::Option* add_list_option(CLI::App& parser, const std::string& name, std::vector<Value>& values,
                             const std::string& help) {
  auto* const option = parser.add_option(name, values, help)->delimiter(',');
  if constexpr (std::is_same_v<Value, int>) option->transform(decimal<int>())->type_name("N");
  return option;
}

/// For an option that asks for something else than the command's work: the command line is refused where it gives any other
/// option of the parser but these. To be called after all have been added.
void exclude_others(CLI::App& parser, const std::string& name, const std::vector<std::string>& allowed = {});

/// Help texts of --profile FILE and --no-profile, which subcommands use differently.
struct ProfileOptionTexts {
  std::string profile;
  std::string no_profile;
};
/// For subcommands that run the benchmark.
ProfileOptionTexts profile_is_used();
void add_profile_options(CLI::App& parser, ProfileSource& profile, const ProfileOptionTexts& texts);
/// --keep-disturbed, for subcommands whose runs may measure transports.
void add_keep_disturbed_option(CLI::App& parser, ProfileSource& profile);
/// --symmetrize TOL, for subcommands that read a matrix; tolerance must outlive the parser.
void add_symmetrize_option(CLI::App& parser, std::optional<double>& tolerance);
/// Throws InputError for a tolerance that is out of range, and for any where no file is read.
void check_symmetrize_option(std::optional<double> tolerance, bool has_file);
/// --memory-limit SIZE.
void add_memory_limit_option(CLI::App& parser, std::int64_t& bytes);

/// --until-sure PERCENT and --budget TIME.
struct UntilSureArguments {
  std::string precision;
  std::string budget = "10min";
};
/// subject: what is to be sure. `arguments` must outlive the parser.
void add_until_sure_options(CLI::App& parser, UntilSureArguments& arguments, const std::string& subject);
/// Nothing where no rounds are to be added. Throws InputError.
std::optional<UntilSure> until_sure_from(const UntilSureArguments& arguments);

/// --format NAME; the names stand in its help.
void add_format_option(CLI::App& parser, std::string& format, const std::vector<std::string>& names);

/// --bind auto|none, to be read by bind_mode_from().
void add_bind_option(CLI::App& parser, std::string& word);

/// --verbose and --clocks.
void add_detail_options(CLI::App& parser, TextDetail& detail);

/// --progress and --quiet.
void add_progress_options(CLI::App& parser, ProgressMode& mode);

/// --hostname.
void add_host_name_option(CLI::App& parser, bool& names_hosts);

/// The values of the options for counters, limits and traces.
struct CounterArguments {
  CounterOptions& counters;
  TraceOptions& trace;
  bool& measures_limits;
};
/// --papi and --papi-multiplex; --roofline; --trace-steps.
CLI::Option* add_event_option(CLI::App& parser, CounterOptions& counters);
void add_limits_option(CLI::App& parser, bool& measures_limits);
void add_trace_steps_option(CLI::App& parser, TraceOptions& trace);
/// --papi, --papi-multiplex, --papi-strict, --roofline, --trace and --trace-steps.
void add_counter_options(CLI::App& parser, const CounterArguments& arguments);
/// Throws InputError for texts that are no events, and for steps out of range.
void check_counter_options(const CounterOptions& counters, const TraceOptions& trace);

/// Throws InputError for settings of a kernel that are out of range, and for those that a kernel that is named has not.
void check_tuning(const kernels::Tuning& tuning, const Configuration& configuration);

/// For options that are used: a profile that is named may be missing only where transports are tried, which adds to it. Throws
/// InputError for a profile that is named and not to be used, and for --keep-disturbed where nothing is tried.
void settle_profile(ProfileSource& profile, bool tries_transports);

/// The option of one axis for one value. help: instead of the table's text. `values` must outlive the parser.
void add_axis_option(CLI::App& parser, std::string_view axis, AxisValues& values,
                     const std::string& help = {});
/// The same for all axes, with the texts of the table.
void add_axis_options(CLI::App& parser, AxisValues& values);
/// Whether a value was given.
bool has_values(const AxisValues& values, std::string_view axis);
/// Options for lists of values, for the axes that sweeps cross.
void add_axis_lists(CLI::App& parser, AxisValues& values);
/// The configuration with the values of these options, the other axes as in `common`. Throws InputError for a
/// text that is no value, and for values that do not go together.
Configuration configuration_from(const AxisValues& values, const Configuration& common = {});

/// The numbers of a problem as given; the others come from the class.
struct ProblemArguments {
  std::optional<std::int64_t> n;
  std::optional<int> nonzer;
  std::optional<int> niter;
  std::optional<double> shift;
  std::optional<double> reference_zeta;

  /// Whether anything but a class was given.
  [[nodiscard]] bool has_any() const { return n || nonzer || niter || shift || reference_zeta; }
};

/// --n, --nonzer, --shift, --niter and --reference. `arguments` must outlive the parser.
void add_problem_options(CLI::App& parser, ProblemArguments& arguments);

/// The problem of a class, with the numbers that override it; without a class (empty) all must be given.
/// Throws InputError, which names the subcommand.
Problem problem_from(const std::string& command, const std::string& class_letter,
                     const ProblemArguments& arguments);

}  // namespace cg2d
