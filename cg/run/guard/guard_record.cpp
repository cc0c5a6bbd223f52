#include "cg/run/guard/guard_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace cg2d {

void GuardRecord::note(GuardCheck check, const CheckedError& error, double share) {
  const auto index = static_cast<std::size_t>(check);
  ++report_.check_counts[index];
  if (error.holds()) {
    report_.largest_ratios[index] = std::max(report_.largest_ratios[index], error.ratio());
    return;
  }
  if (found_.is_found) return;
  found_ = {.is_found = true,
            .check = check,
            .rank = group_.rank(),
            .outer_step = place_.outer_step,
            .product = place_.product,
            .error = error.error,
            .tolerance = error.tolerance,
            .share = share};
}

AttemptVerdict GuardRecord::judge() {
  if (group_.maximum(found_.is_found ? 1.0 : 0.0) == 0.0) {
    failed_attempts_ = 0;
    return AttemptVerdict::accepted;
  }
  const auto all = group_.gather_one(found_);
  const auto& first = *std::ranges::min_element(all, {}, [](const Detection& found) {
    return std::tuple(!found.is_found, found.product, found.check, -found.share);
  });
  auto& detections = report_.detections;
  ++failed_attempts_;
  const bool is_same = failed_attempts_ > 1 && first.check == detections.back().check &&
                       first.rank == detections.back().rank && first.product == detections.back().product;
  detections.push_back(first);
  if (is_same) {
    reason_ = fmt::format("soft error, there again in a second attempt: {}", describe(first));
    return AttemptVerdict::refused;
  }
  if (failed_attempts_ == most_attempts) {
    reason_ = fmt::format("soft errors in {} attempts, the last one: {}", failed_attempts_, describe(first));
    return AttemptVerdict::refused;
  }
  ++report_.rollback_count;
  return AttemptVerdict::again;
}

GuardReport GuardRecord::report(double whole_s) const {
  auto report = report_;
  CheckFigures& all = report;
  all = {};
  for (const auto& rank : group_.gather_one<CheckFigures>(report_)) {
    for (std::size_t check = 0; check < guard_check_count; ++check) {
      all.check_counts[check] += rank.check_counts[check];
      all.largest_ratios[check] = std::max(all.largest_ratios[check], rank.largest_ratios[check]);
    }
    all.time_s = std::max(all.time_s, rank.time_s);
  }
  report.time_share = whole_s > 0.0 ? all.time_s / whole_s : 0.0;
  return report;
}

}  // namespace cg2d
