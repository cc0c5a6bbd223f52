#pragma once

// Options that several subcommands have, and what makes their words valid.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "cg/tuning/kernel_choice.hpp"
#include "comm/schedule.hpp"

namespace cg2d {

/// The group of options that CLI11 itself has.
inline constexpr const char* common_option_group = "Options";

/// --profile FILE and --no-profile; the texts say what the subcommand does with the file, and without.
struct ProfileOptionTexts {
  std::string profile;
  std::string no_profile;
};
/// For what runs the benchmark.
ProfileOptionTexts profile_is_used();
void add_profile_options(CLI::App& parser, ProfileSource& profile, const ProfileOptionTexts& texts,
                         const std::string& group = common_option_group);
/// --ranks-per-node N, to be checked by require_ranks_per_node().
void add_ranks_per_node_option(CLI::App& parser, int& count, const std::string& group = common_option_group);
/// --memory-limit SIZE.
void add_memory_limit_option(CLI::App& parser, std::int64_t& bytes,
                             const std::string& group = common_option_group);

/// --bind auto|none, to be read by bind_wish_from().
void add_bind_option(CLI::App& parser, std::string& word, const std::string& group = common_option_group);

/// These throw InputError that says what would be valid.
void check_profile(const ProfileSource& profile);
void require_ranks_per_node(int count);
void require_kernel_name(const std::string& name);     ///< "auto" is one
void require_transport_name(const std::string& name);  ///< "auto" is one
comm::SumForm sum_form_from(const std::string& name);
/// At least one of the forms that were asked for is one of the transport's.
void require_sum_form(const std::string& transport, const std::vector<comm::SumForm>& asked);
bool overlap_from(const std::string& name);  ///< "on" or "off"

}  // namespace cg2d
