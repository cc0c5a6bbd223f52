#include "cg/run/guard/guard.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "cg/run/guard/blocked_sums.hpp"

namespace cg2d {

/// Asks a rule with the numbers that all ranks have alike.
class Guard::Stop final : public StopRule {
 public:
  Stop(Guard& guard, const StopRule& rule) : guard_(guard), rule_(rule) {}
  [[nodiscard]] std::optional<SolveEnd> end_of(const CgState& state) const override {
    return rule_.end_of(guard_.agreed(state));
  }
  [[nodiscard]] std::optional<SolveEnd> end_within_step(const CgState& state) const override {
    return rule_.end_within_step(guard_.agreed(state));
  }

 private:
  Guard& guard_;
  const StopRule& rule_;
};

Guard::Guard(const GuardOptions& options, comm::RankGroup& group, const comm::BlockLayout& layout,
             AssembledOperator& assembled, std::optional<ProductChecksums> checksums)
    : options_(options),
      group_(group),
      assembled_(assembled),
      checksums_(std::move(checksums)),
      injector_({}, group.rank()),
      record_(group) {
  if (!options_.checks) return;
  seal_.emplace(assembled.product().stored_arrays(), assembled.thread_count());
  const auto grid = layout.grid();
  scale_ = {.norm = group.maximum(checksums_->largest_column_sum()) * grid.rows,
            .longest_row = static_cast<double>(group.maximum(checksums_->longest_row()) * grid.columns),
            .order = static_cast<double>(layout.size())};
  kept_.relation = StepRelation(scale_);
}

void Guard::begin(int outer_step_count, int product_count) {
  record_.begin_timing();
  injects_ = options_.injects && injector_.faults().empty();
  if (injects_)
    injector_ = {draw_faults(options_.inject, group_.size(), outer_step_count, product_count), group_.rank()};
}

void Guard::begin_repetition(int outer_step_count) {
  outer_step_ = 1;
  outer_step_count_ = outer_step_count;
  begin(outer_step_count, cg_steps_per_solve + 1);
}

void Guard::begin_attempt() {
  record_.begin_attempt();
  relation_ = kept_.relation;
  steps_done_ = kept_.state.number;
  product_count_ = 0;
  products_of_step_ = -1;
  has_stepped_ = false;
  is_first_state_ = true;
  is_segment_end_ = false;
  is_agreed_ = false;
  measure_count_ = 0;
}

void Guard::before_attempt(const GuardedVectors& vectors) {
  vectors_ = vectors;
  begin_attempt();
}

AttemptVerdict Guard::verdict() {
  const auto verdict = judge(outer_step_, outer_step_ == outer_step_count_);
  if (verdict == AttemptVerdict::accepted) ++outer_step_;
  return verdict;
}

/// Reads a part of the block once more, another one for each number; all of it where that is the last time.
AttemptVerdict Guard::judge(int number, bool is_last) {
  if (!options_.checks) return AttemptVerdict::accepted;
  {
    const Timed timed(record_);
    record_.note(GuardCheck::matrix_bytes,
                 is_last ? seal_->holds(0, 1) : seal_->holds(number % seal_share_count, seal_share_count));
  }
  return record_.judge();
}

std::optional<SystemSolveResult> Guard::solve(const GuardedSystem& system, const SystemVectors& vectors,
                                              const StopRule& stop) {
  solver_ = &system.solver;
  inverse_diagonal_ = system.inverse_diagonal;
  vectors_ = {.b = vectors.b, .x = vectors.x, .residual = system.solver.residual()};
  outer_step_ = of_a_solve;
  // In a positive definite matrix | a_ij | <= sqrt(a_ii a_jj).
  if (!inverse_diagonal_.empty()) scale_.norm = scale_.longest_row;
  kept_.relation = StepRelation(scale_);
  if (options_.checks) {
    kept_.x = HugePageVector(vectors.x.size());
    std::ranges::copy(vectors.x, kept_.x.begin());
    if (vectors.starts_from_x) guess_norm_ = norm_of_guess();
  }
  begin(of_a_solve, std::min(system.most_iterations, last_faulty_iteration));
  const Stop agreed_stop(*this, stop);
  auto& observers = system.solver.observers();
  observers.add(*this);
  auto from = vectors;
  for (;;) {
    begin_attempt();
    if (options_.checks) std::ranges::copy(kept_.x, vectors.x.begin());
    const auto snapshot = kept_.snapshot();
    if (kept_.state.number > 0) from.snapshot = &snapshot;
    const auto result = system.solver.solve(from, agreed_stop).front();
    const bool goes_on = is_segment_end_ && result.end == SolveEnd::stopped;
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
  if (is_usual || product_count_ == 0 || !options_.checks) return true;
  const bool is_confirmed =
      doubt_count_ > 0 && doubted_.end == result.end && doubted_.step_count == result.step_count;
  doubted_ = result;
  return is_confirmed || ++doubt_count_ == GuardRecord::most_attempts;
}

void Guard::flip(FaultTarget target, std::span<double> first, std::span<double> second) {
  if (injects_) injector_.flip(target, record_.place(), first, second);
}

void Guard::before_step() {
  products_of_step_ = 0;
  sums_of_step_ = 0;
  has_stepped_ = true;
}

/// The place of a step's product is the number of the step. The residual of an outer iteration is the product after the last step; that of a
/// solve belongs to the last step.
void Guard::apply() {
  if (is_aside_) return matrix().apply();
  const bool is_of_step = products_of_step_ == 0;
  record_.set_place(
      {.outer_step = outer_step_, .product = is_of_step || !is_of_a_solve() ? steps_done_ + 1 : steps_done_});
  products_of_step_ = is_of_step ? 1 : -1;
  {
    std::optional<Timed> timed;
    if (!is_of_step && is_segment_end_) timed.emplace(record_);
    matrix().apply();
  }
  // The operator's own memory: const for its users only.
  const auto product = matrix().result();
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast)
  flip(FaultTarget::q, {const_cast<double*>(product.data()), product.size()});
  measure_count_ = 0;
  if (options_.checks && is_of_step) measure_product();
  if (options_.checks && !is_of_step && has_stepped_) measure_residual();
  if (!is_of_step) has_stepped_ = false;
}

bool Guard::before_product() {
  const bool checks_columns = options_.checks && product_count_ == 0;
  ++product_count_;
  flip(FaultTarget::p, operand_);
  flip(FaultTarget::r, vectors_.residual);
  flip(FaultTarget::z, vectors_.x);
  if (injects_) injector_.flip_matrix(record_.place(), assembled_.product(), checks_columns);
  if (checks_columns) {
    const Timed timed(record_);
    record_.note(GuardCheck::column_range, assembled_.product().has_columns_in_range());
  }
  // A column number that is out of range stays so until the attempt ends.
  return !(record_.found().is_found && record_.found().check == GuardCheck::column_range);
}

void Guard::after_product() {
  auto& communicator = assembled_.communicator();
  auto* const mirror = communicator.mirror();
  flip(FaultTarget::block_product, communicator.partial(),
       mirror != nullptr ? mirror->column_partial() : std::span<double>());
  if (!options_.checks) return;
  const Timed timed(record_);
  record_.note(GuardCheck::block_product,
               checksums_->error_of(communicator, assembled_.product().low_partial()));
}

void Guard::measure_product() {
  const Timed timed(record_);
  measures_[0] = square_of(matrix().result(), inverse_diagonal_).first;
  measure_count_ = 1;
}

/// The norm of the initial guess by M.
double Guard::norm_of_guess() {
  const auto x = vectors_.x;
  const auto squares = blocked_sums(x.size(), [&](std::size_t k, double& sum, double& /*unused*/) {
    sum += inverse_diagonal_.empty() ? x[k] * x[k] : x[k] * x[k] / inverse_diagonal_[k];
  });
  return std::sqrt(matrix().sum_of_ranks(squares.first));
}

/// After the product A x, before r becomes the residual that is computed anew: norms of b - A x - r by M^-1, of x by M.
void Guard::measure_residual() {
  const Timed timed(record_);
  const auto vectors = vectors_;
  const auto operand = operand_;
  const auto product = matrix().result();
  const auto squares = blocked_sums(product.size(), [&](std::size_t k, double& difference, double& x_square) {
    const double inverse = inverse_diagonal_.empty() ? 1.0 : inverse_diagonal_[k];
    const double change = vectors.b[k] - product[k] - vectors.residual[k];
    difference += change * change * inverse;
    x_square += vectors.x[k] * vectors.x[k] / inverse;
    // The operand is a copy of x: they must still be alike.
    if (!(vectors.x[k] == operand[k])) difference = std::numeric_limits<double>::infinity();
  });
  measures_ = {squares.first, squares.second};
  measure_count_ = 2;
}

void Guard::sum_over_ranks(std::span<double> values) {
  if (options_.checks) {
    sum_with_measures(values);
  } else {
    matrix().sum_over_ranks(values);
  }
  if (is_aside_ || products_of_step_ != 1) return;
  record_sum_of_step(values);
  if (sums_of_step_ == 2) flip(FaultTarget::rho, values.first(1));
}

/// With the values travel this rank's measures of the last product, and whether it has found something: no message is added.
void Guard::sum_with_measures(std::span<double> values) {
  const auto measures = std::span(measures_).first(std::exchange(measure_count_, 0));
  const double own_difference = measures_[0];
  std::array<double, comm::Communicator::largest_scalar_count> all{};
  const auto flag = std::ranges::copy(measures, std::ranges::copy(values, all.begin()).out).out;
  *flag = record_.found().is_found ? 1.0 : 0.0;
  const auto count = static_cast<std::size_t>(flag + 1 - all.begin());
  matrix().sum_over_ranks(
      std::span(all).first(*std::ranges::lower_bound(comm::Communicator::scalar_counts, count)));
  const auto sums = std::span<const double>(all);
  std::ranges::copy(sums.first(values.size()), values.begin());
  std::ranges::copy(sums.subspan(values.size(), measures.size()), measures.begin());
  if (*flag != 0.0) is_agreed_ = true;
  if (measures.size() == 2) check_residual(own_difference);
}

void Guard::check_residual(double own_difference) {
  constexpr double twice_roundoff = std::numeric_limits<double>::epsilon();
  const double norm = std::sqrt(measures_[1]) + 2.0 * guess_norm_;
  record_.note(
      GuardCheck::residual,
      {.error = std::sqrt(measures_[0]),
       .tolerance = twice_roundoff * (steps_done_ + 1) *
                    ((scale_.longest_row + 4.0) * scale_.norm * norm + std::sqrt(relation_.largest_rho()))},
      own_difference);
}

/// p . q, then rho, and with M also r . r.
void Guard::record_sum_of_step(std::span<const double> values) {
  ++sums_of_step_;
  if (sums_of_step_ == 1) summed_.record_curvature(values[0]);
  if (sums_of_step_ != 2) return;
  const double rho_before = summed_.rho;
  summed_.rho = values[0];
  summed_.residual_square = values.size() > 1 ? values[1] : values[0];
  summed_.record_beta(rho_before);
  summed_.number = steps_done_ + 1;
  summed_.record_progress();
}

/// The state with the numbers of sums; a residual that was computed anew begins them again.
CgState Guard::agreed(const CgState& state) {
  auto all = state;
  if (has_stepped_) {
    all.rho = summed_.rho;
    all.residual_square = summed_.residual_square;
    all.curvature = summed_.curvature;
    all.direction_square = summed_.direction_square;
    all.largest_quotient = summed_.largest_quotient;
    all.signs = summed_.signs;
    all.least_residual_square = summed_.least_residual_square;
    all.least_residual_step = summed_.least_residual_step;
    return all;
  }
  if (!is_first_state_) all.largest_quotient = summed_.largest_quotient;
  is_first_state_ = false;
  summed_ = all;
  return all;
}

/// Reproducible sums, of which outer iterations may be made, have two numbers each.
bool Guard::after_step(const CgState& state) {
  products_of_step_ = -1;
  steps_done_ = state.number;
  if (!options_.checks) return false;
  const bool has_sums =
      !is_of_a_solve() || (state.rho == summed_.rho && state.curvature == summed_.curvature &&
                           state.residual_square == summed_.residual_square);
  auto relation = relation_.after_step(state, measures_[0]);
  if (!has_sums) relation = {.error = std::numeric_limits<double>::infinity()};
  record_.note(GuardCheck::step_relation, relation);
  is_segment_end_ = is_of_a_solve() && state.number % steps_per_segment == 0;
  if (is_segment_end_) keep(state);
  return is_agreed_ || is_segment_end_;
}

void Guard::keep(const CgState& state) {
  const Timed timed(record_);
  const auto snapshot = solver_->snapshot(state);
  const auto copy = [](std::span<const double> from, HugePageVector& to) {
    if (to.size() != from.size()) to = HugePageVector(from.size());
    std::ranges::copy(from, to.begin());
  };
  copy(vectors_.x, next_.x);
  copy(snapshot.residual, next_.residual);
  copy(snapshot.direction, next_.direction);
  next_.state = snapshot.state;
  next_.replaced_norm = snapshot.replaced_norm;
  next_.relation = relation_;
}

GuardReport Guard::report(double whole_s) const {
  auto report = record_.report(whole_s);
  report.options = options_;
  const auto all = group_.gather_all(std::span<const Fault>(injector_.faults()));
  report.faults = all.front();
  for (std::size_t index = 0; index < report.faults.size(); ++index)
    report.faults[index] = all[static_cast<std::size_t>(report.faults[index].rank)][index];
  return report;
}

}  // namespace cg2d
