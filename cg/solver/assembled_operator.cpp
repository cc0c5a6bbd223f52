#include "cg/solver/assembled_operator.hpp"

#include <algorithm>
#include <cmath>

#include "cg/base/agreement.hpp"
#include "cg/matrix/half_storage.hpp"
#include "cg/solver/communicator_setup.hpp"
#include "comm/rank_kind.hpp"
#include "comm/schedule.hpp"

namespace cg2d {
namespace {

/// A strip is multiplied in shares of about this many entries, some 50 us each, and between them the
/// communicator may work: otherwise messages that MPI passes on or copies only inside of its calls would wait
/// until the end.
constexpr int64_t entries_per_share = 1 << 17;

/// The elements of the range of a vector over all columns of the block.
template <typename T>
std::span<T> part_of(std::span<T> vector, const comm::IndexRange& range) {
  return vector.subspan(static_cast<size_t>(range.begin), static_cast<size_t>(range.size()));
}

/// Bounds that the ranks agree on before a reproducible product (kernels/exact_sums.hpp), the same in any cut of the matrix into blocks: for each
/// row of this rank's block a power of two, no less than the sum of the magnitudes in the whole row of the matrix. Collective over the group,
/// whose ranks have the blocks of the layout; each sends two vectors of the length of its rows over its process row. Throws RunError (memory)
/// on every rank alike, MpiError.
std::vector<double> agree_on_row_bounds(const kernels::CsrBlock& block, const comm::BlockLayout& layout,
                                        comm::RankGroup& group) {
  const auto row_count = static_cast<size_t>(block.row_count);
  std::vector<double> largest;
  std::vector<int64_t> lengths;
  agree_on(group, [&] {
    largest.resize(row_count);
    lengths.resize(row_count);
  });
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

kernels::KernelOptions placed(kernels::KernelOptions options, const comm::BlockLayout& layout, int rank) {
  options.column_of_row_0 = layout.rows_of(rank).begin - layout.columns_of(rank).begin;
  return options;
}

BlockProduct::BlockProduct(const kernels::KernelRow& kernel, kernels::CsrBlock block, const Parts& parts,
                           const kernels::KernelOptions& options)
    : kernel_(kernel),
      vector_count_(options.vector_count),
      most_terms_(options.most_terms),
      low_partial_(options.most_terms > 0.0 ? static_cast<size_t>(block.row_count) : 0),
      part_count_(parts.size()) {
  const int64_t row_count = block.row_count;
  const auto make_kernel = [&](kernels::CsrBlock entries, const kernels::KernelOptions& own_options) {
    auto made = kernel.make(std::move(entries), own_options);
    instruction_set_ = made->instruction_set();
    return made;
  };
  for (size_t part = 0; part < part_count_; ++part) {
    for (const auto& columns : parts[part]) {
      // A strip of all columns is the block itself, without a pass over its entries.
      auto entries = columns.size() == block.column_count ? std::exchange(block, kernels::CsrBlock{})
                                                          : take_columns(block, columns);
      auto& strip = strips_.emplace_back(
          Strip{.part = part, .columns = columns, .mode = {.is_added = !instruction_set_.empty()}});
      // Strips without entries take part only for the columns that they have.
      const auto count = entries.nonzero_count();
      if (count == 0) continue;
      // During the last part no communication is pending.
      if (part + 1 < part_count_)
        strip.mode.share_count = static_cast<int>((count + entries_per_share - 1) / entries_per_share);
      auto own_options = options;
      if (own_options.column_of_row_0) *own_options.column_of_row_0 -= columns.begin;
      strip.kernel = make_kernel(std::move(entries), own_options);
    }
  }
  if (!instruction_set_.empty()) return;
  // A block without entries gets a kernel that fills the partial sums with zeros.
  strips_.push_back(
      {.part = part_count_ - 1, .kernel = make_kernel(kernels::CsrBlock::with_room(row_count, 0), options)});
}

BlockProduct::BlockProduct(const kernels::KernelRow& row, std::unique_ptr<kernels::SpmvKernel> kernel,
                           int64_t column_count, int vector_count)
    : kernel_(row),
      vector_count_(vector_count),
      most_terms_(0.0),
      instruction_set_(kernel->instruction_set()) {
  strips_.push_back({.columns = {.begin = 0, .end = column_count}, .kernel = std::move(kernel)});
}

int64_t BlockProduct::matrix_byte_count() const {
  int64_t bytes = 0;
  for (const auto& strip : strips_) bytes += strip.kernel ? strip.kernel->matrix_byte_count() : 0;
  return bytes;
}

std::vector<kernels::StoredArray> BlockProduct::stored_arrays() {
  std::vector<kernels::StoredArray> all;
  for (const auto& strip : strips_) {
    if (!strip.kernel) continue;
    const auto arrays = strip.kernel->stored_arrays();
    all.insert(all.end(), arrays.begin(), arrays.end());
  }
  return all;
}

bool BlockProduct::has_columns_in_range() const {
  return std::ranges::all_of(
      strips_, [](const Strip& strip) { return !strip.kernel || strip.kernel->has_columns_in_range(); });
}

void BlockProduct::clear(comm::Communicator& communicator) const {
  std::ranges::fill(communicator.partial(), 0.0);
  if (is_symmetric()) std::ranges::fill(communicator.mirror()->column_partial(), 0.0);
}

void BlockProduct::multiply_part(size_t part, comm::Communicator& communicator,
                                 comm::Collection* collection) {
  for (const auto& strip : strips_) {
    if (strip.part != part) continue;
    const comm::IndexRange elements{.begin = strip.columns.begin * vector_count_,
                                    .end = strip.columns.end * vector_count_};
    if (!strip.kernel) {
      if (is_symmetric()) std::ranges::fill(part_of(communicator.mirror()->column_partial(), elements), 0.0);
      continue;
    }
    kernels::Operands operands{.p_columns = part_of(communicator.column_block(), elements),
                               .q_rows = communicator.partial(),
                               .q_rows_low = low_partial_,
                               .p_bound = operand_bound_};
    if (is_symmetric()) {
      auto& mirror = *communicator.mirror();
      operands.p_rows = mirror.row_block();
      operands.q_columns = part_of(mirror.column_partial(), elements);
    }
    auto mode = strip.mode;
    for (mode.share = 0; mode.share < mode.share_count; ++mode.share) {
      strip.kernel->multiply(operands, mode);
      if (collection != nullptr) collection->progress();
    }
    comm::spend_simulated_time(static_cast<double>(strip.kernel->matrix_byte_count()));
  }
}

std::unique_ptr<BlockProduct> make_block_product(const kernels::KernelRow& kernel, kernels::CsrBlock block,
                                                 const comm::BlockLayout& layout, int rank,
                                                 const kernels::KernelOptions& options, bool overlaps) {
  keep_stored(block, kernel.storage, layout, rank);
  const comm::IndexRange all{.begin = 0, .end = block.column_count};
  const auto parts = overlaps ? comm::collection_parts(layout, rank) : BlockProduct::Parts{{all}};
  return std::make_unique<BlockProduct>(kernel, std::move(block), parts, placed(options, layout, rank));
}

VectorWork work_of_block_product(comm::Communicator& communicator, const BlockProduct& product,
                                 int64_t nonzero_count) {
  constexpr int64_t flops_per_nonzero = 2;
  auto vector_bytes = communicator.column_block().size_bytes() + communicator.partial().size_bytes();
  if (auto* const mirror = communicator.mirror()) {
    vector_bytes += mirror->column_partial().size_bytes();
    // With one process column the row block may be the piece itself, which the column block holds.
    const bool is_held = mirror->row_block().data() == communicator.piece().data();
    if (!is_held) vector_bytes += mirror->row_block().size_bytes();
  }
  return {.call_count = 1,
          .byte_count = product.matrix_byte_count() + static_cast<int64_t>(vector_bytes),
          .flop_count = flops_per_nonzero * nonzero_count * product.vector_count()};
}

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
      timer_(timer != nullptr ? *timer : own_timer_.emplace(times_phases, group.waiter())),
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
  lay_out();
}

std::unique_ptr<AssembledOperator> assemble(kernels::CsrBlock block, const comm::TransportRow& transport,
                                            const AssemblyPlan& plan, bool times_phases, PhaseTimer* timer) {
  auto product = convert_block(std::move(block), plan).product;
  auto communicator = connect(*product, transport, plan);
  std::unique_ptr<AssembledOperator> made;
  agree_on(plan.group, [&] {
    made = std::make_unique<AssembledOperator>(std::move(product), std::move(communicator), plan.group,
                                               plan.configuration.thread_count, times_phases, timer);
  });
  return made;
}

}  // namespace cg2d
