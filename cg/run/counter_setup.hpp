#pragma once

// The counters of a run or a solve, and what its report says of them.

#include <memory>
#include <string>
#include <vector>

#include "cg/base/progress.hpp"
#include "cg/run/run_report.hpp"
#include "cg/timing/phase_counters.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// The parts of a report that counters write to.
struct CounterNotes {
  CounterResult& result;
  std::vector<std::string>& warnings;
  const Progress& progress;  ///< refused events are told of before the work begins
};
/// Counters for the wanted events and groups; null where none is wanted, or none can be counted. Collective, and
/// before this rank's first threads, which inherit them. Throws as set_up_counters().
std::unique_ptr<EventCounters> make_counters(const std::vector<std::string>& wanted,
                                             const CounterOptions& options, comm::RankGroup& group,
                                             const CounterNotes& notes);

/// Counts that contradict the system's own account, or that stand still, are no result: a warning for each.
void note_doubts(const CounterResult& counters, const RepeatReport& repeat,
                 std::vector<std::string>& warnings);

}  // namespace cg2d
