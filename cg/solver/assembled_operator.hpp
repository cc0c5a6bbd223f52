#pragma once

// The one place where a rank's block becomes q = A p on the grid: runs, solves, trials, tuning, checks and the library take it
// from here.

#include "cg/solver/block_product.hpp"
#include "cg/solver/configuration.hpp"
#include "cg/solver/linear_operator.hpp"
#include "cg/solver/slow_ranks.hpp"
#include "cg/timing/phase_timer.hpp"
#include "comm/rank_group.hpp"
#include "kernels/exact_sums.hpp"

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
  /// The second halves take the way of the first ones.
  void add_low_sums() {
    {
      const auto timed = timer_.scope(Phase::vector_updates);
      vectors_.copy(communicator_->result(), both_sums_);
      vectors_.copy(product_->low_partial(), communicator_->partial());
    }
    sum_and_shuffle();
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
  void sum_and_shuffle() {
    {
      const auto timed = timer_.scope(Phase::summation);
      communicator_->sum();
      if (product_->is_symmetric()) communicator_->mirror()->sum_columns();
    }
    const auto timed = timer_.scope(Phase::shuffle);
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
