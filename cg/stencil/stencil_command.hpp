#pragma once

// `cg2d stencil`: steps of the heat equation, in memory or out of core.

#include "cg/base/errors.hpp"
#include "cg/stencil/stencil_options.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// Makes a run on all ranks and writes its report. Collective; the same code on every rank: verification_failed where the result is not that
/// of the closed form. Throws RunError (on every rank alike), MpiError, std::bad_alloc.
ExitCode run_stencil(const StencilOptions& options, comm::RankGroup& group);

}  // namespace cg2d
