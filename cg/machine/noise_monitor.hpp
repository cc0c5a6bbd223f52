#pragma once

// The quiet of the machine during a timed region, or during a measurement that a file keeps: figures that are read before and after it, and
// the criteria for a disturbed one, the only ones of the program. Nothing is read, and nothing runs, in between. The criteria, their limits and
// sources: README.md of this room, "When a run is disturbed".

#include "cg/base/sample.hpp"
#include "cg/base/system_files.hpp"
#include "cg/machine/environment.hpp"

namespace cg2d {

/// One node over the region, as the first rank on it reads it.
struct NodeLoad {
  bool is_read = false;  ///< false on the other ranks
  double busy_s = 0.0;   ///< all processors together
  int processor_count = 0;
  double most_steal_s = 0.0;  ///< steal time of the processor with most of it
};

/// One rank over the region. Trivially copyable: ranks send it as it is.
struct RankQuiet {
  double region_s = 0.0;
  double cpu_s = 0.0;                ///< processor time of all its threads
  int64_t involuntary_switches = 0;  ///< involuntary context switches of all its threads
  double most_delay_s = -1.0;        ///< waiting of one thread for a processor; negative: not known
  double loop_before_s = 0.0;        ///< the fixed loop
  double loop_after_s = 0.0;
  NodeLoad node;
};

/// Smallest and largest over the ranks.
struct RankRange {
  double minimum = 0.0;
  double maximum = 0.0;
};

/// The figures of one region, and the verdict. Shares are of the region's time; each is the worst rank's,
/// processor's or node's. Empty: the system does not say.
struct QuietResult {
  std::vector<std::string> disturbances;  ///< one phrase for each criterion that is met; empty: quiet
  bool is_oversubscribed = false;         ///< ranks x threads outnumber cores: fewer criteria count
  std::optional<double> too_short_s;      ///< the region's seconds, in which no other load could show
  int64_t involuntary_switches = 0;       ///< involuntary context switches of all ranks
  int64_t most_involuntary_switches = 0;  ///< involuntary context switches of the rank with most of them
  std::optional<double> delay_share;
  std::optional<double> steal_share;
  std::optional<double> other_load;   ///< processors that other processes kept busy, mean over the region
  std::optional<double> other_share;  ///< other_load by the node's processors
  /// Involuntary context switches of a rank per second of its processor time, the most of all ranks. Not per second of the clock: the
  /// more processes there are, the less often a thread runs.
  double switches_per_s = 0.0;
  RankRange loop_before_s;
  RankRange loop_after_s;
  double loop_spread = 0.0;  ///< over the ranks of a node, the larger one of before and after
  double loop_change = 0.0;  ///< time of a rank's loop after by before, minus 1; the largest absolute value

  bool is_disturbed() const { return !disturbances.empty(); }
  /// The disturbances as one line; empty if there are none.
  std::string reason() const;
  /// "yes: ..." or "no: ...", with the reason, or "unknown: ..." of a region too short to tell: the line "Quiet" of every command that times.
  std::string text() const;
};

/// The member "quiet" of commands that measure once; left out where it is not known.
void describe_disturbance(Members& m, std::optional<QuietResult>& quiet);
void describe_disturbance(Members& m, QuietResult& quiet);

/// The verdict on one region from the figures of all ranks. Local and pure.
QuietResult judge_quiet(std::span<const RankQuiet> ranks, const Environment& environment);

/// Measures regions, one after the other. Cost: about 2 ms before and after each. Holds references: group and
/// environment (the group's) must outlive it.
class NoiseMonitor {
 public:
  NoiseMonitor(comm::RankGroup& group, const Environment& environment, SystemFolders folders = {});

  /// Directly before the barrier that begins the region. Local.
  void begin();
  /// Directly after the region. Local.
  void end();
  /// The last region. Collective; the same on every rank. Throws MpiError.
  [[nodiscard]] QuietResult result();

 private:
  comm::RankGroup& group_;
  const Environment& environment_;
  SystemFolders folders_;
  RankQuiet mine_;
  // At the beginning of the region.
  SystemUsage usage_before_;
  std::map<int, ThreadDelay> delays_before_;
  NodeTimes node_before_;
  Stopwatch region_;
};

void describe(Members& m, RankRange& range);
void describe(Members& m, QuietResult& quiet);

}  // namespace cg2d
