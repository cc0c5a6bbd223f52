#pragma once

// The results of all checks as text or JSON.

#include <string>
#include <vector>

#include "cg/run/check/check.hpp"

namespace cg2d {

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
