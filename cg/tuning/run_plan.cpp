#include "cg/tuning/run_plan.hpp"

namespace cg2d {
namespace {

/// The largest memory while the kernel's format is made. The source makes the whole block as CSR; for
/// symmetric storage half of it is dropped at once.
double peak_bytes_per_nonzero(const kernels::KernelRow& kernel, double copied_share) {
  constexpr double csr = sizeof(double) + sizeof(std::int32_t);
  const double kept_csr = kernel.stores_half() ? 0.5 * csr : csr;
  const double converted =
      kernel.converts ? std::max(kernel.bytes_per_nonzero, kernel.conversion_bytes_per_nonzero) : 0.0;
  // Strips that are there already are no larger than the CSR that they were.
  return std::max({csr, kept_csr + converted, kept_csr * (1.0 + copied_share)});
}

/// Memory of strips of columns beside the block that they are cut from, while they are made.
struct StripCost {
  double copied_share = 0.0;  ///< share of the entries that one strip takes: in memory twice for a moment
  std::int64_t count = 0;
};

/// None where the product is in one part. The last strip takes over what the others have left.
StripCost strip_cost(const Configuration& configuration, const comm::BlockLayout& layout, int rank) {
  StripCost cost;
  if (!configuration.overlaps || layout.grid().rows == 1) return cost;
  const auto columns = layout.columns_of(rank).size();
  std::int64_t copied = 0;
  std::int64_t last = 0;
  for (const auto& part : comm::collection_parts(layout, rank)) {
    for (const auto& strip : part) {
      copied = std::max(copied, last);
      last = strip.size();
      ++cost.count;
    }
  }
  if (columns > 0) cost.copied_share = static_cast<double>(copied) / static_cast<double>(columns);
  return cost;
}

/// Elements of the buffers for what a rank receives and adds in one summation.
std::int64_t received_to_add(const comm::Schedule& schedule, const comm::GroupPieces& pieces) {
  std::int64_t count = 0;
  for (const auto& step : schedule.steps) {
    if (step.receive_from != comm::ScheduleStep::no_partner && step.combine == comm::Combine::add)
      count += pieces.element_count(step.received);
  }
  return count;
}

}  // namespace

MemoryPlan plan_memory(const MatrixSource& source, const Configuration& configuration,
                       const comm::BlockLayout& layout, int rank) {
  return plan_memory(source.facts(), source.working_bytes(layout, {}), configuration, layout, rank);
}

MemoryPlan plan_memory(const MatrixFacts& matrix, std::int64_t working_bytes,
                       const Configuration& configuration, const comm::BlockLayout& layout, int rank) {
  const auto& kernel = planned_kernel(configuration);
  const auto rows = layout.rows_of(rank);
  const auto columns = layout.columns_of(rank);
  const auto piece = layout.own_piece(rank);
  MemoryPlan plan;
  const auto strips = strip_cost(configuration, layout, rank);
  // The block's share of the plane, as if its nonzeros were spread evenly.
  const auto n = static_cast<double>(matrix.key.order);
  const double nonzeros = matrix.nonzero_count * (static_cast<double>(rows.size()) / n) *
                          (static_cast<double>(columns.size()) / n);
  const auto row_start_bytes =
      static_cast<std::int64_t>(sizeof(std::int64_t)) * (rows.size() + 1) * (1 + strips.count);
  plan.block_bytes = saturated_sum(saturated(peak_bytes_per_nonzero(kernel, strips.copied_share) * nonzeros),
                                   row_start_bytes);
  plan.format_bytes = saturated_sum(saturated(kernel.bytes_per_nonzero * nonzeros), row_start_bytes);
  constexpr std::int64_t solver_pieces = 4;  // x, z, r, and q where it has to move
  std::int64_t elements = columns.size() + rows.size() + solver_pieces * piece.size() +
                          received_to_add(comm::summation_schedule(layout, rank, configuration.sum_form),
                                          comm::summation_pieces(layout, rank));
  if (kernel.stores_half()) {
    elements += columns.size() * configuration.thread_count * kernel.doubles_per_column + rows.size() +
                piece.size() +
                received_to_add(comm::mirrored_summation_schedule(layout, rank, configuration.sum_form),
                                comm::collection_pieces(layout, rank));
  }
  if (strips.count > 1) elements += rows.size();  // the partial sums of one strip
  plan.vector_bytes = elements * std::int64_t{sizeof(double)};
  plan.working_bytes = working_bytes;
  return plan;
}

std::int64_t piece_bytes(const MatrixFacts& matrix, const comm::BlockLayout& layout, int rank,
                         const PieceMemory& memory) {
  const auto row_count = static_cast<double>(layout.own_piece(rank).size());
  const double mean_length =
      matrix.nonzero_count / static_cast<double>(std::max<std::int64_t>(layout.size(), 1));
  return saturated(row_count * (static_cast<double>(memory.bytes_per_row) +
                                mean_length * static_cast<double>(memory.bytes_per_nonzero)));
}

void check_memory(const MatrixSource& source, const Configuration& configuration,
                  const comm::BlockLayout& layout, const Environment& environment) {
  check_memory(environment,
               [&](int rank) { return plan_memory(source, configuration, layout, rank).total_bytes(); });
}

void check_memory(const Environment& environment, const std::function<std::int64_t(int rank)>& bytes_of_rank,
                  std::string_view advice) {
  for (std::size_t node = 0; node < environment.nodes.size(); ++node) {
    std::int64_t needed = 0;
    std::int64_t largest = 0;
    for (std::size_t rank = 0; rank < environment.ranks.size(); ++rank) {
      if (environment.ranks[rank].node != static_cast<int>(node)) continue;
      const auto bytes = bytes_of_rank(static_cast<int>(rank));
      needed = saturated_sum(needed, bytes);
      largest = std::max(largest, bytes);
    }
    const auto& info = environment.nodes[node];
    if (needed <= info.memory.available_bytes) continue;
    // With what a start may add, so that a --memory-limit of what is needed does.
    const auto process_bytes = environment.process_bytes + process_grain_bytes;
    throw RunError(
        ExitCode::memory,
        "not enough memory on {}: the run needs {} there ({}, up to {} each, {} of it the process itself), "
        "{} are available; {}{}",
        info.name, format_bytes_above(saturated_sum(needed, process_bytes * info.rank_count)),
        format_count(info.rank_count, "rank"), format_bytes_above(saturated_sum(largest, process_bytes)),
        format_bytes(process_bytes), format_bytes(environment.memory_of_node(info)),
        enough_limit_text(info.memory, needed - info.memory.available_bytes, info.rank_count), advice);
  }
}

}  // namespace cg2d
