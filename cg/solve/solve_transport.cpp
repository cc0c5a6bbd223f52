// The choice of the transport of a solve (--transport auto).

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "cg/base/agreement.hpp"
#include "cg/base/process_memory.hpp"
#include "cg/solve/solve_run.hpp"
#include "cg/solver/npb_iteration.hpp"
#include "cg/tuning/grid_solver.hpp"

namespace cg2d {
namespace {

/// CG steps of an operator without a matrix.
class MatrixFreeContestant final : public TransportContestant {
 public:
  MatrixFreeContestant(std::unique_ptr<MatrixFreeSystem> system, int thread_count)
      : system_(std::move(system)), iteration_(system_->matrix(), system_->timer(), thread_count) {}
  void iterate() override { iteration_.cg_steps(GridSolver::few_steps); }

 private:
  std::unique_ptr<MatrixFreeSystem> system_;
  NpbIteration iteration_;
};

}  // namespace

/// As for `cg2d run`, the grids are compared over the default transport, and the transports on the best grid.
const comm::TransportRow& SolveRun::first_transport() const {
  return chooses_transport() ? comm::default_transport() : *comm::find_transport(configuration().transport);
}

Configuration SolveRun::configuration_of_trials() const {
  auto shared = configuration();
  shared.transport = first_transport().name;
  return shared;
}

/// By the profile, or a trial with the solve's own block. Profiles know times of one right-hand side only.
void SolveRun::choose_transport(const comm::BlockLayout& layout,
                                const std::shared_ptr<BlockProduct>& product) {
  progress_.say("choosing the transport");
  const BlockTrialConfig with_block{.layout = layout, .configuration = configuration(), .product = product};
  if (has_several()) {
    auto trial_config = block_trial(group_, with_block);
    trial_config.has_room_for_all = false;
    auto trial = try_transports(group_, trial_config);
    trial.not_kept_because = "profiles have no several right-hand sides";
    return take_transport(std::move(trial));
  }
  const std::function<void(const std::string&)> say = [&](const std::string& line) { progress_.say(line); };
  const auto environment = granted_environment();
  auto trial = cg2d::choose_transport(group_, {.source = *matrix_,
                                               .trial = with_block,
                                               .environment = environment,
                                               .profile = report_.profile,
                                               .profile_source = options_.profile,
                                               .say = say});
  std::ranges::move(warnings_of(trial, options_.profile, matrix_->facts()),
                    std::back_inserter(report_.warnings));
  take_transport(std::move(trial));
}

/// By a trial with an operator for each transport. Profiles know matrices only.
void SolveRun::choose_transport(const MatrixFreeRow& row) {
  progress_.say("choosing the transport");
  const auto& text = options_.operator_text;
  const auto make = [&](const comm::TransportRow& transport) -> std::unique_ptr<TransportContestant> {
    auto with_it = configuration();
    with_it.transport = transport.name;
    return std::make_unique<MatrixFreeContestant>(
        row.make(text, {.group = group_, .configuration = with_it, .domain_grid = options_.domain_grid}),
        configuration().thread_count);
  };
  auto trial = try_transports(group_, {.configuration = configuration(),
                                       .make = make,
                                       .step_count = GridSolver::few_steps,
                                       .has_room_for_all = has_room_for_all_transports(row.size_of(text))});
  trial.not_kept_because = "profiles have no operators without a matrix";
  take_transport(std::move(trial));
}

/// Half of the free memory stays free.
bool SolveRun::has_room_for_all_transports(const MatrixFreeSize& size) const {
  constexpr std::int64_t vectors_of_iteration = 5 * sizeof(double);
  const auto rows_of_rank = static_cast<double>(size.order) / static_cast<double>(group_.size());
  const auto bytes = rows_of_rank * static_cast<double>(size.bytes_per_row + vectors_of_iteration) *
                     static_cast<double>(comm::transport_table().size());
  const auto nodes = granted_environment().nodes;
  return std::ranges::all_of(nodes, [&](const auto& node) {
    return bytes * node.rank_count < 0.5 * static_cast<double>(node.memory.available_bytes);
  });
}

void SolveRun::take_transport(TransportTrial trial) {
  report_.configuration.transport = trial.best;
  report_.transport_trial = std::move(trial);
}

}  // namespace cg2d
