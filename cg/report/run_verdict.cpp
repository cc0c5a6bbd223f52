#include "cg/report/run_verdict.hpp"

#include <tuple>

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
    if (record.is_disturbed()) ++found->disturbed_count;
    if (!record.kernel_used.empty()) found->kernel_used = record.kernel_used;
    if (!record.succeeded()) {
      if (found->statuses.empty()) found->reason = record.reason;
      found->statuses.push_back(record.status);
      continue;
    }
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
  std::vector<RoundTimes> rounds;
  DisturbedRuns disturbed;
  for (const auto& one : sound) {
    rounds.push_back(one.rounds);
    disturbed += one.disturbed_runs();
  }
  const auto unordered = find_best(rounds);
  std::vector<std::pair<double, size_t>> order;
  for (size_t index = 0; index < sound.size(); ++index)
    order.emplace_back(index == unordered.candidate ? 0.0 : unordered.against[index].median, index);
  std::ranges::sort(order);
  auto cells_before = std::exchange(sound, {});
  for (size_t place = 0; place < order.size(); ++place) {
    sound.push_back(std::move(cells_before[order[place].second]));
    rounds[place] = sound.back().rounds;
  }
  ranking.verdict = find_best(rounds);
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

}  // namespace cg2d
