#pragma once

// Where the clocks go: the phases of the paper, timed by scopes around calls.

#include <array>
#include <cstdint>
#include <string_view>

#include "cg/cycle_counter.hpp"
#include "comm/communicator.hpp"

namespace cg2d {

/// The phases of one CG step; names as in the paper (Itakura et al. 1998).
enum class Phase { collection, multiply, summation, shuffle, dot, vector_updates };
inline constexpr std::size_t phase_count = 6;

std::string_view phase_name(Phase phase);
/// The phase of that index, for loops over all of them.
inline Phase phase_at(std::size_t index) { return static_cast<Phase>(index); }

/// What one phase took on this rank.
struct PhaseRecord {
  std::uint64_t clocks = 0;         ///< reference cycles inside the phase
  std::uint64_t waited_clocks = 0;  ///< of these, waiting for other ranks
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
    Scope(PhaseTimer& timer, Phase phase) : timer_(timer), phase_(phase) {
      if (!timer_.enabled_) return;
      waited_before_ = timer_.communicator_.waited_ticks();
      begin_ = read_cycle_counter();
    }
    ~Scope() {
      if (!timer_.enabled_) return;
      auto& record = timer_.records_[static_cast<std::size_t>(phase_)];
      record.clocks += read_cycle_counter() - begin_;
      record.waited_clocks += timer_.communicator_.waited_ticks() - waited_before_;
      ++record.calls;
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    Scope(Scope&&) = delete;
    Scope& operator=(Scope&&) = delete;

   private:
    PhaseTimer& timer_;
    Phase phase_;
    std::uint64_t waited_before_ = 0;
    std::uint64_t begin_ = 0;
  };

  [[nodiscard]] Scope scope(Phase phase) { return {*this, phase}; }

  [[nodiscard]] bool enabled() const { return enabled_; }
  [[nodiscard]] const PhaseRecords& records() const { return records_; }
  void reset() { records_ = {}; }

  /// Clocks that one scope costs, the smallest mean of several batches of empty scopes.
  [[nodiscard]] double measure_clocks_per_scope() const;

 private:
  bool enabled_;
  const comm::Communicator& communicator_;
  PhaseRecords records_{};
};

}  // namespace cg2d
