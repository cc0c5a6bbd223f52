#include "cg/solver/assembled_operator.hpp"

#include <algorithm>
#include <cmath>

#include "cg/base/agreement.hpp"
#include "cg/solver/communicator_setup.hpp"

namespace cg2d {
namespace {

/// Bounds that the ranks agree on before a reproducible product (kernels/exact_sums.hpp), the same in any cut of the matrix into blocks: for each
/// row of this rank's block a power of two, no less than the sum of the magnitudes in the whole row of the matrix. Collective over the group,
/// whose ranks have the blocks of the layout; each sends two vectors of the length of its rows over its process row. Throws MpiError,
/// std::bad_alloc.
std::vector<double> agree_on_row_bounds(const kernels::CsrBlock& block, const comm::BlockLayout& layout,
                                        comm::RankGroup& group) {
  const auto row_count = static_cast<size_t>(block.row_count);
  std::vector<double> largest(row_count);
  std::vector<int64_t> lengths(row_count);
  for (size_t row = 0; row < row_count; ++row) {
    lengths[row] = block.row_starts[row + 1] - block.row_starts[row];
    for (auto k = block.row_starts[row]; k < block.row_starts[row + 1]; ++k)
      largest[row] = std::max(largest[row], std::abs(block.values[static_cast<size_t>(k)]));
  }
  std::vector<int> ranks;  // those that have blocks of the same rows
  for (int rank = 0; rank < layout.grid().rank_count(); ++rank) {
    if (layout.grid().row_of(rank) == layout.grid().row_of(group.rank())) ranks.push_back(rank);
  }
  group.maxima(ranks, largest);
  group.sums(ranks, lengths);
  for (size_t row = 0; row < row_count; ++row)
    largest[row] = kernels::power_of_two_for(largest[row]) *
                   kernels::power_of_two_for(static_cast<double>(lengths[row]));
  return largest;
}

}  // namespace

ConvertedBlock convert_block(kernels::CsrBlock block, const AssemblyPlan& plan) {
  std::vector<double> row_bounds;
  double most_terms = 0.0;
  if (plan.sums_reproducibly) {
    row_bounds = agree_on_row_bounds(block, plan.layout, plan.group);
    most_terms = kernels::power_of_two_for(static_cast<double>(plan.layout.size()));
  }
  ConvertedBlock converted{};
  plan.group.barrier();
  agree_on(plan.group, [&] {
    const Stopwatch stopwatch;
    converted.product = make_block_product(plan.kernel, std::move(block), plan.layout, plan.group.rank(),
                                           {.thread_count = plan.configuration.thread_count,
                                            .tuning = plan.tuning,
                                            .vector_count = plan.vector_count,
                                            .row_bounds = row_bounds,
                                            .most_terms = most_terms},
                                           plan.configuration.overlaps);
    converted.seconds = stopwatch.seconds();
  });
  converted.seconds = plan.group.maximum(converted.seconds);
  return converted;
}

std::unique_ptr<comm::Communicator> connect(const BlockProduct& product, const comm::TransportRow& transport,
                                            const AssemblyPlan& plan) {
  return make_communicator(transport, plan.group, plan.layout.with_elements_times(plan.vector_count),
                           communicator_options(plan.configuration, product.is_symmetric()));
}

AssembledOperator::AssembledOperator(std::shared_ptr<BlockProduct> product,
                                     std::shared_ptr<comm::Communicator> communicator, comm::RankGroup& group,
                                     int thread_count, bool times_phases, PhaseTimer* timer)
    : product_(std::move(product)),
      communicator_(std::move(communicator)),
      group_(group),
      thread_count_(thread_count),
      timer_(timer != nullptr ? *timer : own_timer_.emplace(times_phases, *communicator_)),
      vectors_(thread_count) {
  lay_out();
}

void AssembledOperator::lay_out() {
  local_size_ = communicator_->piece().size();
  both_sums_ = HugePageVector(product_->is_symmetric() || product_->is_reproducible() ? local_size_ : 0);
}

comm::Traffic AssembledOperator::sent(comm::Operation operation) const {
  return sent_before_[static_cast<size_t>(operation)] + communicator_->sent(operation);
}

void AssembledOperator::release() {
  for (size_t k = 0; k < sent_before_.size(); ++k) sent_before_[k] = sent(static_cast<comm::Operation>(k));
  communicator_.reset();
  product_.reset();
}

void AssembledOperator::exchange(std::shared_ptr<BlockProduct> product,
                                 std::shared_ptr<comm::Communicator> communicator) {
  product_ = std::move(product);
  communicator_ = std::move(communicator);
  timer_.set_communicator(*communicator_);
  lay_out();
}

std::unique_ptr<AssembledOperator> assemble(kernels::CsrBlock block, const comm::TransportRow& transport,
                                            const AssemblyPlan& plan, bool times_phases, PhaseTimer* timer) {
  auto product = convert_block(std::move(block), plan).product;
  auto communicator = connect(*product, transport, plan);
  return std::make_unique<AssembledOperator>(std::move(product), std::move(communicator), plan.group,
                                             plan.configuration.thread_count, times_phases, timer);
}

}  // namespace cg2d
