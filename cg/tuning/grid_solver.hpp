#pragma once

// A problem on one grid, from the matrix to the solver: for those who want to time steps of it.

#include <cstdint>
#include <memory>

#include "cg/matrix/matrix_source.hpp"
#include "cg/matrix/problem.hpp"
#include "cg/solver/block_product.hpp"
#include "cg/solver/stepped_solver.hpp"
#include "cg/tuning/kernel_choice.hpp"
#include "comm/communicator.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// What it is made with.
struct GridSolverSetting {
  const Problem& problem;
  comm::ProcessGrid grid;
  const SourceRow& source;
  const comm::TransportRow& transport;
  comm::SumForm sum_form = comm::SumForm::reduce_scatter;
  const KernelChoice& choice;
  int thread_count = 1;
  bool times_phases = false;
  bool overlaps = false;
  int ranks_per_node = 0;  ///< as in comm::CommunicatorOptions
};

/// Holds a reference to the group, by its communicator. Collective in everything but the accessors.
class GridSolver {
 public:
  /// Generates and converts this rank's block. Throws RunError (on every rank alike), MpiError.
  static std::unique_ptr<GridSolver> make(comm::RankGroup& group, const GridSolverSetting& setting);

  /// Begins again from x = (1, ..., 1).
  void reset() { solver_.reset(); }
  OuterStep outer_step() { return solver_.outer_step(); }

  [[nodiscard]] PhaseTimer& timer() { return solver_.timer(); }
  /// Of this rank's block, whole, also where half of it is stored.
  [[nodiscard]] std::int64_t nonzero_count() const { return nonzero_count_; }

 private:
  GridSolver(std::int64_t nonzero_count, std::unique_ptr<BlockProduct> product,
             std::unique_ptr<comm::Communicator> communicator, const GridSolverSetting& setting);

  std::int64_t nonzero_count_;
  std::unique_ptr<BlockProduct> product_;
  std::unique_ptr<comm::Communicator> communicator_;
  SteppedSolver solver_;
};

}  // namespace cg2d
