// A solve without an assembled matrix.

#include <fmt/format.h>

#include <algorithm>

#include "cg/base/agreement.hpp"
#include "cg/run/solve/solve_run.hpp"
#include "cg/solver/preconditioners/preconditioner_table.hpp"
#include "cg/timing/cycle_counter.hpp"
#include "cg/tuning/run_plan.hpp"

namespace cg2d {
namespace {

void refuse(bool is_given, std::string_view option, const std::string& reason) {
  if (is_given) throw InputError(fmt::format("{}: {}", option, reason));
}

}  // namespace

void SolveRun::check_matrix_free(const MatrixFreeRow& row) const {
  const auto cuts_domain = fmt::format(
      "{} without a matrix has neither process columns nor a kernel; take "
      "--domain, or --assembled",
      row.name);
  refuse(!row.uses_grid && (configuration().has_grid() || options_.open_grid.name_a_grid()), "--grid",
         cuts_domain);
  refuse(!row.uses_grid && configuration().has_kernel(), "--kernel", cuts_domain);
  refuse(row.uses_grid && options_.domain_grid, "--domain", fmt::format("{} is cut by --grid", row.name));
  refuse(options_.cut != MatrixCut::nonzeros, "--cut",
         fmt::format("{} without a matrix is cut into equal parts; take --assembled", row.name));
  const auto& preconditioner = *find_preconditioner(options_.preconditioner);
  refuse(preconditioner.needs_diagonal_block, "--preconditioner " + options_.preconditioner,
         "needs the entries of a matrix; take --assembled");
}

void SolveRun::check_matrix_free_memory(const MatrixFreeSize& size) const {
  constexpr std::int64_t most_vectors = 12;  // b, x, and those of the largest form of CG
  const auto& preconditioner = *find_preconditioner(options_.preconditioner);
  const auto bytes_per_row = size.bytes_per_row + preconditioner.memory.bytes_per_row +
                             most_vectors * static_cast<std::int64_t>(sizeof(double));
  const auto rows_of_rank = static_cast<double>(size.order) / static_cast<double>(group_.size());
  check_memory(session_.granted_environment(),
               [&](int /*rank*/) { return saturated(rows_of_rank * static_cast<double>(bytes_per_row)); });
}

void SolveRun::solve_matrix_free(OutputFile* solution) {
  const auto& text = options_.operator_text;
  const auto& row = matrix_free_row_of(text);
  check_matrix_free(row);
  const auto size = row.size_of(text);
  agree_on(group_, [&] { check_matrix_free_memory(size); });
  group_.waiter().set_tick_source(&read_cycle_counter);
  report_.grid_is_automatic = false;
  report_.configuration.grid =
      named_grid(options_, group_.size()).value_or(comm::ProcessGrid{.columns = 1, .rows = group_.size()});
  session_.begin_threads();
  if (session_.chooses_transport()) choose_transport(row);
  const Stopwatch making;
  const auto system = row.make(text, {.group = group_,
                                      .configuration = configuration(),
                                      .domain_grid = options_.domain_grid,
                                      .times_phases = true,
                                      .changes_sign = row.is_negative_definite});
  auto& matrix = system->matrix();
  auto& result = report_.matrix.emplace();
  result.name = text;
  result.order = system->order();
  result.conversion_s = group_.maximum(making.seconds());
  note_matrix_free(*system);
  const auto local_size = matrix.local_size();
  if (find_preconditioner(options_.preconditioner)->needs_diagonal) {
    const auto diagonal = system->diagonal();
    refuse(!diagonal, "--preconditioner " + options_.preconditioner,
           fmt::format("the diagonal of {} is not known without its matrix", text));
    diagonal_ = HugePageVector(local_size);
    std::ranges::fill(diagonal_, *diagonal);
  }
  solve({.matrix = matrix,
         .timer = system->timer(),
         .place = {.size = system->order(),
                   .local_size = local_size,
                   .row_of = [&](std::size_t element) { return system->row_of(element); }},
         .sent = [&](comm::Operation operation) { return system->sent(operation); },
         .first_row = group_.sum_of_lower_ranks(static_cast<std::int64_t>(local_size)),
         .matrix_bytes = row.uses_grid ? system->matrix_byte_count() : 0},
        solution);
}

void SolveRun::note_matrix_free(MatrixFreeSystem& system) {
  report_.is_resolved = true;
  report_.configuration.kernel = system.kernel();
  auto& result = report_.matrix_free.emplace();
  result.cut = system.cut();
  const auto phases = system.matrix().phases();
  for (const auto phase : phases) session_.mine().product_work[index_of(phase)] = system.product_work(phase);
  result.phases.assign(phases.begin(), phases.end());
  result.phases.insert(result.phases.end(), {Phase::dot, Phase::vector_updates});
  if (const auto why_not = system.matrix().why_not_conforming(); !why_not.empty())
    report_.warnings.push_back(fmt::format("this is no result of the benchmark: {}", why_not));
}

}  // namespace cg2d
