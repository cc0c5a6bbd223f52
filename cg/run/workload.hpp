#pragma once

// Work that a session measures: the outer iterations of the benchmark, the solve of a system.

#include "cg/base/interface.hpp"
#include "cg/base/progress.hpp"
#include "cg/run/feature.hpp"
#include "cg/run/region_measurement.hpp"
#include "cg/run/session_report.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

class Session;

/// The parts of a workload's run that its own parts need.
template <typename Options, typename Report>
struct WorkParts {
  const Options& options;
  comm::RankGroup& group;
  const Progress& progress;
  Report& report;
  Session& session;
};

/// One class for each kind of work. Session::perform() calls the hooks in this order, on every rank; all may be collective, and throw RunError
/// (on every rank alike), MpiError, std::bad_alloc.
class Workload : public Interface {
 public:
  /// Checks, reads and chooses all that the matrix on the grid depends on, and begins the threads.
  virtual void choose() = 0;
  /// The operator over its transport, and its solver. What the result refers to must outlive conclude().
  virtual ReadyWork make() = 0;
  /// The state to go on from, and observers of the iterations, which are to be measured by that.
  virtual void begin(RegionMeasurement& measurement) = 0;
  /// All regions, which the features watch. The repetition to be reported; nullptr: none is complete.
  virtual const RepeatReport* iterate() = 0;
  /// The figures of all ranks are in the report of rank 0.
  virtual void conclude() {}
};

}  // namespace cg2d
