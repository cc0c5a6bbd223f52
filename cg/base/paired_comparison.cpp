#include "cg/base/paired_comparison.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "cg/base/describe.hpp"
#include "cg/base/sample.hpp"

namespace cg2d {
namespace {

/// P(X <= k) for k = 0, 1, ..., trials, 0 < probability < 1. The terms of many trials are below what a double holds.
std::vector<double> binomial_cumulative(int trials, double probability) {
  const auto odds = static_cast<long double>(probability) / (1.0L - probability);
  long double term = std::pow(1.0L - probability, static_cast<long double>(trials));
  long double sum = term;
  std::vector<double> cumulative;
  for (int k = 0; k <= trials; ++k) {
    cumulative.push_back(static_cast<double>(sum));
    term *= odds * (trials - k) / (k + 1);
    sum += term;
  }
  return cumulative;
}

/// The interval goes from the ratio of this rank, from 1 on, to that of the same rank from the other end.
/// 0: there are too few rounds.
int rank_of_bound(int round_count, double tail_probability) {
  constexpr double rounding = 1.0 + 1e-12;
  const auto cumulative = binomial_cumulative(round_count, 0.5);
  const auto beyond = std::ranges::upper_bound(cumulative, tail_probability * rounding);
  return static_cast<int>(beyond - cumulative.begin());
}

std::vector<double> logarithms_of(std::vector<double> ratios) {
  for (double& ratio : ratios) ratio = std::log(ratio);
  return ratios;
}

/// The change from the first to the last round where it is no accident, else 0. H. B. Mann, Econometrica 13
/// (1945); P. K. Sen, J. Am. Stat. Assoc. 63 (1968).
double drift_of(const std::vector<double>& values) {
  std::vector<double> slopes;
  double signs = 0.0;
  for (size_t late = 1; late < values.size(); ++late) {
    for (size_t early = 0; early < late; ++early) {
      const double rise = values[late] - values[early];
      signs += (rise > 0.0 ? 1.0 : 0.0) - (rise < 0.0 ? 1.0 : 0.0);
      slopes.push_back(rise / static_cast<double>(late - early));
    }
  }
  if (slopes.empty()) return 0.0;
  const auto count = static_cast<double>(values.size());
  const double deviation = std::sqrt(count * (count - 1.0) * (2.0 * count + 5.0) / 18.0);
  constexpr double one_in_twenty = 1.645;
  if (std::abs(signs) <= one_in_twenty * deviation) return 0.0;
  return std::abs(middle_of(std::move(slopes))) * (count - 1.0);
}

/// Ratios of the rounds that both have.
std::vector<double> paired_ratios(const RoundTimes& slower, const RoundTimes& faster) {
  std::vector<double> ratios;
  for (const auto& [round, seconds] : slower) {
    if (const auto other = faster.find(round); other != faster.end())
      ratios.push_back(seconds / other->second);
  }
  return ratios;
}

double median_seconds(const RoundTimes& times) {
  std::vector<double> seconds;
  for (const auto& [round, one] : times) seconds.push_back(one);
  return sample_of(std::move(seconds)).median;
}

/// a / b and b / a have inverse medians.
double median_of_ratios(const std::vector<double>& ratios) {
  return std::exp(middle_of(logarithms_of(ratios)));
}

/// The median ratio of the paired rounds; the ratio of the medians where no round is paired.
double median_ratio(const RoundTimes& slower, const RoundTimes& faster) {
  const auto ratios = paired_ratios(slower, faster);
  if (ratios.empty()) return median_seconds(slower) / median_seconds(faster);
  return median_of_ratios(ratios);
}

/// The part of wrong_verdict_probability that each comparison of the best one with another gets: two alternatives
/// or more.
double tail_probability_of(size_t alternative_count) {
  return wrong_verdict_probability / static_cast<double>(alternative_count - 1);
}

/// The alternative that the others beat least.
size_t candidate_of(std::span<const RoundTimes> alternatives) {
  std::vector<double> greatest_ratios(alternatives.size(), 0.0);
  for (size_t one = 0; one < alternatives.size(); ++one) {
    for (size_t other = 0; other < alternatives.size(); ++other) {
      if (other != one)
        greatest_ratios[one] =
            std::max(greatest_ratios[one], median_ratio(alternatives[one], alternatives[other]));
    }
  }
  return static_cast<size_t>(std::ranges::min_element(greatest_ratios) - greatest_ratios.begin());
}

/// The standard deviation of the noise by the median deviation, which outliers do not change.
double robust_deviation(std::vector<double> values) {
  const double median = middle_of(values);
  for (double& value : values) value = std::abs(value - median);
  constexpr double normal_scale = 1.4826;
  return normal_scale * middle_of(std::move(values));
}

std::string percent_of(double gain) {
  const double percent = 100.0 * gain;
  return fmt::format("{:.{}f}", percent, std::abs(percent) < 9.95 ? 1 : 0);
}

/// "faster than 2x1 in 2 of 3 rounds, than 4x1 in 3 of 3".
std::string paired_rounds_text(const BestVerdict& verdict, std::span<const std::string> names) {
  constexpr size_t most_named = 4;
  const auto count = verdict.undecided.size();
  std::string text = "faster";
  for (size_t k = 0; k < std::min(count, most_named); ++k) {
    const auto index = verdict.undecided[k];
    const auto& against = verdict.against[index];
    if (against.round_count == 0) {
      text += fmt::format("{} than {} by the median, in no common round", k == 0 ? "" : ",", names[index]);
      continue;
    }
    text += fmt::format("{} than {} in {} of {}{}", k == 0 ? "" : ",", names[index], against.above_one,
                        against.round_count,
                        k > 0                      ? ""
                        : against.round_count == 1 ? " round"
                                                   : " rounds");
  }
  if (count > most_named) text += fmt::format(", and {} more may be best", count - most_named);
  return text;
}

}  // namespace

RatioInterval interval_of(const std::vector<double>& ratios, double tail_probability) {
  RatioInterval interval{.round_count = ratios.size(), .fewest_rounds = fewest_rounds(tail_probability)};
  if (ratios.empty()) return interval;
  interval.median = median_of_ratios(ratios);
  interval.above_one =
      static_cast<size_t>(std::ranges::count_if(ratios, [](double ratio) { return ratio > 1.0; }));
  const int rank = rank_of_bound(static_cast<int>(ratios.size()), tail_probability);
  if (rank == 0) return interval;
  auto ordered = ratios;
  std::ranges::sort(ordered);
  const auto place = static_cast<size_t>(rank);
  const double growth = std::exp(0.5 * drift_of(logarithms_of(ratios)));
  interval.low = ordered[place - 1] / growth;
  interval.high = ordered[ordered.size() - place] * growth;
  return interval;
}

RatioInterval ratio_of(const RoundTimes& slower, const RoundTimes& faster, double tail_probability) {
  return interval_of(paired_ratios(slower, faster), tail_probability);
}

RatioInterval common_interval(const std::vector<std::vector<double>>& ratios_of_rounds,
                              double tail_probability) {
  std::vector<double> ratios;
  std::vector<double> medians;
  for (const auto& round : ratios_of_rounds) {
    if (round.empty()) continue;
    ratios.insert(ratios.end(), round.begin(), round.end());
    medians.push_back(median_of_ratios(round));
  }
  auto interval = interval_of(ratios, tail_probability);
  constexpr int fewest_medians = 3;
  const int round_count = static_cast<int>(medians.size());
  const bool is_bounded = interval.is_bounded() && round_count >= fewest_medians;
  const int per_round = round_count == 0 ? 1 : static_cast<int>(ratios.size()) / round_count;
  interval.round_count = medians.size();
  interval.fewest_rounds = std::max(fewest_medians, (interval.fewest_rounds + per_round - 1) / per_round);
  if (!is_bounded) {
    interval.low = 0.0;
    interval.high = std::numeric_limits<double>::infinity();
    return interval;
  }
  auto by_round = interval_of(medians, tail_probability);
  if (!by_round.is_bounded()) {
    by_round.low = *std::ranges::min_element(medians);
    by_round.high = *std::ranges::max_element(medians);
  }
  interval.low = std::min(interval.low, by_round.low);
  interval.high = std::max(interval.high, by_round.high);
  return interval;
}

int fewest_rounds(double tail_probability) {
  int count = 1;
  while (rank_of_bound(count, tail_probability) == 0) ++count;
  return count;
}

std::optional<int> rounds_needed(const std::vector<double>& ratios, double bound, double tail_probability) {
  const int fewest = fewest_rounds(tail_probability);
  if (ratios.size() < 2) return fewest;
  const auto logarithms = logarithms_of(ratios);
  const double median = middle_of(logarithms);
  const double distance = std::abs(median - std::log(bound));
  const double deviation = robust_deviation(logarithms);
  // Probability of a round on the wrong side: that of normal noise, or as often as it happened.
  const auto against = std::ranges::count_if(
      logarithms, [&](double value) { return (value > std::log(bound)) != (median > std::log(bound)); });
  const double by_noise = deviation > 0.0 ? 0.5 * std::erfc(distance / deviation / std::sqrt(2.0)) : 0.0;
  const double by_count = 0.5 * static_cast<double>(against) / static_cast<double>(ratios.size());
  const double wrong_side = std::max({by_noise, by_count, 1e-9});
  constexpr double power = 0.8;
  // The rounds that there are were too few.
  const int first = std::max(fewest, static_cast<int>(ratios.size()) + 2);
  for (int count = first; count <= most_suggested_rounds; ++count) {
    const int rank = rank_of_bound(count, tail_probability);
    if (rank > 0 && binomial_cumulative(count, wrong_side)[static_cast<size_t>(rank) - 1] >= power)
      return count;
  }
  return std::nullopt;
}

Certainty BestVerdict::certainty() const {
  if (against.size() < 2) return Certainty::alone;
  if (undecided.empty()) return Certainty::decided;
  const bool lacks_rounds =
      std::ranges::any_of(undecided, [&](auto index) { return !against[index].is_bounded(); });
  return lacks_rounds ? Certainty::too_few_rounds : Certainty::not_distinguishable;
}

std::span<const NamedValue<Certainty>> words_of(Certainty /*certainty*/) {
  static constexpr std::array words{
      NamedValue<Certainty>{"alone", Certainty::alone}, NamedValue<Certainty>{"decided", Certainty::decided},
      NamedValue<Certainty>{"too-few-rounds", Certainty::too_few_rounds},
      NamedValue<Certainty>{"not-distinguishable", Certainty::not_distinguishable}};
  return words;
}

std::string_view best_mark(Certainty certainty, bool may_be_best) {
  if (!may_be_best || certainty == Certainty::alone) return "";
  return certainty == Certainty::decided ? "*" : "~";
}

bool BestVerdict::is_better_than(size_t other) const {
  return other != candidate && std::ranges::find(undecided, other) == undecided.end();
}

bool are_mostly_disturbed(int64_t disturbed_count, int64_t run_count) {
  return 2 * disturbed_count > run_count;
}

void note_disturbed_runs(int64_t disturbed_count, int64_t run_count, BestVerdict& verdict) {
  verdict.is_noisy = !verdict.undecided.empty() && are_mostly_disturbed(disturbed_count, run_count);
  if (verdict.is_noisy) verdict.suggested_rounds.reset();
}

BestVerdict find_best(std::span<const RoundTimes> alternatives) {
  BestVerdict verdict{.candidate = candidate_of(alternatives), .against = {}};
  verdict.next = verdict.candidate;
  verdict.against.resize(alternatives.size());
  if (alternatives.size() == 1) return verdict;
  const double tail_probability = tail_probability_of(alternatives.size());
  constexpr double bound = 1.0 + least_claimed_gain;
  const auto& candidate = alternatives[verdict.candidate];
  int rounds = 0;
  bool is_hopeless = false;
  double least = std::numeric_limits<double>::infinity();
  for (size_t other = 0; other < alternatives.size(); ++other) {
    if (other == verdict.candidate) continue;
    const auto ratios = paired_ratios(alternatives[other], candidate);
    auto& against = verdict.against[other];
    against = interval_of(ratios, tail_probability);
    if (ratios.empty()) against.median = median_ratio(alternatives[other], candidate);
    if (against.median < least) {
      least = against.median;
      verdict.next = other;
    }
    if (against.is_above(bound)) continue;
    verdict.undecided.push_back(other);
    const auto needed = rounds_needed(ratios, bound, tail_probability);
    rounds = std::max(rounds, needed.value_or(0));
    is_hopeless = is_hopeless || !needed;
  }
  if (!verdict.undecided.empty() && !is_hopeless) verdict.suggested_rounds = rounds;
  return verdict;
}

std::vector<size_t> open_alternatives(const BestVerdict& verdict, double precision) {
  auto open = verdict.undecided;
  std::erase_if(open, [&](auto index) { return verdict.against[index].is_below(1.0 + precision); });
  if (!open.empty()) open.push_back(verdict.candidate);
  return open;
}

int rounds_for_verdict(size_t alternative_count) {
  constexpr int first_look = 3;
  return alternative_count < 2 ? first_look : fewest_rounds(tail_probability_of(alternative_count));
}

int rounds_after_next_block(int round_count, size_t alternative_count) {
  return std::max({round_count + 2, round_count + round_count / 2,
                   rounds_for_verdict(std::max<size_t>(2, alternative_count))});
}

std::string gain_text(const RatioInterval& ratio) {
  const auto gain = percent_of(ratio.median - 1.0);
  if (!ratio.is_bounded()) return gain + " %";
  return fmt::format("{} % ({} ... {} %)", gain, percent_of(ratio.low - 1.0), percent_of(ratio.high - 1.0));
}

std::string lack_of_rounds(const RatioInterval& ratio) {
  if (ratio.round_count == 0) return "not decided: they did not run in the same rounds";
  return fmt::format("not decided: {} of at least {} rounds", ratio.round_count, ratio.fewest_rounds);
}

std::string advice_text(const BestVerdict& verdict, std::string_view rounds_option) {
  if (verdict.is_noisy) return "; too noisy to decide: most runs were disturbed";
  std::string text;
  if (verdict.certainty() == Certainty::too_few_rounds) {
    const auto fewest = std::ranges::min_element(
        verdict.undecided, {}, [&](auto index) { return verdict.against[index].round_count; });
    const auto& against = verdict.against[*fewest];
    if (against.round_count == 0) return text;
    text = fmt::format("; at least {} rounds are needed", against.fewest_rounds);
  }
  if (rounds_option.empty()) return text;
  if (!verdict.suggested_rounds) return text + "; the difference is below the noise";
  return text + fmt::format(" (take {} {})", rounds_option, *verdict.suggested_rounds);
}

std::string verdict_text(const BestVerdict& verdict, std::span<const std::string> names,
                         std::string_view rounds_option) {
  const auto certainty = verdict.certainty();
  if (certainty == Certainty::alone) return {};
  if (certainty != Certainty::decided)
    return paired_rounds_text(verdict, names) + advice_text(verdict, rounds_option);
  return fmt::format("better than {} by {}", names[verdict.next], gain_text(verdict.against[verdict.next]));
}

void describe(Members& m, RatioInterval& ratio) {
  auto low = ratio.is_bounded() ? std::optional(ratio.low) : std::nullopt;
  auto high = ratio.is_bounded() ? std::optional(ratio.high) : std::nullopt;
  m("ratio", ratio.median, positive("Median; of the medians where no round is paired."));
  m("low", low, or_null(positive("null where there are too few rounds.")));
  m("high", high, or_null(positive()));
  m("paired_rounds", ratio.round_count, at_least(0, "0: no round has both."));
  if (!m.reads()) return;
  ratio.low = low.value_or(0.0);
  ratio.high = high.value_or(0.0);
}

void describe_verdict_test(Members& m) {
  m.object("test", [&] {
    m.derived("name", std::string("sign test of the ratios of paired rounds"));
    m.derived("wrong_verdict_probability", wrong_verdict_probability, positive());
    m.derived("least_claimed_gain", least_claimed_gain, positive());
  });
}

}  // namespace cg2d
