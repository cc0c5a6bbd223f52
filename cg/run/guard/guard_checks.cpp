#include "cg/run/guard/guard_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

namespace cg2d {

GuardChecks::GuardChecks(const GuardOptions& options, const GuardedParts& parts,
                         const ProductChecksums* checksums)
    : options_(options), parts_(parts), injector_({}, parts.group.rank()) {
  if (!options_.checks) return;
  checksums_ = *checksums;
  seal_.emplace(parts_.product.stored_arrays(), parts_.thread_count);
  const auto grid = parts_.layout.grid();
  scale_ = {
      .norm = parts_.group.maximum(checksums_->largest_column_sum()) * grid.rows,
      .longest_row = static_cast<double>(parts_.group.maximum(checksums_->longest_row()) * grid.columns),
      .order = static_cast<double>(parts_.layout.size())};
}

void GuardChecks::flip(FaultTarget target, std::span<double> vector) {
  if (injects_) injector_.flip(target, place_, vector);
}

void GuardChecks::begin_attempt(const CheckedSteps& steps) {
  steps_ = steps;
  awaited_ = Awaited::nothing;
  is_agreed_ = false;
  found_ = {};
}

bool GuardChecks::before_product(const GuardedVectors& vectors, bool is_first, bool takes_faults) {
  const bool checks_columns = options_.checks && is_first;
  if (takes_faults && injects_) {
    flip(FaultTarget::p, vectors.operand);
    flip(FaultTarget::r, vectors.residual);
    flip(FaultTarget::z, vectors.solution);
    injector_.flip_matrix(place_, parts_.product, checks_columns);
  }
  if (checks_columns) {
    const Timed timed(*this);
    note(GuardCheck::column_range, parts_.product.has_columns_in_range());
  }
  // A column number that is out of range stays so until the attempt ends.
  return !(found_.is_found && found_.check == GuardCheck::column_range);
}

void GuardChecks::after_product(bool takes_faults) {
  auto& communicator = parts_.communicator;
  if (takes_faults && injects_) {
    auto* const mirror = communicator.mirror();
    injector_.flip(FaultTarget::block_product, place_, communicator.partial(),
                   mirror != nullptr ? mirror->column_partial() : std::span<double>());
  }
  if (!options_.checks) return;
  const Timed timed(*this);
  note(GuardCheck::block_product, checksums_->error_of(communicator, parts_.product.low_partial()));
}

void GuardChecks::check_step(const CgState& state, bool has_sums) {
  auto& largest_rho = steps_.largest_rho;
  largest_rho = std::max({largest_rho, std::abs(state.alpha * state.curvature), std::abs(state.rho)});
  auto relation = steps_.relation.after_step(state, product_square_);
  if (!has_sums) relation = {.error = std::numeric_limits<double>::infinity(), .tolerance = 0.0};
  note(GuardCheck::step_relation, relation);
}

void GuardChecks::check_residual(const ResidualSquares& squares, int product_count, double further_norm) {
  constexpr double twice_roundoff = std::numeric_limits<double>::epsilon();
  const double norm = std::sqrt(squares.operand) + further_norm;
  note(GuardCheck::residual,
       {.error = std::sqrt(squares.difference),
        .tolerance = twice_roundoff * product_count *
                     ((scale_.longest_row + 4.0) * scale_.norm * norm + std::sqrt(steps_.largest_rho))},
       squares.own_difference);
}

void GuardChecks::check_seal(int number, bool is_last) {
  const Timed timed(*this);
  note(GuardCheck::matrix_bytes,
       is_last ? seal_->holds(0, 1) : seal_->holds(number % seal_share_count, seal_share_count));
}

void GuardChecks::note(GuardCheck check, const CheckedError& error, double share) {
  const auto index = static_cast<std::size_t>(check);
  ++check_counts_[index];
  if (error.holds()) {
    largest_ratios_[index] = std::max(largest_ratios_[index], error.ratio());
    return;
  }
  if (found_.is_found) return;
  found_ = {.is_found = true,
            .check = check,
            .rank = parts_.group.rank(),
            .outer_step = place_.outer_step,
            .product = place_.product,
            .error = error.error,
            .tolerance = error.tolerance,
            .share = share};
}

void GuardChecks::note(GuardCheck check, bool holds) {
  note(check, CheckedError{.error = holds ? 0.0 : 1.0, .tolerance = 0.0});
}

std::optional<ResidualSquares> GuardChecks::sum(LinearOperator& matrix, std::span<double> values,
                                                const std::function<TwoSums(Awaited)>& measure) {
  const auto awaited = std::exchange(awaited_, Awaited::nothing);
  if (!options_.checks) {
    matrix.sum_over_ranks(values);
    return std::nullopt;
  }
  TwoSums mine;
  if (awaited != Awaited::nothing) {
    const Timed timed(*this);
    mine = measure(awaited);
  }
  std::array<double, 2> measures{mine.first, mine.second};
  sum_with_flag(matrix, values, std::span(measures).first(static_cast<std::size_t>(awaited)));
  if (awaited == Awaited::step_product) product_square_ = measures[0];
  if (awaited != Awaited::residual_product) return std::nullopt;
  return ResidualSquares{.difference = measures[0], .operand = measures[1], .own_difference = mine.first};
}

void GuardChecks::sum_with_flag(LinearOperator& matrix, std::span<double> values,
                                std::span<double> measures) {
  std::array<double, comm::Communicator::largest_scalar_count> all{};
  const auto flag = std::ranges::copy(measures, std::ranges::copy(values, all.begin()).out).out;
  *flag = has_found() ? 1.0 : 0.0;
  const auto count = static_cast<std::size_t>(flag + 1 - all.begin());
  matrix.sum_over_ranks(
      std::span(all).first(*std::ranges::lower_bound(comm::Communicator::scalar_counts, count)));
  const auto sums = std::span<const double>(all);
  std::ranges::copy(sums.first(values.size()), values.begin());
  std::ranges::copy(sums.subspan(values.size(), measures.size()), measures.begin());
  if (*flag != 0.0) is_agreed_ = true;
}

Detection GuardChecks::first_of_all_ranks() {
  const auto all = parts_.group.gather_one(found_);
  const Detection* first = nullptr;
  const auto is_before = [](const Detection& left, const Detection& right) {
    return std::tuple(left.product, left.check, -left.share) <
           std::tuple(right.product, right.check, -right.share);
  };
  for (const auto& found : all) {
    if (found.is_found && (first == nullptr || is_before(found, *first))) first = &found;
  }
  return first == nullptr ? Detection{} : *first;
}

AttemptVerdict GuardChecks::judge(bool has_any_found) {
  if (!has_any_found) {
    failed_attempts_ = 0;
    return AttemptVerdict::accepted;
  }
  const auto first = first_of_all_ranks();
  detections_.push_back(first);
  ++failed_attempts_;
  const bool is_same = failed_attempts_ > 1 && first.check == last_failure_.check &&
                       first.rank == last_failure_.rank && first.product == last_failure_.product;
  last_failure_ = first;
  if (is_same) {
    reason_ = fmt::format("soft error, there again in a second attempt: {}", describe(first));
    return AttemptVerdict::refused;
  }
  if (failed_attempts_ == most_attempts) {
    reason_ = fmt::format("soft errors in {} attempts, the last one: {}", failed_attempts_, describe(first));
    return AttemptVerdict::refused;
  }
  ++rollback_count_;
  return AttemptVerdict::again;
}

GuardReport GuardChecks::report(double whole_s) const {
  struct OfRank {
    std::array<std::int64_t, guard_check_count> check_counts{};
    std::array<double, guard_check_count> largest_ratios{};
    double time_s = 0.0;
  };
  GuardReport report;
  report.options = options_;
  report.detections = detections_;
  report.rollback_count = rollback_count_;
  for (const auto& rank : parts_.group.gather_one(OfRank{check_counts_, largest_ratios_, time_s_})) {
    for (std::size_t check = 0; check < guard_check_count; ++check) {
      report.check_counts[check] += rank.check_counts[check];
      report.largest_ratios[check] = std::max(report.largest_ratios[check], rank.largest_ratios[check]);
    }
    report.time_s = std::max(report.time_s, rank.time_s);
  }
  report.time_share = whole_s > 0.0 ? report.time_s / whole_s : 0.0;
  const auto all = parts_.group.gather_all(std::span<const Fault>(injector_.faults()));
  report.faults = all.front();
  for (std::size_t index = 0; index < report.faults.size(); ++index)
    report.faults[index] = all[static_cast<std::size_t>(report.faults[index].rank)][index];
  return report;
}

}  // namespace cg2d
