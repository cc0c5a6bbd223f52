#pragma once

// Which kernel a run takes, and with which settings: by name, by the tuning profile, or by a built-in rule.

#include <optional>
#include <string>
#include <vector>

#include "cg/machine/environment.hpp"
#include "cg/matrix/problem.hpp"
#include "cg/tuning/tuning_profile.hpp"
#include "comm/block_layout.hpp"
#include "comm/rank_group.hpp"
#include "kernels/spmv.hpp"

namespace cg2d {

/// What the command line asks of the kernel; empty settings were not asked for.
struct KernelWish {
  std::string name = "auto";
  kernels::Tuning tuning;
};

/// Where the profile is to come from.
struct ProfileSource {
  bool is_used = true;
  std::string path;  ///< empty: the default place
};

/// The profile of the machine's processor, or why there is none.
struct LoadedProfile {
  std::optional<ProcessorProfile> processor;  ///< where it knows this processor's kernels
  std::vector<TransportCase> transports{};    ///< whether or not there are kernels
  std::string path;                           ///< of the file looked at; empty if none was
  std::string absence;                        ///< one phrase; empty with a profile
};

/// The one processor, with its caches, of all nodes, or nothing: what profiles go by.
std::optional<std::string> common_processor(const Environment& environment);

/// Reads the profile on rank 0. Collective. Throws InputError for a file that was named and is no profile;
/// one that is missing, or does not know this processor, is an absence.
LoadedProfile load_profile(const ProfileSource& source, const Environment& environment,
                           comm::RankGroup& group);

enum class ChoiceOrigin { asked_for, profile, built_in_rule };
std::string_view choice_origin_name(ChoiceOrigin origin);

struct KernelChoice {
  const kernels::KernelRow* kernel = &kernels::default_kernel();
  kernels::Tuning tuning;  ///< what the kernel works with; empty where it has no such setting
  /// In force for the kernels that have one; for the others the one that it would be.
  int critical_vector_length = 0;
  ChoiceOrigin kernel_origin = ChoiceOrigin::built_in_rule;
  /// Of the settings; those that the command line gave stand in any case.
  ChoiceOrigin tuning_origin = ChoiceOrigin::built_in_rule;
};

/// What the kernel has to work on.
struct KernelTask {
  Problem problem;
  comm::ProcessGrid grid;
  int thread_count = 1;
  bool ranks_oversubscribed = false;  ///< more ranks than cores
};

KernelChoice choose_kernel(const KernelWish& wish, const KernelTask& task, const LoadedProfile& profile);

/// What "auto" stands for without a profile: symmetric storage where a rank has 10 million nonzeros or more
/// and a core of its own, else the default kernel on whole blocks.
const kernels::KernelRow& built_in_kernel(const KernelTask& task);

}  // namespace cg2d
