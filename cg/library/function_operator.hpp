#pragma once

// A user's own product q = A p as an operator of conjugate gradients.

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "cg/base/errors.hpp"
#include "cg/base/process_memory.hpp"
#include "cg/solver/linear_operator.hpp"
#include "comm/communicator.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// A LinearOperator that calls a function for its products; sums over all ranks are its own. An operator with more
/// to say (phases, memory of its own for the operand) derives from LinearOperator itself.
class FunctionOperator final : public LinearOperator {
 public:
  /// Reads p and writes q, this rank's pieces, local_size doubles each. Called on all ranks in the same order; may
  /// send and receive, on a communicator of its own.
  using Product = std::function<void(std::span<const double> p, std::span<double> q)>;

  /// local_size: elements of this rank's piece of every vector; may be 0, and another one on each rank. The group
  /// must outlive the operator. Collective. Throws RunError, MpiError, std::bad_alloc.
  FunctionOperator(std::size_t local_size, Product product, comm::RankGroup& group);

  [[nodiscard]] std::size_t local_size() const override { return p_.size(); }
  [[nodiscard]] std::span<double> operand() override { return p_; }
  void apply() override;
  [[nodiscard]] std::span<const double> result() const override { return q_; }
  void sum_over_ranks(std::span<double> values) override { sums_->sum_scalars(values); }

  /// An exception of the product makes its q NaN, so that CG ends on all ranks alike; this throws it, on every rank
  /// alike, as a RunError that names the rank, and forgets it. Solver does so after each solve. Collective.
  void throw_failure();

 private:
  Product product_;
  comm::RankGroup& group_;
  HugePageVector p_;
  HugePageVector q_;
  std::unique_ptr<comm::Communicator> sums_;
  std::optional<RunError> failure_;
};

}  // namespace cg2d
