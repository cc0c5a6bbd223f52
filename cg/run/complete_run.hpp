#pragma once

// Runs of the benchmark for callers that measure several in turns.

#include <map>
#include <memory>

#include "cg/run/run_options.hpp"
#include "cg/run/run_report.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// A whole run: generation, warm-up, timed region, verification, without progress lines. A run that fails is
/// a result, too: its report has the code and the reason. Collective over the group; the report is whole on
/// rank 0. Throws MpiError, std::bad_alloc.
RunReport complete_run(const RunOptions& options, comm::RankGroup& group);

/// Groups of the first ranks of a group. Each is made on the first request and kept.
class FirstRanks {
 public:
  explicit FirstRanks(const comm::RankGroup& all) : all_(all) {}

  /// nullptr on ranks that do not belong to it. Collective over these ranks when it makes the group.
  [[nodiscard]] comm::RankGroup* of(int rank_count);

 private:
  const comm::RankGroup& all_;
  std::map<int, std::unique_ptr<comm::RankGroup>> groups_;
};

}  // namespace cg2d
