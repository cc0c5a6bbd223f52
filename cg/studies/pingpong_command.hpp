#pragma once

// `cg2d pingpong`: the time that moving data takes on this machine, by every method.

#include <string>
#include <vector>

#include "cg/base/errors.hpp"
#include "cg/base/progress.hpp"
#include "cg/matrix/problem.hpp"
#include "cg/run/session_options.hpp"
#include "cg/studies/pingpong_measure.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// The options of `cg2d pingpong`.
struct PingPongOptions {
  std::vector<RankPair> pairs;
  TransferOptions transfers;
  Problem problem;              ///< whose phases are measured
  Configuration configuration;  ///< an open grid: the rule's; transports are compared, whatever it says
  OpenGridOptions open_grid;    ///< only whether it is the official one
  std::string format = "text";
  std::string output;
  bool names_hosts = false;
  std::int64_t memory_limit_bytes = 0;  ///< of a node; 0: all that is free there
  ProgressMode progress = ProgressMode::on_a_terminal;
};

/// The most bytes of a variable and the most variables. Each rank needs that much twice or three
/// times in each of three kinds of memory.
inline constexpr std::int64_t largest_variable_byte_count = 1 << 30;
inline constexpr int most_variables = 1024;

/// Measures and prints. Collective; the same code on every rank. Throws RunError (on every rank alike),
/// MpiError, std::bad_alloc.
ExitCode pingpong(const PingPongOptions& options, comm::RankGroup& group);

}  // namespace cg2d
