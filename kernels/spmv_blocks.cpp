// Kernel "blocks": half storage in dense blocks of the pattern (index_sets.hpp), which are found in the block itself. A block gathers
// p once for each of its members, multiplies a packed symmetric triangle in registers, and adds to q once for each: where
// other kernels pay a load of p, and a load and a store of q, for each entry. What is in no set is multiplied by another kernel.

#include "kernels/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/spmv_blocks.cpp"
#include <hwy/foreach_target.h>

#include <array>
#include <utility>

#include "kernels/dense_lanes-inl.hpp"
#include "kernels/index_sets.hpp"
#include "kernels/vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace cg2d::kernels::HWY_NAMESPACE {
namespace {
namespace blocks {

using dense::Lanes;
using dense::lanes;
using dense::load;
using Bits = int64_t __attribute__((vector_size(sizeof(Lanes))));

/// The lanes from `first` on; zeros before them.
HWY_INLINE Lanes from_lane(Lanes vector, int64_t first) {
  Bits mask{};
#pragma GCC unroll 4
  for (int64_t lane = 0; lane < lanes; ++lane) mask[lane] = lane >= first ? -1 : 0;
  return reinterpret_cast<Lanes>(reinterpret_cast<Bits>(vector) & mask);
}

/// p of the first `count` members, and zeros.
template <typename Vector>
HWY_INLINE Vector gather(const double* pairs, const uint32_t* members, int64_t count) {
  const auto at = [=](int64_t k) HWY_ATTR { return k < count ? pairs[members[k]] : 0.0; };
  if constexpr (sizeof(Vector) == 2 * sizeof(double)) {
    return Vector{at(0), at(1)};
  } else {
    return Vector{at(0), at(1), at(2), at(3)};
  }
}

template <int64_t Size>
void multiply_sets(const SetRange& range, double* pairs) {
  constexpr int64_t groups = (Size + lanes - 1) / lanes;
  constexpr int64_t value_count = packed_size(Size);
  constexpr int64_t values_per_line = 8;
  const double* values = range.values;
  const uint32_t* members = range.members;
  for (int64_t rest = range.count; rest > 0; --rest, values += value_count, members += Size) {
#pragma GCC unroll 40
    for (int64_t k = 0; k < value_count; k += values_per_line) prefetch(values + k, range.prefetch_distance);
#pragma GCC unroll 24
    for (int64_t k = 0; k < Size; ++k) __builtin_prefetch(pairs + members[sets_ahead * Size + k], 1, 3);
    Lanes p[groups];
    Lanes y[groups];
#pragma GCC unroll 8
    for (int64_t group = 0; group < groups; ++group) {
      p[group] = gather<Lanes>(pairs, members + lanes * group, Size - lanes * group);
      y[group] = load<Lanes>(values + lanes * group) * p[group];
    }
    const double* column = values + Size;
#pragma GCC unroll 8
    for (int64_t group = 0; group < groups; ++group) {
      Lanes sums[lanes];
#pragma GCC unroll 4
      for (int64_t lane = 0; lane < lanes; ++lane) {
        const int64_t j = lanes * group + lane;
        sums[lane] = Lanes{};
        if (j + 1 >= Size) continue;
        const double* const of_member_0 = column - (j + 1);
        const double p_j = pairs[members[j]];
        if (lane + 1 < lanes) {
          const auto v = from_lane(load<Lanes>(of_member_0 + lanes * group), lane + 1);
          y[group] += v * p_j;
          sums[lane] = v * p[group];
        }
#pragma GCC unroll 8
        for (int64_t below = group + 1; below < groups; ++below) {
          const auto v = load<Lanes>(of_member_0 + lanes * below);
          y[below] += v * p_j;
          sums[lane] += v * p[below];
        }
        column += Size - (j + 1);
      }
      y[group] += dense::sums_of(sums);
    }
#pragma GCC unroll 24
    for (int64_t k = 0; k < Size; ++k) pairs[members[k] + 1] += y[k / lanes][k % lanes];
  }
}

template <int64_t... Sizes>
SetLoops loops_of(std::integer_sequence<int64_t, Sizes...> /*sizes*/) {
  SetLoops loops{};
  ((loops[1 + Sizes] = &multiply_sets<1 + Sizes>), ...);
  return loops;
}

SetLoops loops_for(InstructionSet /*set*/) {
  return loops_of(std::make_integer_sequence<int64_t, largest_index_set>());
}

}  // namespace blocks
}  // namespace
}  // namespace cg2d::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <iterator>
#include <memory>
#include <vector>

#include "kernels/block_csr.hpp"
#include "kernels/parallel_parts.hpp"
#include "kernels/set_parts.hpp"
#include "kernels/several_vectors.hpp"
#include "kernels/symmetric_sell.hpp"

namespace cg2d::kernels {

KernelRow symmetric_distinct_kernel();
KernelRow symmetric_kernel();
KernelRow symmetric_scalar_kernel();

namespace {
namespace blocks {

using symmetric_sell::ColumnPair;

/// The kernel of what is in no set. Short rows take the formats that fill up least.
KernelRow rest_kernel(const CsrBlock& rest) {
  const auto entries = rest.nonzero_count();
  if (entries < 2 * rest.row_count) return symmetric_scalar_kernel();
  return entries < 16 * rest.row_count ? symmetric_kernel() : symmetric_distinct_kernel();
}

std::unique_ptr<SpmvKernel> make_rest(CsrBlock rest, KernelOptions options) {
  const auto row = rest_kernel(rest);
  // The one that the kernel would take, or the widest one, but none that is wider than what is asked for.
  if (options.instruction_set) {
    const auto next = std::ranges::upper_bound(row.instruction_sets, *options.instruction_set);
    options.instruction_set = std::min(row.preferred_instruction_set(), *std::prev(next));
  }
  return row.make(std::move(rest), options);
}

class Kernel final : public SpmvKernel {
 public:
  Kernel(CsrBlock block, InstructionSet set, const KernelOptions& options)
      : set_(set),
        loops_(CG2D_OF_SET(set, blocks::loops_for)),
        shared_(block, options.column_of_row_0),
        prefetch_distance_(
            options.tuning.prefetch_distance.value_or(symmetric_sell::default_prefetch_distance)) {
    if (auto sets = find_index_sets(block, shared_, options.thread_count); !sets.empty()) {
      auto is_in_set = entries_in_sets(block, sets);
      add_single_entries(block, shared_, sets, is_in_set);
      parts_ = make_set_parts(sets, block, 2, options.thread_count);
      block = without_sets(std::move(block), is_in_set);
    }
    for (const auto& part : parts_)
      pairs_.emplace_back(part.empty() ? 0 : static_cast<size_t>(shared_.count));
    if (parts_.empty() || block.nonzero_count() > 0) rest_ = make_rest(std::move(block), options);
  }

  std::string_view name() const override { return "blocks"; }
  std::string_view instruction_set() const override { return name_of(set_); }
  int64_t matrix_byte_count() const override {
    auto bytes = rest_ ? rest_->matrix_byte_count() : 0;
    for (const auto& part : parts_) bytes += part.byte_count();
    return bytes;
  }
  [[nodiscard]] std::vector<StoredArray> stored_arrays() override {
    auto all = rest_ ? rest_->stored_arrays() : std::vector<StoredArray>{};
    for (const auto& array : arrays_of_parts(parts_)) all.push_back(array);
    return all;
  }
  bool has_columns_in_range() const override {
    return (!rest_ || rest_->has_columns_in_range()) &&
           all_parts_hold(static_cast<int>(parts_.size()), [this](size_t part) {
             return parts_[part].has_members_below(2 * static_cast<uint64_t>(shared_.count));
           });
  }

  /// The sums of the sets are whole behind the last share, and are added to those of the remainder then.
  void multiply(const Operands& operands, const ProductMode& mode) override {
    if (rest_) rest_->multiply(operands, mode);
    if (parts_.empty()) return;
    const int thread_count = static_cast<int>(parts_.size());
    const bool is_last = mode.share + 1 == mode.share_count;
    if (!rest_ && is_last) clear_outside(operands, mode);
#pragma omp parallel num_threads(thread_count) if (thread_count > 1)
    {
#pragma omp for schedule(static, 1)
      for (int thread = 0; thread < thread_count; ++thread)
        multiply_part(static_cast<size_t>(thread), operands, mode);
      if (is_last) {
        const bool is_added = rest_ || mode.is_continued;
#pragma omp for schedule(static)
        for (int64_t index = 0; index < shared_.count; ++index) {
          double& q = operands.q_columns[static_cast<size_t>(shared_.first_column + index)];
          double sum = is_added ? q : 0.0;
          for (const auto& pairs : pairs_) {
            if (!pairs.empty()) sum += pairs[static_cast<size_t>(index)].q;
          }
          q = sum;
        }
      }
    }
  }

 private:
  void multiply_part(size_t thread, const Operands& operands, const ProductMode& mode) {
    auto& pairs = pairs_[thread];
    if (pairs.empty()) return;
    if (mode.share == 0) {
      const double* const p = operands.p_columns.data() + shared_.first_column;
      for (size_t k = 0; k < pairs.size(); ++k) pairs[k] = {.p = p[k], .q = 0.0};
    }
    multiply_share(parts_[thread], mode, prefetch_distance_,
                   [&](size_t size, const SetRange& range) { loops_[size](range, &pairs.data()->p); });
  }
  /// Without a remainder: sums that no set has.
  void clear_outside(const Operands& operands, const ProductMode& mode) const {
    if (!mode.is_added) std::ranges::fill(operands.q_rows, 0.0);
    if (mode.is_continued) return;
    const auto first = static_cast<size_t>(shared_.first_column);
    std::ranges::fill(operands.q_columns.first(first), 0.0);
    std::ranges::fill(operands.q_columns.subspan(first + static_cast<size_t>(shared_.count)), 0.0);
  }

  InstructionSet set_;
  SetLoops loops_;
  SharedIndices shared_;
  int64_t prefetch_distance_;
  std::vector<SetPart> parts_;                 // of each thread; none where there are no sets
  std::vector<PageBuffer<ColumnPair>> pairs_;  // p and sums of q of all shared indices, for each thread
  std::unique_ptr<SpmvKernel> rest_;           // nullptr: all entries are in sets
};

/// The sets with a loop here that this processor has.
std::vector<InstructionSet> instruction_sets() { return of_this_processor(sets_without_gathers); }
InstructionSet preferred_instruction_set() { return instruction_sets().back(); }

std::unique_ptr<SpmvKernel> make(CsrBlock block, const KernelOptions& options) {
  if (options.vector_count > 1) return make_several_sets(std::move(block), options);
  const auto set =
      choose_instruction_set(options.instruction_set, instruction_sets(), preferred_instruction_set);
  if (auto kernel = try_block_csr(block, set, options)) return kernel;
  return std::make_unique<Kernel>(std::move(block), set, options);
}

bool has_use_for(const CsrBlock& whole, const KernelOptions& options) {
  return shows_supervariables(whole, SharedIndices(whole, options.column_of_row_0));
}

}  // namespace blocks
}  // namespace

KernelRow blocks_kernel() {
  return {
      .name = "blocks",
      .description =
          "symmetric storage in dense blocks of the pattern, which it finds; the rest by another kernel",
      .storage_text =
          "symmetric storage in dense blocks of the pattern: every entry is stored and multiplied",
      .storage = Storage::half,
      .joins_sums = true,
      .is_taken_by_name_only = true,
      .has_use_for = blocks::has_use_for,
      .bytes_per_nonzero = 5.0,
      .converts = true,
      .conversion_bytes_per_nonzero = 7.5,
      .doubles_per_column = 3,
      .defaults = {.prefetch_distance = symmetric_sell::default_prefetch_distance},
      .instruction_sets = blocks::instruction_sets(),
      .preferred_instruction_set = blocks::preferred_instruction_set,
      .make = blocks::make,
      .makes_several = true,
  };
}

}  // namespace cg2d::kernels
#endif
