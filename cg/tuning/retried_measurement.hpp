#pragma once

// Measurements that files keep for later runs: taken again where they were disturbed or make no sense, then
// refused. `cg2d tune` and `cg2d model --calibrate` end there; a run goes on without keeping them in the tuning profile.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cg/machine/environment.hpp"
#include "cg/machine/measurement_record.hpp"
#include "cg/machine/noise_monitor.hpp"
#include "cg/matrix/matrix_facts.hpp"
#include "cg/tuning/tuning_profile.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

class Members;

/// The conditions of a measurement.
struct RetryConfig {
  const Environment& environment;
  int thread_count = 1;
  bool keeps_disturbed = false;  ///< the user wants the result whatever other processes do
  const std::function<void(const std::string&)>& say;  ///< gets a line per repetition
};

/// Why a measurement is not to be kept.
struct RejectReason {
  std::string reason{};         ///< one phrase; empty for a measurement that is good, or kept as asked
  bool makes_no_sense = false;  ///< not even --keep-disturbed keeps it

  /// "measured 3 times, and refused: ...", with what to do.
  [[nodiscard]] std::string text(int attempts) const;
};

/// A result and how it was measured: the last attempt.
template <typename Result>
struct RetriedMeasurement {
  Result result;
  MeasurementRecord record;
  RejectReason rejected{};
};

namespace detail {
/// Completes the record of an attempt, whose repeats have that spread on this rank, and judges it. unphysical: a phrase, empty for a
/// result that makes sense; rank 0's counts. Collective.
RejectReason judge(comm::RankGroup& group, const RetryConfig& config, NoiseMonitor& monitor, double spread,
                   const std::string& unphysical, MeasurementRecord& record);
/// Whether another attempt is due; says so.
bool measures_again(const RetryConfig& config, const std::string& what, const RejectReason& rejected,
                    int attempts);
/// Throws RunError with code 75.
[[noreturn]] void refuse(const std::string& what, const RejectReason& rejected, int attempts);
}  // namespace detail

/// measure() returns a result with a member `spread` (see MeasurementQuality); why_unphysical(result) names a
/// value that makes no sense, and is empty for good ones. Measures once; the result may be refused. attempt: its number, from 1.
/// Collective; the same rejected on every rank. Throws what measure() throws.
template <typename Measure, typename Check>
auto measure_once(comm::RankGroup& group, const RetryConfig& config, const Measure& measure,
                  const Check& why_unphysical, int attempt = 1) -> RetriedMeasurement<decltype(measure())> {
  MeasurementRecord record{.attempts = attempt};
  NoiseMonitor monitor(group, config.environment, config.thread_count);
  monitor.begin();
  auto result = measure();
  monitor.end();
  auto rejected = detail::judge(group, config, monitor, result.spread, why_unphysical(result), record);
  return {.result = std::move(result), .record = std::move(record), .rejected = std::move(rejected)};
}

/// measure_once() up to three times, until the result is good. what: the measurement, for messages.
template <typename Measure, typename Check>
auto measure_up_to_three_times(comm::RankGroup& group, const RetryConfig& config, const std::string& what,
                               const Measure& measure, const Check& why_unphysical)
    -> RetriedMeasurement<decltype(measure())> {
  for (int attempt = 1;; ++attempt) {
    auto measured = measure_once(group, config, measure, why_unphysical, attempt);
    if (!detail::measures_again(config, what, measured.rejected, attempt)) return measured;
  }
}

/// measure_up_to_three_times() for results without which there is nothing to go on with: throws RunError with
/// code 75 (on every rank alike) for a measurement that was disturbed or unphysical every time, after
/// show(measured), which is collective and gives the user what was measured.
template <typename Measure, typename Check, typename Show>
auto measure_or_refuse(comm::RankGroup& group, const RetryConfig& config, const std::string& what,
                       const Measure& measure, const Check& why_unphysical, const Show& show)
    -> RetriedMeasurement<decltype(measure())> {
  auto measured = measure_up_to_three_times(group, config, what, measure, why_unphysical);
  if (measured.rejected.reason.empty()) return measured;
  show(measured);
  detail::refuse(what, measured.rejected, measured.record.attempts);
}

/// The origin of a result, and whether later runs find it.
struct KeptResult {
  bool from_profile = false;       ///< nothing was measured now
  MeasurementRecord measured{};    ///< whenever it was measured
  std::string kept_in{};           ///< the profile that has the result; empty: none
  std::string not_kept_because{};  ///< one phrase; empty where kept
};

/// "from the profile P", or "measured now in 0.31 s, kept in P", or "measured now in 0.31 s, not kept: the reason".
std::string describe_origin(const KeptResult& kept, double duration_s);

/// One line each for a result that is not kept in the profile in use, and for one that is old or was disturbed. measurement: "the trial of
/// transports".
std::vector<std::string> warnings_of(const KeptResult& kept, std::string_view measurement,
                                     const ProfileSource& source, const MatrixFacts& matrix);

/// The result, which is not to be kept where it was rejected.
template <typename Result>
Result with_record(RetriedMeasurement<Result> measured) {
  auto& result = measured.result;
  result.measured = std::move(measured.record);
  if (!measured.rejected.reason.empty())
    result.not_kept_because = measured.rejected.text(result.measured.attempts);
  return std::move(result);
}

/// Adds what was found to the profile's file unless it is known why not, and notes where, or why not: a file that cannot be written is no
/// error. processor: whose results the file has it among; empty where the nodes have different ones. Collective; rank 0 writes.
void keep_result(comm::RankGroup& group, const ProfileSource& source,
                 const std::optional<std::string>& processor, const ProcessorProfile& found,
                 KeptResult& kept);

/// "from", and the other two members.
void describe_origin(Members& m, KeptResult& kept);
void describe_place(Members& m, KeptResult& kept);

}  // namespace cg2d
