// Dense blocks of the pattern (index_sets.hpp) for several vectors: kernel "blocks", see spmv_blocks.cpp. The elements of a member, one of
// each vector, are lanes. Each is loaded once for a set, and added to once, where other kernels do so for each entry.

#include "kernels/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/several_sets.cpp"
#include <hwy/foreach_target.h>

#include <array>
#include <utility>

#include "kernels/index_sets.hpp"
#include "kernels/several_loops-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace cg2d::kernels::HWY_NAMESPACE {
namespace {
namespace several_sets {

/// Two members of a set, i > j, and the place of their element in the packed triangle.
struct MemberPair {
  int64_t i;
  int64_t j;
  int64_t place;
};

template <int64_t Size>
constexpr MemberPair pair_of(int64_t i, int64_t j) {
  return {.i = i, .j = j, .place = Size + j * (2 * Size - j - 1) / 2 + (i - j - 1)};
}

/// The pairs of a set in the order in which they are multiplied, one diagonal after the other: any two of one diagonal that follow
/// each other add to different sums.
template <int64_t Size>
constexpr auto pairs_by_diagonals() {
  std::array<MemberPair, Size*(Size - 1) / 2> pairs{};
  auto* next = pairs.data();
  for (int64_t distance = 1; distance < Size; ++distance) {
    for (int64_t j = 0; j + distance < Size; ++j) *next++ = pair_of<Size>(j + distance, j);
  }
  return pairs;
}

/// The pairs in passes over the rows, for four columns each, whose p and sums stay in registers.
template <int64_t Size>
constexpr auto pairs_by_columns() {
  constexpr int64_t columns_at_once = 4;
  std::array<MemberPair, Size*(Size - 1) / 2> pairs{};
  auto* next = pairs.data();
  for (int64_t first = 0; first < Size; first += columns_at_once) {
    for (int64_t i = first + 1; i < Size; ++i) {
      for (int64_t j = first; j < std::min(i, first + columns_at_once); ++j) *next++ = pair_of<Size>(i, j);
    }
  }
  return pairs;
}

/// Zen 4, 2026-11, class B, 8 vectors, ms: AVX-512 by diagonals 6.3, by rows 6.6; AVX2, which has 16 registers, by diagonals 9.8, by columns
/// 8.0, two or three at once 8.7 and 8.0.
constexpr bool has_32_registers = !HWY_ARCH_X86 || register_bytes == 64;

template <MemberPair Pair, int64_t Size, typename Row>
HWY_INLINE void multiply_pair(const double* values, const Row (&p)[Size], Row (&q)[Size]) {
  const double v = values[Pair.place];
  q[Pair.i].add_scaled(v, p[Pair.j]);
  q[Pair.j].add_scaled(v, p[Pair.i]);
}

template <int64_t Size, typename Row, size_t... Numbers>
HWY_INLINE void multiply_pairs(const double* values, const Row (&p)[Size], Row (&q)[Size],
                               std::index_sequence<Numbers...> /*numbers*/) {
  constexpr auto pairs = has_32_registers ? pairs_by_diagonals<Size>() : pairs_by_columns<Size>();
  (multiply_pair<pairs[Numbers]>(values, p, q), ...);
}

/// One register of each member of a set.
template <int64_t Size, typename Row>
HWY_INLINE void multiply_set(const double* values, const uint32_t* members, const double* p, double* q) {
  Row own_p[Size];
  Row own_q[Size];
#pragma GCC unroll 16
  for (int64_t k = 0; k < Size; ++k) {
    own_p[k].load(p + members[k]);
    own_q[k].clear();
    own_q[k].add_scaled(values[k], own_p[k]);
  }
  multiply_pairs(values, own_p, own_q, std::make_index_sequence<Size*(Size - 1) / 2>());
#pragma GCC unroll 16
  for (int64_t k = 0; k < Size; ++k) {
    Row sum{};
    sum.load(q + members[k]);
    sum.add_scaled(1.0, own_q[k]);
    sum.store(q + members[k]);
  }
}

/// Everything is fetched into the second-level cache. Zen 4, 2026-11, class B, 8 vectors, ms: 6.3; p and q into the first-level one 7.6,
/// after the second-level one 7.1, the values 7.6; no values 10.8. 3, 8 and 14 sets ahead: the same.
template <int64_t Size, int Lanes>
void multiply_sets(const SetRange& range, const SetVectors& vectors) {
  constexpr int64_t value_count = packed_size(Size);
  constexpr int64_t line = 8;  // doubles
  const double* values = range.values;
  const uint32_t* members = range.members;
  for (int64_t rest = range.count; rest > 0; --rest, values += value_count, members += Size) {
#pragma GCC unroll 20
    for (int64_t k = 0; k < value_count; k += line) prefetch(values + k, range.prefetch_distance);
    for (int64_t first = 0; first < vectors.count; first += line) {
#pragma GCC unroll 16
      for (int64_t k = 0; k < Size; ++k) {
        const auto place = members[sets_ahead * Size + k] + first;
        prefetch(vectors.p, place);
        prefetch(vectors.q, place);
      }
    }
    for (int64_t first = 0; first < vectors.count; first += Lanes)
      multiply_set<Size, Elements<Lanes, 1>>(values, members, vectors.p + first, vectors.q + first);
  }
}

template <int Lanes, int64_t... Sizes>
SeveralSetLoops loops_of(std::integer_sequence<int64_t, Sizes...> /*sizes*/) {
  SeveralSetLoops loops{};
  ((loops[least_index_set + Sizes] = &multiply_sets<least_index_set + Sizes, Lanes>), ...);
  return loops;
}

using LoopsForCount = SeveralSetLoops (*)(int vector_count);
LoopsForCount loops_for(InstructionSet /*set*/) {
  return [](int vector_count) HWY_ATTR {
    return with_lanes_for(vector_count, [](auto lanes) HWY_ATTR {
      return loops_of<decltype(lanes)::value>(
          std::make_integer_sequence<int64_t, largest_set_of_several + 1 - least_index_set>());
    });
  };
}

}  // namespace several_sets
}  // namespace
}  // namespace cg2d::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "kernels/block_csr.hpp"
#include "kernels/column_sums.hpp"
#include "kernels/parallel_parts.hpp"
#include "kernels/set_parts.hpp"
#include "kernels/several_vectors.hpp"
#include "kernels/symmetric_sell.hpp"

namespace cg2d::kernels {
namespace {
namespace several_sets {

class SeveralSets final : public SpmvKernel {
 public:
  SeveralSets(CsrBlock block, const KernelOptions& options)
      : set_(several::chosen_set(options)),
        loops_(CG2D_OF_SET(set_, several_sets::loops_for)(options.vector_count)),
        shared_(block, options.column_of_row_0),
        vector_count_(options.vector_count),
        prefetch_distance_(
            options.tuning.prefetch_distance.value_or(symmetric_sell::default_prefetch_distance)) {
    if (element_count() <= most_elements) {
      const auto sets = find_index_sets(block, shared_, options.thread_count, largest_set_of_several);
      if (!sets.empty()) {
        parts_ = make_set_parts(sets, block, static_cast<uint32_t>(vector_count_), options.thread_count);
        column_sums_.emplace(element_count(), options.thread_count);
        const auto is_in_set = entries_in_sets(block, sets);
        block = without_sets(std::move(block), is_in_set);
      }
    }
    auto rest_options = options;
    // Each thread of it makes sums over all columns. Class B, 8 vectors, 2 threads: 0.32 instead of 0.49 ms.
    if (!parts_.empty() && block.nonzero_count() < block.row_count) rest_options.thread_count = 1;
    rest_ = make_several_symmetric(std::move(block), rest_options);
  }

  std::string_view name() const override { return "blocks"; }
  std::string_view instruction_set() const override { return name_of(set_); }
  int64_t matrix_byte_count() const override {
    auto bytes = rest_->matrix_byte_count();
    for (const auto& part : parts_) bytes += part.byte_count();
    return bytes;
  }
  [[nodiscard]] std::vector<StoredArray> stored_arrays() override {
    auto all = rest_->stored_arrays();
    for (const auto& array : arrays_of_parts(parts_)) all.push_back(array);
    return all;
  }
  bool has_columns_in_range() const override {
    return rest_->has_columns_in_range() &&
           all_parts_hold(static_cast<int>(parts_.size()), [this](size_t part) {
             return parts_[part].has_members_below(static_cast<uint64_t>(vector_count_ * shared_.count));
           });
  }

  /// The first thread adds to q itself. So what is in no set, which makes q, is multiplied before: all of it in the first share.
  void multiply(const Operands& operands, const ProductMode& mode) override {
    if (parts_.empty()) {
      rest_->multiply(operands, mode);
      return;
    }
    if (mode.share == 0)
      rest_->multiply(operands, {.is_added = mode.is_added, .is_continued = mode.is_continued});
    const auto first = static_cast<size_t>(shared_.first_column * vector_count_);
    const auto count = element_count();
    const double* const p = operands.p_columns.data() + first;
    const auto q = operands.q_columns.subspan(first, static_cast<size_t>(count));
    const int part_count = static_cast<int>(parts_.size());
#pragma omp parallel num_threads(part_count) if (part_count > 1)
    {
#pragma omp for schedule(static, 1)
      for (int part = 0; part < part_count; ++part) multiply_part(part, p, q, mode);
      if (mode.share + 1 == mode.share_count) {
#pragma omp for schedule(static, 1)
        for (int part = 0; part < part_count; ++part)
          column_sums_->add_to(q, count * part / part_count, count * (part + 1) / part_count);
      }
    }
  }

 private:
  /// Of each vector over the shared indices, together.
  int64_t element_count() const { return shared_.count * vector_count_; }
  void multiply_part(int thread, const double* p, std::span<double> q, const ProductMode& mode) {
    const auto sums = column_sums_->of_thread(thread, q);
    if (thread > 0 && mode.share == 0) std::ranges::fill(sums, 0.0);
    multiply_share(parts_[static_cast<size_t>(thread)], mode, prefetch_distance_,
                   [&](size_t size, const SetRange& range) {
                     loops_[size](range, {.p = p, .q = sums.data(), .count = vector_count_});
                   });
  }

  static constexpr int64_t most_elements = int64_t{1} << 32;  // members have 32 bits

  InstructionSet set_;
  SeveralSetLoops loops_;
  SharedIndices shared_;
  int64_t vector_count_;
  int64_t prefetch_distance_;
  std::vector<SetPart> parts_;             // of each thread; none where there are no sets
  std::optional<ColumnSums> column_sums_;  // where there are sets
  std::unique_ptr<SpmvKernel> rest_;
};

}  // namespace several_sets
}  // namespace

std::unique_ptr<SpmvKernel> make_several_sets(CsrBlock block, const KernelOptions& options) {
  static_cast<void>(several::place_of_count(options.vector_count));
  if (auto kernel = try_several_block_csr(block, several::chosen_set(options), options)) return kernel;
  return std::make_unique<several_sets::SeveralSets>(std::move(block), options);
}

}  // namespace cg2d::kernels
#endif
