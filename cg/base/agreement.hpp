#pragma once

// Makes one rank's failure known to all ranks: they agree first, then throw, so that no rank waits for one
// that has left.

#include <new>
#include <optional>

#include "cg/base/errors.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// Collects the first failure of local steps; reach() makes it common.
class Agreement {
 public:
  explicit Agreement(comm::RankGroup& group) : group_(group) {}

  /// Runs a local step, unless an earlier one failed. RunError and std::bad_alloc are kept for reach().
  template <typename Step>
  void attempt(const Step& step) {
    if (failure_) return;
    try {
      step();
    } catch (const RunError& error) {
      failure_ = error;
    } catch (const std::bad_alloc&) {
      failure_ = RunError(ExitCode::memory, "out of memory on rank " + std::to_string(group_.rank()) +
                                                "; take a smaller matrix or more nodes");
    }
  }

  /// Collective. Returns when no rank failed; else throws the lowest failed rank's RunError on every rank.
  void reach();

 private:
  comm::RankGroup& group_;
  std::optional<RunError> failure_;
};

/// One local step, agreed on at once. Collective.
template <typename Step>
void agree_on(comm::RankGroup& group, const Step& step) {
  Agreement agreement(group);
  agreement.attempt(step);
  agreement.reach();
}

}  // namespace cg2d
