#include "cg/tuning/retried_measurement.hpp"

#include <fmt/format.h>

#include "cg/base/errors.hpp"

namespace cg2d {

std::string RejectReason::text(int attempts) const {
  return fmt::format(
      "measured {} times, and refused: {}; nothing is saved: try again when the machine is quiet{}", attempts,
      reason, makes_no_sense ? "" : ", or keep it by --keep-disturbed");
}

namespace detail {

RejectReason judge(comm::RankGroup& group, const RetryConfig& config, const std::string& unphysical,
                   MeasurementRecord& record) {
  record.date = group.broadcast(date_now());
  record.disturbance = why_disturbed(record.quality, config.ranks_share_cores);
  if (auto fault = group.broadcast(unphysical); !fault.empty())
    return {.reason = std::move(fault), .makes_no_sense = true};
  if (config.keeps_disturbed) return {};
  return {.reason = record.disturbance};
}

bool measures_again(const RetryConfig& config, const std::string& what, const RejectReason& rejected,
                    int attempts) {
  constexpr int most_attempts = 3;
  if (rejected.reason.empty() || attempts >= most_attempts) return false;
  config.say(fmt::format("{}: once more, since {}", what, rejected.reason));
  return true;
}

void refuse(const std::string& what, const RejectReason& rejected, int attempts) {
  throw RunError(ExitCode::try_again, fmt::format("{}: {}", what, rejected.text(attempts)));
}

}  // namespace detail
}  // namespace cg2d
