#include "cg/timing/race.hpp"

#include <cmath>

#include "cg/base/agreement.hpp"
#include "cg/base/describe.hpp"
#include "cg/base/sample.hpp"

namespace cg2d {
namespace {

/// Seconds of `calls` calls, of the slowest rank.
double turn_seconds(comm::RankGroup& group, const std::function<void()>& work, int64_t calls) {
  group.barrier();
  const Stopwatch watch;
  for (int64_t call = 0; call < calls; ++call) work();
  return group.maximum(watch.seconds());
}

/// One work of a race.
struct Runner {
  const std::function<void()>& work;
  double once_s = 0.0;
  int64_t calls = 1;              // in a turn
  std::vector<double> seconds{};  // seconds of one call, turn by turn

  /// As many calls as take the shortest turn, by doubling them: a single call that happened to be fast must
  /// not make turns of minutes on a machine that others use, too.
  void choose_calls(comm::RankGroup& group, double shortest_turn_s) {
    work();
    for (calls = 1;; calls *= 2) {
      const double turn_s = turn_seconds(group, work, calls);
      once_s = std::max(turn_s / static_cast<double>(calls), 1e-9);
      if (turn_s >= shortest_turn_s / 2.0) break;
    }
    calls = std::max<int64_t>(1, std::llround(shortest_turn_s / once_s));
  }

  /// Before a short turn one call takes the caches back from the work before it. Returns the turn's seconds.
  double take_turn(comm::RankGroup& group, double shortest_turn_s) {
    constexpr double long_s = 0.01;
    if (once_s < long_s) work();
    const double turn_s = turn_seconds(group, work, calls);
    seconds.push_back(turn_s / static_cast<double>(calls));
    constexpr double much_too_long = 10.0;
    if (turn_s > much_too_long * shortest_turn_s) calls = std::max<int64_t>(1, calls / 10);
    if (turn_s < shortest_turn_s / 2.0) calls *= 2;
    return turn_s;
  }
};

}  // namespace

std::vector<double> RaceResult::medians() const {
  std::vector<double> medians;
  medians.reserve(turns.size());
  for (const auto& seconds : turns) medians.push_back(sample_of(seconds).median);
  return medians;
}

double RaceResult::spread() const {
  double most = 0.0;
  for (const auto& seconds : turns) most = std::max(most, spread_of_repeats(seconds));
  return most;
}

RaceResult race(comm::RankGroup& group, std::span<const std::function<void()>> works,
                const RaceLimits& limits) {
  std::vector<Runner> runners;
  runners.reserve(works.size());
  double best_s = std::numeric_limits<double>::infinity();
  for (const auto& work : works) {
    auto& runner = runners.emplace_back(Runner{.work = work});
    runner.choose_calls(group, limits.shortest_turn_s);
    best_s = std::min(best_s, runner.once_s);
  }
  double spent_s = 0.0;
  for (int round = 0; round < limits.most_rounds; ++round) {
    if (round >= limits.fewest_rounds && spent_s > limits.budget_s) break;
    for (auto& runner : runners) {
      if (round > 0 && runner.once_s > limits.hopeless_factor * best_s) continue;
      spent_s += runner.take_turn(group, limits.shortest_turn_s);
    }
  }
  RaceResult result;
  result.turns.reserve(runners.size());
  for (auto& runner : runners) result.turns.push_back(std::move(runner.seconds));
  return result;
}

RaceVerdict race_verdict(std::span<const std::vector<double>> turns, std::span<const std::string> names) {
  const auto most = std::ranges::max(turns, {}, &std::vector<double>::size).size();
  std::vector<RoundTimes> rounds;
  std::vector<std::string> compared;
  for (size_t k = 0; k < turns.size(); ++k) {
    if (turns[k].size() < most) continue;
    auto& times = rounds.emplace_back();
    for (const double seconds : turns[k]) times.emplace(static_cast<int>(times.size()), seconds);
    compared.push_back(names[k]);
  }
  const auto verdict = find_best(rounds);
  return {.candidate = compared[verdict.candidate],
          .certainty = verdict.certainty(),
          .reason = verdict_text(verdict, compared, "")};
}

void describe(Members& m, RaceVerdict& verdict) {
  m("candidate", verdict.candidate,
    not_empty("The one that the others beat least, by the median ratio of paired turns."));
  m("certainty", verdict.certainty, meaning(meaning_of_certainty));
  auto text = verdict.text();
  m("text", text, meaning("For people; empty where it is alone."));
  if (!m.reads() || text.empty()) return;
  verdict.reason = text.substr(std::min(verdict.before_reason().size(), text.size()));
}

double common_pass_rate(comm::RankGroup& group, const std::function<bool(int64_t)>& work) {
  constexpr int batch_count = 16;
  constexpr double shortest_s = 5e-3;  // the microseconds between the ranks' leaving a barrier are lost in it
  constexpr auto most_passes = int64_t{1} << 40;
  bool is_right = true;
  // A batch begins with the first rank, ends with the last one, and counts as one for all ranks: the best batches of single ranks would be those
  // in which the others rested.
  const auto batch_s = [&](int64_t pass_count) {
    group.barrier();
    const Stopwatch watch;
    is_right = work(pass_count) && is_right;
    group.barrier();
    return group.maximum(watch.seconds());
  };
  int64_t pass_count = 1;
  // The faster of two: one batch that something disturbed must not end the doubling.
  while (pass_count < most_passes && std::min(batch_s(pass_count), batch_s(pass_count)) < shortest_s)
    pass_count *= 2;
  double best_s = std::numeric_limits<double>::infinity();
  for (int batch = 0; batch < batch_count; ++batch) best_s = std::min(best_s, batch_s(pass_count));
  agree_on(group, [&] {
    if (!is_right)
      throw RunError(ExitCode::internal, "a loop that measures the machine's limits has a wrong result");
  });
  return static_cast<double>(pass_count) / best_s;
}

}  // namespace cg2d
