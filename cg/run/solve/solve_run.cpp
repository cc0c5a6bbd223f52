#include "cg/run/solve/solve_run.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "cg/base/agreement.hpp"
#include "cg/base/describe.hpp"
#include "cg/base/values.hpp"
#include "cg/matrix/value_hash.hpp"
#include "cg/solver/communicator_setup.hpp"
#include "cg/solver/matrix_cut.hpp"

namespace cg2d {

void SolveRun::prepare() {
  static_cast<void>(named_grid(options_, group_.size()));
  const auto& right_hand_side = options_.right_hand_side;
  auto& count = report_.right_hand_side_count;
  if (options_.right_hand_side_count) {
    count = *options_.right_hand_side_count;
  } else if (right_hand_side.kind == VectorOption::Kind::file) {
    const auto columns = column_count_of(right_hand_side.text, group_);
    if (constexpr int most = kernels::vector_counts.back(); columns > most)
      throw RunError(ExitCode::bad_data,
                     "{}: found {} columns, expected 1 to {}: so many right-hand sides are solved together",
                     right_hand_side.text, columns, most);
    count = std::max(static_cast<int>(columns), 1);
  }
  vector_count_ = kernels::vector_count_for(count);
  agree_on(group_, [&] { check_method(); });
  begin_work();
}

void SolveRun::read() {
  if (options_.is_matrix_free()) return choose_matrix_free();
  read_matrix();
}

/// Throws InputError for what does not go with several right-hand sides, or, with --reproducible, sums in an order of its own.
void SolveRun::check_method() const {
  const auto& classic = cg_variant_table().front().name;
  if (has_several()) {
    const auto what = fmt::format("{} right-hand sides", report_.right_hand_side_count);
    const auto kind = options_.right_hand_side.kind;
    refuse_if(options_.is_matrix_free(), what, "they need a matrix: FILE, or --assembled");
    refuse_if(kind == VectorOption::Kind::ones || kind == VectorOption::Kind::zeros, what,
              "--rhs {} makes them all the same; take random:SEED, or a file with {} columns",
              options_.right_hand_side.text, report_.right_hand_side_count);
    refuse_if(options_.features.checkpoint.is_used(), what, "--checkpoint and --restart take one");
    refuse_if(options_.features.guard.is_used(), what, "--guard and --inject take one");
    refuse_if(options_.variant != classic, what, "--variant {} takes one; take {}", options_.variant,
              classic);
    refuse_if(options_.configuration.overlaps, what, "--overlap on takes one; take --overlap off");
    refuse_if(options_.configuration.cut == speed_cut, what,
              "--cut speed takes one; take even, nonzeros or file:FILE");
    refuse_if(!options_.profile.path.empty() || options_.profile.keeps_disturbed, what,
              "--profile and --keep-disturbed know one; leave them out");
    refuse_if(preconditioner_row().needs_diagonal_block, what,
              "--preconditioner {} takes one; take another one", options_.preconditioner);
  }
  if (!report_.configuration.is_reproducible) return;
  const std::string_view what = "--reproducible on";
  refuse_if(options_.is_matrix_free(), what, "it needs a matrix: FILE, or --assembled");
  refuse_if(has_several(), what, "it solves for one right-hand side");
  refuse_if(options_.variant != classic, what, "--variant {} has another order of sums; take {}",
            options_.variant, classic);
  refuse_if(!preconditioner_row().is_diagonal, what,
            "--preconditioner {} depends on the grid, or sums in its own order; take {}",
            options_.preconditioner, names_of_diagonal_preconditioners());
}

MeasuredSolver SolveRun::make_solver() {
  if (source_ != nullptr) {
    const auto layout = make_layout(source_->facts(), configuration());
    operator_ = assembled_.get();
    if (guard_) assembled_->set_observer(&*guard_);
    timer_ = &assembled_->timer();
    place_ = place_of(layout, matrix_->permutation(), group_.rank());
    first_row_ = layout.own_piece(group_.rank()).begin * vector_count_;
  } else {
    make_matrix_free();
  }
  place_ = place_of_several(place_, report_.right_hand_side_count);
  b_ = make_vectors(options_.right_hand_side);
  x_ = make_vectors(options_.initial_guess);
  vectors_.emplace(*operator_, *timer_, configuration().thread_count);
  preconditioner_ = make_preconditioner();
  solver_.emplace(*operator_, *preconditioner_, *vectors_, *find_cg_variant(options_.variant), vector_count_);
  const bool speaks = options_.monitors && group_.rank() == 0;
  for (int number = 0; number < report_.right_hand_side_count; ++number) {
    auto& observers = solver_->observers_of(number);
    observers.add(histories_.emplace_back(options_.most_iterations));
    const auto name = has_several() ? fmt::format("right-hand side {}, ", number + 1) : std::string();
    if (speaks) observers.add(lines_.emplace_back(name, measurement_));
  }
  if (checkpoints_) begin_checkpoints();
  return {.timer = *timer_,
          .observers = solver_->observers(),
          .sent =
              [this](comm::Operation operation) {
                return assembled_ ? assembled_->sent(operation) : matrix_free_->sent(operation);
              },
          .vectors = *vectors_,
          .local_size = operator_->local_size()};
}

HugePageVector SolveRun::make_vectors(const VectorOption& option) const {
  using Kind = VectorOption::Kind;
  auto vectors = option.kind == Kind::file ? read_vector(option.text, place_, group_)
                 : option.kind == Kind::random
                     ? random_vector(option.seed, place_)
                     : HugePageVector(place_.local_size, option.kind == Kind::ones ? 1.0 : 0.0);
  if (!has_several()) return vectors;
  HugePageVector wide(operator_->local_size());  // further vectors stay zero
  for (size_t k = 0; k < vectors.size(); ++k) wide[wide_index(k)] = vectors[k];
  return wide;
}

std::unique_ptr<Preconditioner> SolveRun::make_preconditioner() {
  const Stopwatch making;
  if (has_several()) {  // one copy of each entry per vector, as the preconditioner sees one long vector
    const auto count = static_cast<size_t>(vector_count_);
    HugePageVector wide(diagonal_.size() * count);
    for (size_t k = 0; k < wide.size(); ++k) wide[k] = diagonal_[k / count];
    diagonal_ = std::move(wide);
  }
  auto preconditioner =
      preconditioner_row().make({.matrix = *operator_,
                                 .diagonal = diagonal_,
                                 .diagonal_block = &diagonal_block_,
                                 .first_row = first_row_,
                                 .polynomial = polynomial_from("--preconditioner", options_.preconditioner),
                                 .thread_count = report_.configuration.thread_count});
  diagonal_block_ = {};  // its factors are made
  report_.matrix->preconditioner_s += group_.maximum(making.seconds());
  return preconditioner;
}

// ---------------------------------------------------------------- the iterations, with all that watches them

/// The system, by all that its solution depends on; the state to go on from, told to the observers; and a rehearsal.
void SolveRun::begin_checkpoints() {
  uint64_t sum = 0;
  for (size_t k = 0; k < b_.size(); ++k) sum += hash_of_element(first_row_ + static_cast<int64_t>(k), b_[k]);
  const auto hash_of_b = sum_of_words(group_, sum);
  const auto numbering = permutation_seed_of(options_) ? options_.configuration.cut : std::string("original");
  checkpointed_ = {
      .kind = CheckpointKind::solve,
      .matrix_hash = hash_of_text(fmt::format("solve {} {} {} {} {} {}", place_.size, value_hash_, hash_of_b,
                                              numbering, options_.variant, options_.preconditioner)),
      .order = place_.size,
      .range = {first_row_, first_row_ + static_cast<int64_t>(place_.local_size)}};
  if (const auto* const found = checkpoints_->found(); found != nullptr) {
    const auto& restart = report_.restart.emplace(
        solve_restart(*found, checkpointed_,
                      fmt::format("one of {} ({} rows), --rhs {}, --preconditioner {}", report_.matrix->name,
                                  place_.size, options_.right_hand_side.text, options_.preconditioner)));
    restarted_ = {.x = {},
                  .residual = HugePageVector(x_.size()),
                  .direction = HugePageVector(x_.size()),
                  .state = restart.state,
                  .replaced_norm = restart.replaced_norm};
    const std::array targets{std::span<double>(x_), std::span<double>(restarted_.residual),
                             std::span<double>(restarted_.direction)};
    read_vectors(restart.checkpoint, checkpointed_.range, targets, group_);
    histories_.front().restore(restart.state.first_residual_norm(), restart.steps);
  }
  if (auto* const saved = saved_checkpoints()) {
    // The rehearsal has vectors of the right length, whatever they hold.
    saved->rehearse(checkpoint_state({.state = {}, .replaced_norm = 0.0, .residual = x_, .direction = x_}));
    next_save_s_ = saved->facts().interval_s;
  }
}

CheckpointState SolveRun::checkpoint_state(const CgSnapshot& snapshot) {
  saved_.state = snapshot.state;
  saved_.replaced_norm = snapshot.replaced_norm;
  saved_.steps = histories_.front().steps();
  checkpointed_.step = snapshot.state.number;
  return {.header = checkpointed_,
          .text = json_line(saved_),
          .vectors = {x_, snapshot.residual, snapshot.direction}};
}

/// Says about once a second how far the solve is, and how long it may take at the mean rate so far, of iterations and of residuals.
void SolveRun::tell(const CgState& state) {
  constexpr double interval_s = 1.0;
  const double now_s = since_begin_.seconds();
  if (now_s < said_s_ + interval_s) return;
  said_s_ = now_s;
  measurement_->outside_of_phases([&] {
    const double norm = state.residual_norm();
    const double target_norm = tolerance_.residual_norm_for(state.right_hand_side_norm());
    const double slope = std::log(state.first_residual_norm() / norm) / state.number;
    const double left = std::ceil(std::log(norm / target_norm) / slope);
    progress_.say(fmt::format("iteration {}: residual {:.3e}, target {:.3e}{}", step_count_, norm,
                              target_norm,
                              slope > 0.0 && left >= 0.0 && std::isfinite(left)
                                  ? fmt::format(", about {:.0f} iterations and {:.0f} s left", left,
                                                left * now_s / static_cast<double>(step_count_))
                                  : ""));
  });
}

/// Whether a signal has reached any rank. The ranks agree on it by a message of their own: after steps 1, 2, 4, ..., and then about ten times
/// a second, by the slowest rank's clock, so that all ask at the same steps.
bool SolveRun::must_end() {
  if (step_count_ < next_check_) return false;
  constexpr double interval_s = 0.1;
  // A request is a time that no solve takes: one message for both.
  constexpr double request_s = 1e30;
  double common_s = 0.0;
  measurement_->outside_of_phases(
      [&] { common_s = group_.maximum(watch_->asked() ? request_s : since_begin_.seconds()); });
  if (common_s >= request_s) return true;
  common_s_ = common_s;
  const auto most = static_cast<double>(step_count_);
  const double steps = common_s > 0.0 ? interval_s * most / common_s : 1.0;
  next_check_ = step_count_ + std::max<int64_t>(1, static_cast<int64_t>(std::min(most, steps)));
  return false;
}

bool SolveRun::after_step(const CgState& state) {
  ++step_count_;
  tell(state);
  const bool stops = must_end();
  auto* const saved = saved_checkpoints();
  if (saved == nullptr) return stops;
  // A solve that goes on from NaN ends with it.
  const bool is_finite = std::isfinite(state.rho) && std::isfinite(state.residual_square);
  const bool is_last = state.number == options_.most_iterations;
  if (is_finite && (stops || is_last || common_s_ >= next_save_s_)) {
    measurement_->outside_of_phases([&] { saved->save(checkpoint_state(solver_->snapshot(state))); });
    next_save_s_ = common_s_ + saved->facts().interval_s;
  }
  return stops;
}

const RepeatReport* SolveRun::iterate() {
  watch_.emplace(options_.stops_when_asked);
  since_begin_ = {};
  progress_.say("solving");
  const auto snapshot = restarted_.snapshot();
  const SystemVectors given{.b = b_,
                            .x = x_,
                            .starts_from_x = options_.initial_guess.kind != VectorOption::Kind::zeros,
                            .snapshot = report_.restart ? &snapshot : nullptr};
  std::vector<SystemSolveResult> results;
  const auto observers = measurement_->begin();
  solver_->observers().add(*this);
  for (auto* observer : observers) observer->before_outer_step();
  if (guard_) {
    const Stopwatch stopwatch;
    const auto result = guard_->solve(*solver_, preconditioner_->inverse_diagonal(), options_.most_iterations,
                                      given, tolerance_);
    report_.features.guard = guard_->report(stopwatch.seconds());
    if (!result) throw RunError(ExitCode::soft_error, guard_->reason());
    results = {*result};
  } else {
    results = solver_->solve(given, tolerance_);
  }
  for (auto* observer : observers) observer->after_outer_step(1, {});
  measurement_->end();
  solver_->observers().remove(*this);
  if (streaming_) streaming_->check_region();
  report_.repeat = measurement_->repeat();
  report_.quiet = report_.repeat.quiet;
  std::vector<Solution> solutions;
  for (size_t k = 0; k < histories_.size(); ++k) {
    const double target_norm = tolerance_.residual_norm_for(results[k].right_hand_side_norm);
    solutions.push_back(solution_of(results[k], histories_[k], target_norm, preconditioner_->remark()));
  }
  record_solutions(solutions);
  const auto end = report_.solution->result.end;
  if (end == SolveEnd::stopped) report_.reason += last_words();
  const auto* const saved = saved_checkpoints();
  if (end == SolveEnd::step_limit && saved != nullptr && saved->facts().count > 0 &&
      saved->facts().failure.empty())
    report_.reason +=
        fmt::format("; with a higher limit the checkpoint in {} goes on from there", saved->facts().folder);
  return &report_.repeat;
}

/// The exit code and the reason are those of the worst end, and the first of equals.
void SolveRun::record_solutions(const std::vector<Solution>& solutions) {
  const auto code_of = [&](const Solution& one) {
    const auto end = one.result.end;
    const auto code = exit_code_of(end);
    if (!options_.measures_iterations) return code;
    // A measurement is to do all its iterations.
    if (end == SolveEnd::step_limit) return ExitCode::success;
    const bool is_solved = end == SolveEnd::stagnated && one.result.quantity.empty();
    return is_solved || code == ExitCode::success ? ExitCode::usage : code;
  };
  const auto severity = [&](const Solution& one) {  // the higher the worse
    constexpr std::array rising{ExitCode::success, ExitCode::interrupted, ExitCode::not_converged,
                                ExitCode::not_positive_definite, ExitCode::not_finite};
    return std::ranges::find(rising, code_of(one)) - rising.begin();
  };
  const auto worst = std::ranges::max_element(solutions, {}, severity);
  report_.solution = *worst;
  report_.code = code_of(*worst);
  if (report_.code == ExitCode::usage) {
    report_.reason =
        fmt::format("--iterations {}: the system is solved to rounding after {}; take no more than these",
                    options_.most_iterations, format_count(worst->result.step_count, "iteration"));
  } else if (report_.code != ExitCode::success) {
    report_.reason = sentence_of(worst->result, {.step = "iteration",
                                                 .step_limit = "--max-iterations",
                                                 .tolerance = "--rtol or --atol",
                                                 .preconditioner = "--preconditioner",
                                                 .stopped = interruption()});
  }
  if (!has_several()) return;
  if (report_.code != ExitCode::success) {
    const auto others =
        std::ranges::count_if(solutions, [&](const auto& one) { return severity(one) > 0; }) - 1;
    report_.reason = fmt::format(
        "right-hand side {} of {}{}: {}", worst - solutions.begin() + 1, solutions.size(),
        others > 0 ? fmt::format(", and {} more without a solution", others) : "", report_.reason);
  }
  report_.solutions = solutions;
}

void SolveRun::write_solution(OutputFile* file) const {
  if (options_.solution_path.empty()) return;
  const auto& result = report_.solution->result;
  HugePageVector narrow(has_several() ? place_.local_size : 0);
  for (size_t k = 0; k < narrow.size(); ++k) narrow[k] = x_[wide_index(k)];
  write_vector(has_several() ? narrow : x_, place_,
               fmt::format("x of A x = b for {}, A {}, {}, residual {:.3e}",
                           format_count(report_.right_hand_side_count, "right-hand side"),
                           report_.matrix->name, name_of(result.end), result.true_residual_norm),
               group_, file);
}

}  // namespace cg2d
