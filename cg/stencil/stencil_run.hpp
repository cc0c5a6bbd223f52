#pragma once

// `cg2d stencil`: its options, and a run of a method's steps on a domain: planned, made in passes, and verified.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cg/base/errors.hpp"
#include "cg/base/progress.hpp"
#include "cg/panels/panel_io.hpp"
#include "comm/domain_layout.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// The options of a user.
struct StencilOptions {
  comm::Extents shape{1, 1, 1};  ///< points along x, y and z
  std::string method = "heat";
  int step_count = 64;
  double tolerance =
      0.0;  ///< s-step CG ends when its residual has fallen to this, relative to b; 0: it makes all steps
  std::vector<std::string>
      folders{};               ///< rank r takes number r modulo their number; empty: the domain is in memory
  std::optional<int> block{};  ///< temporal block, steps; empty: chosen by a trial
  std::int64_t memory_limit_bytes = 0;  ///< memory of a node; 0: all that is free there
  std::string format = "text";
  std::string output{};  ///< empty: standard output
  ProgressMode progress = ProgressMode::on_a_terminal;
};

/// "512x512x256" -> points along x, y and z. Throws InputError.
comm::Extents shape_from(std::string_view text);
/// "512x512x256".
std::string shape_text(const comm::Extents& shape);
/// "auto" -> nothing, "16" -> 16. Throws InputError.
std::optional<int> block_from(std::string_view text);

struct StencilReport;

/// Makes a run on all ranks: checks of shape, memory and room, start values, the choice of a block where none was asked for, all passes, and
/// the verdict. reader: moves planes from and to files. Collective. Throws RunError on every rank alike: usage, memory (71), cannot_create
/// (73), interrupted (75), cannot_write (74) or bad_data (65) where the device fails; MpiError, std::bad_alloc.
StencilReport perform_stencil(const StencilOptions& options, comm::RankGroup& group, const Progress& progress,
                              const PanelIoRow& reader = usual_panel_io());

/// Makes a run and writes its report. Collective; the same code on every rank: verification_failed where the result is not that
/// of the closed form. Throws as perform_stencil().
ExitCode run_stencil(const StencilOptions& options, comm::RankGroup& group);

}  // namespace cg2d
