#include "cg/run/complete_run.hpp"

#include "cg/base/progress.hpp"
#include "cg/run/benchmark_run.hpp"

namespace cg2d {

RunReport complete_run(const RunOptions& options, comm::RankGroup& group) {
  const Progress silent(Progress::Silent{});
  BenchmarkRun run(options, group, silent);
  try {
    run.prepare();
    run.perform();
  } catch (const RunError& error) {
    run.note_failure(error);
  }
  return run.report();
}

comm::RankGroup* FirstRanks::of(int rank_count) {
  if (all_.rank() >= rank_count) return nullptr;
  auto& group = groups_[rank_count];
  if (!group) group = std::make_unique<comm::RankGroup>(all_.first_ranks(rank_count));
  return group.get();
}

}  // namespace cg2d
