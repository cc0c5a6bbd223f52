#include "cg/run_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "cg/errors.hpp"
#include "cg/text_format.hpp"

namespace cg2d {
namespace {

constexpr std::int64_t double_bytes = sizeof(double);

/// Expected nonzeros of a block: its share of the plane. Positions are drawn evenly, so blocks hardly differ.
double expected_block_nonzeros(const Problem& problem, const comm::IndexRange& rows,
                               const comm::IndexRange& columns) {
  const auto n = static_cast<double>(problem.n);
  return expected_nonzero_count(problem) * (static_cast<double>(rows.size()) / n) *
         (static_cast<double>(columns.size()) / n);
}

}  // namespace

MemoryPlan plan_memory(const Problem& problem, const comm::BlockLayout& layout, int rank, comm::SumForm form,
                       const SourceRow& source) {
  const auto rows = layout.row_block(layout.grid().row_of(rank));
  const auto columns = layout.column_block(layout.grid().column_of(rank));
  const auto piece = layout.piece(layout.column_piece_of(rank));
  MemoryPlan plan;
  constexpr double entry_bytes = sizeof(double) + sizeof(std::int32_t);
  plan.block_bytes =
      static_cast<std::int64_t>(entry_bytes * expected_block_nonzeros(problem, rows, columns)) +
      static_cast<std::int64_t>(sizeof(std::int64_t)) * (rows.size() + 1);
  const auto schedule = comm::summation_schedule(layout, rank, form);
  const auto pieces = comm::summation_pieces(layout, rank);
  std::int64_t received_to_add = 0;
  for (const auto& step : schedule.steps) {
    if (step.receive_from != comm::ScheduleStep::no_partner && step.combine == comm::Combine::add) {
      received_to_add += pieces.element_count(step.received);
    }
  }
  constexpr std::int64_t solver_pieces = 4;  // x, z, r, and q where it has to move
  plan.vector_bytes =
      double_bytes * (columns.size() + rows.size() + received_to_add + solver_pieces * piece.size());
  plan.working_bytes = source.plan(problem, layout).working_bytes;
  return plan;
}

StepTraffic plan_traffic(const comm::BlockLayout& layout, int rank, comm::SumForm form) {
  const auto one_dot = comm::dot_traffic(layout.grid().rank_count(), rank, 1);
  return {.collection = comm::collection_traffic(layout, rank),
          .summation = comm::summation_traffic(layout, rank, form),
          .shuffle = comm::shuffle_traffic(layout, rank),
          .dot = one_dot + one_dot};
}

comm::ProcessGrid choose_grid(const Problem& problem, int rank_count, comm::SumForm form) {
  comm::ProcessGrid best;
  auto least = std::numeric_limits<std::int64_t>::max();
  for (const auto& grid : comm::factorizations(rank_count)) {
    const auto layout = comm::BlockLayout::even(problem.n, grid);
    std::int64_t cost = 0;
    // Even pieces differ by one element at most, so any rank stands for all; but ranks 0 and P-1 keep their
    // piece in every shuffle, so it must be another one where there is one.
    for (int rank = 0; rank < std::min(rank_count, 2); ++rank) {
      const auto traffic = plan_traffic(layout, rank, form).total();
      cost = std::max(cost, traffic.byte_count + start_up_bytes * traffic.message_count);
    }
    if (cost < least) {
      least = cost;
      best = grid;
    }
  }
  return best;
}

void check_memory(const Problem& problem, const comm::BlockLayout& layout, comm::SumForm form,
                  const SourceRow& source, const Environment& environment) {
  for (std::size_t node = 0; node < environment.nodes.size(); ++node) {
    std::int64_t needed = 0;
    std::int64_t largest = 0;
    for (std::size_t rank = 0; rank < environment.ranks.size(); ++rank) {
      if (environment.ranks[rank].node != static_cast<int>(node)) continue;
      const auto bytes = plan_memory(problem, layout, static_cast<int>(rank), form, source).total_bytes();
      needed += bytes;
      largest = std::max(largest, bytes);
    }
    const auto& info = environment.nodes[node];
    if (needed > info.available_bytes) {
      throw RunError(
          ExitCode::memory,
          fmt::format(
              "not enough memory on {}: the run needs {} there ({}, up to {} each), {} are available; "
              "take a smaller class or more nodes",
              info.host, format_bytes(needed), format_count(info.rank_count, "rank"), format_bytes(largest),
              format_bytes(info.available_bytes)));
    }
  }
}

}  // namespace cg2d
