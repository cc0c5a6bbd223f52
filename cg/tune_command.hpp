#pragma once

// `cg2d tune`: from measurements to a table and a profile.

#include "cg/errors.hpp"
#include "cg/tune_options.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// Measures, prints, and keeps the result in the profile, whose other contents stay. Collective; the same
/// code on every rank. Throws RunError (on every rank alike), MpiError, std::bad_alloc.
ExitCode tune(const TuneOptions& options, comm::RankGroup& group);

}  // namespace cg2d
