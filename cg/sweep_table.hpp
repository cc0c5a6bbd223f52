#pragma once

// The paper's table of a sweep: ranks down, process columns across.

#include <string>
#include <vector>

#include "cg/result_file.hpp"

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

/// One table for each problem, kernel, transport, number of threads and form of the sum: medians with spread,
/// the best grid of each rank count (*) and the official one (o), what the official one costs, what failed,
/// and predicted beside measured times of the phases where there are any.
std::string sweep_tables(const std::vector<ResultRecord>& records);

}  // namespace cg2d
