#include "cg/library/solver.hpp"

#include <fmt/format.h>

#include <exception>
#include <new>

#include "cg/base/agreement.hpp"
#include "cg/library/built_in_choice.hpp"
#include "cg/solver/assembled_operator.hpp"
#include "cg/solver/communicator_setup.hpp"
#include "cg/solver/matrix_cut.hpp"
#include "cg/solver/operators/matrix_free.hpp"
#include "cg/solver/preconditioners/preconditioner_table.hpp"
#include "cg/timing/cycle_counter.hpp"

namespace cg2d {
namespace {

/// Throws InputError, on every rank alike, where the ranks' keys differ: they would wait for each other for ever.
void require_same(const std::string& key, std::string_view what, comm::RankGroup& group) {
  const auto first = group.broadcast(key);
  agree_on(group, [&] {
    if (key != first) throw InputError("solver: the ranks have different {}; all must give the same", what);
  });
}

/// Throws InputError.
void require_tolerance(const ToleranceOptions& tolerance) {
  const auto require = [](std::string_view name, auto value) {
    if (!(value >= 0))  // nor NaN
      throw InputError("tolerance: {} {}: must be 0 or more", name, value);
  };
  require("relative", tolerance.relative);
  require("absolute", tolerance.absolute);
  require("most_steps", tolerance.most_steps);
}

void check_options(const SolverOptions& options, comm::RankGroup& group) {
  const auto& configuration = options.configuration;
  auto key = fmt::format("{} {} {} {} {}", configuration_key(configuration), configuration.cut,
                         options.preconditioner, options.variant, options.times_phases);
  for (const auto start : options.piece_starts) key += fmt::format(" {}", start);
  require_same(key, "options", group);
  agree_on(group, [&] {
    require_instruction_set();
    static_cast<void>(polynomial_from("preconditioner", options.preconditioner));
    require_known("variant", options.variant, names_of(cg_variant_table()));
    if (configuration.has_kernel())
      require_known("kernel", configuration.kernel, names_of(kernels::kernel_table()));
    require_within("threads", configuration.thread_count, most_threads);
    check_configuration(configuration);
    if (configuration.is_reproducible)
      throw InputError(
          "configuration.is_reproducible: not in the library yet; cg2d solve --reproducible has it");
    if (configuration.has_grid()) require_grid_of(configuration.grid, group.size());
    if (const auto kind = matrix_cut_from(configuration.cut).kind;
        kind == MatrixCut::Kind::random || kind == MatrixCut::Kind::speed)
      throw InputError(
          "cut {}: the library leaves rows in their order, and measures no speeds; valid: auto, "
          "nonzeros, even, file:FILE",
          configuration.cut);
  });
}

/// Checks all, and makes the cut and all open choices.
Configuration resolve(SystemMatrix& matrix, comm::RankGroup& group, const SolverOptions& options) {
  check_options(options, group);
  matrix.require_symmetric(group);
  matrix.require_positive_diagonal(group);
  auto configuration = options.configuration;
  if (const auto& starts = options.piece_starts; !starts.empty()) {
    const auto count = static_cast<size_t>(group.size()) + 1;
    if (starts.size() != count || starts.front() != 0 || starts.back() != matrix.order() ||
        !std::ranges::is_sorted(starts))
      throw InputError("solver: piece_starts must be {} numbers that rise from 0 to {}", count,
                       matrix.order());
    if (!configuration.has_grid()) configuration.grid = {.columns = 1, .rows = group.size()};
    matrix.set_piece_starts(starts);
  } else if (!matrix.permutation()) {
    const auto cut = matrix_cut_from(with_cut(configuration, nonzeros_cut).cut);
    matrix.set_piece_starts(piece_starts_for(cut, matrix, group));
  }
  if (!configuration.has_transport()) configuration = with_default_transport(group, configuration);
  configuration.transport = transport_of(configuration, group).name;
  if (!configuration.has_grid())
    configuration.grid = choose_grid(matrix.facts(), configuration, group.size());
  if (!configuration.has_kernel()) configuration.kernel = kernels::kernel_for_any_pattern().name;
  return configuration;
}

/// One piece per rank, as long as the rank's vectors.
comm::BlockLayout layout_of(const LinearOperator& matrix, comm::RankGroup& group) {
  const comm::ProcessGrid grid{.columns = 1, .rows = group.size()};
  return {grid, piece_starts_of(static_cast<int64_t>(matrix.local_size()), grid, group)};
}

}  // namespace

FunctionOperator::FunctionOperator(size_t local_size, Product product, comm::RankGroup& group)
    : product_(std::move(product)), group_(group) {
  agree_on(group, [&] {
    p_.resize(local_size);
    q_.resize(local_size);
  });
  // Vectors without elements: only the sums over all ranks are used.
  sums_ = make_communicator(comm::default_transport(), group,
                            comm::BlockLayout::even(0, {.columns = 1, .rows = group.size()}), {});
}

void FunctionOperator::apply() {
  const auto fail = [&](ExitCode code, const char* reason) {
    if (!failure_)
      failure_ = RunError(code, "the user's product failed on rank {}: {}", group_.rank(), reason);
    std::ranges::fill(q_, std::numeric_limits<double>::quiet_NaN());
  };
  try {
    product_(p_, q_);
  } catch (const RunError& error) {
    fail(error.code(), error.what());
  } catch (const std::bad_alloc&) {
    fail(ExitCode::memory, "out of memory");
  } catch (const std::exception& error) {
    fail(ExitCode::usage, error.what());
  } catch (...) {
    fail(ExitCode::usage, "an exception that is no std::exception");
  }
}

void FunctionOperator::throw_failure() {
  const auto failure = std::exchange(failure_, std::nullopt);
  agree_on(group_, [&] {
    if (failure) throw RunError(*failure);
  });
}

/// Everything that a solver consists of, in the order in which it is made.
class Solver::Parts {
 public:
  Parts(std::unique_ptr<SystemMatrix> matrix, comm::RankGroup& group, const SolverOptions& options)
      : group_(group),
        configuration_(resolve(*matrix, group, options)),
        layout_(make_layout(matrix->facts(), configuration_)),
        permutation_(matrix->permutation()) {
    const auto& row = *find_preconditioner(options.preconditioner);
    HugePageVector diagonal;
    if (row.diagonal != DiagonalUse::none) diagonal = matrix->diagonal(layout_, group);
    auto block = matrix->take(layout_, group);
    matrix.reset();
    kernels::CsrBlock diagonal_block;  // now, since a symmetric kernel drops half of the block
    if (row.needs_diagonal_block) diagonal_block = diagonal_block_of(block, layout_, group);
    assembled_ = assemble(std::move(block), *comm::find_transport(configuration_.transport),
                          {.group = group,
                           .layout = layout_,
                           .configuration = configuration_,
                           .kernel = kernels::kernel_named(configuration_.kernel)},
                          options.times_phases);
    operator_ = assembled_.get();
    timer_ = &assembled_->timer();
    prepare_solves(options, {.matrix = *operator_, .diagonal = diagonal, .diagonal_block = &diagonal_block});
  }

  Parts(LinearOperator& matrix, comm::RankGroup& group, const SolverOptions& options)
      : group_(group),
        configuration_(options.configuration),
        layout_((check_options(options, group), layout_of(matrix, group))),
        function_(dynamic_cast<FunctionOperator*>(&matrix)),
        own_timer_(std::in_place, options.times_phases, group.waiter()),
        timer_(&*own_timer_),
        operator_(&matrix) {
    configuration_.grid = layout_.grid();
    if (find_preconditioner(options.preconditioner)->needs_diagonal_block)
      throw InputError(
          "solver: the preconditioner {} needs the entries of the matrix, which an operator "
          "does not have; valid: {}",
          options.preconditioner,
          fmt::join(
              names_where(preconditioner_table(), [](const auto& row) { return !row.needs_diagonal_block; }),
              ", "));
    prepare_solves(options, {.matrix = *operator_, .diagonal = options.diagonal});
  }

  /// tolerance: the numbers of the stop rule, which all ranks must have alike; nullptr: the rule is the caller's.
  Solution solve(const SystemVectors& vectors, const StopRule& stop, const ToleranceOptions* tolerance) {
    agree_on(group_, [&] {
      if (tolerance != nullptr) require_tolerance(*tolerance);
      const auto size = operator_->local_size();
      if (vectors.b.size() != size || vectors.x.size() != size)
        throw InputError("solver: b and x have {} elements each on rank {}, got {} and {}", size,
                         group_.rank(), vectors.b.size(), vectors.x.size());
    });
    auto key = fmt::format("{} {}", vectors.starts_from_x, vectors.snapshot != nullptr);
    if (tolerance != nullptr)
      key += fmt::format(" {} {} {}", tolerance->relative, tolerance->absolute, tolerance->most_steps);
    require_same(key, "tolerances or starts", group_);
    const int most_steps = tolerance == nullptr ? std::numeric_limits<int>::max() : tolerance->most_steps;
    history_.emplace(most_steps);
    timer_->reset();
    group_.barrier();
    const Stopwatch stopwatch;
    const auto result = conjugate_gradient_->solve(vectors, stop).front();
    const double own_s = stopwatch.seconds();
    if (function_ != nullptr) function_->throw_failure();
    time_s_ = group_.maximum(own_s);
    phases_.clear();
    const double ticks_per_second = clocks_per_second();
    for (const auto& row : phase_table()) {
      const auto& record = timer_->records()[index_of(row.phase)];
      if (record.calls == 0) continue;
      phases_.push_back({.name = row.name,
                         .time_s = static_cast<double>(record.clocks) / ticks_per_second,
                         .waited_s = static_cast<double>(record.waited_clocks) / ticks_per_second,
                         .call_count = static_cast<int64_t>(record.calls)});
    }
    std::optional<double> target_norm;
    if (tolerance != nullptr)
      target_norm = Tolerance(*tolerance).residual_norm_for(result.right_hand_side_norm);
    return solution_of(result, *history_, target_norm, preconditioner_->remark());
  }

  void prepare_solves(const SolverOptions& options, PreconditionerInput input) {
    if (options.times_phases) group_.waiter().set_tick_source(&read_cycle_counter);
    vectors_.emplace(*operator_, *timer_, configuration_.thread_count, assembled_ == nullptr);
    input.first_row = layout_.own_piece(group_.rank()).begin;
    input.thread_count = configuration_.thread_count;
    input.polynomial = polynomial_from("preconditioner", options.preconditioner);
    preconditioner_ = find_preconditioner(options.preconditioner)->make(input);
    if (function_ != nullptr) function_->throw_failure();  // of the products that estimate bounds
    conjugate_gradient_.emplace(*operator_, *preconditioner_, *vectors_, *find_cg_variant(options.variant));
    conjugate_gradient_->observers().add(history_.emplace(0));
  }

 private:
  friend class Solver;

  comm::RankGroup& group_;
  Configuration configuration_;
  comm::BlockLayout layout_;
  std::optional<RandomPermutation> permutation_{};
  FunctionOperator* function_ = nullptr;            // the user's, where it is one
  std::unique_ptr<AssembledOperator> assembled_{};  // the operator made of a matrix
  std::optional<PhaseTimer> own_timer_{};           // of a solver for a user's operator
  PhaseTimer* timer_ = nullptr;
  LinearOperator* operator_ = nullptr;
  std::optional<DistributedVectors> vectors_{};
  std::unique_ptr<Preconditioner> preconditioner_{};
  std::optional<ConjugateGradient> conjugate_gradient_{};
  std::optional<StepHistory> history_{};  // of the last solve; observes the steps
  std::vector<PhaseTime> phases_{};
  double time_s_ = 0.0;
};

Solver::Solver(std::unique_ptr<SystemMatrix> matrix, comm::RankGroup& group, const SolverOptions& options)
    : parts_(std::make_unique<Parts>(std::move(matrix), group, options)) {}
Solver::Solver(LinearOperator& matrix, comm::RankGroup& group, const SolverOptions& options)
    : parts_(std::make_unique<Parts>(matrix, group, options)) {}
Solver::~Solver() = default;
Solver::Solver(Solver&&) noexcept = default;
Solver& Solver::operator=(Solver&&) noexcept = default;

size_t Solver::local_size() const { return parts_->operator_->local_size(); }
comm::IndexRange Solver::rows() const { return parts_->layout_.own_piece(parts_->group_.rank()); }
int64_t Solver::row_of(size_t element) const { return place().row_of(element); }
PiecePlace Solver::place() const { return {parts_->layout_, parts_->permutation_, parts_->group_.rank()}; }
const Configuration& Solver::configuration() const { return parts_->configuration_; }
const std::vector<PhaseTime>& Solver::phases() const { return parts_->phases_; }
double Solver::time_s() const { return parts_->time_s_; }
void Solver::add(StepObserver& observer) { parts_->conjugate_gradient_->observers().add(observer); }

Solution Solver::solve(std::span<const double> b, std::span<double> x, const ToleranceOptions& tolerance) {
  return solve({.b = b, .x = x}, tolerance);
}

Solution Solver::solve(const SystemVectors& vectors, const ToleranceOptions& tolerance) {
  return parts_->solve(vectors, Tolerance(tolerance), &tolerance);
}

Solution Solver::solve(const SystemVectors& vectors, const StopRule& stop) {
  return parts_->solve(vectors, stop, nullptr);
}

}  // namespace cg2d
