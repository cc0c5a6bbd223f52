#pragma once

// q = A p on the whole grid of ranks, as the paper takes it apart.

#include <array>
#include <optional>
#include <span>
#include <stdexcept>

#include "cg/base/process_memory.hpp"
#include "cg/solver/block_product.hpp"
#include "cg/solver/linear_operator.hpp"
#include "cg/solver/slow_ranks.hpp"
#include "cg/solver/vector_ops.hpp"
#include "cg/timing/phase_timer.hpp"
#include "comm/communicator.hpp"
#include "comm/rank_group.hpp"
#include "kernels/exact_sums.hpp"

namespace cg2d {

/// Told of every product of one rank's block: checks of it, and faults on purpose.
class ProductObserver : public Interface {
 public:
  /// Before the operand is collected: other ranks do not read it yet. False: the block must not be multiplied, and its
  /// product is zeros.
  virtual bool before_product() { return true; }
  /// The block's product is in the communicator's partial sums, and nothing of it has been sent.
  virtual void after_product() {}
};

/// Ties one rank's block to its communicator, which must be a mirrored one for a symmetric kernel. Holds
/// references: all three must outlive it, or be exchanged.
class BlockOperator final : public LinearOperator {
 public:
  /// group: of the communicator, for a product that is reproducible; it must outlive the operator, too.
  BlockOperator(comm::Communicator& communicator, BlockProduct& product, PhaseTimer& timer, int thread_count,
                comm::RankGroup* group = nullptr)
      : timer_(timer), group_(group), vectors_(thread_count) {
    if (product.is_reproducible() && group == nullptr)
      throw std::invalid_argument("a reproducible product needs the group of its ranks");
    exchange(communicator, product);
  }

  /// From now on those, which may have another layout of the same matrix: then its own vectors and all that it is applied to have another
  /// length. Between products. Throws std::bad_alloc.
  void exchange(comm::Communicator& communicator, BlockProduct& product) {
    communicator_ = &communicator;
    product_ = &product;
    local_size_ = communicator.piece().size();
    both_sums_ = HugePageVector(product.is_symmetric() || product.is_reproducible() ? local_size_ : 0);
  }

  [[nodiscard]] std::size_t local_size() const override { return local_size_; }
  [[nodiscard]] std::span<double> operand() override { return communicator_->piece(); }
  [[nodiscard]] std::span<const double> result() const override {
    return both_sums_.empty() ? communicator_->result() : std::span<const double>(both_sums_);
  }

  [[nodiscard]] std::span<const Phase> phases() const override {
    static constexpr std::array order{Phase::collection, Phase::multiply, Phase::summation, Phase::shuffle};
    return order;
  }
  [[nodiscard]] double most_terms() const override { return product_->most_terms(); }
  [[nodiscard]] double maximum_over_ranks(double value) override {
    return communicator_->maximum(*group_, value);
  }
  void sum_over_ranks(std::span<double> values) override { communicator_->sum_scalars(values); }
  void begin_sum_over_ranks(std::span<double> values) override { sum_.emplace(*communicator_, values); }
  void finish_sum_over_ranks() override {
    sum_->finish();
    sum_.reset();
  }
  /// The additions of the two halves of q.
  [[nodiscard]] VectorWork update_work() const override { return vectors_.update_work(); }

  /// The observer of products; nullptr: none. It must outlive this.
  void set_observer(ProductObserver* observer) { observer_ = observer; }

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
    if (product_->part_count() == 1) {
      collect_at_once();
      if (is_multiplied) multiply_part(0, timer_.scope(Phase::multiply));
    } else {
      auto collection = begin_collection();
      is_multiplied ? multiply_parts_as_they_arrive(collection) : collection.finish();
    }
    if (!is_multiplied) product_->clear(*communicator_);
    if (observer_ != nullptr) observer_->after_product();
    sum_and_shuffle();
    if (product_->is_symmetric()) {
      const auto timed = timer_.scope(Phase::vector_updates);
      vectors_.add(communicator_->result(), communicator_->mirror()->column_result(), both_sums_);
    }
    if (product_->is_reproducible()) add_low_sums();
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
    const std::size_t last = product_->part_count() - 1;
    for (std::size_t part = 0; part < last; ++part) {
      multiply_part(part, timer_.scope_that_hides(Phase::collection, Phase::multiply), &collection);
      const auto timed = timer_.scope(Phase::collection);
      collection.wait_for_part(part + 1);
    }
    multiply_part(last, timer_.scope(Phase::multiply), &collection);
    // Others may still fetch from here: waiting for them is part of the collection, too.
    const auto timed = timer_.scope(Phase::collection);
    collection.finish();
  }
  [[nodiscard]] comm::Collection begin_collection() {
    const auto timed = timer_.scope(Phase::collection);
    auto collection = communicator_->begin_collect();
    if (product_->is_symmetric()) communicator_->mirror()->collect_rows();
    return collection;
  }
  void collect_at_once() {
    const auto timed = timer_.scope(Phase::collection);
    communicator_->collect();
    if (product_->is_symmetric()) communicator_->mirror()->collect_rows();
  }
  /// Within the phase, and as long as the slowdown says, where there is one.
  void multiply_part(std::size_t part, const PhaseTimer::Scope& /*timed*/,
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

  comm::Communicator* communicator_ = nullptr;
  BlockProduct* product_ = nullptr;
  PhaseTimer& timer_;
  comm::RankGroup* group_;
  VectorOps vectors_;
  std::size_t local_size_ = 0;
  ProductObserver* observer_ = nullptr;
  Slowdown* slowdown_ = nullptr;
  std::optional<comm::ScalarSum> sum_;  // that is under way
  HugePageVector
      both_sums_;  // my piece of q, where it is the sum of one over rows and one over columns, or of two halves
};

}  // namespace cg2d
