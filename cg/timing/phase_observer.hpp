#pragma once

// Observers of phases, which are notified when a phase has ended (counters of events, traces).

#include <cstdint>

#include "cg/timing/phase.hpp"

namespace cg2d {

/// Called by the PhaseTimer that it is attached to, on the thread that times.
class PhaseObserver {
 public:
  PhaseObserver() = default;
  virtual ~PhaseObserver() = default;
  PhaseObserver(const PhaseObserver&) = delete;
  PhaseObserver& operator=(const PhaseObserver&) = delete;
  PhaseObserver(PhaseObserver&&) = delete;
  PhaseObserver& operator=(PhaseObserver&&) = delete;

  /// One phase has ended; begin and end in reference clocks. Time spent here belongs to no phase.
  virtual void after_phase(Phase phase, std::uint64_t begin_clocks, std::uint64_t end_clocks) = 0;
};

}  // namespace cg2d
