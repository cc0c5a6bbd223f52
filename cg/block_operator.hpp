#pragma once

// q = A p on the whole grid, as the paper takes it apart.

#include <span>

#include "cg/phase_timer.hpp"
#include "comm/communicator.hpp"
#include "kernels/spmv.hpp"

namespace cg2d {

/// Ties one rank's kernel to its communicator. Holds references: all three must outlive it.
class BlockOperator {
 public:
  BlockOperator(comm::Communicator& communicator, kernels::SpmvKernel& kernel, PhaseTimer& timer)
      : communicator_(communicator), kernel_(kernel), timer_(timer) {}

  /// This rank's piece of p; written by the caller before apply().
  [[nodiscard]] std::span<double> operand() { return communicator_.piece(); }
  /// This rank's piece of q after apply().
  [[nodiscard]] std::span<const double> result() const { return communicator_.result(); }

  /// q = A p. Collective.
  void apply() {
    collect();
    multiply();
    sum();
    shuffle();
  }

 private:
  void collect() {
    const auto timed = timer_.scope(Phase::collection);
    communicator_.collect();
  }
  void multiply() {
    const auto timed = timer_.scope(Phase::multiply);
    kernel_.multiply(communicator_.column_block(), communicator_.partial());
  }
  void sum() {
    const auto timed = timer_.scope(Phase::summation);
    communicator_.sum();
  }
  void shuffle() {
    const auto timed = timer_.scope(Phase::shuffle);
    communicator_.shuffle();
  }

  comm::Communicator& communicator_;
  kernels::SpmvKernel& kernel_;
  PhaseTimer& timer_;
};

}  // namespace cg2d
