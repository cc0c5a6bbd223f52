// A solve without an assembled matrix.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "cg/base/agreement.hpp"
#include "cg/run/solve/solve_run.hpp"
#include "cg/solver/matrix_cut.hpp"
#include "cg/solver/npb_iteration.hpp"
#include "cg/timing/cycle_counter.hpp"
#include "cg/tuning/trial.hpp"

namespace cg2d {

void SolveRun::choose_matrix_free() {
  const auto& row = matrix_free_row();
  matrix_free_size_ = row.size_of(options_.operator_text);
  const auto cuts_domain = fmt::format(
      "{} without a matrix has neither process columns nor a kernel; take "
      "--domain, or --assembled",
      row.name);
  refuse_if(!row.uses_grid && (configuration().has_grid() || options_.open_grid.name_a_grid()), "--grid",
            "{}", cuts_domain);
  refuse_if(!row.uses_grid && configuration().has_kernel(), "--kernel", "{}", cuts_domain);
  refuse_if(row.uses_grid && options_.domain_grid, "--domain", "{} is cut by --grid", row.name);
  refuse_if(options_.configuration.cut != automatic_choice, "--cut",
            "{} without a matrix is cut into equal parts; take --assembled", row.name);
  refuse_if(preconditioner_row().needs_diagonal_block, "--preconditioner " + options_.preconditioner,
            "needs the entries of a matrix; take --assembled");
  constexpr int64_t most_vectors = 13;  // b, x, the kept iterate, and those of the largest form of CG
  const auto bytes_per_row = matrix_free_size_.bytes_per_row + preconditioner_row().memory.bytes_per_row +
                             most_vectors * static_cast<int64_t>(sizeof(double));
  agree_on(group_, [&] {
    check_memory(*report_.environment, [&](int /*rank*/) {
      return saturated(rows_of_rank() * static_cast<double>(bytes_per_row));
    });
  });
  group_.waiter().set_tick_source(&read_cycle_counter);
  report_.grid_is_automatic = false;
  report_.configuration.cut = even_cut;
  const int rank_count = group_.size();
  report_.configuration.grid =
      named_grid(options_, rank_count).value_or(comm::ProcessGrid{.columns = 1, .rows = rank_count});
  begin_threads();
}

void SolveRun::make_matrix_free() {
  if (chooses_transport()) try_matrix_free_transports();
  const Stopwatch making;
  const auto& text = options_.operator_text;
  const auto& row = matrix_free_row();
  matrix_free_ = row.make(text, {.group = group_,
                                 .configuration = configuration(),
                                 .domain_grid = options_.domain_grid,
                                 .times_phases = true,
                                 .changes_sign = row.is_negative_definite});
  auto& result = report_.matrix.emplace();
  result.name = text;
  result.order = matrix_free_->order();
  result.conversion_s = group_.maximum(making.seconds());
  report_.is_resolved = true;
  report_.configuration.kernel = matrix_free_->kernel();
  matrix_bytes_ = matrix_free_->matrix_byte_count();
  auto& without_matrix = report_.matrix_free.emplace();
  without_matrix.arrangement = matrix_free_->arrangement();
  for (const auto phase : row.phases) mine_.product_work[index_of(phase)] = matrix_free_->product_work(phase);
  without_matrix.phases.assign(row.phases.begin(), row.phases.end());
  without_matrix.phases.insert(without_matrix.phases.end(), {Phase::dot, Phase::vector_updates});
  if (!row.why_not_conforming.empty())
    report_.warn("this is no result of the benchmark: {}", row.why_not_conforming);
  const auto local_size = matrix_free_->local_size();
  if (const auto use = preconditioner_row().diagonal; use != DiagonalUse::none) {
    const auto element = matrix_free_->diagonal();
    refuse_if(!element && use != DiagonalUse::where_known, "--preconditioner " + options_.preconditioner,
              "the diagonal of {} is not known without its matrix", options_.operator_text);
    if (element) diagonal_.assign(local_size, *element);
  }
  operator_ = matrix_free_.get();
  timer_ = &matrix_free_->timer();
  place_ = {.size = matrix_free_->order(), .local_size = local_size, .row_of = [this](size_t element) {
              return matrix_free_->row_of(element);
            }};
  first_row_ = group_.sum_of_lower_ranks(static_cast<int64_t>(local_size));
}

/// By a trial with an operator for each transport. Profiles know matrices only.
void SolveRun::try_matrix_free_transports() {
  progress_.say("choosing the transport");
  const auto make = [&](const comm::TransportRow& transport) -> TrialWork {
    auto with_it = configuration();
    with_it.transport = transport.name;
    const std::shared_ptr system = matrix_free_row().make(
        options_.operator_text,
        {.group = group_, .configuration = with_it, .domain_grid = options_.domain_grid});
    const auto iteration =
        std::make_shared<NpbIteration>(*system, system->timer(), configuration().thread_count);
    return [system, iteration] {
      iteration->steps(few_trial_steps);
      return std::nan("");
    };
  };
  constexpr int64_t vectors_of_iteration = 5 * sizeof(double);
  const auto bytes = rows_of_rank() *
                     static_cast<double>(matrix_free_size_.bytes_per_row + vectors_of_iteration) *
                     static_cast<double>(comm::transport_table().size());
  // Half of the free memory stays free.
  const auto free_bytes = group_.minimum(report_.environment->memory_of_rank(group_.rank()));
  const bool has_room_for_all = bytes < 0.5 * static_cast<double>(free_bytes);
  try_transports({.configuration = configuration(),
                  .make = make,
                  .step_count = few_trial_steps,
                  .has_room_for_all = has_room_for_all},
                 "profiles have no operators without a matrix");
}

}  // namespace cg2d
