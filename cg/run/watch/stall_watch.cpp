#include "cg/run/watch/stall_watch.hpp"

#include "cg/base/progress.hpp"
#include "cg/run/watch/exit_watch.hpp"

namespace cg2d {

StallWatch::StallWatch(double limit_s, EndAll end, comm::RankGroup& group, const PhaseTimer& timer,
                       StepObservers& observers)
    : limit_s_(limit_s), end_(std::move(end)), group_(group), timer_(timer), observers_(observers) {
  observers_.add(*this);
  thread_ = thread_of([this](const std::stop_token& stop) { watch(stop); });
}

std::string StallWatch::describe() const {
  std::string place;
  if (const int repeat = repeat_; repeat > 0) place += fmt::format("run {}, ", repeat);
  if (const int outer_step = outer_step_; outer_step > 0)
    place += fmt::format("outer iteration {}, ", outer_step);
  const auto phase = timer_.activity().phase;
  const int awaited = group_.waiter().awaited_rank();
  return fmt::format("{}CG step {}: {}, waits for {}", place, step_.load(),
                     phase ? phase_name(*phase) : "between the phases",
                     awaited == comm::Waiter::no_rank        ? "no rank"
                     : awaited == comm::Waiter::unknown_rank ? "other ranks"
                                                             : fmt::format("rank {}", awaited));
}

StallWatch::Reached StallWatch::reached() const {
  return {timer_.activity().change_count, step_ + ended_step_count_};
}

/// The thread's work.
void StallWatch::watch(const std::stop_token& stop) {
  constexpr double shortest_s = 0.01;
  constexpr double longest_s = 0.25;
  constexpr double looks_per_limit = 20.0;
  const std::chrono::duration<double> interval(std::clamp(limit_s_ / looks_per_limit, shortest_s, longest_s));
  auto seen = reached();
  double idle_s = 0.0;
  Stopwatch stopwatch;
  double looked_s = 0.0;
  while (has_waited(stop, interval)) {
    const double now_s = stopwatch.seconds();
    // Much longer than the interval: this process was stopped, or starved.
    idle_s += std::min(now_s - looked_s, 2.0 * interval.count());
    looked_s = now_s;
    if (const auto now = reached(); now != seen) {
      seen = now;
      idle_s = 0.0;
    }
    if (idle_s < limit_s_) continue;
    if (!end_all(seen, stop)) return;
    // It has gone on meanwhile.
    seen = reached();
    idle_s = 0.0;
    looked_s = stopwatch.seconds();
  }
}

/// Ranks notice it at slightly different times: by a look, and by the time that the last step took them. Returns where the watch is
/// over (false), or where this rank goes on after all (true): each rank decides by itself, so that one that still stands ends all.
bool StallWatch::end_all(const Reached& seen, const std::stop_token& stop) {
  using Seconds = std::chrono::duration<double>;
  constexpr double slack_s = 1.0;
  constexpr double longest_turn_s = 0.02;
  constexpr double all_turns_s = 2.0;
  const double turn = std::min(longest_turn_s, all_turns_s / group_.size());
  if (!has_waited(stop, Seconds(turn * group_.rank()))) return false;
  if (reached() != seen) return true;
  say_on_stderr(fmt::format("rank {}: no progress for {:g} s in {}", group_.rank(), limit_s_, describe()));
  if (!has_waited(stop, Seconds(turn * (group_.size() - group_.rank()) + slack_s))) return false;
  if (reached() != seen) {
    say_on_stderr(fmt::format("rank {}: goes on, so it does not end the run", group_.rank()));
    return true;
  }
  end_(ExitCode::stalled);
  return false;
}

}  // namespace cg2d
