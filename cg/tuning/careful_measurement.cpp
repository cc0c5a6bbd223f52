#include "cg/tuning/careful_measurement.hpp"

#include <fmt/format.h>

#include "cg/base/errors.hpp"

namespace cg2d::detail {

bool accepts(comm::RankGroup& group, const CarefulConfig& config, const std::string& what,
             const std::string& unphysical, MeasurementRecord& record) {
  constexpr int most_attempts = 3;
  const auto fault = group.broadcast(unphysical);
  const auto disturbance = why_disturbed(record.quality, config.ranks_share_cores);
  if (fault.empty() && (disturbance.empty() || config.keeps_disturbed)) {
    record.date = group.broadcast(date_now());
    record.disturbance = disturbance;
    return true;
  }
  const auto& reason = fault.empty() ? disturbance : fault;
  if (record.attempts < most_attempts) {
    config.say(fmt::format("{}: once more, since {}", what, reason));
    return false;
  }
  throw RunError(
      ExitCode::try_again,
      fmt::format("{}: measured {} times, and refused: {}; nothing is saved: try again when the "
                  "machine is quiet{}",
                  what, record.attempts, reason, fault.empty() ? ", or keep it by --keep-disturbed" : ""));
}

}  // namespace cg2d::detail
