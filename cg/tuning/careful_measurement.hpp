#pragma once

// Measurements that files keep for later runs: taken again where they were disturbed or make no sense, then
// refused.

#include <functional>
#include <string>
#include <utility>

#include "cg/machine/measurement_record.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// The conditions of a measurement.
struct CarefulConfig {
  bool ranks_share_cores = false;  ///< see why_disturbed()
  bool keeps_disturbed = false;    ///< the user wants the result whatever other processes do
  const std::function<void(const std::string&)>& say;  ///< gets a line per repetition
};

/// A result and how it was measured.
template <typename Result>
struct Careful {
  Result result;
  MeasurementRecord record;
};

namespace detail {
/// Whether the attempt is good, or kept as asked; completes the record. False: measure again. unphysical: a
/// phrase, empty for a result that makes sense; rank 0's counts. Collective. Throws RunError with code 75 (on
/// every rank alike) when there were enough attempts.
bool accepts(comm::RankGroup& group, const CarefulConfig& config, const std::string& what,
             const std::string& unphysical, MeasurementRecord& record);
}  // namespace detail

/// measure() returns a result with a member `spread` (see MeasurementQuality); why_unphysical(result) names a
/// value that makes no sense, and is empty for good ones. what: the measurement, for messages. Measures up to
/// three times. Collective. Throws RunError with code 75 (on every rank alike) for a measurement that was
/// disturbed or unphysical every time, and what measure() throws.
template <typename Measure, typename Check>
auto measure_carefully(comm::RankGroup& group, const CarefulConfig& config, const std::string& what,
                       const Measure& measure, const Check& why_unphysical) -> Careful<decltype(measure())> {
  MeasurementRecord record;
  while (true) {
    ++record.attempts;
    const QualityWatch watch;
    auto result = measure();
    record.quality = watch.quality(group, result.spread);
    if (detail::accepts(group, config, what, why_unphysical(result), record))
      return {.result = std::move(result), .record = std::move(record)};
  }
}

}  // namespace cg2d
