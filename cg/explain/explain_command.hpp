#pragma once

// `cg2d explain`: who sends what to whom in one CG step, as a picture.

#include <string>

#include "cg/base/errors.hpp"
#include "cg/matrix/problem.hpp"
#include "cg/solver/configuration.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// The options of `cg2d explain`.
struct ExplainOptions {
  Problem problem;
  Configuration configuration;  ///< with a grid, which need not be of the ranks that run
  std::string step = "all";
  std::string format = "text";
  std::string output;  ///< empty: standard output
};

/// Every format that --format takes.
std::vector<std::string> explain_format_names();

/// Rank 0 makes the picture. Collective. Throws RunError on every rank alike.
ExitCode explain(const ExplainOptions& options, comm::RankGroup& group);

}  // namespace cg2d
