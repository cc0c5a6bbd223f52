#pragma once

// `cg2d check`: is this installation right on this machine? Its results as text or JSON.

#include <string>
#include <vector>

#include "cg/base/errors.hpp"
#include "cg/base/progress.hpp"
#include "cg/run/check/check.hpp"
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

/// Where the checks were made, and how they ended.
struct CheckReport {
  std::string machine;  ///< the processor of rank 0, with its caches
  std::string mpi;
  std::string blas;
  int rank_count = 1;
  int node_count = 1;
  std::vector<std::string> instruction_sets{};  ///< instruction sets of rank 0's processor
  std::vector<CheckResult> results{};
  double seconds = 0.0;

  [[nodiscard]] bool has_failures() const { return count_of(results, CheckStatus::failed) > 0; }
};

class Members;
void describe(Members& m, CheckResult& result);
void describe(Members& m, CheckReport& report);
/// format: "text" or "json".
std::string write_check_report(const CheckReport& report, const std::string& format);

}  // namespace cg2d
