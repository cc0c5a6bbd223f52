#pragma once

// The one place where a rank's block becomes q = A p on the grid: runs, solves, trials, tuning, checks and the library take it
// from here. The product of the block, in one part or in several, and with its communicator the operator.

#include <memory>
#include <string_view>

#include "cg/base/process_memory.hpp"
#include "cg/solver/configuration.hpp"
#include "cg/solver/linear_operator.hpp"
#include "cg/solver/slow_ranks.hpp"
#include "cg/timing/phase_timer.hpp"
#include "comm/block_layout.hpp"
#include "comm/communicator.hpp"
#include "comm/rank_group.hpp"
#include "kernels/csr_block.hpp"
#include "kernels/exact_sums.hpp"
#include "kernels/spmv.hpp"

namespace cg2d {

/// The options, with the place of the rank's rows among its columns.
kernels::KernelOptions placed(kernels::KernelOptions options, const comm::BlockLayout& layout, int rank);

/// One rank's block with its kernel, or with one kernel per strip of columns: hands the communicator's
/// vectors over to them. Local, except that it lets the communicator make progress between parts.
class BlockProduct {
 public:
  /// The parts of the column block, each as ranges of columns that are not empty.
  using Parts = std::vector<std::vector<comm::IndexRange>>;

  /// Takes over the block, as the kernel stores it. Every range of columns gets a kernel of its own. Throws
  /// std::bad_alloc.
  BlockProduct(const kernels::KernelRow& kernel, kernels::CsrBlock block, const Parts& parts,
               const kernels::KernelOptions& options);

  /// The whole block with a kernel for so many vectors that is there already: one of the row's, or one that works as such.
  BlockProduct(const kernels::KernelRow& row, std::unique_ptr<kernels::SpmvKernel> kernel,
               int64_t column_count, int vector_count);

  const kernels::KernelRow& kernel() const { return kernel_; }
  /// The instruction set of the loop that runs, e.g. "avx512".
  std::string_view instruction_set() const { return instruction_set_; }
  /// With half storage, which needs a mirrored communicator.
  bool is_symmetric() const { return kernel_.stores_half(); }
  /// Bytes of matrix data that one product reads.
  int64_t matrix_byte_count() const;
  /// The arrays of the matrix data, in the kernel's format; see kernels::SpmvKernel. Cost of the second one: a pass over
  /// the column numbers.
  [[nodiscard]] std::vector<kernels::StoredArray> stored_arrays();
  bool has_columns_in_range() const;
  size_t part_count() const { return part_count_; }

  /// With sums that do not depend on their order; then the communicator's partial sums are the first of two halves.
  bool is_reproducible() const { return most_terms_ > 0.0; }
  /// KernelOptions::most_terms.
  double most_terms() const { return most_terms_; }
  /// Before each product that is reproducible: Operands::p_bound.
  void set_operand_bound(double bound) { operand_bound_ = bound; }
  /// The second halves of the partial sums after a reproducible product, as long as the row block.
  std::span<const double> low_partial() const { return low_partial_; }

  /// Vectors that one product takes at once; then the communicator has a layout with so many elements per row
  /// (comm::BlockLayout::with_elements_times).
  int vector_count() const { return vector_count_; }

  /// The product with one part of the column block, and with the whole row block where it is symmetric, from the communicator's
  /// blocks of p to its partial sums. All parts in their order are the whole product. `collection`: the one that is under way meanwhile, and makes
  /// progress now and then; nullptr: none.
  void multiply_part(size_t part, comm::Communicator& communicator, comm::Collection* collection);
  /// Zeros in place of the whole product, for a block that must not be multiplied.
  void clear(comm::Communicator& communicator) const;

 private:
  /// Some columns of the block.
  struct Strip {
    size_t part = 0;
    comm::IndexRange columns{};
    std::unique_ptr<kernels::SpmvKernel> kernel{};  // none where there are no entries
    kernels::ProductMode mode{};
  };

  const kernels::KernelRow& kernel_;
  int vector_count_;
  double most_terms_;
  double operand_bound_ = 0.0;
  HugePageVector low_partial_;
  size_t part_count_ = 1;
  std::string_view instruction_set_;  // empty until the first kernel is made
  std::vector<Strip> strips_;         // in the order of the parts
};

/// Makes the product in one part, which needs the whole column block. Takes over this rank's block, the whole
/// of it; for a symmetric kernel half of it is dropped. Throws std::bad_alloc.
///
/// overlaps: the block is cut into strips of columns by comm::collection_parts(), so that the product
/// has as many parts as the collection, and begins with the columns that are already here while the rest of
/// the operand is under way. Where a process column has one rank there is nothing to overlap: one part.
///
/// Between shares of a strip the communicator may make progress. The partial sums of the strips are added in
/// the order of the parts, which depends on layout and rank only: neither transport nor timing changes a bit.
/// They are not the bits of the product in one part.
std::unique_ptr<BlockProduct> make_block_product(const kernels::KernelRow& kernel, kernels::CsrBlock block,
                                                 const comm::BlockLayout& layout, int rank,
                                                 const kernels::KernelOptions& options,
                                                 bool overlaps = false);

/// The least work of one product of a rank's block: the matrix, p and q; a multiplication and an addition for each
/// nonzero and vector.
VectorWork work_of_block_product(comm::Communicator& communicator, const BlockProduct& product,
                                 int64_t nonzero_count);

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

/// Told of every product and sum of an operator: checks of them, and faults on purpose.
class ProductObserver : public Interface {
 public:
  /// Before the operand is collected: other ranks do not read it yet. False: the block must not be multiplied, and its
  /// product is zeros.
  virtual bool before_product() = 0;
  /// The block's product is in the communicator's partial sums, and nothing of it has been sent.
  virtual void after_product() = 0;
  /// This rank's piece of q is there.
  virtual void after_apply() = 0;
  /// Adds each number over all ranks in the operator's place, by its communicator.
  virtual void sum_over_ranks(std::span<double> values) = 0;
  /// LinearOperator::set_aside().
  virtual void set_aside(bool is_aside) = 0;
};

/// q = A p on the whole grid of ranks, as the paper takes it apart: a rank's product with its communicator, which must be a mirrored one for
/// a symmetric kernel, and its clock.
class AssembledOperator final : public LinearOperator {
 public:
  /// The group is that of the communicator, and must outlive this. timer: the clock of another operator, which must outlive this, too; nullptr: one of
  /// its own, which runs where `times_phases`.
  AssembledOperator(std::shared_ptr<BlockProduct> product, std::shared_ptr<comm::Communicator> communicator,
                    comm::RankGroup& group, int thread_count, bool times_phases = false,
                    PhaseTimer* timer = nullptr);

  BlockProduct& product() const { return *product_; }
  comm::Communicator& communicator() const { return *communicator_; }
  [[nodiscard]] PhaseTimer& timer() { return timer_; }
  int thread_count() const { return thread_count_; }
  /// By this rank's communicators so far: this one, and those before it.
  comm::Traffic sent(comm::Operation operation) const;

  /// Gives product and communicator back before others are made, so that the memory of both is not needed at once. Until exchange() only
  /// local_size() may be called. Collective.
  void release();
  /// Goes on with those, which may have another layout of the same matrix: then its own vectors and all that it is applied to have another
  /// length. Between products. Throws std::bad_alloc.
  void exchange(std::shared_ptr<BlockProduct> product, std::shared_ptr<comm::Communicator> communicator);

  size_t local_size() const override { return local_size_; }
  [[nodiscard]] Piece operand() override { return communicator_->piece(); }
  ConstPiece result() const override {
    return both_sums_.empty() ? communicator_->result() : ConstPiece(both_sums_);
  }

  double most_terms() const override { return product_->most_terms(); }
  [[nodiscard]] double maximum_over_ranks(double value) override {
    return communicator_->maximum(group_, value);
  }
  void sum_over_ranks(std::span<double> values) override {
    observer_ == nullptr ? communicator_->sum_scalars(values) : observer_->sum_over_ranks(values);
  }
  void begin_sum_over_ranks(std::span<double> values) override { sum_.emplace(*communicator_, values); }
  void finish_sum_over_ranks() override {
    sum_->finish();
    sum_.reset();
  }
  /// The additions of the two halves of q.
  VectorWork update_work() const override { return vectors_.update_work(); }

  /// The observer of products and sums; nullptr: none. It must live as long as products are made.
  void set_observer(ProductObserver* observer) { observer_ = observer; }
  void set_aside(bool is_aside) override {
    if (observer_ != nullptr) observer_->set_aside(is_aside);
  }

  /// Makes products take longer; nullptr: as long as they do. It must outlive this.
  void set_slowdown(Slowdown* slowdown) { slowdown_ = slowdown; }

  void apply() override {
    if (slowdown_ != nullptr) slowdown_->begin_product();
    if (product_->is_reproducible()) {
      const auto timed = timer_.scope(Phase::dot);
      const double largest = maximum_over_ranks(vectors_.largest_magnitude(communicator_->piece()));
      product_->set_operand_bound(kernels::power_of_two_for(largest));
    }
    const bool is_multiplied = observer_ == nullptr || observer_->before_product();
    std::optional<comm::Collection> collection;  // of an operand that is multiplied while it arrives
    {
      const auto timed = timer_.scope(Phase::collection);
      if (product_->part_count() > 1) {
        collection.emplace(*communicator_);
      } else {
        communicator_->collect();
      }
      if (product_->is_symmetric()) communicator_->mirror()->collect_rows();
    }
    if (collection) {
      is_multiplied ? multiply_parts_as_they_arrive(*collection) : collection->finish();
    } else if (is_multiplied) {
      multiply_part(0, timer_.scope(Phase::multiply));
    }
    if (!is_multiplied) product_->clear(*communicator_);
    if (observer_ != nullptr) observer_->after_product();
    sum_and_shuffle();
    if (product_->is_symmetric()) {
      const auto timed = timer_.scope(Phase::vector_updates);
      vectors_.add(communicator_->result(), communicator_->mirror()->column_result(), both_sums_);
    }
    if (product_->is_reproducible()) add_low_sums();
    if (observer_ != nullptr) observer_->after_apply();
  }

 private:
  /// The second halves take the way of the first ones: one summation and one shuffle of a product.
  void add_low_sums() {
    {
      const auto timed = timer_.scope(Phase::vector_updates);
      vectors_.copy(communicator_->result(), both_sums_);
      vectors_.copy(product_->low_partial(), communicator_->partial());
    }
    sum_and_shuffle(&PhaseTimer::scope_that_goes_on);
    const auto timed = timer_.scope(Phase::vector_updates);
    vectors_.add_scaled(1.0, communicator_->result(), both_sums_);
  }
  /// Multiplies each part as soon as its part of the operand is here.
  void multiply_parts_as_they_arrive(comm::Collection& collection) {
    const size_t last = product_->part_count() - 1;
    for (size_t part = 0; part < last; ++part) {
      multiply_part(part, timer_.scope_that_hides(Phase::collection, Phase::multiply), &collection);
      const auto timed = timer_.scope(Phase::collection);
      collection.wait_for_part(part + 1);
    }
    multiply_part(last, timer_.scope(Phase::multiply), &collection);
    // Others may still fetch from here: waiting for them is part of the collection, too.
    const auto timed = timer_.scope(Phase::collection);
    collection.finish();
  }
  /// Within the phase, and as long as the slowdown says, where there is one.
  void multiply_part(size_t part, const PhaseTimer::Scope& /*timed*/,
                     comm::Collection* collection = nullptr) {
    if (slowdown_ == nullptr) return product_->multiply_part(part, *communicator_, collection);
    const Stopwatch watch;
    product_->multiply_part(part, *communicator_, collection);
    slowdown_->extend(watch);
  }
  void sum_and_shuffle(PhaseTimer::Scope (PhaseTimer::*scope)(Phase) = &PhaseTimer::scope) {
    {
      const auto timed = (timer_.*scope)(Phase::summation);
      communicator_->sum();
      if (product_->is_symmetric()) communicator_->mirror()->sum_columns();
    }
    const auto timed = (timer_.*scope)(Phase::shuffle);
    communicator_->shuffle();
  }

  /// Vectors of the length that product and communicator have now.
  void lay_out();

  std::shared_ptr<BlockProduct> product_;
  std::shared_ptr<comm::Communicator> communicator_;
  std::array<comm::Traffic, comm::operation_count> sent_before_{};  // over earlier communicators
  comm::RankGroup& group_;
  int thread_count_;
  std::optional<PhaseTimer> own_timer_;
  PhaseTimer& timer_;
  VectorOps vectors_;
  size_t local_size_ = 0;
  ProductObserver* observer_ = nullptr;
  Slowdown* slowdown_ = nullptr;
  std::optional<comm::ScalarSum> sum_;  // that is under way
  HugePageVector
      both_sums_;  // my piece of q, where it is the sum of one over rows and one over columns, or of two halves
};

/// Converts the block, connects the product and ties the two together. Collective. Throws RunError (on every rank alike), MpiError.
[[nodiscard]] std::unique_ptr<AssembledOperator> assemble(kernels::CsrBlock block,
                                                          const comm::TransportRow& transport,
                                                          const AssemblyPlan& plan, bool times_phases = false,
                                                          PhaseTimer* timer = nullptr);

}  // namespace cg2d
