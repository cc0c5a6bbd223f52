// A solve without an assembled matrix.

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "cg/base/agreement.hpp"
#include "cg/run/solve/solve_operator.hpp"
#include "cg/solver/matrix_cut.hpp"
#include "cg/solver/npb_iteration.hpp"
#include "cg/solver/operators/matrix_free.hpp"
#include "cg/solver/preconditioners/preconditioner_table.hpp"
#include "cg/timing/cycle_counter.hpp"
#include "cg/tuning/run_plan.hpp"
#include "cg/tuning/trial.hpp"

namespace cg2d {
namespace {

void refuse(bool is_given, std::string_view option, const std::string& reason) {
  if (is_given) throw InputError(fmt::format("{}: {}", option, reason));
}

/// CG steps of an operator without a matrix.
class MatrixFreeCandidate final : public TrialCandidate {
 public:
  MatrixFreeCandidate(std::unique_ptr<MatrixFreeSystem> system, int thread_count)
      : system_(std::move(system)), iteration_(system_->matrix(), system_->timer(), thread_count) {}
  void iterate() override { iteration_.steps(TrialSolver::few_steps); }

 private:
  std::unique_ptr<MatrixFreeSystem> system_;
  NpbIteration iteration_;
};

class MatrixFreeOperator final : public SolvedOperator {
 public:
  explicit MatrixFreeOperator(const SolveParts& parts)
      : parts_(parts),
        row_(matrix_free_row_of(parts.options.operator_text)),
        size_(row_.size_of(parts.options.operator_text)) {}

  void choose() override;
  AssembledSystem make() override;

 private:
  void check() const;
  void check_memory_of_ranks() const;
  void choose_transport();
  [[nodiscard]] bool has_room_for_all_transports() const;
  void record_system();
  [[nodiscard]] HugePageVector diagonal() const;

  SolveParts parts_;
  const MatrixFreeRow& row_;
  MatrixFreeSize size_;
  std::unique_ptr<MatrixFreeSystem> system_;
};

void MatrixFreeOperator::check() const {
  const auto cuts_domain = fmt::format(
      "{} without a matrix has neither process columns nor a kernel; take "
      "--domain, or --assembled",
      row_.name);
  refuse(!row_.uses_grid && (parts_.configuration().has_grid() || parts_.options.open_grid.name_a_grid()),
         "--grid", cuts_domain);
  refuse(!row_.uses_grid && parts_.configuration().has_kernel(), "--kernel", cuts_domain);
  refuse(row_.uses_grid && parts_.options.domain_grid, "--domain",
         fmt::format("{} is cut by --grid", row_.name));
  refuse(parts_.options.configuration.cut != automatic_choice, "--cut",
         fmt::format("{} without a matrix is cut into equal parts; take --assembled", row_.name));
  const auto& preconditioner = *find_preconditioner(parts_.options.preconditioner);
  refuse(preconditioner.needs_diagonal_block, "--preconditioner " + parts_.options.preconditioner,
         "needs the entries of a matrix; take --assembled");
}

void MatrixFreeOperator::check_memory_of_ranks() const {
  constexpr std::int64_t most_vectors = 13;  // b, x, the kept iterate, and those of the largest form of CG
  const auto& preconditioner = *find_preconditioner(parts_.options.preconditioner);
  const auto bytes_per_row = size_.bytes_per_row + preconditioner.memory.bytes_per_row +
                             most_vectors * static_cast<std::int64_t>(sizeof(double));
  const auto rows_of_rank = static_cast<double>(size_.order) / static_cast<double>(parts_.group.size());
  check_memory(*parts_.report.environment,
               [&](int /*rank*/) { return saturated(rows_of_rank * static_cast<double>(bytes_per_row)); });
}

void MatrixFreeOperator::choose() {
  check();
  agree_on(parts_.group, [&] { check_memory_of_ranks(); });
  parts_.group.waiter().set_tick_source(&read_cycle_counter);
  parts_.report.grid_is_automatic = false;
  parts_.report.configuration.cut = even_cut;
  const int rank_count = parts_.group.size();
  parts_.report.configuration.grid =
      named_grid(parts_.options, rank_count).value_or(comm::ProcessGrid{.columns = 1, .rows = rank_count});
  parts_.session.begin_threads();
}

AssembledSystem MatrixFreeOperator::make() {
  if (parts_.session.chooses_transport()) choose_transport();
  const Stopwatch making;
  const auto& text = parts_.options.operator_text;
  system_ = row_.make(text, {.group = parts_.group,
                             .configuration = parts_.configuration(),
                             .domain_grid = parts_.options.domain_grid,
                             .times_phases = true,
                             .changes_sign = row_.is_negative_definite});
  auto& result = parts_.report.matrix.emplace();
  result.name = text;
  result.order = system_->order();
  result.conversion_s = parts_.group.maximum(making.seconds());
  record_system();
  auto& matrix = system_->matrix();
  const auto local_size = matrix.local_size();
  return {.matrix = matrix,
          .timer = system_->timer(),
          .place = {.size = system_->order(),
                    .local_size = local_size,
                    .row_of = [this](std::size_t element) { return system_->row_of(element); }},
          .sent = [this](comm::Operation operation) { return system_->sent(operation); },
          .first_row = parts_.group.sum_of_lower_ranks(static_cast<std::int64_t>(local_size)),
          .matrix_bytes = row_.uses_grid ? system_->matrix_byte_count() : 0,
          .diagonal = diagonal()};
}

/// This rank's piece, where the preconditioner needs it.
HugePageVector MatrixFreeOperator::diagonal() const {
  const auto& name = parts_.options.preconditioner;
  const auto use = find_preconditioner(name)->diagonal;
  if (use == DiagonalUse::none) return {};
  const auto element = system_->diagonal();
  if (!element && use == DiagonalUse::where_known) return {};
  refuse(!element, "--preconditioner " + name,
         fmt::format("the diagonal of {} is not known without its matrix", parts_.options.operator_text));
  HugePageVector all(system_->matrix().local_size());
  std::ranges::fill(all, *element);
  return all;
}

void MatrixFreeOperator::record_system() {
  parts_.report.is_resolved = true;
  parts_.report.configuration.kernel = system_->kernel();
  auto& result = parts_.report.matrix_free.emplace();
  result.arrangement = system_->arrangement();
  const auto phases = system_->matrix().phases();
  for (const auto phase : phases)
    parts_.session.mine().product_work[index_of(phase)] = system_->product_work(phase);
  result.phases.assign(phases.begin(), phases.end());
  result.phases.insert(result.phases.end(), {Phase::dot, Phase::vector_updates});
  if (const auto why_not = system_->matrix().why_not_conforming(); !why_not.empty())
    parts_.report.warnings.push_back(fmt::format("this is no result of the benchmark: {}", why_not));
}

/// By a trial with an operator for each transport. Profiles know matrices only.
void MatrixFreeOperator::choose_transport() {
  parts_.progress.say("choosing the transport");
  const auto make = [&](const comm::TransportRow& transport) -> std::unique_ptr<TrialCandidate> {
    auto with_it = parts_.configuration();
    with_it.transport = transport.name;
    return std::make_unique<MatrixFreeCandidate>(
        row_.make(
            parts_.options.operator_text,
            {.group = parts_.group, .configuration = with_it, .domain_grid = parts_.options.domain_grid}),
        parts_.configuration().thread_count);
  };
  auto trial = try_transports(parts_.group, {.configuration = parts_.configuration(),
                                             .make = make,
                                             .step_count = TrialSolver::few_steps,
                                             .has_room_for_all = has_room_for_all_transports()});
  trial.not_kept_because = "profiles have no operators without a matrix";
  parts_.session.set_transport(std::move(trial));
}

/// Half of the free memory stays free.
bool MatrixFreeOperator::has_room_for_all_transports() const {
  constexpr std::int64_t vectors_of_iteration = 5 * sizeof(double);
  const auto rows_of_rank = static_cast<double>(size_.order) / static_cast<double>(parts_.group.size());
  const auto bytes = rows_of_rank * static_cast<double>(size_.bytes_per_row + vectors_of_iteration) *
                     static_cast<double>(comm::transport_table().size());
  const auto& nodes = parts_.report.environment->nodes;
  return std::ranges::all_of(nodes, [&](const auto& node) {
    return bytes * node.rank_count < 0.5 * static_cast<double>(node.memory.available_bytes);
  });
}

}  // namespace

std::unique_ptr<SolvedOperator> operator_without_matrix(const SolveParts& parts) {
  return std::make_unique<MatrixFreeOperator>(parts);
}

}  // namespace cg2d
