#pragma once

// cg2d report: a page of figures, which a Python package beside the program makes.

#include <string>
#include <vector>

#include "cg/base/errors.hpp"
#include "cg/base/progress.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// What the user asked for.
struct PageOptions {
  std::vector<std::string> files;
  std::string page = "report.html";
  bool compares = false;          ///< each file by itself, and against the first
  std::string figure_folder;      ///< for PNG and SVG; empty: none are made
  std::string small_folder;       ///< for PNG of a README's width; empty: none are made
  std::vector<std::string> only;  ///< names of figures; empty: all
  ProgressMode progress = ProgressMode::on_a_terminal;
};

/// Rank 0 runs the package by the Python of CG2D_PYTHON, or python3 of the path, and waits for it; the others wait
/// for rank 0. A signal that ends this process ends that one, too. Collective. Returns the package's exit code.
/// Throws RunError (unavailable) where Python or the package is missing.
ExitCode make_page(const PageOptions& options, comm::RankGroup& group);

}  // namespace cg2d
