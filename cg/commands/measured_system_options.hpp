#pragma once

// The options of a user's own system, which cg2d solve, cg2d sweep and cg2d scaling have. All that gets a value must outlive the set.

#include <string>

#include "cg/commands/option_set.hpp"
#include "cg/run/solve/solve_options.hpp"
#include "cg/studies/study.hpp"

namespace cg2d {

inline bool has_system(const SystemOptions& system) {
  return !system.matrix_path.empty() || !system.operator_text.empty();
}

/// --symmetrize and --mirror, for subcommands that read a matrix.
void add_symmetrize_options(OptionSet& options, std::optional<double>& tolerance, bool& mirrors);
/// FILE, --operator, --assembled, --symmetrize and --mirror.
void add_matrix_options(OptionSet& options, SystemOptions& system, const std::string& help_of_assembled);
/// --preconditioner and --variant.
void add_form_options(OptionSet& options, SystemOptions& system);

/// The options of a system that is measured.
struct MeasuredSystem {
  SystemOptions options;
  int iteration_count = usual_iteration_count;
};
/// All of these and --iterations, as a group of the help.
void add_measured_system_options(OptionSet& options, MeasuredSystem& system);

/// Checks the matrix of a system that is there. Throws InputError, which names the command.
void check_system(const std::string& command, const SystemOptions& system, const OptionSet& given);
/// The checked options of a measurement: measured_system(). Throws InputError also where a problem of the benchmark is given.
SystemOptions measured_system_from(const std::string& command, const MeasuredSystem& system,
                                   const OptionSet& given);
/// Throws InputError for an option that only systems have, where none is measured.
void refuse_system_options(const OptionSet& given);

}  // namespace cg2d
