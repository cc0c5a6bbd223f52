// Kernel "blocks": half storage in dense blocks of the pattern (index_sets.hpp), which are found in the block itself. A block gathers
// p once for each of its members, multiplies a packed symmetric triangle in registers, and adds to q once for each: where
// other kernels pay a load of p, and a load and a store of q, for each entry. So it is with several vectors. What is in no set is multiplied by another
// kernel.

#include "kernels/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/spmv_blocks.cpp"
#include <hwy/foreach_target.h>

#include <array>
#include <utility>

#include "kernels/compiler_vectors-inl.hpp"
#include "kernels/index_sets.hpp"

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

SetLoop loop_for(InstructionSet /*set*/, int size) {
  return with_size<1, largest_index_set>(size,
                                         [](auto constant) -> SetLoop { return &multiply_sets<constant()>; });
}

}  // namespace blocks

/// The elements of a member, one of each vector, are lanes. Each is loaded once for a set, and added to once.
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
template <int64_t Size, typename Row>
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
    for (int64_t first = 0; first < vectors.count; first += Row::size)
      multiply_set<Size, Row>(values, members, vectors.p + first, vectors.q + first);
  }
}

SeveralSetLoop loop_for(InstructionSet /*set*/, int vector_count, int size) {
  return with_row_of(vector_count, [=]<typename Row>(std::type_identity<Row>) {
    return with_size<least_index_set, largest_set_of_several>(size, [](auto constant) -> SeveralSetLoop {
      return &multiply_sets<constant(), typename Row::OfOneRegister>;
    });
  });
}

}  // namespace several_sets

}  // namespace
}  // namespace cg2d::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <numeric>
#include <vector>

#include "kernels/block_csr.hpp"
#include "kernels/format_kernel.hpp"
#include "kernels/sell_matrix.hpp"

namespace cg2d::kernels {

KernelRow symmetric_distinct_kernel();
KernelRow symmetric_kernel();
KernelRow symmetric_scalar_kernel();

namespace {
namespace blocks {

/// The sets of one thread, those of one size one after the other.
struct SetPart {
  std::array<int64_t, largest_index_set + 1> counts{};  // sets of each size
  PageBuffer<double> values;
  PageBuffer<uint32_t> members;
  uint64_t place_count = 0;  // of p; members are less

  bool empty() const { return values.empty(); }
  [[nodiscard]] std::vector<StoredArray> stored_arrays() {
    return {stored_array(ArrayKind::values, values), stored_array(ArrayKind::columns, members)};
  }
  bool has_columns_in_range() const {
    return std::ranges::all_of(members.span(), [this](uint32_t member) { return member < place_count; });
  }
};

/// Sets [first, last), and what lies before them in the lists of all sets.
struct SetSpan {
  size_t first = 0;
  size_t last = 0;
  size_t first_member = 0;
  size_t first_entry = 0;
};

/// Cuts the sets into consecutive parts of about equally many elements.
std::vector<SetSpan> split_sets(const IndexSets& sets, int part_count) {
  std::vector<SetSpan> parts;
  SetSpan next;
  for (int part = 1; part <= part_count; ++part) {
    const auto goal = sets.entries.size() * static_cast<size_t>(part) / static_cast<size_t>(part_count);
    SetSpan own = next;
    while (next.last < sets.sizes.size() && next.first_entry < goal) {
      const auto size = sets.sizes[next.last++];
      next.first_member += size;
      next.first_entry += static_cast<size_t>(packed_size(size));
    }
    own.last = next.first = next.last;
    parts.push_back(own);
  }
  return parts;
}

SetPart make_part(const IndexSets& sets, const SetSpan& span, const CsrBlock& block,
                  uint32_t places_per_index) {
  SetPart part;
  std::array<size_t, largest_index_set + 1> next_value{};
  std::array<size_t, largest_index_set + 1> next_member{};
  for (auto set = span.first; set < span.last; ++set) ++part.counts[sets.sizes[set]];
  size_t value_count = 0;
  size_t member_count = 0;
  for (size_t size = 0; size < part.counts.size(); ++size) {
    next_value[size] = value_count;
    next_member[size] = member_count;
    const auto count = static_cast<size_t>(part.counts[size]);
    value_count += count * static_cast<size_t>(packed_size(static_cast<int64_t>(size)));
    member_count += count * size;
  }
  if (value_count == 0) return part;
  part.values = PageBuffer<double>(value_count + spare_values);
  part.members = PageBuffer<uint32_t>(member_count + spare_members);
  const auto* member = sets.members.data() + span.first_member;
  const auto* entry = sets.entries.data() + span.first_entry;
  for (auto set = span.first; set < span.last; ++set) {
    const size_t size = sets.sizes[set];
    for (size_t k = 0; k < size; ++k) part.members[next_member[size]++] = places_per_index * *member++;
    const auto element_count = static_cast<size_t>(packed_size(static_cast<int64_t>(size)));
    for (size_t k = 0; k < element_count; ++k, ++entry) {
      // Half of an entry on the diagonal is stored.
      const double value = *entry == IndexSets::no_entry ? 0.0 : block.values[*entry - 1];
      part.values[next_value[size]++] = k < size ? 2.0 * value : value;
    }
  }
  return part;
}

/// The sets of each thread, by the thread itself. places_per_index: a member is this many times its index, less than 2^32.
/// Throws std::bad_alloc.
std::vector<SetPart> make_set_parts(const IndexSets& sets, const CsrBlock& block, const SharedIndices& shared,
                                    uint32_t places_per_index, int thread_count) {
  const auto spans = split_sets(sets, thread_count);
  std::vector<SetPart> parts(spans.size());
  make_on_threads(thread_count, [&](size_t thread) {
    parts[thread] = make_part(sets, spans[thread], block, places_per_index);
    parts[thread].place_count = static_cast<uint64_t>(shared.count) * places_per_index;
  });
  return parts;
}

/// Takes the entries that are in sets (entries_in_sets) out of the block.
CsrBlock without_sets(CsrBlock block, const std::vector<bool>& is_in_set) {
  size_t kept = 0;
  size_t entry = 0;
  for (size_t row = 0; row < static_cast<size_t>(block.row_count); ++row) {
    for (const auto end = static_cast<size_t>(block.row_starts[row + 1]); entry < end; ++entry) {
      if (is_in_set[entry + 1]) continue;
      block.columns[kept] = block.columns[entry];
      block.values[kept++] = block.values[entry];
    }
    block.row_starts[row + 1] = static_cast<int64_t>(kept);
  }
  block.columns.resize(kept);
  block.values.resize(kept);
  return block;
}

/// multiply(size, SetRange) for the sets of each size that belong to the share that a mode asks for.
template <typename Multiply>
void multiply_share(const SetPart& part, const ProductMode& mode, int64_t prefetch_distance,
                    const Multiply& multiply) {
  const ShareRange share(std::accumulate(part.counts.begin(), part.counts.end(), int64_t{0}), mode);
  int64_t first_set = 0;
  const double* values = part.values.data();
  const uint32_t* members = part.members.data();
  for (size_t size = 0; size < part.counts.size(); ++size) {
    const auto members_of_set = static_cast<int64_t>(size);
    const auto begin = std::clamp<int64_t>(share.begin - first_set, 0, part.counts[size]);
    const auto end = std::clamp<int64_t>(share.end - first_set, 0, part.counts[size]);
    if (begin < end) {
      multiply(size, SetRange{.values = values + begin * packed_size(members_of_set),
                              .members = members + begin * members_of_set,
                              .count = end - begin,
                              .prefetch_distance = prefetch_distance});
    }
    first_set += part.counts[size];
    values += part.counts[size] * packed_size(members_of_set);
    members += part.counts[size] * members_of_set;
  }
}

/// The kernel of what is in no set. Short rows take the formats that fill up least.
KernelRow rest_kernel(const CsrBlock& rest) {
  const auto entries = rest.nonzero_count();
  if (entries < 2 * rest.row_count) return symmetric_scalar_kernel();
  return entries < 16 * rest.row_count ? symmetric_kernel() : symmetric_distinct_kernel();
}

std::unique_ptr<SpmvKernel> make_rest(CsrBlock rest, KernelOptions options) {
  const auto row = rest_kernel(rest);
  // The one that the kernel would take, or the widest one, but none that is wider than what is asked for.
  const auto next = std::ranges::upper_bound(row.instruction_sets, *options.instruction_set);
  options.instruction_set = std::min(row.preferred_instruction_set(), *std::prev(next));
  return row.make(std::move(rest), options);
}

/// One vector: each thread has p and sums of q of all shared indices side by side.
class Kernel final : public FormatKernel<Parts<SetPart>> {
 public:
  Kernel(const SharedIndices& shared, Parts<SetPart> parts, std::unique_ptr<SpmvKernel> others,
         const KernelOptions& options)
      : FormatKernel("blocks", options, std::move(parts), std::move(others)),
        shared_(shared),
        prefetch_distance_(options.tuning.prefetch_distance.value_or(default_sell_prefetch_distance)) {
    for (int size = 1; size <= largest_index_set; ++size)
      loops_[static_cast<size_t>(size)] = CG2D_OF_SET(*options.instruction_set, blocks::loop_for, size);
    for (const auto& part : format().of_threads)
      pairs_.emplace_back(part.empty() ? 0 : static_cast<size_t>(shared_.count));
  }

  /// The sums of the sets are whole after the last share, and are added to those of the remainder then.
  void multiply(const Operands& operands, const ProductMode& mode) override {
    if (rest() != nullptr) rest()->multiply(operands, mode);
    if (thread_count() == 0) return;
    const bool is_last = mode.is_last_share();
    if (rest() == nullptr && is_last) clear_outside(operands, mode);
    make_sums(
        thread_count(), is_last ? shared_.count : 0,
        [&](int thread) { multiply_part(thread, operands, mode); },
        [&](const RowRange& indices) { add_up(indices, operands, mode); });
  }

 private:
  void multiply_part(int thread, const Operands& operands, const ProductMode& mode) {
    auto& pairs = pairs_[static_cast<size_t>(thread)];
    if (pairs.empty()) return;
    if (mode.share == 0) {
      const double* const p = operands.p_columns.data() + shared_.first_column;
      for (size_t k = 0; k < pairs.size(); ++k) pairs[k] = {.p = p[k], .q = 0.0};
    }
    multiply_share(format()[thread], mode, prefetch_distance_,
                   [&](size_t size, const SetRange& range) { loops_[size](range, &pairs.data()->p); });
  }
  /// The sums of some shared indices, in the order of the threads.
  void add_up(const RowRange& indices, const Operands& operands, const ProductMode& mode) const {
    const bool is_added = rest() != nullptr || mode.is_continued;
    for (auto index = indices.begin; index < indices.end; ++index) {
      double& q = operands.q_columns[static_cast<size_t>(shared_.first_column + index)];
      double sum = is_added ? q : 0.0;
      for (const auto& pairs : pairs_) {
        if (!pairs.empty()) sum += pairs[static_cast<size_t>(index)].q;
      }
      q = sum;
    }
  }
  /// Without a remainder: sums that no set has.
  void clear_outside(const Operands& operands, const ProductMode& mode) const {
    if (!mode.is_added) std::ranges::fill(operands.q_rows, 0.0);
    if (mode.is_continued) return;
    const auto first = static_cast<size_t>(shared_.first_column);
    std::ranges::fill(operands.q_columns.first(first), 0.0);
    std::ranges::fill(operands.q_columns.subspan(first + static_cast<size_t>(shared_.count)), 0.0);
  }

  SharedIndices shared_;
  int64_t prefetch_distance_;
  std::array<SetLoop, largest_index_set + 1> loops_{};  // of each size
  std::vector<PageBuffer<ColumnPair>> pairs_;           // of each thread
};

/// Several vectors, where they are: the first thread adds to q itself, the others have sums of their own.
class SeveralKernel final : public FormatKernel<Parts<SetPart>> {
 public:
  SeveralKernel(const SharedIndices& shared, Parts<SetPart> parts, std::unique_ptr<SpmvKernel> others,
                const KernelOptions& options)
      : FormatKernel("blocks", options, std::move(parts), std::move(others)),
        first_element_(shared.first_column * options.vector_count),
        element_count_(shared.count * options.vector_count),
        vector_count_(options.vector_count),
        prefetch_distance_(options.tuning.prefetch_distance.value_or(default_sell_prefetch_distance)),
        column_sums_(element_count_, thread_count()) {
    for (int size = least_index_set; size <= largest_set_of_several; ++size) {
      loops_[static_cast<size_t>(size)] =
          CG2D_OF_SET(*options.instruction_set, several_sets::loop_for, options.vector_count, size);
    }
  }

  /// The first thread adds to q itself. So what is in no set, which makes q, is multiplied before: all of it in the first share.
  void multiply(const Operands& operands, const ProductMode& mode) override {
    if (thread_count() == 0) {
      rest()->multiply(operands, mode);
      return;
    }
    if (mode.share == 0)
      rest()->multiply(operands, {.is_added = mode.is_added, .is_continued = mode.is_continued});
    const double* const p = operands.p_columns.data() + first_element_;
    const auto q =
        operands.q_columns.subspan(static_cast<size_t>(first_element_), static_cast<size_t>(element_count_));
    column_sums_.make(
        q, {.begin = 0, .end = mode.is_last_share() ? element_count_ : 0},
        [&](int thread, std::span<double> sums) {
          if (thread > 0 && mode.share == 0) std::ranges::fill(sums, 0.0);
          multiply_share(format()[thread], mode, prefetch_distance_, [&](size_t size, const SetRange& range) {
            loops_[size](range, {.p = p, .q = sums.data(), .count = vector_count_});
          });
        });
  }

 private:
  // Shared indices of each vector, together.
  int64_t first_element_;
  int64_t element_count_;
  int64_t vector_count_;
  int64_t prefetch_distance_;
  std::array<SeveralSetLoop, largest_set_of_several + 1> loops_{};  // of each size
  ColumnSums column_sums_;
};

/// Sets and the kernel of what is in none, or block CSR.
std::unique_ptr<SpmvKernel> make(CsrBlock block, const KernelOptions& options) {
  if (auto kernel = try_block_csr(block, options)) return kernel;
  constexpr int64_t most_elements = int64_t{1} << 32;  // members have 32 bits
  const bool is_for_several = options.vector_count > 1;
  const SharedIndices shared(block, options.column_of_row_0);
  IndexSets sets;
  if (shared.count * options.vector_count <= most_elements) {
    sets = find_index_sets(block, shared, options.thread_count,
                           is_for_several ? largest_set_of_several : largest_index_set);
  }
  Parts<SetPart> parts;
  if (!sets.empty()) {
    auto is_in_set = entries_in_sets(block, sets);
    if (!is_for_several) add_single_entries(block, shared, sets, is_in_set);
    const int places_per_index = is_for_several ? options.vector_count : 2;
    parts.of_threads =
        make_set_parts(sets, block, shared, static_cast<uint32_t>(places_per_index), options.thread_count);
    block = without_sets(std::move(block), is_in_set);
  }
  if (!is_for_several) {
    std::unique_ptr<SpmvKernel> others;
    if (sets.empty() || block.nonzero_count() > 0) others = make_rest(std::move(block), options);
    return std::make_unique<Kernel>(shared, std::move(parts), std::move(others), options);
  }
  auto rest_options = options;
  // Each thread of it makes sums over all columns. Class B, 8 vectors, 2 threads: 0.32 instead of 0.49 ms.
  if (!sets.empty() && block.nonzero_count() < block.row_count) rest_options.thread_count = 1;
  auto others = symmetric_kernel().make(std::move(block), rest_options);
  return std::make_unique<SeveralKernel>(shared, std::move(parts), std::move(others), options);
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
      .storage = Storage::half,
      .joins_sums = true,
      .has_use_for = blocks::has_use_for,
      .bytes_per_nonzero = 5.0,
      .converts = true,
      .conversion_bytes_per_nonzero = 7.5,
      .doubles_per_column = 3,
      .defaults = {.prefetch_distance = default_sell_prefetch_distance},
      .instruction_sets = of_this_processor(sets_without_gathers),
      .maker = blocks::make,
      .makes_several = true,
  };
}

}  // namespace cg2d::kernels
#endif
