#pragma once

// Binding of the threads of each rank to cores.
//
// Threads of a rank divide every vector among themselves, always in the same way, and touch their parts
// first, which pays only while they stay on their cores. So --bind auto binds each thread of a rank to a core
// of its own, if ranks have several threads and all of them find cores. A single thread per rank is not
// bound: it has no parts to keep apart, and on a machine with other users the system must be able to move it
// away from a busy core (two programs that bind would both begin with the first core).
//
// Ranks of one thread that outnumber the cores at least two to one are bound, too, the same number to each
// core. Class A, 16 ranks on 2 cores (AMD EPYC Zen 5, virtual machine, 2026-11), bound against not bound,
// seconds: shared 1x16 0.18 and 0.21, 4x4 0.25 and 0.30; two-sided 4x4 0.52 and 0.71. The cause was not
// measured; a likely one is that the system, which places a rank anew when it wakes, lets a core go idle:
// waking a rank on an idle core takes 27 to 32 us there, on the same core 2.7.

#include "cg/machine/environment.hpp"

namespace cg2d {

enum class BindMode { automatic, none };
/// "auto" or "none". Throws InputError.
BindMode bind_mode_from(const std::string& name);

/// A set of processors for each thread of every rank; none where there is no binding, with the reason.
struct CoreAssignment {
  std::vector<std::vector<ProcessorSet>> ranks{};
  std::string why_not{};
};

/// Gives each thread of ranks with several a core of its own, as far as its rank's mask has that core's processors. Ranks with the
/// same mask share its cores evenly in their order, and the threads of a rank are neighbours. Gives each rank of one thread a core that it
/// shares with others, where ranks outnumber cores at least two to one; neighbours in rank order share a core. Nothing is bound where cores do not
/// suffice, where ranks of one thread are fewer or their mask has one core only, or where masks overlap without being the same.
/// all_cores: of one machine, in the order of the topology, where neighbours share caches; masks: where the launcher lets each rank run.
CoreAssignment assign_cores(const std::vector<ProcessorSet>& all_cores,
                            const std::vector<ProcessorSet>& masks, int thread_count);

/// The result of binding, the same on every rank.
struct BindingResult {
  bool is_bound = false;
  std::string why_not;  ///< one phrase; empty where bound
  /// The processors that each thread of each rank may run on according to the system, as a list "0-3,8".
  std::vector<std::vector<std::string>> ranks;
};

/// Binds the calling process's threads while it lives; then they may run again where they could before. It
/// creates the threads, so everything that threads inherit (counters) must be set up before.
class ThreadBinding {
 public:
  /// Collective over the ranks that work. The environment is the group's. Throws MpiError, and RunError
  /// (unavailable) where OpenMP does not grant that many threads.
  ThreadBinding(comm::RankGroup& group, const Environment& environment, BindMode mode, int thread_count);
  ~ThreadBinding();
  ThreadBinding(const ThreadBinding&) = delete;
  ThreadBinding& operator=(const ThreadBinding&) = delete;

  const BindingResult& result() const { return result_; }

 private:
  std::vector<ProcessorSet> earlier_;  ///< [thread], before the binding
  BindingResult result_;
};

}  // namespace cg2d
