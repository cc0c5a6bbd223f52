#include "cg/studies/study_rounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "cg/base/agreement.hpp"
#include "cg/base/sample.hpp"

namespace cg2d {
namespace {

/// Seconds of these steps, from their first on; nothing before the first run of the study.
std::optional<double> expected_s(const DurationModel& durations, const std::vector<StudyCase>& cases,
                                 const std::vector<StudyStep>& steps, std::size_t first = 0) {
  double seconds = 0.0;
  for (std::size_t k = first; k < steps.size(); ++k) {
    const auto one = durations.expected(cases[steps[k].number].work);
    if (!one) return std::nullopt;
    seconds += *one;
  }
  return seconds;
}

}  // namespace

std::vector<StudyStep> interleaved(const std::vector<std::size_t>& numbers, RoundRange rounds) {
  std::vector<StudyStep> steps;
  for (int round = rounds.first; round <= rounds.last; ++round) {
    const auto first = std::ssize(steps);
    for (const auto number : numbers) steps.push_back({.number = number, .round = round});
    if (round % 2 == 0) std::reverse(steps.begin() + first, steps.end());
  }
  return steps;
}

std::vector<std::size_t> all_numbers(std::size_t case_count) {
  std::vector<std::size_t> numbers(case_count);
  std::iota(numbers.begin(), numbers.end(), 0U);
  return numbers;
}

std::vector<StudyStep> of_rank_0(comm::RankGroup& group, const std::vector<StudyStep>& steps) {
  const bool is_first = group.rank() == 0;
  return group.gather_all(is_first ? std::span(steps) : std::span<const StudyStep>()).front();
}

void repeat_step(std::vector<StudyStep>& steps, std::size_t index) {
  auto again = steps[index];
  ++again.attempt;
  const auto after = std::find_if(steps.begin() + static_cast<std::ptrdiff_t>(index), steps.end(),
                                  [&](const auto& step) { return step.round > again.round; });
  steps.insert(after, again);
}

StudyRounds::StudyRounds(StudyRuns& runs, std::vector<StudyCase> cases, SubgroupCache& ranks,
                         comm::RankGroup& group, const Progress& progress)
    : runs_(runs),
      cases_(std::move(cases)),
      first_ranks_(ranks),
      group_(group),
      progress_(progress),
      last_rounds_(cases_.size()) {}

void StudyRounds::note(const StudyStep& step, double duration_s) {
  durations_.add(case_of(step).work, duration_s);
  last_rounds_[step.number] = std::max(last_rounds_[step.number], step.round);
}

bool StudyRounds::perform(std::vector<StudyStep> steps) {
  steps_ = std::move(steps);
  for (std::size_t index = 0; index < steps_.size(); ++index) {
    if (group_.maximum(static_cast<std::int64_t>(watch_.asked())) != 0) return false;
    perform_step(index);
  }
  return true;
}

bool StudyRounds::perform_until_sure(const UntilSure& until_sure) {
  const Stopwatch added;
  for (;;) {
    std::vector<StudyStep> steps;
    if (group_.rank() == 0) steps = more_rounds(until_sure, added.seconds());
    steps = of_rank_0(group_, steps);
    if (steps.empty()) return true;
    if (!perform(std::move(steps))) return false;
  }
}

/// On rank 0.
std::vector<StudyStep> StudyRounds::more_rounds(const UntilSure& until_sure, double spent_s) const {
  const auto open = runs_.open_cases(until_sure.precision);
  if (open.empty()) return {};
  int last = 0;
  for (const auto number : open) last = std::max(last, last_rounds_[number]);
  const double round_s = std::max(1e-3, expected_s(durations_, cases_, interleaved(open, {})).value_or(0.0));
  const auto affordable =
      static_cast<int>(std::floor(std::clamp((until_sure.budget_s - spent_s) / round_s, 0.0, 1e6)));
  if (affordable == 0) say_on_stderr("--budget is spent; the table says what is not distinguishable");
  return interleaved(open, {.first = last + 1,
                            .last = std::min(rounds_after_next_block(last, open.size()), last + affordable)});
}

void StudyRounds::perform_step(std::size_t index) {
  const auto step = steps_[index];
  progress_.begin(place_of(index));
  expect_from(index);
  std::int64_t repeats = 0;
  agree_on(group_, [&] {
    auto* const ranks = first_ranks_.of(case_of(step).rank_count);
    if (ranks == nullptr) return;
    const Stopwatch watch;
    runs_.perform(step, *ranks, Progress(Progress::Within{progress_, [&](double left_s) {
                                                            return left_s +
                                                                   rest_s(index, watch.seconds() + left_s);
                                                          }}));
    if (group_.rank() != 0) return;
    const double duration_s = watch.seconds();
    const auto end = runs_.keep(step, duration_s);
    if (step.purpose == RunPurpose::time) note(step, duration_s);
    repeats = end.is_repeated ? 1 : 0;
    expect_from(index + 1);
    progress_.say(fmt::format("{}: {}", place_of(index), end.text));
  });
  if (group_.maximum(repeats) != 0) repeat_step(steps_, index);
}

/// "run 3 of 12 (S 2x1 ..., round 1)".
std::string StudyRounds::place_of(std::size_t index) const {
  const auto& step = steps_[index];
  const auto part = step.purpose == RunPurpose::time
                        ? fmt::format("round {}", step.round)
                        : fmt::format("for {}", name_in(words_of(step.purpose), step.purpose));
  return fmt::format("run {} of {} ({}, {})", index + 1, steps_.size(), case_of(step).name, part);
}

void StudyRounds::expect_from(std::size_t index) const {
  if (group_.rank() != 0) return;
  if (const auto rest = expected_s(durations_, cases_, steps_, index)) progress_.expect(*rest);
}

/// Seconds of the runs after that one, where it takes run_s: the others go by it, too.
double StudyRounds::rest_s(std::size_t index, double run_s) const {
  auto durations = durations_;
  durations.add(case_of(steps_[index]).work, run_s);
  return expected_s(durations, cases_, steps_, index + 1).value_or(0.0);
}

}  // namespace cg2d
