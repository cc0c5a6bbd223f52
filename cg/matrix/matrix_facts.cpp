#include "cg/matrix/matrix_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

#include "cg/base/describe.hpp"

namespace cg2d {

MatrixKey npb_matrix_key(std::string_view class_name, int64_t order, int nonzer) {
  const auto* const known = find_class(class_name);
  const bool is_class = known != nullptr && known->n == order && known->nonzer == nonzer;
  return {.name = is_class ? known->class_name : fmt::format("U(n {}, nonzer {})", order, nonzer),
          .order = order,
          .nonzer = nonzer,
          .pattern_hash = hash_of_text(fmt::format("npb n {} nonzer {}", order, nonzer))};
}

MatrixFacts facts_of(const Problem& problem) {
  return {.key = npb_matrix_key(problem.class_name, problem.n, problem.nonzer),
          .nonzero_count = expected_nonzero_count(problem),
          .row_lengths = [problem](int column_block_count) {
            return expected_row_lengths(problem, column_block_count);
          }};
}

MatrixFacts counted_facts(const MatrixKey& key, std::span<const int64_t> rows_by_length) {
  const auto whole_rows = distribution_of(rows_by_length);
  return {.key = key,
          .nonzero_count = whole_rows.mean() * static_cast<double>(key.order),
          .row_lengths = [whole_rows](int column_block_count) {
            return thinned(whole_rows, column_block_count);
          }};
}

uint64_t hash_of_text(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325U;
  for (const char letter : text) {
    hash ^= static_cast<unsigned char>(letter);
    hash *= 0x100000001b3U;
  }
  return hash;
}

namespace {

double share_or_zero(int64_t part, int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0.0;
}

double log_factorial(int value) { return std::lgamma(static_cast<double>(value) + 1.0); }

/// Adds weight * P(k of `trials` positions lie in the block), for each k. Terms more than 12 standard
/// deviations and 40 positions from the mean are below 1e-30 and left out.
void add_binomial(double weight, int trials, double probability, std::vector<double>& share) {
  if (share.size() <= static_cast<size_t>(trials)) share.resize(static_cast<size_t>(trials) + 1);
  const double mean = trials * probability;
  const double reach = 12.0 * std::sqrt(mean * (1.0 - probability)) + 40.0;
  const int first = static_cast<int>(std::max(mean - reach, 0.0));
  const int last = static_cast<int>(std::min(mean + reach, static_cast<double>(trials)));
  for (int k = first; k <= last; ++k) {
    const double log_choices = log_factorial(trials) - log_factorial(k) - log_factorial(trials - k);
    const double log_share = k * std::log(probability) + (trials - k) * std::log1p(-probability);
    share[static_cast<size_t>(k)] += weight * std::exp(log_choices + log_share);
  }
}

}  // namespace

double RowLengths::mean() const { return share_or_zero(nonzero_count, row_count); }

RowLengths row_lengths(const kernels::CsrBlock& block, int64_t critical_vector_length) {
  RowLengths lengths{.critical_vector_length = critical_vector_length,
                     .row_count = block.row_count,
                     .nonzero_count = block.nonzero_count()};
  const auto* const starts = block.row_starts.data();
  for (int64_t row = 0; row < block.row_count; ++row) {
    const auto length = starts[row + 1] - starts[row];
    lengths.shortest = row == 0 ? length : std::min(lengths.shortest, length);
    lengths.longest = std::max(lengths.longest, length);
    if (length >= critical_vector_length) continue;
    ++lengths.short_row_count;
    lengths.short_row_nonzero_count += length;
  }
  return lengths;
}

RowLengths merged(const RowLengths& first, const RowLengths& second) {
  assert(first.critical_vector_length == second.critical_vector_length);
  if (first.row_count == 0) return second;
  if (second.row_count == 0) return first;
  return {.critical_vector_length = first.critical_vector_length,
          .row_count = first.row_count + second.row_count,
          .nonzero_count = first.nonzero_count + second.nonzero_count,
          .shortest = std::min(first.shortest, second.shortest),
          .longest = std::max(first.longest, second.longest),
          .short_row_count = first.short_row_count + second.short_row_count,
          .short_row_nonzero_count = first.short_row_nonzero_count + second.short_row_nonzero_count};
}

double RowLengthDistribution::mean() const { return nonzeros_below(static_cast<int>(share.size())); }

double RowLengthDistribution::share_below(int length) const {
  const auto end = share.begin() + std::min<ptrdiff_t>(std::max(length, 0), std::ssize(share));
  return std::accumulate(share.begin(), end, 0.0);
}

double RowLengthDistribution::nonzeros_below(int length) const {
  double sum = 0.0;
  const auto end = std::min(std::max(length, 0), static_cast<int>(share.size()));
  for (int k = 0; k < end; ++k) sum += k * share[static_cast<size_t>(k)];
  return sum;
}

RowLengthDistribution expected_row_lengths(const Problem& problem, int column_block_count) {
  constexpr double negligible = 1e-12;
  const auto n = static_cast<double>(problem.n);
  RowLengthDistribution distribution;
  if (problem.n < 2) return {.share = {0.0, 1.0}};
  for (int others = 0;; ++others) {
    const double weight =  // Poisson
        std::exp(others * std::log(problem.nonzer) - problem.nonzer - log_factorial(others));
    if (weight < negligible && others > problem.nonzer) break;
    const int positions = (others + 1) * problem.nonzer + 1;
    // The share that is left when equal positions count once, on average.
    const double distinct_share = n * -std::expm1(positions * std::log1p(-1.0 / n)) / positions;
    const double probability = distinct_share / column_block_count;
    add_binomial(weight, positions, std::min(probability, 1.0 - negligible), distribution.share);
  }
  const double sum = std::accumulate(distribution.share.begin(), distribution.share.end(), 0.0);
  for (double& share : distribution.share) share /= sum;
  return distribution;
}

RowLengthDistribution distribution_of(std::span<const int64_t> rows_by_length) {
  const auto rows = std::accumulate(rows_by_length.begin(), rows_by_length.end(), int64_t{0});
  RowLengthDistribution distribution;
  for (const auto count : rows_by_length) distribution.share.push_back(share_or_zero(count, rows));
  return distribution;
}

RowLengthDistribution thinned(const RowLengthDistribution& whole_rows, int column_block_count) {
  if (column_block_count == 1) return whole_rows;
  RowLengthDistribution distribution;
  for (size_t length = 0; length < whole_rows.share.size(); ++length) {
    const double weight = whole_rows.share[length];
    if (weight > 0.0)
      add_binomial(weight, static_cast<int>(length), 1.0 / column_block_count, distribution.share);
  }
  return distribution;
}

void describe(Members& m, RowLengths& lengths) {
  double mean = lengths.mean();
  m("critical_vector_length", lengths.critical_vector_length, at_least(0, "2147483647: vectors never pay."));
  m("rows", lengths.row_count, at_least(0));
  m("minimum", lengths.shortest, at_least(0));
  m("mean", mean, at_least(0));
  m("maximum", lengths.longest, at_least(0));
  m("rows_below", lengths.short_row_count, at_least(0, "Shorter than the critical vector length."));
  m("nonzeros_below", lengths.short_row_nonzero_count, at_least(0, "In those rows."));
  if (m.reads()) lengths.nonzero_count = std::llround(mean * static_cast<double>(lengths.row_count));
}

}  // namespace cg2d
