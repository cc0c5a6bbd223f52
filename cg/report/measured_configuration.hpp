#pragma once

// Results, gathered by configuration.

#include <string>
#include <vector>

#include "cg/report/result_file.hpp"

namespace cg2d {

/// All runs of one problem with one configuration.
struct MeasuredConfiguration {
  ConfiguredProblem asked;
  std::string kernel_used;
  std::vector<ResultRecord> runs;     ///< the successful ones
  std::vector<double> times_s;        ///< of all their repetitions
  std::vector<std::string> statuses;  ///< of the failed ones
  std::string reason;                 ///< of the first failure

  /// Whether its times count: no run failed.
  [[nodiscard]] bool is_sound() const { return statuses.empty() && !times_s.empty(); }
  /// The run with the median of the reported times; of an even number the lower of the middle two. At least
  /// one must have succeeded.
  [[nodiscard]] const ResultRecord& median_run() const;
};

/// Every configuration once, in the order of their first records.
std::vector<MeasuredConfiguration> gathered(const std::vector<ResultRecord>& records);

}  // namespace cg2d
