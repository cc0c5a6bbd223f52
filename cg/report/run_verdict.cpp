#include "cg/report/run_verdict.hpp"

#include <fmt/ranges.h>

#include <cmath>
#include <set>
#include <tuple>

#include "cg/base/table.hpp"

namespace cg2d {
namespace {

/// Runs that may be compared as far as where and when they ran goes: session and conditions.
using RecordedSession = std::pair<std::string, std::string>;
RecordedSession session_of(const ResultRecord& run) { return {run.session, run.conditions}; }

/// The runs of the grids of one row of a table.
struct RowRuns {
  ConfiguredProblem common;
  int rank_count = 1;
  std::vector<const ResultRecord*> runs;
  RecordedSession session{};  ///< the one that counts
};

/// The row of a configuration: those of one row differ in their arrangement alone. A new one where there is none yet.
template <typename Row>
Row& row_of(const ConfiguredProblem& asked, std::vector<Row>& rows) {
  auto common = asked.without_arrangement();
  const int rank_count = asked.configuration.grid.rank_count();
  const auto known = std::ranges::find_if(
      rows, [&](const Row& row) { return row.rank_count == rank_count && row.common == common; });
  if (known != rows.end()) return *known;
  auto& row = rows.emplace_back();
  row.common = std::move(common);
  row.rank_count = rank_count;
  return row;
}

}  // namespace

const ResultRecord& MeasuredConfiguration::median_run() const {
  return median_run_of(runs, &ResultRecord::time_s);
}

std::vector<MeasuredConfiguration> measured_configurations(const std::vector<ResultRecord>& records) {
  std::vector<MeasuredConfiguration> all;
  // Numbers of rounds: one for all runs of a sweep that were made in turns, one of its own for any other run.
  std::map<std::tuple<std::string, int, int>, int> numbers;
  int next = 0;
  for (const auto& record : records) {
    auto found = std::ranges::find(all, record.asked, &MeasuredConfiguration::asked);
    if (found == all.end()) {
      all.emplace_back().asked = record.asked;
      found = all.end() - 1;
    }
    if (record.is_replaced) {
      ++found->replaced_count;
      continue;
    }
    if (!record.kernel_used.empty()) found->kernel_used = record.kernel_used;
    if (!record.succeeded()) {
      if (found->statuses.empty()) found->reason = record.reason;
      found->statuses.push_back(record.status);
      found->disturbed_count += record.is_disturbed() ? 1 : 0;
      continue;
    }
    for (size_t k = 0; k < record.times_s.size(); ++k)
      found->disturbed_count += record.was_disturbed(k) ? 1 : 0;
    found->runs.push_back(record);
    found->times_s.insert(found->times_s.end(), record.times_s.begin(), record.times_s.end());
    if (record.is_in_sweep) {
      const auto [known, is_new] = numbers.try_emplace({record.session, record.sitting, record.round}, next);
      if (is_new) ++next;
      found->round_numbers.push_back(known->second);
      found->rounds.emplace(known->second, sample_of(record.times_s).median);
    } else {
      found->round_numbers.push_back(next);
      for (const double time_s : record.times_s) found->rounds.emplace(next++, time_s);
    }
  }
  return all;
}

ComparableRuns comparable_runs(const std::vector<ResultRecord>& records) {
  std::vector<RowRuns> rows;
  for (const auto& record : records) {
    if (record.slowed_by.empty()) row_of(record.asked, rows).runs.push_back(&record);
  }
  for (auto& row : rows) {  // the session with the most of its runs; of several the first
    std::map<RecordedSession, int> counts;
    for (const auto* run : row.runs) counts[session_of(*run)] += run->succeeded() ? 1 : 0;
    row.session = session_of(
        **std::ranges::max_element(row.runs, {}, [&](const auto* run) { return counts[session_of(*run)]; }));
  }
  ComparableRuns comparable;
  std::vector<ResultRecord> compared;
  for (const auto& record : records) {
    std::string reason;
    if (!record.slowed_by.empty()) {
      reason = "it ran with " + record.slowed_by;
    } else {
      const auto& row = row_of(record.asked, rows);
      const auto& [session, conditions] = row.session;
      // A failed run does not say its conditions.
      if (record.session == session && (record.conditions == conditions || !record.succeeded())) {
        compared.push_back(record);
        continue;
      }
      reason = fmt::format("it is of another session than most of the {} with the same choices",
                           format_count(std::ssize(row.runs), "run"));
    }
    comparable.left_out.push_back(
        {record.place, record.asked.key(), reason, record.purpose != RunPurpose::time});
  }
  comparable.configurations = measured_configurations(compared);
  for (const auto& record : records) {
    const auto measured =
        std::ranges::find(comparable.configurations, record.asked, &MeasuredConfiguration::asked);
    if (measured == comparable.configurations.end() || !record.succeeded() || record.is_replaced ||
        !record.has_steps())
      continue;
    if (!measured->runs.empty() && record.maker != measured->runs.front().maker) continue;
    if (!record.events.empty()) measured->counted = record;
    if (record.limits) measured->limited = record;
  }
  return comparable;
}

size_t Ranking::place_of(const ConfiguredProblem& asked) const {
  const auto found = std::ranges::find(alternatives, asked, &MeasuredConfiguration::asked);
  return static_cast<size_t>(found - alternatives.begin());
}

bool Ranking::may_be_best(const ConfiguredProblem& asked) const {
  const auto place = place_of(asked);
  return place < alternatives.size() && !verdict.is_better_than(place);
}

bool GridVerdict::has_problem_of(const GridVerdict& other) const {
  return common.problem == other.common.problem && rank_count == other.rank_count &&
         common.configuration.thread_count == other.common.configuration.thread_count;
}

Ranking rank_by_time(const std::vector<MeasuredConfiguration>& cells) {
  Ranking ranking;
  auto& sound = ranking.alternatives;
  std::ranges::copy_if(cells, std::back_inserter(sound), &MeasuredConfiguration::is_sound);
  if (sound.empty()) return ranking;
  const auto judge = [&] {
    std::vector<RoundTimes> rounds;
    for (const auto& one : sound) rounds.push_back(one.rounds);
    return find_best(rounds);
  };
  const auto unordered = judge();
  std::vector<std::pair<double, MeasuredConfiguration>> ordered;  // by the ratio to the candidate
  DisturbedRuns disturbed;
  for (size_t index = 0; index < sound.size(); ++index) {
    disturbed += sound[index].disturbed_runs();
    ordered.emplace_back(index == unordered.candidate ? 0.0 : unordered.against[index].median,
                         std::move(sound[index]));
  }
  std::ranges::stable_sort(ordered, {}, [](const auto& one) { return one.first; });
  std::ranges::transform(ordered, sound.begin(), [](auto& one) { return std::move(one.second); });
  ranking.verdict = judge();
  note_disturbed_runs(disturbed.count, disturbed.of, ranking.verdict);
  return ranking;
}

RunVerdicts verdicts_of(const std::vector<ResultRecord>& records) {
  auto comparable = comparable_runs(records);
  RunVerdicts verdicts;
  verdicts.left_out = std::move(comparable.left_out);
  for (const auto& measured : comparable.configurations)
    row_of(measured.asked, verdicts.grids).cells.push_back(measured);
  for (auto& row : verdicts.grids) {
    std::ranges::stable_sort(row.cells, {}, [](const auto& cell) {
      return std::pair(cell.asked.configuration.grid.columns, cell.asked.form);
    });
    row.ranking = rank_by_time(row.cells);
  }
  auto& choices = verdicts.choices;
  for (const auto& row : verdicts.grids) {
    // A matrix is streamed where memory does not hold it: that is no alternative to one in memory.
    const auto holds_it = [&](const auto& other) {
      return other.common.storage.empty() && other.ranking.candidate() != nullptr &&
             other.has_problem_of(row);
    };
    if (!row.common.storage.empty() && std::ranges::any_of(verdicts.grids, holds_it)) continue;
    const auto known =
        std::ranges::find_if(choices, [&](const auto& choice) { return choice.has_problem_of(row); });
    if (known == choices.end())
      choices.push_back(row);
    else
      known->cells.insert(known->cells.end(), row.cells.begin(), row.cells.end());
  }
  for (auto& choice : choices) choice.ranking = rank_by_time(choice.cells);
  return verdicts;
}

// ---------------------------------------------------------------- two grids, phase by phase

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
  m.derived("slower_us", microseconds_per_s * one.slower.measured_s);
  m.derived("faster_us", microseconds_per_s * one.faster.measured_s);
  m.derived("difference_us", microseconds_per_s * one.change.measured_s);
  m.derived("is_sure", one.is_sure(), meaning("Beyond the noise."));
  m("share", one.share, meaning("Of the whole difference; all together are 1."));
  m.derived("waiting_us", microseconds_per_s * one.change.waited_s, meaning("A part of difference_us."));
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
  m.derived("difference_us", microseconds_per_s * difference.difference_s);
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
