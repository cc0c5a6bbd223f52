#pragma once

// The record of a guard's checks: what this rank found, what the ranks agree on, and the verdict on an attempt.

#include <string>

#include "cg/base/sample.hpp"
#include "cg/run/guard/checksums.hpp"
#include "cg/run/guard/guard_report.hpp"
#include "cg/solver/npb_iteration.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// An attempt is the part of a solve that is made again where an error was found. The same check, rank and product in two attempts one
/// after the other, or most_attempts attempts: the last one is refused, on all ranks alike.
class GuardRecord {
 public:
  explicit GuardRecord(comm::RankGroup& group) : group_(group) {}

  void begin_attempt() { found_ = {}; }
  /// The place of what is found from now on.
  void set_place(const SolvePlace& place) { place_ = place; }
  [[nodiscard]] const SolvePlace& place() const { return place_; }
  void note(GuardCheck check, const CheckedError& error, double share = 0.0);
  void note(GuardCheck check, bool holds) { note(check, CheckedError{.error = holds ? 0.0 : 1.0}); }
  /// The first error of this rank in the attempt.
  [[nodiscard]] const Detection& found() const { return found_; }
  /// After an attempt: accepted, or where any rank has found something again, or refused. Collective.
  [[nodiscard]] AttemptVerdict judge();
  /// Why judge() refused, in one line; the same on every rank.
  [[nodiscard]] const std::string& reason() const { return reason_; }

  /// Without options and faults. whole_s: the time of which the checks' is a part. Collective.
  [[nodiscard]] GuardReport report(double whole_s) const;

  /// Adds the time of a scope, which may be within another one, to that of the checks.
  class Timed {
   public:
    explicit Timed(GuardRecord& record) : record_(record) { ++record_.timed_depth_; }
    ~Timed() {
      if (--record_.timed_depth_ == 0 && record_.is_timed_) record_.report_.time_s += stopwatch_.seconds();
    }
    Timed(const Timed&) = delete;
    Timed& operator=(const Timed&) = delete;

   private:
    GuardRecord& record_;
    Stopwatch stopwatch_;
  };
  void begin_timing() { is_timed_ = true; }

  static constexpr int most_attempts = 10;

 private:
  comm::RankGroup& group_;
  SolvePlace place_;
  Detection found_;
  int failed_attempts_ = 0;  // one after the other
  std::string reason_;
  GuardReport report_;  // with this rank's figures
  bool is_timed_ = false;
  int timed_depth_ = 0;
};

}  // namespace cg2d
