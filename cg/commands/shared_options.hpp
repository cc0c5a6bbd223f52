#pragma once

// Options that several subcommands have, and the checks of their values.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "cg/solver/configuration.hpp"
#include "cg/tuning/kernel_choice.hpp"

namespace cg2d {

/// CLI11's own default group of options.
inline constexpr const char* common_option_group = "Options";

/// Help texts of --profile FILE and --no-profile, which subcommands use differently.
struct ProfileOptionTexts {
  std::string profile;
  std::string no_profile;
};
/// For subcommands that run the benchmark.
ProfileOptionTexts profile_is_used();
void add_profile_options(CLI::App& parser, ProfileSource& profile, const ProfileOptionTexts& texts,
                         const std::string& group = common_option_group);
/// --memory-limit SIZE.
void add_memory_limit_option(CLI::App& parser, std::int64_t& bytes,
                             const std::string& group = common_option_group);

/// --bind auto|none, to be read by bind_mode_from().
void add_bind_option(CLI::App& parser, std::string& word, const std::string& group = common_option_group);

/// Throws InputError for a profile that is named and not to be used.
void check_profile(const ProfileSource& profile);

/// The option of one axis for one value. help: instead of the table's text. `values` must outlive the parser.
void add_axis_option(CLI::App& parser, std::string_view axis, AxisValues& values,
                     const std::string& help = {}, const std::string& group = common_option_group);
/// The same for all axes, with the texts of the table.
void add_axis_options(CLI::App& parser, AxisValues& values, const std::string& group);
/// Options for lists of values, for the axes that sweeps cross.
void add_axis_lists(CLI::App& parser, AxisValues& values);
/// The configuration with the values of these options, the other axes as in `common`. Throws InputError for a
/// text that is no value, and for values that do not go together.
Configuration configuration_from(const AxisValues& values, const Configuration& common = {});

}  // namespace cg2d
