#pragma once

// How good a measurement is: how quiet the machine was meanwhile, and how well its repeats agree.

#include <string>
#include <vector>

#include "cg/base/system_files.hpp"
#include "cg/base/system_usage.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// The machine's quiet during a measurement, and how well its repeats agree.
struct MeasurementQuality {
  /// Involuntary context switches per second of computing, of the rank that had most: another process took its
  /// processor. Not per second of the clock: the more processes there are, the less often a thread runs.
  double switches_per_s = 0.0;
  double steal_share = 0.0;  ///< share of the processors' time that the hypervisor took, of the worst node
  double spread = 0.0;       ///< spread of the repeats that spread most, see spread_of_repeats()
};

/// (upper quartile - lower quartile) / median: a single spike counts for little. 0 of fewer than four values.
double spread_of_repeats(std::vector<double> seconds);

/// One phrase why a measurement is not to be trusted, empty for a good one. Where ranks share cores they take
/// them from each other, and switches say nothing.
std::string why_disturbed(const MeasurementQuality& quality, bool ranks_share_cores);

/// Watches the machine from its construction on.
class QualityWatch {
 public:
  explicit QualityWatch(SystemFolders folders = {});
  /// Collective; the same answer on every rank.
  [[nodiscard]] MeasurementQuality quality(comm::RankGroup& group, double spread) const;

 private:
  SystemFolders folders_;
  SystemUsage first_usage_;
  NodeTimes first_times_;
};

}  // namespace cg2d
