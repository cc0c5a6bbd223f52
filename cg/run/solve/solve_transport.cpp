// The choice of the transport of a solve (--transport auto).

#include <algorithm>
#include <memory>
#include <utility>

#include "cg/run/solve/solve_run.hpp"
#include "cg/solver/npb_iteration.hpp"
#include "cg/tuning/trial.hpp"

namespace cg2d {
namespace {

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

}  // namespace

/// Profiles know times of one right-hand side only.
void SolveRun::choose_transport(const comm::BlockLayout& layout,
                                const std::shared_ptr<BlockProduct>& product) {
  if (!has_several()) return session_.choose_transport(*matrix_, layout, product);
  progress_.say("choosing the transport");
  auto trial_config =
      block_trial(group_, {.layout = layout, .configuration = configuration(), .product = product});
  trial_config.has_room_for_all = false;
  auto trial = try_transports(group_, trial_config);
  trial.not_kept_because = "profiles have no several right-hand sides";
  session_.take_transport(std::move(trial));
}

/// By a trial with an operator for each transport. Profiles know matrices only.
void SolveRun::choose_transport(const MatrixFreeRow& row) {
  progress_.say("choosing the transport");
  const auto& text = options_.operator_text;
  const auto make = [&](const comm::TransportRow& transport) -> std::unique_ptr<TrialCandidate> {
    auto with_it = configuration();
    with_it.transport = transport.name;
    return std::make_unique<MatrixFreeCandidate>(
        row.make(text, {.group = group_, .configuration = with_it, .domain_grid = options_.domain_grid}),
        configuration().thread_count);
  };
  auto trial = try_transports(group_, {.configuration = configuration(),
                                       .make = make,
                                       .step_count = TrialSolver::few_steps,
                                       .has_room_for_all = has_room_for_all_transports(row.size_of(text))});
  trial.not_kept_because = "profiles have no operators without a matrix";
  session_.take_transport(std::move(trial));
}

/// Half of the free memory stays free.
bool SolveRun::has_room_for_all_transports(const MatrixFreeSize& size) const {
  constexpr std::int64_t vectors_of_iteration = 5 * sizeof(double);
  const auto rows_of_rank = static_cast<double>(size.order) / static_cast<double>(group_.size());
  const auto bytes = rows_of_rank * static_cast<double>(size.bytes_per_row + vectors_of_iteration) *
                     static_cast<double>(comm::transport_table().size());
  const auto nodes = session_.granted_environment().nodes;
  return std::ranges::all_of(nodes, [&](const auto& node) {
    return bytes * node.rank_count < 0.5 * static_cast<double>(node.memory.available_bytes);
  });
}

}  // namespace cg2d
