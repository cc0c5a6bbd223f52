#pragma once

// Makes one rank's failure known to all ranks: they agree first, then throw, so that no rank waits for one
// that has left.

#include <new>
#include <optional>
#include <string>

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
  void reach() {
    const int64_t nobody = group_.size();
    const int64_t failed = group_.minimum(failure_ ? int64_t{group_.rank()} : nobody);
    if (failed == nobody) return;
    // The failed rank's text is everybody's: gathered, since only rank 0 can broadcast.
    const auto code = group_.maximum(failed == group_.rank() ? static_cast<int64_t>(failure_->code()) : 0);
    const auto texts =
        group_.gather_all(failed == group_.rank() ? std::string(failure_->what()) : std::string());
    throw RunError(static_cast<ExitCode>(code), texts[static_cast<size_t>(failed)]);
  }

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

/// A step that is collective over some ranks of the group, all of which throw the same RunError or none, and nothing on
/// the others. std::bad_alloc of one rank goes on, and ends all: its partners wait for it in the step. Collective.
template <typename Step>
void agree_on_part(comm::RankGroup& group, const Step& step) {
  std::optional<RunError> failure;
  try {
    step();
  } catch (const RunError& error) {
    failure = error;
  }
  agree_on(group, [&] {
    if (failure) throw RunError(*failure);
  });
}

}  // namespace cg2d
