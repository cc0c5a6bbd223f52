#pragma once

// Clocks per phase: the phases of the paper, timed by scopes around calls.

#include <atomic>

#include "cg/timing/cycle_counter.hpp"
#include "cg/timing/phase.hpp"
#include "comm/waiter.hpp"

namespace cg2d {

/// The clocks of one phase on this rank.
struct PhaseRecord {
  uint64_t clocks = 0;         ///< reference cycles inside the phase
  uint64_t waited_clocks = 0;  ///< clocks inside the phase spent waiting for other ranks
  uint64_t hidden_clocks = 0;  ///< clocks of other phases, while communication of this one was under way
  uint64_t calls = 0;
};
using PhaseRecords = std::array<PhaseRecord, phase_count>;

/// Adds up the clocks of phases, and notifies observers when a phase has ended. Not thread-safe: the master
/// thread of a rank times. Cost of a scope: two readings of the cycle counter and of the waited ticks; two stores
/// when the timer is off.
class PhaseTimer {
 public:
  /// A timer that is off.
  PhaseTimer() = default;
  /// The waiter, that of the ranks, counts the ticks of waiting; it must outlive the timer. A timer that is not enabled is off.
  PhaseTimer(bool enabled, const comm::Waiter& waiter) : enabled_(enabled), waiter_(&waiter) {}

  /// Lives around one call; phases do not nest.
  class Scope {
   public:
    Scope(PhaseTimer& timer, Phase phase, uint64_t* hidden_clocks = nullptr, bool begins_call = true)
        : timer_(timer), phase_(phase), hidden_clocks_(hidden_clocks), begins_call_(begins_call) {
      timer_.note(index_of(phase) + 1);
      if (!timer_.enabled_) return;
      waited_before_ = timer_.waiter_->waited_ticks();
      begin_ = read_cycle_counter();
    }
    ~Scope() {
      timer_.note(0);
      if (!timer_.enabled_) return;
      auto& record = timer_.records_[index_of(phase_)];
      const uint64_t end = read_cycle_counter();
      const uint64_t clocks = end - begin_;
      record.clocks += clocks;
      record.waited_clocks += timer_.waiter_->waited_ticks() - waited_before_;
      if (begins_call_) ++record.calls;
      if (hidden_clocks_ != nullptr) *hidden_clocks_ += clocks;
      for (auto* observer : timer_.observers_) observer->after_phase(phase_, begin_, end);
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    PhaseTimer& timer_;
    Phase phase_;
    uint64_t* hidden_clocks_;
    bool begins_call_;
    uint64_t waited_before_ = 0;
    uint64_t begin_ = 0;
  };

  [[nodiscard]] Scope scope(Phase phase) { return {*this, phase}; }
  /// A scope that goes on with the call of the phase's last one: its clocks count, but no call.
  [[nodiscard]] Scope scope_that_goes_on(Phase phase) { return {*this, phase, nullptr, false}; }
  /// A scope of `phase` while communication of the phase `hidden` is under way.
  [[nodiscard]] Scope scope_that_hides(Phase hidden, Phase phase) {
    return {*this, phase, &records_[index_of(hidden)].hidden_clocks};
  }

  /// Tells the observer of every phase from now on, after those attached before it. Until it is detached it
  /// must live.
  void attach(PhaseObserver& observer) { observers_.push_back(&observer); }
  void detach(const PhaseObserver& observer) { std::erase(observers_, &observer); }

  /// The activity at this moment.
  struct Activity {
    uint64_t change_count = 0;     ///< phases that have begun or ended so far
    std::optional<Phase> phase{};  ///< that is under way
  };
  /// From any thread, also of a timer that is off.
  Activity activity() const {
    const auto word = std::atomic_ref(activity_).load(std::memory_order_relaxed);
    Activity activity{.change_count = word / activity_kinds};
    if (const auto kind = word % activity_kinds; kind > 0) activity.phase = phase_at(kind - 1);
    return activity;
  }

  const PhaseRecords& records() const { return records_; }
  void reset() { records_ = {}; }

  /// Clocks that one scope costs, the smallest mean of several batches of empty scopes; 0 for a timer without
  /// a waiter.
  double measure_clocks_per_scope() const {
    if (waiter_ == nullptr) return 0.0;
    PhaseTimer probe(true, *waiter_);
    return least_clocks_per_call(200, [&] { const auto scope = probe.scope(Phase::multiply); });
  }

 private:
  static constexpr uint64_t activity_kinds = phase_count + 1;  // no phase, and each of them

  /// Only this thread writes.
  void note(uint64_t kind) {
    const auto word = (activity_ / activity_kinds + 1) * activity_kinds + kind;
    std::atomic_ref(activity_).store(word, std::memory_order_relaxed);
  }

  mutable uint64_t activity_ = 0;  // changes * activity_kinds + kind; read by other threads, too
  bool enabled_ = false;
  const comm::Waiter* waiter_ = nullptr;
  PhaseRecords records_{};
  std::vector<PhaseObserver*> observers_;
};

}  // namespace cg2d
