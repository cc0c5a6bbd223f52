#include "cg/tuning/retried_measurement.hpp"

#include <fmt/format.h>

#include "cg/base/errors.hpp"
#include "cg/base/values.hpp"

namespace cg2d {

std::string RejectReason::text(int attempts) const {
  return fmt::format("measured {}, and refused: {}; nothing is saved: try again when the machine is quiet{}",
                     format_count(attempts, "time"), reason,
                     makes_no_sense ? "" : ", or keep it by --keep-disturbed");
}

namespace detail {

RejectReason judge(comm::RankGroup& group, const RetryConfig& config, NoiseMonitor& monitor, double spread,
                   const std::string& unphysical, MeasurementRecord& record) {
  // A quiet machine's quartiles lie 1 to 10 % apart, and 20 % where virtual machines share its caches.
  constexpr double most_spread = 0.3;
  constexpr double percent = 100.0;
  auto quiet = monitor.result();
  record.quality = {.switches_per_s = quiet.switches_per_s,
                    .steal_share = quiet.steal_share.value_or(0.0),
                    .spread = group.maximum(spread)};
  if (record.quality.spread > most_spread)
    quiet.disturbances.push_back(fmt::format("the repeats' quartiles lie {:.0f} % apart (at most {:.0f} %)",
                                             percent * record.quality.spread, percent * most_spread));
  record.disturbance = quiet.reason();
  record.date = group.broadcast(date_now());
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
