#pragma once

// Results of a run's own measurements that the tuning profile keeps for later runs.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cg/machine/measurement_record.hpp"
#include "cg/matrix/matrix_facts.hpp"
#include "cg/tuning/kernel_choice.hpp"
#include "cg/tuning/retried_measurement.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

class Members;

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
