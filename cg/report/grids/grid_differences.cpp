#include "cg/report/grids/grid_differences.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <utility>

namespace cg2d {
namespace {

/// Two runs of the same round.
struct PairedRuns {
  const ResultRecord* slower;
  const ResultRecord* faster;
};

std::vector<PairedRuns> paired_runs(const MeasuredConfiguration& slower,
                                    const MeasuredConfiguration& faster) {
  std::map<int, const ResultRecord*> fast;
  for (std::size_t k = 0; k < faster.runs.size(); ++k) fast[faster.round_numbers.at(k)] = &faster.runs[k];
  std::vector<PairedRuns> pairs;
  for (std::size_t k = 0; k < slower.runs.size(); ++k) {
    const auto other = fast.find(slower.round_numbers.at(k));
    if (other != fast.end()) pairs.push_back({.slower = &slower.runs[k], .faster = other->second});
  }
  return pairs;
}

/// Seconds of a phase, or of what is outside them, in a CG step.
double step_seconds(const ResultRecord& run, std::optional<Phase> phase) {
  if (phase) return run.phases_s->at(index_of(*phase)) / run.work->step_count;
  double rest = run.time_s;
  for (const double seconds : *run.phases_s) rest -= seconds;
  return rest / run.work->step_count;
}

/// By how much a CG step of the slower one takes longer.
double whole_difference(const PairedRuns& pair) {
  return pair.slower->time_s / pair.slower->work->step_count -
         pair.faster->time_s / pair.faster->work->step_count;
}

/// The rounds that figures are means of: without the quarter with the least and the quarter with the greatest difference of the
/// whole step. Medians of each phase would be of other rounds for each, and not add up; means over all rounds would follow
/// the one that something disturbed.
std::vector<PairedRuns> middle_half(std::vector<PairedRuns> pairs) {
  std::ranges::stable_sort(pairs, {}, whole_difference);
  const auto quarter = static_cast<std::ptrdiff_t>(pairs.size() / 4);
  return {pairs.begin() + quarter, pairs.end() - quarter};
}

template <typename ValueOf>
double mean_of(const std::vector<PairedRuns>& pairs, const ValueOf& value_of) {
  double sum = 0.0;
  for (const auto& pair : pairs) sum += value_of(pair);
  return sum / static_cast<double>(pairs.size());
}

/// The difference of something that runs count in each phase, per CG step.
double work_difference(const PairedRuns& pair, Phase phase, PhaseValues RecordedWork::*values) {
  const auto of = [&](const ResultRecord& run) {
    return ((*run.work).*values).at(index_of(phase)) / run.work->step_count;
  };
  return of(*pair.slower) - of(*pair.faster);
}

/// pairs: of all rounds; middle: those of middle_half().
PhaseDifference phase_difference(const std::vector<PairedRuns>& pairs, const std::vector<PairedRuns>& middle,
                                 std::optional<Phase> phase, double whole_s) {
  const auto change = [&](const PairedRuns& pair) {
    return step_seconds(*pair.slower, phase) - step_seconds(*pair.faster, phase);
  };
  PhaseDifference result{.phase = phase};
  result.slower_s = mean_of(middle, [&](const auto& pair) { return step_seconds(*pair.slower, phase); });
  result.faster_s = mean_of(middle, [&](const auto& pair) { return step_seconds(*pair.faster, phase); });
  result.difference_s = result.slower_s - result.faster_s;
  result.share = whole_s > 0.0 ? result.difference_s / whole_s : 0.0;
  std::vector<double> costs;
  costs.reserve(pairs.size());
  for (const auto& pair : pairs)
    costs.push_back(1.0 + change(pair) * pair.faster->work->step_count / pair.faster->time_s);
  // A phase that takes less than the whole of the other run cannot bring it to zero, but time outside phases might.
  if (std::ranges::all_of(costs, [](double cost) { return cost > 0.0; }))
    result.cost = interval_of(costs, wrong_verdict_probability);
  if (!phase) return result;
  const auto mean = [&](PhaseValues RecordedWork::*values) {
    return mean_of(middle, [&](const auto& pair) { return work_difference(pair, *phase, values); });
  };
  result.waiting_s = mean(&RecordedWork::waited_s);
  result.messages = mean(&RecordedWork::messages);
  result.bytes = mean(&RecordedWork::bytes);
  return result;
}

/// Whether counts of rare, independent events would hardly differ so much by chance: three standard deviations.
bool differ_beyond_chance(double one, double other) {
  constexpr double deviations = 3.0;
  constexpr double least_ratio = 1.05;
  if (one <= 0.0 || other <= 0.0) return false;
  const double distance = std::abs(std::log(one / other));
  return distance > std::log(least_ratio) && distance > deviations * std::sqrt(1.0 / one + 1.0 / other);
}

std::vector<EventDifference> event_differences(const ResultRecord* slower, const ResultRecord* faster) {
  std::vector<EventDifference> differences;
  if (slower == nullptr || faster == nullptr || !has_known_steps(*slower) || !has_known_steps(*faster))
    return differences;
  for (const auto& event : slower->events) {
    const auto same = std::ranges::find(faster->events, event.name, &RecordedEvent::name);
    if (same == faster->events.end()) continue;
    for (const auto phase : benchmark_phases) {
      const double many = event.counts.at(index_of(phase));
      const double few = same->counts.at(index_of(phase));
      if (!differ_beyond_chance(many, few)) continue;
      differences.push_back({.event = event.name,
                             .phase = phase,
                             .slower = many / slower->work->step_count,
                             .faster = few / faster->work->step_count});
    }
  }
  std::ranges::stable_sort(differences, std::greater<>(),
                           [](const auto& one) { return std::abs(std::log(one.ratio())); });
  return differences;
}

template <typename Has>
const ResultRecord* last_run(const std::vector<ResultRecord>& records, const ConfiguredProblem& asked,
                             const Has& has) {
  const auto found = std::find_if(records.rbegin(), records.rend(), [&](const auto& record) {
    return record.asked == asked && record.succeeded() && !record.is_replaced && has(record);
  });
  return found == records.rend() ? nullptr : &*found;
}

}  // namespace

const ResultRecord* counted_run(const std::vector<ResultRecord>& records, const ConfiguredProblem& asked) {
  return last_run(records, asked, [](const auto& record) { return !record.events.empty(); });
}

const ResultRecord* limited_run(const std::vector<ResultRecord>& records, const ConfiguredProblem& asked) {
  return last_run(records, asked, [](const auto& record) { return record.limits.has_value(); });
}

std::optional<GridDifference> difference_of(const MeasuredConfiguration& slower,
                                            const MeasuredConfiguration& faster, const RatioInterval& ratio,
                                            const std::vector<ResultRecord>& records) {
  const auto pairs = paired_runs(slower, faster);
  const bool are_timed = std::ranges::all_of(
      pairs, [](const auto& pair) { return has_known_steps(*pair.slower) && has_known_steps(*pair.faster); });
  if (pairs.empty() || !are_timed) return std::nullopt;
  GridDifference result{.slower = slower.asked, .faster = faster.asked, .ratio = ratio};
  const auto middle = middle_half(pairs);
  result.difference_s = mean_of(middle, whole_difference);
  for (const auto phase : benchmark_phases)
    result.phases.push_back(phase_difference(pairs, middle, phase, result.difference_s));
  result.phases.push_back(phase_difference(pairs, middle, std::nullopt, result.difference_s));
  result.events = event_differences(counted_run(records, slower.asked), counted_run(records, faster.asked));
  return result;
}

std::vector<GridDifference> differences_from_best(const GridVerdict& row,
                                                  const std::vector<ResultRecord>& records) {
  const auto& alternatives = row.ranking.alternatives;
  std::vector<GridDifference> differences;
  const auto add = [&](std::size_t place) {
    auto found =
        difference_of(alternatives[place], alternatives.front(), row.ranking.verdict.against[place], records);
    if (found) differences.push_back(std::move(*found));
  };
  if (alternatives.size() > 1) add(1);
  if (alternatives.size() > 2) add(alternatives.size() - 1);
  return differences;
}

std::optional<GridDifference> difference_of_pair(const GridVerdict& row, const GridPair& pair,
                                                 const std::vector<ResultRecord>& records) {
  const auto cell_of = [&](const comm::ProcessGrid& grid) -> const MeasuredConfiguration* {
    const auto found = std::ranges::find_if(row.cells, [&](const auto& cell) {
      return cell.asked.configuration.grid == grid && cell.is_sound();
    });
    return found == row.cells.end() ? nullptr : &*found;
  };
  const auto* slower = cell_of(pair.one);
  const auto* faster = cell_of(pair.other);
  if (slower == nullptr || faster == nullptr) return std::nullopt;
  auto ratio = ratio_of(slower->rounds, faster->rounds, wrong_verdict_probability);
  if (ratio.median < 1.0) {
    std::swap(slower, faster);
    ratio = ratio_of(slower->rounds, faster->rounds, wrong_verdict_probability);
  }
  return difference_of(*slower, *faster, ratio, records);
}

namespace {
void describe_us(Members& m, std::string_view name, double seconds, std::string_view text = {}) {
  m.derived(name, microseconds_per_s * seconds, meaning(text));
}
}  // namespace

void describe(Members& m, PhaseDifference& one) {
  m.derived("phase", one.phase ? std::optional(std::string(phase_name(*one.phase))) : std::nullopt,
            or_null("null: outside the phases, and that by which the slowest rank exceeds the mean."));
  describe_us(m, "slower_us", one.slower_s);
  describe_us(m, "faster_us", one.faster_s);
  describe_us(m, "difference_us", one.difference_s);
  m.derived("is_sure", one.is_sure(), meaning("Beyond the noise."));
  m("share", one.share, meaning("Of the whole difference; all together are 1."));
  describe_us(m, "waiting_us", one.waiting_s,
              "Difference of the waiting for other ranks, a part of difference_us.");
  m("messages", one.messages, meaning("Difference of what a rank sends; exact."));
  m("bytes", one.bytes, meaning("Difference of what a rank sends; exact."));
}

void describe(Members& m, EventDifference& one) {
  m("event", one.event, not_empty());
  m.derived("phase", phase_name(one.phase));
  m("slower", one.slower, at_least(0, "Per CG step, mean over the ranks."));
  m("faster", one.faster, at_least(0));
  m.derived("ratio", one.ratio(), at_least(0));
}

void describe(Members& m, GridDifference& difference) {
  m.derived("slower", difference.slower.key());
  m.derived("faster", difference.faster.key());
  m.derived("is_sure", difference.is_sure());
  describe_us(m, "difference_us", difference.difference_s);
  m.derived("text", meaning("For people."), [&] { return difference_words(difference); });
  m("phases", difference.phases);
  m("events", difference.events);
}

}  // namespace cg2d
