#pragma once

// Whether one of several measured alternatives is faster than the others. Pure: no MPI, no random numbers.
//
// The alternatives run in rounds, each once per round. Two of them are compared by the ratio of their times in
// each round that both have, so that a change of the machine between rounds hits both. The interval of the
// median ratio is that of the sign test: two order statistics of the ratios (W. J. Conover, Practical
// Nonparametric Statistics, 3rd ed. 1999, section 3.2; M. Hollander, D. A. Wolfe, E. Chicken, Nonparametric
// Statistical Methods, 3rd ed. 2014, section 3.6). It assumes independent rounds and nothing about the shape
// of the noise: a round that took ten times as long counts as one sign. The signed-rank test, which assumes
// symmetry, needs as many rounds at these levels, and one such round costs it more; a bootstrap of fewer than
// ten values covers less than it says. The price: below seven rounds there is no interval at all.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cg/base/values.hpp"

namespace cg2d {

class Members;

/// The probability with which one comparison, or one family of comparisons together, may name the wrong one.
inline constexpr double wrong_verdict_probability = 0.01;
/// Below this ratio - 1 nothing is called better: where pages and code come to lie alone moves times by as
/// much (T. Mytkowicz et al., "Producing wrong data without doing anything obviously wrong!", ASPLOS 2009).
inline constexpr double least_claimed_gain = 0.01;
/// No verdict suggests more rounds.
inline constexpr int most_suggested_rounds = 99;

/// Seconds of one alternative by round; only rounds with the same number are compared.
using RoundTimes = std::map<int, double>;

/// Ratios of paired rounds: the median, and the interval that holds the true median.
struct RatioInterval {
  double median = 1.0;  ///< median of one round or more
  double low = 0.0;     ///< 0 and infinity where there are too few rounds
  double high = std::numeric_limits<double>::infinity();
  size_t round_count = 0;  ///< 0: no round has both
  size_t above_one = 0;    ///< of these rounds: how many have a ratio above 1
  int fewest_rounds = 0;   ///< that have an interval

  bool is_bounded() const { return low > 0.0; }
  bool is_above(double ratio) const { return is_bounded() && low > ratio; }
  bool is_below(double ratio) const { return is_bounded() && high < ratio; }
};

/// The interval of these ratios, which are positive and in the order of the rounds. Each of its two ends is
/// wrong with tail_probability at most. Where the ratio itself drifts from round to round (Mann-Kendall test),
/// the rounds are not independent: the interval grows by half of that drift, by Theil and Sen's slope, on both
/// sides.
RatioInterval interval_of(const std::vector<double>& ratios, double tail_probability);
/// interval_of() the ratios slower / faster, round by round.
RatioInterval ratio_of(const RoundTimes& slower, const RoundTimes& faster, double tail_probability);

/// The interval of a ratio that many configurations have in common, by their ratios in each round. Each round's
/// median counts beside the single ratios, since what slows a round down may hit all of its configurations:
/// the ends are the farther ones of both intervals; below the number of rounds that has an interval, those of
/// the least and the greatest median. Fewer than three rounds have none.
RatioInterval common_interval(const std::vector<std::vector<double>>& ratios_of_rounds,
                              double tail_probability);

/// The fewest rounds that have an interval: 7 for wrong_verdict_probability.
int fewest_rounds(double tail_probability);

/// The rounds after which four of five repetitions of this measurement, which has not decided it, should decide on which
/// side of `bound` the ratio is, by the noise of these ratios: more than there are. Empty beyond most_suggested_rounds: the
/// difference is below the noise.
std::optional<int> rounds_needed(const std::vector<double>& ratios, double bound, double tail_probability);

/// How sure it is which of several alternatives is best. "Best" and "fastest" are said of `decided` only.
enum class Certainty {
  alone,                ///< there is nothing to compare with, and no verdict
  decided,              ///< the candidate is better than every other one
  too_few_rounds,       ///< no times whatever could decide in so few rounds
  not_distinguishable,  ///< enough rounds, whose ratios do not separate them
};
/// The mark in tables of an alternative that is best (*) or may be (~); empty for all others, and for one that is alone.
std::string_view best_mark(Certainty certainty, bool may_be_best);

/// The verdict on several alternatives.
struct BestVerdict {
  /// The one that the others beat least by their median ratios, decided or not. Not always the one with the least median.
  size_t candidate = 0;
  /// Time of each alternative by that of the candidate. Nothing for the candidate itself.
  std::vector<RatioInterval> against;
  std::vector<size_t> undecided{};  ///< alternatives that are not distinguishable from the candidate
  size_t next = 0;                  ///< the alternative with the least ratio; the candidate if it is alone
  /// Rounds that should separate them; empty where nothing is undecided, or no number of rounds would do.
  std::optional<int> suggested_rounds{};
  bool is_noisy = false;  ///< undecided, and most runs were disturbed: see note_disturbed_runs()

  Certainty certainty() const;
  /// Whether the candidate is better than every other one, and there is one.
  bool is_decided() const { return certainty() == Certainty::decided; }
  /// Whether it is distinguishable from that one.
  bool is_better_than(size_t other) const;
};

/// Where most of the runs were disturbed, a verdict that is open suggests no more rounds: they would be disturbed, too.
void note_disturbed_runs(int64_t disturbed_count, int64_t run_count, BestVerdict& verdict);
/// Whether that holds of so many runs.
bool are_mostly_disturbed(int64_t disturbed_count, int64_t run_count);

/// alternatives: at least one, each with a round. The candidate is the one whose greatest median ratio to
/// another one is least. It is better than another one when the interval of their ratio is above
/// 1 + least_claimed_gain. The best of several is several comparisons: each gets an equal part of
/// wrong_verdict_probability (Bonferroni), so that the wrong one is called best of all in at most that share of
/// measurements. Cost: alternatives^2 * rounds.
BestVerdict find_best(std::span<const RoundTimes> alternatives);

/// The fewest rounds in which find_best() can decide between so many alternatives: 7 for two, 8 for three, 9 for four
/// to six. A single alternative is in no question: it gets a median of three.
int rounds_for_verdict(size_t alternative_count);

/// Rounds are added until every verdict is decided, or what is open is known to be within `precision` (0.02: 2 %)
/// of the best, or the time is spent.
struct UntilSure {
  double precision = 0.02;
  double budget_s = 600.0;
};
/// The alternatives that need more rounds: the candidate and those that are neither worse than it nor within
/// `precision` of it. Empty where there are none of the latter.
std::vector<size_t> open_alternatives(const BestVerdict& verdict, double precision);
/// The number of rounds after the next block of them: half as many again as there are, at least as many as can
/// decide between so many alternatives. Long blocks keep the looks at the data few: each is another chance to be
/// wrong.
int rounds_after_next_block(int round_count, size_t alternative_count);

/// "12 % (8 ... 15 %)": by how much the ratio is above 1. "12 %" where there is no interval.
std::string gain_text(const RatioInterval& ratio);
/// "not decided: 7 of at least 8 rounds", or that no round has both. ratio: without an interval.
std::string lack_of_rounds(const RatioInterval& ratio);
/// Where it is decided, to follow the candidate's name and "is": "better than 2x2 by 12 % (8 ... 15 %)". Otherwise to follow "no clear winner:",
/// the name and "was": "faster than 1x4 in 5 of 7 rounds, than 2x2 in 6 of 7; at least 8 rounds are needed (take --repeat 9)". Empty for a
/// single alternative. rounds_option: the option that sets the number of rounds; empty where there is none.
std::string verdict_text(const BestVerdict& verdict, std::span<const std::string> names,
                         std::string_view rounds_option);
/// Its last part of a verdict that is open: "; at least 8 rounds are needed (take --repeat 9)", "; too noisy to decide: most runs were disturbed".
std::string advice_text(const BestVerdict& verdict, std::string_view rounds_option);

std::span<const NamedValue<Certainty>> words_of(Certainty certainty);
inline constexpr std::string_view meaning_of_certainty =
    "alone: nothing to compare with; too-few-rounds: no times could decide; not-distinguishable: enough "
    "rounds, whose ratios do not separate them.";
/// Median and interval of the ratios of paired rounds.
void describe(Members& m, RatioInterval& ratio);
/// The test by which alternatives are compared: name and probabilities.
void describe_verdict_test(Members& m);

}  // namespace cg2d
