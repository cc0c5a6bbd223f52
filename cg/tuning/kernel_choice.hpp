#pragma once

// The choice of a kernel and its settings: by name, by the tuning profile, or by a built-in rule.

#include <optional>
#include <string>

#include "cg/library/built_in_choice.hpp"
#include "cg/machine/environment.hpp"
#include "cg/matrix/matrix_facts.hpp"
#include "cg/solver/assembled_operator.hpp"
#include "cg/solver/configuration.hpp"
#include "cg/tuning/tuning_profile.hpp"
#include "comm/rank_group.hpp"
#include "kernels/spmv.hpp"

namespace cg2d {

/// The profile of the machine's processor, or why it knows no kernels.
struct LoadedProfile {
  /// Its speeds are of the processor of the first node, whatever the others have.
  ProcessorProfile processor{};
  std::string path;     ///< path of the file that was read; empty if none was
  std::string absence;  ///< one phrase; empty where the kernels are known
};

/// The processor, with its caches, that all nodes have; empty if they differ. It is the key of profiles.
std::optional<std::string> common_processor(const Environment& environment);

/// Reads the profile on rank 0. Collective. Throws InputError for a file that was named and is no profile, or, where nothing
/// will be written to it, is missing or does not know this processor. Any other file that is missing, or does not know it, is an
/// absence.
LoadedProfile load_profile(const ProfileSource& source, const Environment& environment,
                           comm::RankGroup& group);

enum class ChoiceOrigin { asked_for, profile, trial, built_in_rule };
std::span<const NamedValue<ChoiceOrigin>> words_of(ChoiceOrigin origin);

struct ChosenKernel {
  const kernels::KernelRow* kernel = &kernels::default_kernel();
  kernels::Tuning tuning{};  ///< the settings in force; empty where the kernel has no such setting
  int vector_count = 1;      ///< vectors of one product; with 2 or more, empty settings are the kernel's own
  /// In force for the kernels that have one; for the others the value that it would have.
  int critical_vector_length = 0;
  ChoiceOrigin kernel_origin = ChoiceOrigin::built_in_rule;
  /// Origin of the settings but those from the command line, which override all others.
  ChoiceOrigin tuning_origin = ChoiceOrigin::built_in_rule;
};

/// How a block is multiplied with that kernel. Local. Holds references: all but the choice must outlive it.
AssemblyPlan assembly_plan(comm::RankGroup& group, const comm::BlockLayout& layout,
                           const Configuration& configuration, const ChosenKernel& chosen);

/// The grounds of a choice, beside matrix and configuration.
struct KernelChoiceConfig {
  kernels::Tuning asked{};            ///< settings from the command line; empty ones were not asked for
  int vector_count = 1;               ///< vectors of one product; profiles know products of one alone
  bool ranks_oversubscribed = false;  ///< more ranks than cores
  const LoadedProfile& profile;
};

/// The kernel for the configuration, whose grid must be known: the one that it names, or, where that is open,
/// the fastest in the profile's case of this matrix, grid and number of threads, or that of
/// built_in_kernel(). For products with several vectors the one that it names must take several; else it is
/// kernels::default_kernel_for_several(). Local.
ChosenKernel choose_kernel(const MatrixFacts& matrix, const Configuration& configuration,
                           const KernelChoiceConfig& config);

}  // namespace cg2d
