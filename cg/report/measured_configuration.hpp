#pragma once

// Results of the same configuration, gathered.

#include <string>
#include <vector>

#include "cg/report/result_file.hpp"

namespace cg2d {

/// Every run of one configuration, together.
struct MeasuredConfiguration {
  SweepConfiguration configuration;
  std::string kernel_used;
  std::vector<ResultRecord> runs;     ///< that succeeded
  std::vector<double> times_s;        ///< of all their repetitions
  std::vector<std::string> statuses;  ///< of those that failed
  std::string reason;                 ///< of the first failure

  /// Whether its time counts. One failed run spoils a configuration.
  [[nodiscard]] bool is_sound() const { return statuses.empty() && !times_s.empty(); }
  /// By its reported time; of an even number the lower of the middle two. Only where one succeeded.
  [[nodiscard]] const ResultRecord& median_run() const;
};

/// Every configuration once, in the order of their first records.
std::vector<MeasuredConfiguration> gathered(const std::vector<ResultRecord>& records);

}  // namespace cg2d
