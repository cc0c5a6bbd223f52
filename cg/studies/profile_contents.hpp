#pragma once

// `cg2d tune --list` and `--remove`: the contents of the tuning profile.

#include <string>

#include "cg/base/errors.hpp"
#include "cg/tuning/kernel_choice.hpp"
#include "cg/tuning/tuning_profile.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// The processors with their measurements: what is known, its date, and the disturbance if there was one.
std::string contents_text(const TuningProfile& profile);

/// Prints the contents of the file. Collective. Throws RunError (on every rank alike), also for a file that is
/// missing or is no profile.
ExitCode list_profile(const ProfileSource& source, comm::RankGroup& group);

/// Removes all of the processor of that name, or, where there is no such processor, the cases of the matrix of
/// that name on all processors, and prints the number of measurements removed. Collective. Throws as
/// list_profile(), and InputError that lists the names for one that is not there.
ExitCode remove_from_profile(const ProfileSource& source, const std::string& name, comm::RankGroup& group);

}  // namespace cg2d
