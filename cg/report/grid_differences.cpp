#include "cg/report/run_verdict.hpp"

#include <fmt/ranges.h>

#include <cmath>
#include <set>

#include "cg/base/table.hpp"

namespace cg2d {
namespace {

constexpr double microseconds_per_s = 1e6;

/// Two runs of the same round.
struct PairedRuns {
  const ResultRecord* slower;
  const ResultRecord* faster;
};

std::vector<PairedRuns> paired_runs(const MeasuredConfiguration& slower,
                                    const MeasuredConfiguration& faster) {
  std::vector<PairedRuns> pairs;
  for (size_t k = 0; k < slower.runs.size(); ++k) {
    const auto other = std::ranges::find(faster.round_numbers, slower.round_numbers.at(k));
    if (other != faster.round_numbers.end())
      pairs.push_back({.slower = &slower.runs[k],
                       .faster = &faster.runs.at(static_cast<size_t>(other - faster.round_numbers.begin()))});
  }
  return pairs;
}

/// A phase in a CG step. Outside all phases there is only time.
PhaseShare step_share(const ResultRecord& run, std::optional<Phase> phase) {
  const auto& [step_count, phases] = *run.work;
  if (phase) return phases[index_of(*phase)] / step_count;
  PhaseShare rest{.measured_s = run.time_s};
  for (const auto known : benchmark_phases) rest.measured_s -= phases[index_of(known)].measured_s;
  return rest / step_count;
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
  const auto quarter = static_cast<ptrdiff_t>(pairs.size() / 4);
  return {pairs.begin() + quarter, pairs.end() - quarter};
}

template <typename ValueOf>
auto mean_of(const std::vector<PairedRuns>& pairs, const ValueOf& value_of) {
  decltype(value_of(pairs.front())) sum{};
  for (const auto& pair : pairs) sum += value_of(pair);
  return sum / static_cast<double>(pairs.size());
}

/// pairs: of all rounds; middle: those of middle_half().
PhaseDifference phase_difference(const std::vector<PairedRuns>& pairs, const std::vector<PairedRuns>& middle,
                                 std::optional<Phase> phase, double whole_s) {
  PhaseDifference result{
      .phase = phase,
      .slower = mean_of(middle, [&](const auto& pair) { return step_share(*pair.slower, phase); }),
      .faster = mean_of(middle, [&](const auto& pair) { return step_share(*pair.faster, phase); })};
  result.change = result.slower - result.faster;
  result.share = whole_s > 0.0 ? result.change.measured_s / whole_s : 0.0;
  std::vector<double> costs;
  for (const auto& [slower, faster] : pairs) {
    const auto change = step_share(*slower, phase) - step_share(*faster, phase);
    costs.push_back(1.0 + change.measured_s * faster->work->step_count / faster->time_s);
  }
  // A phase that takes less than the whole of the other run cannot bring it to zero, but time outside phases might.
  if (std::ranges::all_of(costs, [](double cost) { return cost > 0.0; }))
    result.cost = interval_of(costs, wrong_verdict_probability);
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

std::vector<EventDifference> event_differences(const std::optional<ResultRecord>& slower,
                                               const std::optional<ResultRecord>& faster) {
  std::vector<EventDifference> differences;
  if (!slower || !faster) return differences;
  for (const auto& [name, counts] : slower->events) {
    const auto same = std::ranges::find(faster->events, name, &Named<PhaseValues>::value_type::first);
    if (same == faster->events.end()) continue;
    for (const auto phase : benchmark_phases) {
      const double many = counts.at(index_of(phase));
      const double few = same->second.at(index_of(phase));
      if (!differ_beyond_chance(many, few)) continue;
      differences.push_back({.event = name,
                             .phase = phase,
                             .slower = many / slower->work->step_count,
                             .faster = few / faster->work->step_count});
    }
  }
  std::ranges::stable_sort(differences, std::greater<>(),
                           [](const auto& one) { return std::abs(std::log(one.ratio())); });
  return differences;
}

/// The difference of two configurations, whichever is the slower one, by their paired rounds; nothing where there are none, or phases
/// were not timed. ratio: of their times.
std::optional<GridDifference> difference_of(const MeasuredConfiguration& slower,
                                            const MeasuredConfiguration& faster, const RatioInterval& ratio) {
  const auto pairs = paired_runs(slower, faster);
  const bool are_timed = std::ranges::all_of(
      pairs, [](const auto& pair) { return pair.slower->has_steps() && pair.faster->has_steps(); });
  if (pairs.empty() || !are_timed) return std::nullopt;
  GridDifference result{.slower = slower.asked, .faster = faster.asked, .ratio = ratio};
  const auto middle = middle_half(pairs);
  result.difference_s = mean_of(middle, whole_difference);
  for (const auto phase : benchmark_phases)
    result.phases.push_back(phase_difference(pairs, middle, phase, result.difference_s));
  result.phases.push_back(phase_difference(pairs, middle, std::nullopt, result.difference_s));
  result.events = event_differences(slower.counted, faster.counted);
  return result;
}

// As text and JSON.

void describe_us(Members& m, std::string_view name, double seconds, std::string_view text = {}) {
  m.derived(name, microseconds_per_s * seconds, meaning(text));
}

std::string us_text(double seconds) { return fmt::format("{:+.3g} us", microseconds_per_s * seconds); }

}  // namespace

std::vector<GridDifference> differences_from_best(const GridVerdict& row) {
  const auto& alternatives = row.ranking.alternatives;
  std::vector<GridDifference> differences;
  for (const auto place : std::set{size_t{1}, alternatives.size() - 1}) {
    if (place == 0 || place >= alternatives.size()) continue;
    auto found = difference_of(alternatives[place], alternatives.front(), row.ranking.verdict.against[place]);
    if (found) differences.push_back(std::move(*found));
  }
  return differences;
}

std::optional<GridDifference> difference_of_pair(const GridVerdict& row, const GridPair& pair) {
  std::vector<const MeasuredConfiguration*> both;
  for (const auto& cell : row.cells) {
    const auto& grid = cell.asked.configuration.grid;
    if (cell.is_sound() && (grid == pair.first || grid == pair.second)) both.push_back(&cell);
  }
  if (both.size() < 2) return std::nullopt;
  auto ratio = ratio_of(both[0]->rounds, both[1]->rounds, wrong_verdict_probability);
  if (ratio.median < 1.0) {
    std::swap(both[0], both[1]);
    ratio = ratio_of(both[0]->rounds, both[1]->rounds, wrong_verdict_probability);
  }
  return difference_of(*both[0], *both[1], ratio);
}

void describe(Members& m, PhaseDifference& one) {
  m.derived("phase", one.phase ? std::optional(std::string(phase_name(*one.phase))) : std::nullopt,
            or_null("null: outside the phases, and that by which the slowest rank exceeds the mean."));
  describe_us(m, "slower_us", one.slower.measured_s);
  describe_us(m, "faster_us", one.faster.measured_s);
  describe_us(m, "difference_us", one.change.measured_s);
  m.derived("is_sure", one.is_sure(), meaning("Beyond the noise."));
  m("share", one.share, meaning("Of the whole difference; all together are 1."));
  describe_us(m, "waiting_us", one.change.waited_s, "Of the waiting, a part of difference_us.");
  m("messages", one.change.messages, meaning("Difference of what a rank sends; exact."));
  m("bytes", one.change.sent_bytes, meaning("Difference of what a rank sends; exact."));
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
  m.derived("text", difference_words(difference), meaning("For people."));
  m("phases", difference.phases);
  m("events", difference.events);
}

std::string difference_words(const GridDifference& difference) {
  const auto slower = difference.slower.arrangement();
  const auto faster = difference.faster.arrangement();
  if (!difference.is_sure()) {
    return fmt::format(
        "{} and {}: {}, so nothing to explain", slower, faster,
        difference.ratio.is_bounded() ? "no difference beyond the noise" : lack_of_rounds(difference.ratio));
  }
  auto text = fmt::format("{} is {} slower than {}, {} per CG step", slower, gain_text(difference.ratio),
                          faster, us_text(difference.difference_s));
  auto phases = difference.phases;
  std::erase_if(phases, std::not_fn(&PhaseDifference::is_sure));
  if (phases.empty()) return text + ": no single phase differs beyond its noise";
  std::ranges::stable_sort(phases, std::greater<>(),
                           [](const auto& phase) { return std::abs(phase.change.measured_s); });
  std::vector<std::string> words;
  for (const auto& phase : phases)
    words.push_back(fmt::format("{:.0f} % {} ({})", 100.0 * phase.share,
                                phase.phase ? phase_name(*phase.phase) : "outside the phases",
                                us_text(phase.change.measured_s)));
  return fmt::format("{}; of it {}", text, fmt::join(words, ", "));
}

std::string phase_table_of_grids(const std::vector<MeasuredConfiguration>& cells, bool shows_clocks) {
  Table table;
  const auto line = [&](const MeasuredConfiguration& cell, std::string_view what, const auto& text_of) {
    table.line().word("grid", cell.asked.arrangement()).word("of", what);
    for (const auto phase : benchmark_phases) table.number(phase_name(phase), text_of(phase));
  };
  const auto seconds = [](double value) { return fmt::format("{:.6f}", value); };
  for (const auto& cell : cells) {
    if (cell.counted) {
      for (const auto& [name, counts] : cell.counted->events)
        line(cell, name, [&, &counts = counts](Phase phase) {
          return count_text(counts.at(index_of(phase)) / cell.counted->work->step_count);
        });
    }
    if (cell.limited)
      line(cell, "share of the limit", [&](Phase phase) {
        const double share = cell.limited->limits->at(index_of(phase)).share();
        return share > 0.0 && share <= 1.0 ? fmt::format("{:.1f} %", 100.0 * share) : std::string();
      });
    if (!cell.is_sound()) continue;
    const auto& run = cell.median_run();
    if (shows_clocks && run.has_steps())
      line(cell, "clocks per step", [&](Phase phase) {
        return fmt::format("{:.0f}", run.work->phases[index_of(phase)].clocks / run.work->step_count);
      });
    if (!run.prediction) continue;
    line(cell, "measured s", [&](Phase phase) {
      return run.work ? seconds(run.work->phases[index_of(phase)].measured_s) : std::string();
    });
    table.number("total", seconds(run.time_s));
    line(cell, "predicted s", [&](Phase phase) { return seconds(run.prediction->phase_s(phase)); });
    table.number("total", seconds(run.prediction->total_s()));
  }
  if (table.is_empty()) return {};
  return "  Of each phase, as means over the ranks: events per CG step and the share of the machine's limit\n"
         "  (-: no work, or from a faster cache), each in runs of their own; in the run with the median "
         "time:\n"
         "  reference clocks, seconds of the timed region, and those predicted\n" +
         table.text("    ");
}

}  // namespace cg2d
