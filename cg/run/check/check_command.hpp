#pragma once

// `cg2d check`: is this installation right on this machine?

#include <string>

#include "cg/base/errors.hpp"
#include "cg/base/progress.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// The options of `cg2d check`.
struct CheckOptions {
  std::string format = "text";
  std::string output;                   ///< empty: standard output
  std::int64_t memory_limit_bytes = 0;  ///< of a node; 0: all that is free there
  ProgressMode progress = ProgressMode::on_a_terminal;
};

/// Makes all checks on the ranks that were started, and writes the table of their results. Collective; the same code on
/// every rank: verification_failed where a check fails. Throws RunError (on every rank alike), MpiError, std::bad_alloc.
ExitCode check_installation(const CheckOptions& options, comm::RankGroup& group);

}  // namespace cg2d
