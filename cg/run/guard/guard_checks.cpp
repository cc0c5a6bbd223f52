#include "cg/run/guard/guard_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace cg2d {

std::string describe(const Detection& detection) {
  const auto place = place_text(detection.rank, detection.outer_step, detection.product);
  switch (detection.check) {
    case GuardCheck::column_range:
      return fmt::format("{}: a stored column number is out of range ({})", place, name_of(detection.check));
    case GuardCheck::matrix_bytes:
      return fmt::format("{}: the CRC-32C of the matrix block has changed ({})", place,
                         name_of(detection.check));
    case GuardCheck::block_product:
    case GuardCheck::step_relation:
    case GuardCheck::residual:
      break;
  }
  const std::string_view relation =
      detection.check == GuardCheck::block_product   ? "the sum of q differs from that of its columns"
      : detection.check == GuardCheck::step_relation ? "alpha^2 ||q||^2 differs from (1 + beta) rho"
                                                     : "x - A z differs from r";
  return fmt::format("{}: {} by {:.3g}, tolerance {:.3g} ({})", place, relation, detection.error,
                     detection.tolerance, name_of(detection.check));
}

GuardChecks::GuardChecks(const GuardOptions& options, const GuardedParts& parts,
                         const ProductChecksums* checksums)
    : options_(options), parts_(parts) {
  if (!options_.checks) return;
  checksums_ = *checksums;
  seal_.emplace(parts_.product.stored_arrays(), parts_.thread_count);
  const auto grid = parts_.layout.grid();
  scale_ = {
      .norm = parts_.group.maximum(checksums_->largest_column_sum()) * grid.rows,
      .longest_row = static_cast<double>(parts_.group.maximum(checksums_->longest_row()) * grid.columns),
      .order = static_cast<double>(parts_.layout.size())};
}

void GuardChecks::flip_block_product() {
  auto* const faults = injector();
  if (faults == nullptr) return;
  auto& communicator = parts_.communicator;
  auto* const mirror = communicator.mirror();
  faults->flip(FaultTarget::block_product, place_, communicator.partial(),
               mirror != nullptr ? mirror->column_partial() : std::span<double>());
}

void GuardChecks::check_columns() {
  const Timed timed(*this);
  note(GuardCheck::column_range, parts_.product.has_columns_in_range());
}

void GuardChecks::check_product() {
  const Timed timed(*this);
  note(GuardCheck::block_product, checksums_->error_of(parts_.communicator, parts_.product.low_partial()));
}

void GuardChecks::check_seal(int share, int share_count) {
  const Timed timed(*this);
  note(GuardCheck::matrix_bytes, seal_->holds(share, share_count));
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

void GuardChecks::sum_awaited(LinearOperator& matrix, std::span<double> values,
                              std::array<double, 2> measures, AwaitedSums& sums) const {
  const auto count = static_cast<std::size_t>(sums.awaited);  // of measures
  if (sum_with_flag(matrix, values, std::span(measures).first(count))) sums.is_agreed = true;
  if (sums.awaited == Awaited::step_product) sums.product_square = measures[0];
  if (sums.awaited == Awaited::residual_product) {
    sums.difference_square = measures[0];
    sums.vector_square = measures[1];
  }
}

bool GuardChecks::sum_with_flag(LinearOperator& matrix, std::span<double> values,
                                std::span<double> measures) const {
  std::array<double, comm::Communicator::largest_scalar_count> all{};
  const auto flag = std::ranges::copy(measures, std::ranges::copy(values, all.begin()).out).out;
  *flag = has_found() ? 1.0 : 0.0;
  const auto count = static_cast<std::size_t>(flag + 1 - all.begin());
  matrix.sum_over_ranks(
      std::span(all).first(*std::ranges::lower_bound(comm::Communicator::scalar_counts, count)));
  const auto sums = std::span<const double>(all);
  std::ranges::copy(sums.first(values.size()), values.begin());
  std::ranges::copy(sums.subspan(values.size(), measures.size()), measures.begin());
  return *flag != 0.0;
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

AttemptVerdict GuardChecks::judge() {
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
  if (!injector_) return report;
  const auto all = parts_.group.gather_all(std::span<const Fault>(injector_->faults()));
  report.faults = all.front();
  for (std::size_t index = 0; index < report.faults.size(); ++index)
    report.faults[index] = all[static_cast<std::size_t>(report.faults[index].rank)][index];
  return report;
}

}  // namespace cg2d
