#include "cg/library/built_in_choice.hpp"

#include <algorithm>

#include "cg/solver/communicator_setup.hpp"

namespace cg2d {

const kernels::KernelRow& planned_kernel(const Configuration& configuration) {
  return configuration.has_kernel() ? kernels::kernel_named(configuration.kernel) : kernels::default_kernel();
}

StepTraffic plan_traffic(const comm::BlockLayout& layout, int rank, comm::SumForm form, bool mirrored) {
  const auto one_dot = comm::dot_traffic(layout.grid().rank_count(), rank, 1);
  StepTraffic traffic{.collection = comm::collection_traffic(layout, rank),
                      .summation = comm::summation_traffic(layout, rank, form),
                      .shuffle = comm::shuffle_traffic(layout, rank),
                      .dot = one_dot + one_dot};
  if (mirrored) {
    traffic.collection += comm::collection_traffic(layout, rank, comm::Line::process_row);
    traffic.summation += comm::summation_traffic(layout, rank, form, comm::Line::process_column);
    traffic.shuffle += comm::mirrored_shuffle_traffic(layout, rank);
  }
  return traffic;
}

comm::ProcessGrid choose_grid(const MatrixFacts& matrix, const Configuration& configuration, int rank_count) {
  return shortlist_by_rule(matrix, configuration, rank_count, 1).front();
}

std::vector<comm::ProcessGrid> shortlist_by_rule(
    const MatrixFacts& matrix, const Configuration& configuration, int rank_count, size_t most,
    const std::function<double(const comm::ProcessGrid&)>& product_s) {
  const bool mirrored = planned_kernel(configuration).stores_half();
  std::vector<std::pair<int64_t, comm::ProcessGrid>> by_cost;
  for (const auto& grid : comm::factorizations(rank_count)) {
    auto on_grid = configuration;
    on_grid.grid = grid;
    const auto layout = make_layout(matrix, on_grid);
    int64_t cost = 0;
    // Even pieces differ by one element at most, so any rank represents all; but ranks 0 and P-1 keep their
    // piece in every shuffle, so it must be another one where there is one.
    for (int rank = 0; rank < std::min(rank_count, 2); ++rank) {
      const auto traffic = plan_traffic(layout, rank, configuration.sum_form, mirrored).total();
      cost = std::max(cost, traffic.byte_count + start_up_bytes * traffic.message_count);
    }
    if (product_s) cost = saturated_sum(cost, saturated(product_s(grid) * rule_bytes_per_s));
    by_cost.emplace_back(cost, grid);
  }
  // The sort is stable: of equals the smallest Px stays first.
  std::ranges::stable_sort(by_cost, {}, &std::pair<int64_t, comm::ProcessGrid>::first);
  std::vector<comm::ProcessGrid> grids;
  for (size_t k = 0; k < std::min(most, by_cost.size()); ++k) grids.push_back(by_cost[k].second);
  return grids;
}

double nonzeros_per_rank(const MatrixFacts& matrix, const comm::ProcessGrid& grid) {
  return matrix.nonzero_count / grid.rank_count();
}

const kernels::KernelRow& built_in_kernel(const MatrixFacts& matrix, const comm::ProcessGrid& grid,
                                          bool ranks_oversubscribed) {
  // Zen 5, 4 cores, 32 MB L3, 2026-11, time with `symmetric-distinct` over that with `sell`: 0.83 on one rank
  // (class A, 1.9 million nonzeros), 0.91 with 0.9 million on each of several ranks (A on 2), 0.83 to 1.19 with
  // 0.5 million (A on 4), 0.68 with 6.9 million (B on 2), 0.81 with 3.4 million (B on 4): on several ranks it
  // sends twice the messages.
  constexpr double worthwhile_nonzeros = 0.8e6;
  const bool is_half = !ranks_oversubscribed && nonzeros_per_rank(matrix, grid) >= worthwhile_nonzeros;
  return kernels::default_kernel(is_half ? kernels::Storage::half : kernels::Storage::whole);
}

}  // namespace cg2d
