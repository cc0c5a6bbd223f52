#pragma once

// The one place where a rank's block becomes q = A p on the grid: runs, solves, trials, tuning, checks and the library take it
// from here.

#include <array>
#include <memory>
#include <optional>

#include "cg/solver/block_operator.hpp"
#include "cg/solver/block_product.hpp"
#include "cg/solver/configuration.hpp"
#include "cg/timing/phase_timer.hpp"
#include "comm/block_layout.hpp"
#include "comm/communicator.hpp"
#include "comm/rank_group.hpp"
#include "kernels/csr_block.hpp"
#include "kernels/spmv.hpp"

namespace cg2d {

/// All that decides how a block is multiplied; the parts must outlive what is made of it.
struct AssemblyPlan {
  comm::RankGroup& group;
  const comm::BlockLayout& layout;     ///< layout of the matrix: one element per row
  const Configuration& configuration;  ///< threads, overlap, form of the sum, nodes
  const kernels::KernelRow& kernel;
  kernels::Tuning tuning{};
  int vector_count = 1;            ///< vectors of a product
  bool sums_reproducibly = false;  ///< the kernel must have that form
};

struct ConvertedBlock {
  std::unique_ptr<BlockProduct> product;
  double seconds;  ///< seconds of the slowest rank
};

/// This rank's block, in the kernel's format. Takes over the whole block; a symmetric kernel drops half of it. Collective. Throws
/// RunError (on every rank alike), MpiError.
[[nodiscard]] ConvertedBlock convert_block(kernels::CsrBlock block, const AssemblyPlan& plan);

/// The communicator that a product needs, over that transport. Collective. Throws RunError (on every rank alike), MpiError.
[[nodiscard]] std::unique_ptr<comm::Communicator> connect(const BlockProduct& product,
                                                          const comm::TransportRow& transport,
                                                          const AssemblyPlan& plan);

/// A product with its communicator, its clock and the operator that ties them together.
class AssembledOperator {
 public:
  /// The group is that of the communicator, and must outlive this. timer: the clock of another operator, which must outlive this, too; nullptr: one of
  /// its own, which runs where `times_phases`.
  AssembledOperator(std::shared_ptr<BlockProduct> product, std::shared_ptr<comm::Communicator> communicator,
                    comm::RankGroup& group, int thread_count, bool times_phases = false,
                    PhaseTimer* timer = nullptr);
  ~AssembledOperator() = default;
  AssembledOperator(const AssembledOperator&) = delete;
  AssembledOperator& operator=(const AssembledOperator&) = delete;

  [[nodiscard]] BlockOperator& matrix() { return matrix_; }
  [[nodiscard]] BlockProduct& product() const { return *product_; }
  [[nodiscard]] comm::Communicator& communicator() const { return *communicator_; }
  [[nodiscard]] PhaseTimer& timer() { return timer_; }
  /// By this rank's communicators so far: this one, and those before it.
  [[nodiscard]] comm::Traffic sent(comm::Operation operation) const;

  /// Gives product and communicator back before others are made, so that the memory of both is not needed at once. Until exchange() nothing
  /// but matrix() may be called, and it not be applied. Collective.
  void release();
  /// Goes on with those, as BlockOperator::exchange().
  void exchange(std::shared_ptr<BlockProduct> product, std::shared_ptr<comm::Communicator> communicator);
  [[nodiscard]] int thread_count() const { return thread_count_; }

 private:
  std::shared_ptr<BlockProduct> product_;
  std::shared_ptr<comm::Communicator> communicator_;
  std::array<comm::Traffic, comm::operation_count> sent_before_{};  // over earlier communicators
  int thread_count_;
  std::optional<PhaseTimer> own_timer_;
  PhaseTimer& timer_;
  BlockOperator matrix_;
};

/// Converts the block, connects the product and ties the two together. Collective. Throws RunError (on every rank alike), MpiError.
[[nodiscard]] std::unique_ptr<AssembledOperator> assemble(kernels::CsrBlock block,
                                                          const comm::TransportRow& transport,
                                                          const AssemblyPlan& plan, bool times_phases = false,
                                                          PhaseTimer* timer = nullptr);

}  // namespace cg2d
