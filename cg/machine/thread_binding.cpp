#include "cg/machine/thread_binding.hpp"

#include <fmt/ranges.h>
#include <omp.h>

#include <latch>
#include <thread>

#include "cg/base/agreement.hpp"
#include "cg/base/values.hpp"

namespace cg2d {
namespace {

/// Lets each thread run on its processors. Whether the system does it for all.
bool run_threads_on(const std::vector<ProcessorSet>& processors) {
  [[maybe_unused]] const auto thread_count = static_cast<int>(processors.size());
  int refused_count = 0;
#pragma omp parallel num_threads(thread_count) reduction(+ : refused_count)
  refused_count += run_on(processors[static_cast<size_t>(omp_get_thread_num())]) ? 0 : 1;
  return refused_count == 0;
}

/// Assigns cores to all ranks, or to none.
CoreAssignment assign_all(const Environment& environment, int thread_count) {
  // Each of them would begin with the same core.
  if (environment.beside_other_tasks) return {.why_not = "other tasks of this job run on the same cores"};
  CoreAssignment all;
  all.ranks.resize(environment.ranks.size());
  for (size_t node = 0; node < environment.nodes.size(); ++node) {
    std::vector<ProcessorSet> masks;
    std::vector<size_t> ranks;
    for (size_t rank = 0; rank < environment.ranks.size(); ++rank) {
      const auto& place = environment.ranks[rank];
      if (static_cast<size_t>(place.node) != node) continue;
      ranks.push_back(rank);
      masks.push_back(processors_from(place.processors));
    }
    auto assignment = assign_cores(environment.nodes[node].cores, masks, thread_count);
    if (!assignment.why_not.empty()) return assignment;
    for (size_t k = 0; k < ranks.size(); ++k) all.ranks[ranks[k]] = std::move(assignment.ranks[k]);
  }
  return all;
}

/// Starts as many threads as OpenMP will beside this one, and holds them until all are there. Collective: ranks share the limits of a
/// user. Throws RunError where the system refuses one.
void try_threads(comm::RankGroup& group, int thread_count) {
  std::vector<std::thread> threads;
  threads.reserve(static_cast<size_t>(thread_count));
  std::latch all_tried(1);
  std::optional<std::string> refusal;
  try {
    for (int k = 1; k < thread_count; ++k) threads.emplace_back([&all_tried] { all_tried.wait(); });
  } catch (const std::system_error& error) {
    refusal = fmt::format(
        "--threads {}: the system refuses thread {} of {} on rank {}: {} (see ulimit -u, and the limit of "
        "processes of the batch system)",
        thread_count, threads.size() + 2, thread_count, group.rank(), error.code().message());
  }
  group.barrier();
  all_tried.count_down();
  for (auto& thread : threads) thread.join();
  if (refusal) throw RunError(ExitCode::unavailable, *refusal);
}

/// Collective. Throws RunError where OpenMP would start fewer threads than the results would name.
void require_threads(comm::RankGroup& group, int thread_count) {
  omp_set_dynamic(0);  // OMP_DYNAMIC: fewer threads where the system is busy
  // All ranks at once, as OpenMP will start them; its own message would be that of its library, and the code 1.
  agree_on(group, [&] { try_threads(group, thread_count); });
  agree_on(group, [&] {
    int count = 1;
#pragma omp parallel num_threads(thread_count)
#pragma omp single
    count = omp_get_num_threads();
    if (count < thread_count)
      throw RunError(
          ExitCode::unavailable,
          "--threads {}: OpenMP starts {} on rank {}; see OMP_THREAD_LIMIT and OMP_MAX_ACTIVE_LEVELS",
          thread_count, count, group.rank());
  });
}

}  // namespace

BindMode bind_mode_from(const std::string& name) {
  require_known("--bind", name, {"auto", "none"});
  return name == "none" ? BindMode::none : BindMode::automatic;
}

CoreAssignment assign_cores(const std::vector<ProcessorSet>& all_cores,
                            const std::vector<ProcessorSet>& masks, int thread_count) {
  const auto threads = static_cast<size_t>(thread_count);
  CoreAssignment assignment;
  std::vector<ProcessorSet> cores;  // of a mask, which neighbours mostly share, as the number of its ranks
  size_t rank_count = 0;
  for (auto mask = masks.begin(); mask != masks.end(); ++mask) {
    if (mask == masks.begin() || *mask != *std::prev(mask)) {
      const auto overlaps = [&](const ProcessorSet& other) {
        return other != *mask && !common_processors(other, *mask).empty();
      };
      if (std::ranges::any_of(masks, overlaps))
        return {.why_not = "the launcher lets ranks run on overlapping, but different processors"};
      cores.clear();
      for (const auto& core : all_cores) {
        if (auto mine = common_processors(core, *mask); !mine.empty()) cores.push_back(std::move(mine));
      }
      rank_count = static_cast<size_t>(std::ranges::count(masks, *mask));
      if (threads == 1 && (cores.size() < 2 || rank_count < 2 * cores.size()))
        return {.why_not = "one thread per rank"};
      if (threads > 1 && rank_count * threads > cores.size())
        return {.why_not = fmt::format("{} x {} outnumber the {} that they may run on",
                                       format_count(static_cast<int64_t>(rank_count), "rank"),
                                       format_count(thread_count, "thread"),
                                       format_count(std::ssize(cores), "core"))};
    }
    const auto place = static_cast<size_t>(std::count(masks.begin(), mask, *mask));
    const auto first = cores.begin() + static_cast<ptrdiff_t>(cores.size() * place / rank_count);
    assignment.ranks.emplace_back(first, first + thread_count);
  }
  return assignment;
}

ThreadBinding::ThreadBinding(comm::RankGroup& group, const Environment& environment, BindMode mode,
                             int thread_count)
    : earlier_(static_cast<size_t>(thread_count), processors_from(allowed_processors())) {
  require_threads(group, thread_count);
  const bool openmp_binds = group.maximum(int64_t{omp_get_proc_bind() != omp_proc_bind_false}) != 0;
  if (mode == BindMode::none) {
    result_.why_not = "not requested (--bind none)";
  } else if (openmp_binds) {
    result_.why_not = "OpenMP binds the threads itself (OMP_PROC_BIND)";
  } else {
    const auto assignment = assign_all(environment, thread_count);  // the same on every rank
    result_.why_not = assignment.why_not;
    if (result_.why_not.empty()) {
      const bool is_mine_bound = run_threads_on(assignment.ranks[static_cast<size_t>(group.rank())]);
      result_.is_bound = group.minimum(int64_t{is_mine_bound}) != 0;
      if (!result_.is_bound) {
        result_.why_not = "the system refused it";
        run_threads_on(earlier_);
      }
    }
  }
  std::vector<std::string> lists(static_cast<size_t>(thread_count));
#pragma omp parallel num_threads(thread_count) if (thread_count > 1)
  lists[static_cast<size_t>(omp_get_thread_num())] = allowed_processors();
  for (const auto& text : group.gather_all(fmt::format("{}", fmt::join(lists, "\n"))))
    result_.ranks.push_back(split_at(text, '\n'));
}

ThreadBinding::~ThreadBinding() {
  if (result_.is_bound) run_threads_on(earlier_);
}

}  // namespace cg2d
