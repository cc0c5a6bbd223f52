#pragma once

// Conjugate gradients and the outer iteration of the NAS CG benchmark.

#include <span>

#include "cg/base/page_memory.hpp"
#include "cg/matrix/problem.hpp"
#include "cg/solver/block_operator.hpp"
#include "cg/solver/vector_ops.hpp"

namespace cg2d {

/// What one outer iteration found.
struct OuterStep {
  double zeta = 0.0;
  double residual_norm = 0.0;  ///< || x - A z ||
  bool stop_asked = false;     ///< some rank wished to stop; the same on every rank
};

/// What a solve noticed about A. The matrix of NPB is negative definite, so "<= 0" says nothing about p . A
/// p.
struct CurvatureSigns {
  bool saw_positive = false;
  bool saw_negative = false;
  [[nodiscard]] bool indefinite() const { return saw_positive && saw_negative; }
};

/// Runs the benchmark's iteration on one rank's piece of every vector. All operations are collective and give
/// the same bits on every rank.
class Solver {
 public:
  Solver(BlockOperator& matrix, comm::Communicator& communicator, PhaseTimer& timer, int thread_count);

  /// x := (1, ..., 1)
  void reset();

  /// One outer iteration: solves A z = x by 25 CG steps, zeta := shift + 1 / (x . z), x := z / || z ||.
  /// wish_to_stop is this rank's own; it travels with the sums that are there anyway.
  OuterStep outer_step(double shift, bool wish_to_stop);

  /// What this rank's dot products and its other vector operations have moved and computed so far.
  [[nodiscard]] const VectorWork& dot_work() const { return vectors_.dot_work(); }
  [[nodiscard]] VectorWork update_work() const { return vectors_.update_work() + matrix_.update_work(); }

  [[nodiscard]] const CurvatureSigns& curvature_signs() const { return curvature_signs_; }

 private:
  [[nodiscard]] double conjugate_gradient();
  [[nodiscard]] double residual_norm();
  [[nodiscard]] double dot(std::span<const double> x, std::span<const double> y);
  void note_curvature(double value);

  BlockOperator& matrix_;
  comm::Communicator& communicator_;
  PhaseTimer& timer_;
  VectorOps vectors_;
  HugePageVector x_;
  HugePageVector z_;
  HugePageVector r_;
  CurvatureSigns curvature_signs_;
};

}  // namespace cg2d
