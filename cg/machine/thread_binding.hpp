#pragma once

// Which cores the threads of each rank stay on.
//
// Threads of a rank divide every vector among themselves, always in the same way, and touch their parts
// first. That is worth something only while they stay where they are. So with --bind auto each thread of a
// rank is bound to a core of its own, if ranks have several threads and all of them find cores. A single
// thread per rank is not bound: it has no parts to keep apart, and on a machine that others use as well the
// system must be able to move it away from a busy core (two programs that bind would both begin with the
// first core).

#include <string>
#include <vector>

#include "cg/machine/environment.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

enum class BindWish { automatic, none };
/// "auto" or "none". Throws InputError.
BindWish bind_wish_from(const std::string& name);

/// Numbers of logical processors, rising.
using ProcessorSet = std::vector<int>;

/// One machine: its cores in the order of the topology, where neighbours share caches, and where the launcher
/// lets each rank run.
struct HostCores {
  std::vector<ProcessorSet> cores;
  std::vector<ProcessorSet> masks;
};

/// For every rank a set for each thread; none where there is no binding, and one phrase that says why.
struct CoreAssignment {
  std::vector<std::vector<ProcessorSet>> ranks;
  std::string why_not;
};

/// Each thread gets a core of its own, with what its rank's mask has of it. Ranks with the same mask share
/// its cores evenly in their order, and the threads of a rank are neighbours. Nothing is bound where cores do
/// not suffice, or where masks overlap without being the same.
CoreAssignment assign_cores(const HostCores& host, int thread_count);

/// What became of it, the same on every rank.
struct BindingFacts {
  bool is_bound = false;
  std::string why_not;  ///< one phrase; empty where bound
  /// Of each rank, of each thread: the processors that it may run on, as a list "0-3,8". The system says so.
  std::vector<std::vector<std::string>> ranks;
};
/// One line for people; of many ranks the first ones.
std::string describe_binding(const BindingFacts& facts);

/// The calling process's threads are bound while this lives; then they may run again where they could before.
/// To be made behind everything that threads inherit (counters), for it makes the threads.
class ThreadBinding {
 public:
  /// Collective; binds the ranks of the group, which are to be those that work. The environment is the
  /// group's. Throws MpiError.
  ThreadBinding(comm::RankGroup& group, const Environment& environment, BindWish wish, int thread_count);
  ~ThreadBinding();
  ThreadBinding(const ThreadBinding&) = delete;
  ThreadBinding& operator=(const ThreadBinding&) = delete;
  ThreadBinding(ThreadBinding&&) = delete;
  ThreadBinding& operator=(ThreadBinding&&) = delete;

  [[nodiscard]] const BindingFacts& facts() const { return facts_; }

 private:
  void bind(const std::vector<ProcessorSet>& threads);
  void release();

  int thread_count_;
  bool must_release_ = false;
  std::string earlier_;  ///< this rank's processors before
  BindingFacts facts_;
};

}  // namespace cg2d
