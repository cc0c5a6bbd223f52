#include "cg/solve/solve_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "cg/base/agreement.hpp"
#include "cg/base/sample.hpp"
#include "cg/files/matrix_file.hpp"
#include "cg/files/vector_file.hpp"
#include "cg/preconditioners/diagonal_block.hpp"
#include "cg/preconditioners/preconditioner_table.hpp"
#include "cg/solver/communicator_setup.hpp"
#include "cg/solver/solve.hpp"
#include "cg/timing/cycle_counter.hpp"
#include "cg/tuning/run_plan.hpp"

namespace cg2d {
namespace {

/// A line on stderr for every iteration.
class Monitor final : public StepObserver {
 public:
  explicit Monitor(bool speaks) : speaks_(speaks) {}
  bool after_step(const CgState& state) override {
    if (speaks_) say_on_stderr(fmt::format("iteration {}: residual {:.6e}", ++count_, state.residual_norm()));
    return false;
  }

 private:
  bool speaks_;
  int count_ = 0;
};

/// Says about once a second how far a solve is, and how long it may take at the mean rate so far.
class SolveProgress final : public StepObserver {
 public:
  SolveProgress(const Progress& progress, double target_norm)
      : progress_(progress), target_norm_(target_norm) {}
  bool after_step(const CgState& state) override {
    ++count_;
    if (first_norm_ == 0.0) first_norm_ = state.first_residual_norm();
    constexpr double interval_s = 1.0;
    if (stopwatch_.seconds() < said_s_ + interval_s) return false;
    said_s_ = stopwatch_.seconds();
    const double done = std::log(state.residual_norm() / first_norm_) / std::log(target_norm_ / first_norm_);
    const auto rest = done > 0.0 && done < 1.0
                          ? fmt::format(", about {:.0f} s left", said_s_ * (1.0 / done - 1.0))
                          : std::string();
    progress_.say(fmt::format("iteration {}: residual {:.3e}, target {:.3e}{}", count_, state.residual_norm(),
                              target_norm_, rest));
    return false;
  }

 private:
  const Progress& progress_;
  double target_norm_;
  double first_norm_ = 0.0;
  double said_s_ = 0.0;
  int count_ = 0;
  Stopwatch stopwatch_;
};

}  // namespace

void SolveRun::note_failure(const RunError& error) {
  report_.code = error.code();
  report_.reason = error.what();
}

void SolveRun::prepare() {
  check_configuration(options_.configuration);
  if (!options_.configuration.has_transport())
    throw InputError("--transport auto: cg2d solve takes a transport by its name");
  const int thread_count = configuration().thread_count;
  report_.environment = inspect_environment(group_, thread_count);
  if (options_.names_hosts) name_by_host(*report_.environment);
  if (group_.rank() == 0) report_.provenance = inspect_provenance(*report_.environment, options_.names_hosts);
  report_.wait_mode = report_.environment->wait_mode();
  group_.waiter().set_mode(report_.wait_mode);
  if (report_.environment->oversubscribed && thread_count > 1) {
    report_.warnings.push_back(fmt::format("ranks x threads ({} x {}) exceed the cores: expect slow threads",
                                           group_.size(), thread_count));
  }
  if (configuration().has_grid()) require_grid_of(configuration().grid, group_.size());
  report_.profile = load_profile(options_.profile, *report_.environment, group_);
  report_.grid_is_automatic = options_.leaves_grid_open();
}

void SolveRun::perform(OutputFile* solution) {
  read();
  cut();
  choose_grid();
  check_choices();
  binding_.emplace(group_, *report_.environment, options_.bind, configuration().thread_count);
  report_.binding = binding_->result();
  if (report_.grid_is_automatic && options_.open_grid.tries_grids) try_grids();
  const auto layout = make_layout(matrix_->facts(), configuration());
  agree_on(group_, [&] {
    check_memory(*matrix_, configuration(), layout, granted_environment(),
                 find_preconditioner(options_.preconditioner)->memory);
  });
  const auto product = distribute(layout);
  const auto communicator =
      make_communicator(*comm::find_transport(configuration().transport), group_, layout,
                        communicator_options(configuration(), product->is_symmetric()));
  report_.is_resolved = true;
  report_.is_symmetric = product->is_symmetric();
  report_.instruction_set = product->instruction_set();
  group_.waiter().set_tick_source(&read_cycle_counter);
  solve(*communicator, *product, layout, solution);
}

void SolveRun::read() {
  progress_.say(fmt::format("reading {}", options_.matrix_path));
  group_.barrier();
  const Stopwatch stopwatch;
  double said_s = 0.0;
  const auto say = [&](double done) {
    if (stopwatch.seconds() < said_s + 1.0 || done <= 0.0) return;
    said_s = stopwatch.seconds();
    progress_.say(
        fmt::format("read {:.0f} %, about {:.0f} s left", 100.0 * done, said_s * (1.0 / done - 1.0)));
  };
  std::optional<std::uint64_t> seed;
  if (options_.cut == MatrixCut::random) seed = options_.permutation_seed;
  matrix_ = open_matrix({.path = options_.matrix_path, .permutation_seed = seed, .progress = say}, group_);
  matrix_->require_symmetric(group_);
  matrix_->require_positive_diagonal(group_);
  auto& result = report_.matrix.emplace();
  result.name = matrix_->facts().key.name;
  result.order = matrix_->order();
  result.nonzero_count = matrix_->nonzero_count();
  result.read_s = group_.maximum(stopwatch.seconds());
  progress_.say(
      fmt::format("{} rows, {} nonzeros in {:.3f} s", result.order, result.nonzero_count, result.read_s));
}

/// Random pieces are even ones, too: the order of the rows spreads the nonzeros.
void SolveRun::cut() {
  if (options_.cut == MatrixCut::nonzeros)
    matrix_->set_piece_starts(matrix_->balanced_piece_starts(group_.size(), group_));
}

void SolveRun::choose_grid() {
  auto grid = configuration().grid;
  if (options_.open_grid.columns) {
    const int columns = *options_.open_grid.columns;
    if (columns < 1 || group_.size() % columns != 0) {
      throw InputError(fmt::format("--px {}: does not divide the {}; valid grids (PXxPY): {}", columns,
                                   format_count(group_.size(), "rank"), valid_grids(group_.size())));
    }
    grid = {.columns = columns, .rows = group_.size() / columns};
  } else if (!configuration().has_grid()) {
    grid = cg2d::choose_grid(matrix_->facts(), configuration(), group_.size());
  }
  take_grid(grid);
}

void SolveRun::take_grid(const comm::ProcessGrid& grid) {
  report_.configuration.grid = grid;
  report_.kernel_choice = kernel_for(grid);
  report_.configuration.kernel = report_.kernel_choice.kernel->name;
}

ChosenKernel SolveRun::kernel_for(const comm::ProcessGrid& grid) const {
  auto asked = options_.configuration;
  asked.grid = grid;
  return choose_kernel(matrix_->facts(), asked,
                       {.asked = options_.tuning,
                        .ranks_oversubscribed = report_.environment->ranks_oversubscribed,
                        .profile = report_.profile});
}

void SolveRun::try_grids() {
  const std::optional<MachineDescription> no_machine;  // its predictions are for matrices of the benchmark
  const auto shortlist =
      make_grid_shortlist(group_, {.matrix = matrix_->facts(),
                                   .configuration = configuration(),
                                   .machine = no_machine,
                                   .kernel_for = [this](const auto& grid) -> const kernels::KernelRow& {
                                     return *kernel_for(grid).kernel;
                                   }});
  if (shortlist.grids.size() > 1) progress_.say("trying grids");
  const auto environment = granted_environment();
  report_.grid_trial = cg2d::try_grids(group_,
                                       {.source = *matrix_,
                                        .configuration = configuration(),
                                        .environment = environment,
                                        .kernel_for = [this](const auto& grid) { return kernel_for(grid); }},
                                       shortlist);
  take_grid(report_.grid_trial->best);
}

void SolveRun::check_choices() const {
  const auto& transport = *comm::find_transport(configuration().transport);
  if (const auto reason = transport.why_unavailable(group_); !reason.empty())
    throw RunError(ExitCode::unavailable, fmt::format("--transport {}: {}", transport.name, reason));
  agree_on(group_, [&] {
    const auto& kernel = *report_.kernel_choice.kernel;
    if (const auto reason = kernel.why_unavailable(); !reason.empty()) {
      throw RunError(ExitCode::unavailable,
                     fmt::format("--kernel {}: {} (rank {})", kernel.name, reason, group_.rank()));
    }
  });
}

Environment SolveRun::granted_environment() const {
  Environment granted = *report_.environment;
  if (options_.memory_limit_bytes > 0) {
    for (auto& node : granted.nodes)
      node.available_bytes = std::min(node.available_bytes, options_.memory_limit_bytes);
  }
  return granted;
}

/// The rows leave while the blocks grow; afterwards the matrix has none.
std::unique_ptr<BlockProduct> SolveRun::distribute(const comm::BlockLayout& layout) {
  auto& result = *report_.matrix;
  result.balance = balance_of(matrix_->nonzeros_of_blocks(layout, group_));
  const auto other_layout =
      options_.cut == MatrixCut::nonzeros
          ? equal_pieces(matrix_->order(), configuration().grid)
          : comm::BlockLayout(configuration().grid, matrix_->balanced_piece_starts(group_.size(), group_));
  result.other_balance = balance_of(matrix_->nonzeros_of_blocks(other_layout, group_));
  const auto& preconditioner = *find_preconditioner(options_.preconditioner);
  if (preconditioner.needs_diagonal) diagonal_ = matrix_->diagonal(layout, group_);
  group_.barrier();
  const Stopwatch distribution;
  auto block = matrix_->take(layout, group_);
  result.distribute_s = group_.maximum(distribution.seconds());
  // Now, since a symmetric kernel drops half of the block.
  const Stopwatch diagonal_parts;
  if (preconditioner.needs_diagonal_block) diagonal_block_ = diagonal_block_of(block, layout, group_);
  result.preconditioner_s = group_.maximum(diagonal_parts.seconds());
  mine_.nonzero_count = block.nonzero_count();
  mine_.row_lengths = row_lengths(block, report_.kernel_choice.critical_vector_length);
  mine_.csr_bytes = block.byte_count();
  std::unique_ptr<BlockProduct> product;
  double conversion_s = 0.0;
  agree_on(group_, [&] {
    const Stopwatch conversion;
    product = product_maker(configuration().overlaps)(
        *report_.kernel_choice.kernel, std::move(block), layout, group_.rank(),
        {.thread_count = configuration().thread_count, .tuning = report_.kernel_choice.tuning});
    conversion_s = conversion.seconds();
  });
  result.conversion_s = group_.maximum(conversion_s);
  mine_.block_bytes = product->matrix_byte_count();
  return product;
}

HugePageVector SolveRun::make_vector(const VectorOption& option, const comm::BlockLayout& layout) {
  const VectorPlace place{.layout = layout, .permutation = matrix_->permutation()};
  const auto size = static_cast<std::size_t>(layout.piece(layout.column_piece_of(group_.rank())).size());
  if (option.kind == VectorOption::Kind::file) return read_vector(option.path, place, group_);
  if (option.kind == VectorOption::Kind::random) return random_vector(option.seed, place, group_.rank());
  HugePageVector vector(size);
  if (option.kind == VectorOption::Kind::ones) std::ranges::fill(vector, 1.0);
  return vector;
}

void SolveRun::solve(comm::Communicator& communicator, BlockProduct& product, const comm::BlockLayout& layout,
                     OutputFile* solution_file) {
  const auto b = make_vector(options_.right_hand_side, layout);
  auto x = make_vector(options_.first_guess, layout);
  const CycleCalibration calibration;
  PhaseTimer timer(true, communicator);
  BlockOperator matrix(communicator, product, timer, configuration().thread_count);
  DistributedVectors vectors(matrix, timer, configuration().thread_count);
  const Stopwatch making;
  const auto preconditioner =
      find_preconditioner(options_.preconditioner)
          ->make({.matrix = matrix,
                  .diagonal = diagonal_,
                  .diagonal_block = &diagonal_block_,
                  .first_row = layout.piece(layout.column_piece_of(group_.rank())).begin,
                  .thread_count = configuration().thread_count});
  diagonal_block_ = {};  // its factors are made
  report_.matrix->preconditioner_s += group_.maximum(making.seconds());
  ConjugateGradient conjugate_gradient(matrix, *preconditioner, vectors, *find_cg_variant(options_.variant));
  const Tolerance tolerance({.relative = options_.relative_tolerance,
                             .absolute = options_.absolute_tolerance,
                             .most_steps = options_.most_iterations});
  const double b_norm = std::sqrt(vectors.dot(b, b));
  const double target_norm = tolerance.residual_norm_for(b_norm);
  ResidualHistory history(options_.most_iterations);
  LanczosEstimates estimates(options_.most_iterations);
  conjugate_gradient.add(history);
  conjugate_gradient.add(estimates);
  SolveProgress says_progress(progress_, target_norm);
  Monitor monitor(group_.rank() == 0);
  conjugate_gradient.add(says_progress);
  if (options_.monitors) conjugate_gradient.add(monitor);

  RankTimes times;
  timer.reset();
  group_.barrier();
  std::array<comm::Traffic, comm::operation_count> sent_before{};
  for (std::size_t k = 0; k < sent_before.size(); ++k)
    sent_before[k] = communicator.sent(static_cast<comm::Operation>(k));
  const auto waits_before = group_.waiter().wait_count();
  const auto dot_work_before = vectors.dot_work();
  const auto update_work_before = vectors.update_work();
  const Stopwatch stopwatch;
  const auto begin_clocks = read_cycle_counter();
  const auto result = cg2d::solve(
      conjugate_gradient,
      {.b = b, .x = x, .starts_from_x = options_.first_guess.kind != VectorOption::Kind::zeros}, tolerance);
  times.region_clocks = read_cycle_counter() - begin_clocks;
  times.region_s = stopwatch.seconds();
  times.phases = timer.records();
  times.wait_count = group_.waiter().wait_count() - waits_before;
  times.dot_work = vectors.dot_work() - dot_work_before;
  times.update_work = vectors.update_work() - update_work_before;
  for (std::size_t k = 0; k < sent_before.size(); ++k) {
    const auto& sent = communicator.sent(static_cast<comm::Operation>(k));
    times.sent[k] = {.message_count = sent.message_count - sent_before[k].message_count,
                     .byte_count = sent.byte_count - sent_before[k].byte_count};
  }
  report_.repeat.time_s = group_.maximum(times.region_s);
  report_.repeat.ranks = group_.gather_one(times);
  mine_.clocks_per_scope = timer.measure_clocks_per_scope();
  mine_.ticks_per_second = calibration.ticks_per_second();
  mine_.peak_bytes = peak_resident_bytes();
  mine_.resident_bytes = resident_bytes();
  mine_.huge_page_bytes = huge_page_bytes();
  report_.ranks = group_.gather_one(mine_);
  const auto spectrum = estimates.estimate();
  report_.solution = Solution{.result = result,
                              .target_norm = target_norm,
                              .history = history.norms(),
                              .spectrum = spectrum,
                              .predicted_steps = spectrum.predicted_steps(target_norm / b_norm),
                              .preconditioner_remark = preconditioner->remark()};
  report_.code = exit_code_of(result.end);
  report_.reason = reason_of(*report_.solution);
  if (options_.solution_path.empty()) return;
  write_vector(x, {.layout = layout, .permutation = matrix_->permutation()},
               fmt::format("x of A x = b, A {}, {}, residual {:.3e}", report_.matrix->name,
                           name_of(result.end), result.true_residual_norm),
               group_, solution_file);
}

}  // namespace cg2d
