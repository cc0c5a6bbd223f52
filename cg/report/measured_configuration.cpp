#include "cg/report/measured_configuration.hpp"

#include <algorithm>

namespace cg2d {

const ResultRecord& MeasuredConfiguration::median_run() const {
  std::vector<const ResultRecord*> order;
  for (const auto& run : runs) order.push_back(&run);
  std::ranges::stable_sort(order, {}, &ResultRecord::time_s);
  return *order[(order.size() - 1) / 2];
}

std::vector<MeasuredConfiguration> gathered(const std::vector<ResultRecord>& records) {
  std::vector<MeasuredConfiguration> all;
  for (const auto& record : records) {
    auto found = std::ranges::find_if(all, [&](const auto& known) { return known.asked == record.asked; });
    if (found == all.end()) {
      all.emplace_back().asked = record.asked;
      found = all.end() - 1;
    }
    if (!record.kernel_used.empty()) found->kernel_used = record.kernel_used;
    if (record.succeeded()) {
      found->runs.push_back(record);
      found->times_s.insert(found->times_s.end(), record.times_s.begin(), record.times_s.end());
    } else {
      if (found->statuses.empty()) found->reason = record.reason;
      found->statuses.push_back(record.status);
    }
  }
  return all;
}

}  // namespace cg2d
