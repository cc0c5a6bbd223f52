#include "cg/solver/block_product.hpp"

#include <algorithm>

#include "cg/matrix/half_storage.hpp"
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

}  // namespace cg2d
