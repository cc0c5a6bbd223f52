#pragma once

// How good a measurement is: how quiet the machine was meanwhile, and how well its repeats agree.

#include <cstdint>
#include <string>
#include <vector>

#include "cg/base/sample.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// The machine's quiet during a measurement, and how well its repeats agree.
struct MeasurementQuality {
  /// Involuntary context switches per second and thread, of the rank that had most: another process took its
  /// processor.
  double switches_per_s = 0.0;
  double steal_share = 0.0;  ///< share of the processors' time that the hypervisor took, of the worst node
  double spread = 0.0;       ///< of the repeats that spread most, see spread_of_repeats()
};

/// (upper quartile - lower quartile) / median: a single spike counts for little. 0 of fewer than four values.
double spread_of_repeats(std::vector<double> seconds);

/// One phrase why a measurement is not to be trusted, empty for a good one. Where ranks share cores they take
/// them from each other, and switches say nothing.
std::string why_disturbed(const MeasurementQuality& quality, bool ranks_share_cores);

/// Watches the machine from its construction on.
class QualityWatch {
 public:
  QualityWatch();
  /// Collective; the same answer on every rank. thread_count: of each rank.
  [[nodiscard]] MeasurementQuality quality(comm::RankGroup& group, int thread_count, double spread) const;

 private:
  /// Ticks of all processors of the node.
  struct ProcessorTicks {
    std::int64_t all = 0;
    std::int64_t stolen = 0;
  };
  static std::int64_t involuntary_switches();
  static ProcessorTicks processor_ticks();

  Stopwatch watch_;
  std::int64_t first_switches_;
  ProcessorTicks first_ticks_;
};

}  // namespace cg2d
