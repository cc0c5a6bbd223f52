#pragma once

// `cg2d tune --out-of-core`: from a measurement of storage to a table and a profile.

#include <cstdint>

#include "cg/base/errors.hpp"
#include "cg/base/progress.hpp"
#include "cg/run/streaming/out_of_core_options.hpp"
#include "cg/tuning/kernel_choice.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

struct StorageTuneOptions {
  OutOfCoreOptions out_of_core;
  std::int64_t memory_limit_bytes = 0;  ///< memory of a node; 0: all that is free there
  ProfileSource profile;                ///< where the result goes; unused: nowhere
  bool keeps_disturbed = false;  ///< saves what was measured beside other load; runs that use it say so
  ProgressMode progress = ProgressMode::on_a_terminal;
};

/// Measures the storage of the folders, prints, and keeps the result in the profile. Collective; the same code on every rank. Throws
/// RunError (on every rank alike; with code 75 for a measurement that was disturbed), MpiError, std::bad_alloc.
ExitCode tune_storage(const StorageTuneOptions& options, comm::RankGroup& group);

}  // namespace cg2d
