#pragma once

// Where the clocks go: the phases of the paper, timed by scopes around calls.

#include <array>
#include <cstdint>

#include "cg/timing/cycle_counter.hpp"
#include "cg/timing/phase.hpp"
#include "cg/timing/phase_counters.hpp"
#include "cg/timing/phase_trace.hpp"
#include "comm/communicator.hpp"

namespace cg2d {

/// What one phase took on this rank.
struct PhaseRecord {
  std::uint64_t clocks = 0;         ///< reference cycles inside the phase
  std::uint64_t waited_clocks = 0;  ///< of these, waiting for other ranks
  std::uint64_t hidden_clocks = 0;  ///< of other phases, while communication of this one was under way
  std::uint64_t calls = 0;
};
using PhaseRecords = std::array<PhaseRecord, phase_count>;

/// Adds up the clocks of phases. Not thread-safe: the master thread of a rank times.
class PhaseTimer {
 public:
  /// The communicator tells how long it waited. A timer that is not enabled reads no counter.
  PhaseTimer(bool enabled, const comm::Communicator& communicator)
      : enabled_(enabled), communicator_(communicator) {}

  /// Lives around one call; phases do not nest.
  class Scope {
   public:
    Scope(PhaseTimer& timer, Phase phase, std::uint64_t* hidden_clocks = nullptr)
        : timer_(timer), phase_(phase), hidden_clocks_(hidden_clocks) {
      if (!timer_.enabled_) return;
      waited_before_ = timer_.communicator_.waited_ticks();
      begin_ = read_cycle_counter();
    }
    ~Scope() {
      if (!timer_.enabled_) return;
      auto& record = timer_.records_[static_cast<std::size_t>(phase_)];
      const std::uint64_t end = read_cycle_counter();
      const std::uint64_t clocks = end - begin_;
      record.clocks += clocks;
      record.waited_clocks += timer_.communicator_.waited_ticks() - waited_before_;
      ++record.calls;
      if (hidden_clocks_ != nullptr) *hidden_clocks_ += clocks;
      if (timer_.counters_ != nullptr) timer_.counters_->end_phase(phase_, clocks);
      if (timer_.trace_ != nullptr) timer_.trace_->add_phase(phase_, begin_, end);
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    Scope(Scope&&) = delete;
    Scope& operator=(Scope&&) = delete;

   private:
    PhaseTimer& timer_;
    Phase phase_;
    std::uint64_t* hidden_clocks_;
    std::uint64_t waited_before_ = 0;
    std::uint64_t begin_ = 0;
  };

  [[nodiscard]] Scope scope(Phase phase) { return {*this, phase}; }
  /// A scope of `phase` while communication of the phase `hidden` is under way.
  [[nodiscard]] Scope scope_that_hides(Phase hidden, Phase phase) {
    return {*this, phase, &records_[static_cast<std::size_t>(hidden)].hidden_clocks};
  }

  /// Lives around one CG step or one outer iteration, for the trace only.
  class TraceScope {
   public:
    TraceScope(PhaseTrace* trace, TraceLevel level) : trace_(trace), level_(level) {
      if (trace_ != nullptr) begin_ = trace_->begin(level_);
    }
    ~TraceScope() {
      if (trace_ != nullptr) trace_->end(level_, begin_);
    }
    TraceScope(const TraceScope&) = delete;
    TraceScope& operator=(const TraceScope&) = delete;
    TraceScope(TraceScope&&) = delete;
    TraceScope& operator=(TraceScope&&) = delete;

   private:
    PhaseTrace* trace_;
    TraceLevel level_;
    std::uint64_t begin_ = 0;
  };
  [[nodiscard]] TraceScope cg_step() const { return {trace_, TraceLevel::cg_step}; }
  [[nodiscard]] TraceScope outer_iteration() const { return {trace_, TraceLevel::outer_iteration}; }

  /// Also counts events; nullptr: no longer. The counters must outlive the timer.
  void attach(PhaseCounters* counters) { counters_ = counters; }
  /// Also records a trace; nullptr: no longer. The trace must outlive the timer.
  void attach(PhaseTrace* trace) { trace_ = trace; }

  [[nodiscard]] bool enabled() const { return enabled_; }
  [[nodiscard]] const PhaseRecords& records() const { return records_; }
  void reset() { records_ = {}; }

  /// Clocks that one scope costs, the smallest mean of several batches of empty scopes.
  [[nodiscard]] double measure_clocks_per_scope() const;

 private:
  bool enabled_;
  const comm::Communicator& communicator_;
  PhaseRecords records_{};
  PhaseCounters* counters_ = nullptr;
  PhaseTrace* trace_ = nullptr;
};

}  // namespace cg2d
