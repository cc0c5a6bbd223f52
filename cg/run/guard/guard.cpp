#include "cg/run/guard/guard.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <tuple>

#include "cg/base/sample.hpp"

namespace cg2d {
namespace {

/// The square of the norm of v, or of W^1/2 v with the weights of a diagonal W.
double square_of(std::span<const double> v, std::span<const double> weights) {
  if (weights.empty()) return blocked_sum(v.size(), [&](size_t k) { return v[k] * v[k]; });
  return blocked_sum(v.size(), [&](size_t k) { return v[k] * v[k] * weights[k]; });
}

}  // namespace

void Guard::begin_timed() {
  if (timed_depth_++ == 0) timed_since_ = {};
}

void Guard::end_timed() {
  if (--timed_depth_ == 0 && (is_of_a_solve() || last_outer_step_ > 0))
    report_.time_s += timed_since_.seconds();
}

template <typename Work>
void Guard::timed(const Work& work) {
  begin_timed();
  work();
  end_timed();
}

Guard::Guard(const GuardOptions& options, comm::RankGroup& group, const comm::BlockLayout& layout,
             AssembledOperator& assembled, std::optional<ProductChecksums> checksums)
    : options_(options),
      group_(group),
      assembled_(assembled),
      checksums_(std::move(checksums)),
      place_{.rank = group.rank()} {
  if (!options_.checks) return;
  seal_.emplace(assembled.product().stored_arrays(), assembled.thread_count());
  const auto grid = layout.grid();
  scale_ = {.norm = group.maximum(checksums_->largest_column_sum) * grid.rows,
            .longest_row = static_cast<double>(group.maximum(checksums_->longest_row) * grid.columns),
            .order = static_cast<double>(layout.size())};
  kept_.relation = StepRelation(scale_);
}

void Guard::begin(int outer_step_count, int product_count) {
  injects_ = options_.inject && faults_.empty();
  if (injects_) faults_ = draw_faults(*options_.inject, group_.size(), outer_step_count, product_count);
}

void Guard::begin_repetition(int first, int last) {
  place_.outer_step = first;
  last_outer_step_ = last;
  begin(last, cg_steps_per_solve + 1);
}

void Guard::before_attempt(const GuardedVectors& vectors) {
  vectors_ = vectors;
  attempt_ = {.relation = kept_.relation, .steps_done = kept_.state.number};
}

AttemptVerdict Guard::verdict() {
  const auto verdict = judge(place_.outer_step, place_.outer_step == last_outer_step_);
  if (verdict == AttemptVerdict::accepted) ++place_.outer_step;
  return verdict;
}

void Guard::note(GuardCheck check, const CheckedError& error, double share) {
  const auto index = static_cast<size_t>(check);
  ++report_.check_counts[index];
  if (error.holds()) {
    report_.largest_ratios[index] = std::max(report_.largest_ratios[index], error.ratio());
  } else if (!attempt_.found.is_found) {
    attempt_.found = {.is_found = true,
                      .check = check,
                      .place = place_,
                      .error = error.error,
                      .tolerance = error.tolerance,
                      .share = share};
  }
}

/// Reads a part of the block once more, another one for each number; all of it where that is the last time. Then the ranks agree: the attempt
/// is accepted, or where any rank has found something made again, or refused.
AttemptVerdict Guard::judge(int number, bool is_last) {
  if (!options_.checks) return AttemptVerdict::accepted;
  timed([&] {
    note(GuardCheck::matrix_bytes,
         is_last ? seal_->holds(0, 1) : seal_->holds(number % seal_share_count, seal_share_count));
  });
  if (group_.maximum(attempt_.found.is_found ? 1.0 : 0.0) == 0.0) {
    failed_attempts_ = 0;
    return AttemptVerdict::accepted;
  }
  const auto all = group_.gather_one(attempt_.found);
  const auto& first = *std::ranges::min_element(all, {}, [](const Detection& found) {
    return std::tuple(!found.is_found, found.place.product, found.check, -found.share);
  });
  auto& detections = report_.detections;
  ++failed_attempts_;
  const bool is_same = failed_attempts_ > 1 && first.check == detections.back().check &&
                       first.place.rank == detections.back().place.rank &&
                       first.place.product == detections.back().place.product;
  detections.push_back(first);
  if (is_same || failed_attempts_ == most_attempts) {
    reason_ = is_same ? "soft error, there again in a second attempt: "
                      : fmt::format("soft errors in {} attempts, the last one: ", failed_attempts_);
    reason_ += describe(first);
    return AttemptVerdict::refused;
  }
  ++report_.rollback_count;
  return AttemptVerdict::again;
}

std::optional<SystemSolveResult> Guard::solve(ConjugateGradient& solver,
                                              std::span<const double> inverse_diagonal, int most_iterations,
                                              const SystemVectors& vectors, const StopRule& stop) {
  // Asks the rule with the numbers that all ranks have alike.
  struct AgreedStop final : StopRule {
    AgreedStop(Guard& asked, const StopRule& asked_rule) : guard(asked), rule(asked_rule) {}
    std::optional<SolveEnd> end_of(const CgState& state) const override {
      return rule.end_of(guard.agreed(state));
    }
    std::optional<SolveEnd> end_within_step(const CgState& state) const override {
      const auto agreed = guard.agreed(state);
      const auto end = rule.end_within_step(agreed);
      if (!end && agreed.curvature_rounding) guard.summed_.clear_curvature();
      return end;
    }
    Guard& guard;
    const StopRule& rule;
  };
  solver_ = &solver;
  inverse_diagonal_ = inverse_diagonal;
  vectors_ = {.b = vectors.b, .x = vectors.x, .residual = solver.residual()};
  place_ = {.rank = group_.rank(), .outer_step = of_a_solve};
  // In a positive definite matrix | a_ij | <= sqrt(a_ii a_jj).
  if (!inverse_diagonal_.empty()) scale_.norm = scale_.longest_row;
  kept_.relation = StepRelation(scale_);
  if (options_.checks) {
    kept_.x.assign(vectors.x.begin(), vectors.x.end());
    if (vectors.starts_from_x) {  // its norm by M
      const auto x = vectors.x;
      std::array sum{blocked_sum(x.size(), [&](size_t k) {
        return inverse_diagonal_.empty() ? x[k] * x[k] : x[k] * x[k] / inverse_diagonal_[k];
      })};
      assembled_.communicator().sum_scalars(sum);
      guess_norm_ = std::sqrt(sum[0]);
    }
  }
  begin(of_a_solve, std::min(most_iterations, last_faulty_iteration));
  const AgreedStop agreed_stop(*this, stop);
  auto& observers = solver.observers();
  observers.add(*this);
  auto from = vectors;
  for (;;) {
    before_attempt(vectors_);  // the same ones: only the attempt is new
    if (options_.checks) std::ranges::copy(kept_.x, vectors.x.begin());
    const auto snapshot = kept_.snapshot();
    if (kept_.state.number > 0) from.snapshot = &snapshot;
    const auto result = solver.solve(from, agreed_stop).front();
    const bool goes_on = attempt_.is_segment_end && result.end == SolveEnd::stopped;
    const auto judged = judge(kept_.state.number / steps_per_segment, !goes_on);
    const bool is_accepted = judged == AttemptVerdict::accepted;
    if (is_accepted && goes_on) {
      std::swap(kept_, next_);
    } else if (judged == AttemptVerdict::refused || (is_accepted && is_trusted(result))) {
      observers.remove(*this);
      return is_accepted ? std::optional(result) : std::nullopt;
    }
  }
}

/// A flip may have made a number negative or infinite within a step, whose other numbers are then never compared.
bool Guard::is_trusted(const SystemSolveResult& result) {
  const bool is_usual = result.end == SolveEnd::converged || result.end == SolveEnd::step_limit ||
                        result.end == SolveEnd::stopped || result.end == SolveEnd::zero_right_hand_side;
  if (is_usual || attempt_.product_count == 0 || !options_.checks) return true;
  const bool is_confirmed =
      doubt_count_ > 0 && doubted_.end == result.end && doubted_.step_count == result.step_count;
  doubted_ = result;
  return is_confirmed || ++doubt_count_ == most_attempts;
}

void Guard::flip(FaultTarget target, std::span<double> first, std::span<double> second) {
  if (!injects_) return;
  make_faults(faults_, target, place_,
              {kernels::stored_array(kernels::ArrayKind::values, first),
               kernels::stored_array(kernels::ArrayKind::values, second)});
}

void Guard::before_step() {
  attempt_.done_of_step = 0;
  attempt_.has_stepped = true;
}

/// The place of a step's product is the number of the step. The residual of an outer iteration is the product after the last step; that of a
/// solve belongs to the last step.
bool Guard::before_product() {
  operand_ = assembled_.operand();
  if (!is_aside_) {
    const bool is_of_step = attempt_.done_of_step == 0;
    place_.product = attempt_.steps_done + (is_of_step || !is_of_a_solve() ? 1 : 0);
    attempt_.done_of_step = is_of_step ? 1 : -1;
    if (is_timed_product()) begin_timed();
  }
  const bool checks_columns = options_.checks && attempt_.product_count == 0;
  ++attempt_.product_count;
  flip(FaultTarget::p, operand_);
  flip(FaultTarget::r, vectors_.residual);
  flip(is_of_a_solve() ? FaultTarget::x : FaultTarget::z, vectors_.x);
  auto& product = assembled_.product();
  if (injects_) {
    const auto arrays = product.stored_arrays();
    make_faults(faults_, FaultTarget::values, place_, arrays);
    // A column number that leads out of the vectors is made only where it is found before the next product.
    make_faults(faults_, FaultTarget::columns, place_, arrays,
                [&] { return checks_columns || product.has_columns_in_range(); });
  }
  if (checks_columns) timed([&] { note(GuardCheck::column_range, product.has_columns_in_range()); });
  // A column number that is out of range stays so until the attempt ends.
  return !(attempt_.found.is_found && attempt_.found.check == GuardCheck::column_range);
}

void Guard::after_product() {
  auto& communicator = assembled_.communicator();
  auto* const mirror = communicator.mirror();
  flip(FaultTarget::block_product, communicator.partial(),
       mirror != nullptr ? mirror->column_partial() : std::span<double>());
  if (!options_.checks) return;
  timed([&] {
    note(GuardCheck::block_product, checksums_->error_of(communicator, assembled_.product().low_partial()));
  });
}

void Guard::after_apply() {
  if (is_aside_) return;
  if (is_timed_product()) end_timed();
  const bool is_of_step = attempt_.done_of_step == 1;
  // The operator's own memory: const for its users only.
  const auto product = assembled_.result();
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast)
  flip(FaultTarget::q, {const_cast<double*>(product.data()), product.size()});
  attempt_.measure_count = 0;
  if (options_.checks && is_of_step) {
    timed([&] { measures_[0] = square_of(product, inverse_diagonal_); });
    attempt_.measure_count = 1;
  }
  if (options_.checks && !is_of_step && attempt_.has_stepped) timed([&] { measure_residual(); });
  if (!is_of_step) attempt_.has_stepped = false;
}

/// After the product A x, before r becomes the residual that is computed anew: norms of b - A x - r by M^-1, of x by M.
void Guard::measure_residual() {
  const auto vectors = vectors_;
  const auto operand = operand_;
  const auto product = assembled_.result();
  const auto squares = blocked_sums(product.size(), [&](size_t k, double& difference, double& x_square) {
    const double inverse = inverse_diagonal_.empty() ? 1.0 : inverse_diagonal_[k];
    const double change = vectors.b[k] - product[k] - vectors.residual[k];
    difference += change * change * inverse;
    x_square += vectors.x[k] * vectors.x[k] / inverse;
    // The operand is a copy of x: they must still be alike.
    if (!(vectors.x[k] == operand[k])) difference = std::numeric_limits<double>::infinity();
  });
  measures_ = {squares.first, squares.second};
  attempt_.measure_count = 2;
}

void Guard::sum_over_ranks(std::span<double> values) {
  sum_with_measures(values);
  if (is_aside_ || attempt_.done_of_step < 1) return;
  // After the product p . q, then rho, and with M also r . r.
  ++attempt_.done_of_step;
  if (attempt_.done_of_step == 2) summed_.record_curvature(values[0]);
  if (attempt_.done_of_step != 3) return;
  const double rho_before = summed_.rho;
  summed_.rho = values[0];
  summed_.residual_square = values.size() > 1 ? values[1] : values[0];
  summed_.record_beta(rho_before);
  summed_.number = attempt_.steps_done + 1;
  summed_.record_progress();
  flip(FaultTarget::rho, values.first(1));
}

/// Checks send with the values this rank's measures of the last product, and whether it has found something: no message is added.
void Guard::sum_with_measures(std::span<double> values) {
  auto& communicator = assembled_.communicator();
  if (!options_.checks) return communicator.sum_scalars(values);
  const auto measures = std::span(measures_).first(std::exchange(attempt_.measure_count, 0));
  const double own_difference = measures_[0];
  std::array<double, comm::Communicator::largest_scalar_count> all{};
  const auto flag = std::ranges::copy(measures, std::ranges::copy(values, all.begin()).out).out;
  *flag = attempt_.found.is_found ? 1.0 : 0.0;
  const auto count = static_cast<size_t>(flag + 1 - all.begin());
  communicator.sum_scalars(
      std::span(all).first(*std::ranges::lower_bound(comm::Communicator::scalar_counts, count)));
  const auto sums = std::span<const double>(all);
  std::ranges::copy(sums.first(values.size()), values.begin());
  std::ranges::copy(sums.subspan(values.size(), measures.size()), measures.begin());
  if (*flag != 0.0) attempt_.is_agreed = true;
  if (measures.size() != 2) return;
  constexpr double twice_roundoff = std::numeric_limits<double>::epsilon();
  const double norm = std::sqrt(measures_[1]) + 2.0 * guess_norm_;
  note(GuardCheck::residual,
       {.error = std::sqrt(measures_[0]),
        .tolerance =
            twice_roundoff * (attempt_.steps_done + 1) *
            ((scale_.longest_row + 4.0) * scale_.norm * norm + std::sqrt(attempt_.relation.largest_rho()))},
       own_difference);
}

/// The state with the numbers of sums; a residual that was computed anew begins them again.
CgState Guard::agreed(const CgState& state) {
  auto all = state;
  if (attempt_.has_stepped) {
    all.rho = summed_.rho;
    all.residual_square = summed_.residual_square;
    all.curvature = summed_.curvature;
    all.direction_square = summed_.direction_square;
    all.largest_quotient = summed_.largest_quotient;
    all.cleared_quotient = summed_.cleared_quotient;
    all.signs = summed_.signs;
    all.least_residual_square = summed_.least_residual_square;
    all.least_residual_step = summed_.least_residual_step;
    return all;
  }
  if (!attempt_.is_first_state) {
    all.largest_quotient = summed_.largest_quotient;
    all.cleared_quotient = summed_.cleared_quotient;
  }
  attempt_.is_first_state = false;
  summed_ = all;
  return all;
}

/// Reproducible sums, of which outer iterations may be made, have two numbers each.
bool Guard::after_step(const CgState& state) {
  attempt_.done_of_step = -1;
  attempt_.steps_done = state.number;
  if (!options_.checks) return false;
  const bool has_sums =
      !is_of_a_solve() || (state.rho == summed_.rho && state.curvature == summed_.curvature &&
                           state.residual_square == summed_.residual_square);
  auto relation = attempt_.relation.after_step(state, measures_[0]);
  if (!has_sums) relation = {.error = std::numeric_limits<double>::infinity()};
  note(GuardCheck::step_relation, relation);
  attempt_.is_segment_end = is_of_a_solve() && state.number % steps_per_segment == 0;
  if (attempt_.is_segment_end) timed([&] { keep(state); });
  return attempt_.is_agreed || attempt_.is_segment_end;
}

void Guard::keep(const CgState& state) {
  const auto snapshot = solver_->snapshot(state);
  next_.x.assign(vectors_.x.begin(), vectors_.x.end());
  next_.residual.assign(snapshot.residual.begin(), snapshot.residual.end());
  next_.direction.assign(snapshot.direction.begin(), snapshot.direction.end());
  next_.state = snapshot.state;
  next_.replaced_norm = snapshot.replaced_norm;
  next_.relation = attempt_.relation;
}

GuardReport Guard::report(double whole_s) const {
  auto report = report_;
  CheckFigures& figures = report;
  figures = {};
  for (const auto& rank : group_.gather_one<CheckFigures>(report_)) {
    for (size_t check = 0; check < guard_check_count; ++check) {
      figures.check_counts[check] += rank.check_counts[check];
      figures.largest_ratios[check] = std::max(figures.largest_ratios[check], rank.largest_ratios[check]);
    }
    figures.time_s = std::max(figures.time_s, rank.time_s);
  }
  report.time_share = whole_s > 0.0 ? figures.time_s / whole_s : 0.0;
  report.options = options_;
  const auto all = group_.gather_all(std::span<const Fault>(faults_));
  report.faults = all.front();
  for (size_t index = 0; index < report.faults.size(); ++index)
    report.faults[index] = all[static_cast<size_t>(report.faults[index].place.rank)][index];
  return report;
}

}  // namespace cg2d
