#pragma once

// A run of a method's steps on a domain: planned, made in passes, and verified.

#include "cg/base/errors.hpp"
#include "cg/base/progress.hpp"
#include "cg/panels/panel_io.hpp"
#include "cg/stencil/stencil_options.hpp"
#include "cg/stencil/stencil_report.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// Makes a run on all ranks: checks of shape, memory and room, start values, the choice of a block where none was asked for, all passes, and
/// the verdict. reader: moves planes from and to files. Collective. Throws RunError on every rank alike: usage, memory (71), cannot_create
/// (73), interrupted (75), cannot_write (74) or bad_data (65) where the device fails; MpiError, std::bad_alloc.
StencilReport perform_stencil(const StencilOptions& options, comm::RankGroup& group, const Progress& progress,
                              const PanelIoRow& reader = usual_panel_io());

/// Makes a run and writes its report. Collective; the same code on every rank: verification_failed where the result is not that
/// of the closed form. Throws as perform_stencil().
ExitCode run_stencil(const StencilOptions& options, comm::RankGroup& group);

}  // namespace cg2d
