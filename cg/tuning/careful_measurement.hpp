#pragma once

// Measurements that files keep for later runs: taken again where they were disturbed or make no sense, then
// refused. `cg2d tune` and `cg2d model --calibrate` end there; a run goes on without keeping them.

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

/// Why a measurement is not to be kept.
struct Refusal {
  std::string reason{};         ///< one phrase; empty for a measurement that is good, or kept as asked
  bool makes_no_sense = false;  ///< not even --keep-disturbed keeps it

  /// "measured 3 times, and refused: ...", with what to do.
  [[nodiscard]] std::string text(int attempts) const;
};

/// A result and how it was measured: the last attempt.
template <typename Result>
struct Careful {
  Result result;
  MeasurementRecord record;
  Refusal refusal{};
};

namespace detail {
/// Judges an attempt and completes its record. unphysical: a phrase, empty for a result that makes sense; rank
/// 0's counts. Collective.
Refusal judge(comm::RankGroup& group, const CarefulConfig& config, const std::string& unphysical,
              MeasurementRecord& record);
/// Whether another attempt is due; says so.
bool measures_again(const CarefulConfig& config, const std::string& what, const Refusal& refusal,
                    int attempts);
/// Throws RunError with code 75.
[[noreturn]] void refuse(const std::string& what, const Refusal& refusal, int attempts);
}  // namespace detail

/// measure() returns a result with a member `spread` (see MeasurementQuality); why_unphysical(result) names a
/// value that makes no sense, and is empty for good ones. what: the measurement, for messages. Measures up to
/// three times; the last result may be refused. Collective; the same refusal on every rank. Throws what
/// measure() throws.
template <typename Measure, typename Check>
auto measure_up_to_three_times(comm::RankGroup& group, const CarefulConfig& config, const std::string& what,
                               const Measure& measure, const Check& why_unphysical)
    -> Careful<decltype(measure())> {
  MeasurementRecord record;
  while (true) {
    ++record.attempts;
    const QualityWatch watch;
    auto result = measure();
    record.quality = watch.quality(group, result.spread);
    auto refusal = detail::judge(group, config, why_unphysical(result), record);
    if (!detail::measures_again(config, what, refusal, record.attempts))
      return {.result = std::move(result), .record = std::move(record), .refusal = std::move(refusal)};
  }
}

/// measure_up_to_three_times() for results without which there is nothing to go on with: throws RunError with
/// code 75 (on every rank alike) for a measurement that was disturbed or unphysical every time, after
/// show(careful), which is collective and gives the user what was measured.
template <typename Measure, typename Check, typename Show>
auto measure_carefully(comm::RankGroup& group, const CarefulConfig& config, const std::string& what,
                       const Measure& measure, const Check& why_unphysical, const Show& show)
    -> Careful<decltype(measure())> {
  auto careful = measure_up_to_three_times(group, config, what, measure, why_unphysical);
  if (careful.refusal.reason.empty()) return careful;
  show(careful);
  detail::refuse(what, careful.refusal, careful.record.attempts);
}

}  // namespace cg2d
