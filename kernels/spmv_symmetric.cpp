// Kernels "symmetric", SELL-8-2048, and "symmetric-distinct", SELL-8-1024: column blocks with half storage; 10 bytes for two nonzeros. A column
// block's parts of p and q lie side by side, element by element, so that one cache line serves both. The sums of a window's rows are stored
// chunk by chunk, and added to q once the window is done.
//
// The rows of a thread are cut into bands, whose column blocks are multiplied one after the other: p and q over the
// rows of a band stay in a cache from one column block to the next. Bands are whole windows, and go on with the sums
// over the columns, so that every sum has the order that it has without them.

#include "kernels/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/spmv_symmetric.cpp"
#include <hwy/foreach_target.h>

#include <algorithm>

#include "kernels/sell_matrix.hpp"
#include "kernels/vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace cg2d::kernels::HWY_NAMESPACE {
namespace {

constexpr auto lanes = sell_lanes;

/// A chunk, with its parts of the vectors.
struct SymmetricChunk {
  const double* values;
  const uint16_t* columns;
  uint32_t steps;
  const uint16_t* rows;  // row of each lane
  const double* p_rows;  // p of the window
  double* row_sums;      // sums of the lanes; overwritten
  ColumnPair* pairs;     // pairs of the column block
  int64_t prefetch_distance;
};

HWY_INLINE void load_pairs(const SellOperands& operands, int64_t first_column, int64_t count) {
  const double* const p = operands.p_columns + first_column;
  if (operands.is_continued) {
    const double* const q = operands.q_columns + first_column;
    for (int64_t k = 0; k < count; ++k) operands.pairs[k] = {.p = p[k], .q = q[k]};
  } else {
    for (int64_t k = 0; k < count; ++k) operands.pairs[k] = {.p = p[k], .q = 0.0};
  }
}

HWY_INLINE void store_sums(const ColumnPair* pairs, int64_t count, double* q) {
  for (int64_t k = 0; k < count; ++k) q[k] = pairs[k].q;
}

/// Adds the sums of the rows of a window, each from its position, to its q. Several rows at once: one store instead of as many. With some three entries per row of a window (class C) adding them one by one took
/// a fifth of the product.
HWY_INLINE void add_window(const double* row_sums, const uint16_t* positions, int64_t row_count,
                           double* q_rows) {
  const hn::CappedTag<double, 4> d;
  const auto at_once = static_cast<int64_t>(hn::Lanes(d));
  int64_t row = 0;
  for (; row + at_once <= row_count; row += at_once) {
    double* const q = q_rows + row;
    hn::StoreU(hn::Add(hn::LoadU(d, q), FewElements::load(d, row_sums, positions + row)), d, q);
  }
  for (; row < row_count; ++row) q_rows[row] += row_sums[positions[row]];
}

/// Form::multiply(chunk).
template <typename Form>
void multiply_symmetric(const SellOperands& operands) {
  const SellPart& part = operands.part;
  const int64_t* first_chunk = part.first_chunk.data() + operands.first_block * part.window_count;
  const uint32_t* steps = part.steps.data() + *first_chunk;
  const uint16_t* positions =
      part.positions.data() + part.first_position[static_cast<size_t>(operands.first_block)];
  const int64_t first_entry = part.first_step[static_cast<size_t>(operands.first_block)] * lanes;
  SymmetricChunk chunk{.values = part.values.data() + first_entry,
                       .columns = part.columns.data() + first_entry,
                       .steps = 0,
                       .rows = part.rows.data() + *first_chunk * lanes,
                       .p_rows = nullptr,
                       .row_sums = nullptr,
                       .pairs = operands.pairs,
                       .prefetch_distance = operands.prefetch_distance};
  for (int64_t block = operands.first_block; block < operands.last_block; ++block) {
    const int64_t first_column = block * part.shape.block_width;
    const int64_t width = std::min(part.shape.block_width, part.column_count - first_column);
    load_pairs(operands, first_column, width);
    for (int64_t window = 0; window < part.window_count; ++window, ++first_chunk) {
      if (first_chunk[0] == first_chunk[1]) continue;
      const int64_t first_row = window * part.shape.window_rows;
      chunk.p_rows = operands.p_rows + part.first_row + first_row;
      chunk.row_sums = operands.row_sums;
      for (int64_t rest = first_chunk[1] - first_chunk[0]; rest > 0; --rest) {
        chunk.steps = *steps++;
        Form::multiply(chunk);
        chunk.values += chunk.steps * lanes;
        chunk.columns += chunk.steps * lanes;
        chunk.rows += lanes;
        chunk.row_sums += lanes;
      }
      add_window(operands.row_sums, positions, std::min(part.shape.window_rows, part.row_count - first_row),
                 operands.q_rows + part.first_row + first_row);
      positions += part.shape.window_rows;
    }
    store_sums(chunk.pairs, width, operands.q_columns + first_column);
  }
}

/// A step multiplies one entry of each of 8 rows. It adds to the sums of the rows, which are in registers, and to q over the columns, which is in
/// memory: there it adds one lane after the other, since two lanes may have the same column.
namespace symmetric {

// Takes the lanes in pairs. Variants on Zen 4, 2026-11, ns per nonzero of classes A and B:
//   lanes in pairs                                                  0.338  0.410
//   single lanes                                                    0.36   0.41
//   single lanes, value times (p, q) in one register                0.36   0.42
//   p and q in vectors of their own, so that blocks are narrower    0.32   0.43   (2048 columns)
//   step counts known at compile time                               no gain
struct Form {
  using Two = hn::CappedTag<double, 2>;
  using TwoLanes = VectorOf<Two>;

  /// Multiplies two lanes, whose values, elements of p and products are in one register each. Their sums for q go one after the other,
  /// since both may have the same column.
  static HWY_INLINE void multiply_two(const double* values, ColumnPair& first, ColumnPair& second,
                                      TwoLanes p_rows, TwoLanes& sums) {
    const Two d;
    const auto both = hn::LoadU(d, values);
    sums = hn::MulAdd(both, two_lanes(d, first.p, second.p), sums);
    const auto mirrored = hn::Mul(both, p_rows);
    first.q += hn::GetLane(mirrored);
    second.q += hn::ExtractLane(mirrored, 1);
  }

  static HWY_INLINE void multiply(const SymmetricChunk& chunk) {
    const Two d;
    const double* values = chunk.values;
    const uint16_t* columns = chunk.columns;
    ColumnPair* const pairs = chunk.pairs;
    const auto rows01 = FewElements::load(d, chunk.p_rows, chunk.rows);
    const auto rows23 = FewElements::load(d, chunk.p_rows, chunk.rows + 2);
    const auto rows45 = FewElements::load(d, chunk.p_rows, chunk.rows + 4);
    const auto rows67 = FewElements::load(d, chunk.p_rows, chunk.rows + 6);
    auto sums01 = hn::Zero(d);
    auto sums23 = hn::Zero(d);
    auto sums45 = hn::Zero(d);
    auto sums67 = hn::Zero(d);
    for (uint32_t step = chunk.steps; step > 0; --step, values += lanes, columns += lanes) {
      prefetch_entries(values, columns, chunk.prefetch_distance);
      const FourColumns low(columns);
      const FourColumns high(columns + 4);
      multiply_two(values, pairs[low.at(0)], pairs[low.at(1)], rows01, sums01);
      multiply_two(values + 2, pairs[low.at(2)], pairs[low.at(3)], rows23, sums23);
      multiply_two(values + 4, pairs[high.at(0)], pairs[high.at(1)], rows45, sums45);
      multiply_two(values + 6, pairs[high.at(2)], pairs[high.at(3)], rows67, sums67);
    }
    hn::StoreU(sums01, d, chunk.row_sums);
    hn::StoreU(sums23, d, chunk.row_sums + 2);
    hn::StoreU(sums45, d, chunk.row_sums + 4);
    hn::StoreU(sums67, d, chunk.row_sums + 6);
  }
};

SellLoop loop_for(InstructionSet /*set*/) { return &multiply_symmetric<Form>; }

}  // namespace symmetric

/// Lanes that are multiplied at once never have the same column. So their sums over the columns are loaded, added to and stored at once: two
/// lanes per register, or all of a register by gathers and scatters.
namespace symmetric_distinct {

#if HWY_TARGET == HWY_AVX3 || HWY_HAVE_SCALABLE
/// As many lanes as a register has, by gathers and scatters.
struct Form {
  static constexpr auto distinct = DistinctLanes::all;

  static HWY_INLINE void multiply(const SymmetricChunk& chunk) {
    const hn::CappedTag<double, lanes> d;
    const auto n = static_cast<int64_t>(hn::Lanes(d));
    double* const p = &chunk.pairs->p;
    double* const q = &chunk.pairs->q;
    for (int64_t lane = 0; lane < lanes; lane += n) {
      const double* values = chunk.values + lane;
      const uint16_t* columns = chunk.columns + lane;
      const auto p_rows = Gathers::load(d, chunk.p_rows, chunk.rows + lane);
      auto sums = hn::Zero(d);
      for (uint32_t step = chunk.steps; step > 0; --step, values += lanes, columns += lanes) {
        prefetch_entries(values, columns, chunk.prefetch_distance);
        const auto pair = hn::ShiftLeft<1>(Gathers::places(d, columns));
        const auto value = hn::LoadU(d, values);
        sums = hn::MulAdd(value, Gathers::at(d, p, pair), sums);
        Gathers::scatter(d, hn::MulAdd(value, p_rows, Gathers::at(d, q, pair)), q, pair);
      }
      hn::StoreU(sums, d, chunk.row_sums + lane);
    }
  }
};
#else
/// One column pair in each half of a register of four lanes, or one in a register of two.
///
/// ns per nonzero of classes S, A and B, one thread, four lanes, Zen 5, 2026-11: 0.195 0.217 0.28; with gathers and scatters 0.65 (A) 0.69
/// (B). In the first-level cache a step takes 8.9 clocks, one for each store; 7.5 without stores. Column numbers as byte offsets, loaded
/// one by one or by bit extraction: no gain.
struct Form {
  static constexpr auto distinct = DistinctLanes::pairs;

  using Pairs = hn::CappedTag<double, 4>;
  using PairsVector = VectorOf<Pairs>;
  static constexpr int64_t lanes_of_two =
      hn::MaxLanes(Pairs());  // in a register of even lanes and one of odd ones
  static constexpr int64_t register_count = lanes / lanes_of_two;

  /// The pairs of a lane, and of the next but one where a register has room for both.
  static HWY_INLINE PairsVector load(const double* pair, [[maybe_unused]] const double* other_pair) {
    const Pairs d;
#if HWY_MAX_BYTES == 16
    return hn::Load(d, pair);
#else
    const hn::Half<Pairs> half;
    return hn::Combine(d, hn::Load(half, other_pair), hn::Load(half, pair));
#endif
  }

  /// Multiplies a lane and the next but one. `values` holds each one's value twice, so that one multiply-add serves their row sums (the
  /// lower lanes of `sums`; the upper ones are of no use) and one the sums over the columns. rows: zeros, and p of the rows.
  static HWY_INLINE void multiply_two(PairsVector values, double* pair, [[maybe_unused]] double* other_pair,
                                      PairsVector rows, PairsVector& sums) {
    auto pairs = load(pair, other_pair);
#if HWY_TARGET == HWY_AVX2
    asm("" : "+x"(pairs.raw));  // keeps gcc from loading the pairs once more for the other multiply-add
#endif
    sums = hn::MulAdd(values, pairs, sums);
    pairs = hn::MulAdd(values, rows, pairs);
#if HWY_MAX_BYTES == 16
    hn::Store(pairs, Pairs(), pair);
#else
    const hn::Half<Pairs> half;
    hn::Store(hn::LowerHalf(half, pairs), half, pair);
    hn::Store(hn::UpperHalf(half, pairs), half, other_pair);
#endif
  }

  static HWY_INLINE void multiply(const SymmetricChunk& chunk) {
    const Pairs d;
    constexpr int64_t next = lanes_of_two == 4 ? 2 : 0;  // from a lane to the other one in its register
    const double* values = chunk.values;
    const uint16_t* columns = chunk.columns;
    PairsVector even_rows[register_count];
    PairsVector odd_rows[register_count];
    PairsVector even_sums[register_count];
    PairsVector odd_sums[register_count];
    const auto row_of = [&](int64_t lane) HWY_ATTR {
      return two_lanes(hn::CappedTag<double, 2>(), 0.0, chunk.p_rows[chunk.rows[lane]]);
    };
    const auto rows_of = [&](int64_t lane) HWY_ATTR {
#if HWY_MAX_BYTES == 16
      return row_of(lane);
#else
      return hn::Combine(d, row_of(lane + next), row_of(lane));
#endif
    };
#pragma GCC unroll 4
    for (int64_t k = 0; k < register_count; ++k) {
      even_rows[k] = rows_of(k * lanes_of_two);
      odd_rows[k] = rows_of(k * lanes_of_two + 1);
      even_sums[k] = odd_sums[k] = hn::Zero(d);
    }
    for (uint32_t step = chunk.steps; step > 0; --step, values += lanes, columns += lanes) {
      prefetch_entries(values, columns, chunk.prefetch_distance);
      const FourColumns low(columns);
      const FourColumns high(columns + 4);
      const auto pair_of = [&](int64_t lane) HWY_ATTR {
        return &chunk.pairs[lane < 4 ? low.at(lane) : high.at(lane - 4)].p;
      };
#pragma GCC unroll 4
      for (int64_t k = 0; k < register_count; ++k) {
        const auto lane = k * lanes_of_two;
        const auto both = hn::LoadU(d, values + lane);
        multiply_two(hn::DupEven(both), pair_of(lane), pair_of(lane + next), even_rows[k], even_sums[k]);
        multiply_two(hn::DupOdd(both), pair_of(lane + 1), pair_of(lane + 1 + next), odd_rows[k], odd_sums[k]);
      }
    }
#pragma GCC unroll 4
    for (int64_t k = 0; k < register_count; ++k)
      hn::StoreU(hn::InterleaveLower(d, even_sums[k], odd_sums[k]), d, chunk.row_sums + k * lanes_of_two);
  }
};
#endif

SellLoop loop_for(InstructionSet /*set*/) { return &multiply_symmetric<Form>; }
DistinctLanes distinct_for(InstructionSet /*set*/) { return Form::distinct; }

}  // namespace symmetric_distinct

}  // namespace
}  // namespace cg2d::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <array>

namespace cg2d::kernels {
namespace {

/// 1 MB of p and q for a band, where without bands it would be 4 MB or more. Class D on 2 ranks of an AMD EPYC (Zen 5; 750 000 rows and 183 column
/// blocks for each) takes 0.64 times as long as without, class C (150 000 and 19 on 1 rank) 1.04 times: each band costs one pass over p and q
/// of all columns. Bands of 2^15 and 2^17 rows: 0.72 and 0.77.
constexpr BandSizes band_sizes{.most_rows_of_one = int64_t{1} << 18, .rows = int64_t{1} << 16};

namespace symmetric {

constexpr int default_block_width = 8192;
constexpr int64_t window_rows = 2048;
constexpr std::array sets{InstructionSet::portable, InstructionSet::fma};

SellForm form_for(const KernelOptions& options) {
  if (options.vector_count > 1) return several_sell_form("symmetric", Storage::half, options);
  return {.name = "symmetric",
          .storage = Storage::half,
          .shape = {.block_width = options.tuning.block_width.value_or(default_block_width),
                    .window_rows = window_rows,
                    .has_positions = true,
                    .bands = band_sizes},
          .loop = CG2D_OF_SET(*options.instruction_set, symmetric::loop_for)};
}

}  // namespace symmetric

namespace symmetric_distinct {

constexpr int default_block_width = 2048;
constexpr int widest_block = 1 << 14;
constexpr int64_t window_rows = 1024;

SellForm form_for(const KernelOptions& options) {
  const auto set = *options.instruction_set;
  return {.name = "symmetric-distinct",
          .storage = Storage::half,
          .shape = {.block_width =
                        std::min(options.tuning.block_width.value_or(default_block_width), widest_block),
                    .window_rows = window_rows,
                    .distinct = CG2D_OF_SET(set, symmetric_distinct::distinct_for),
                    .has_positions = true,
                    .bands = band_sizes},
          .loop = CG2D_OF_SET(set, symmetric_distinct::loop_for)};
}

}  // namespace symmetric_distinct
}  // namespace

KernelRow symmetric_kernel() {
  return {
      .name = "symmetric",
      .description =
          "symmetric storage: one entry of each mirrored pair; SELL-8-2048 in column blocks, 16-bit columns",
      .storage = Storage::half,
      .is_default = true,
      .is_tried = true,
      .bytes_per_nonzero = 5.25,
      .converts = true,
      .windows = sell_windows(symmetric::window_rows),
      .defaults = {.prefetch_distance = default_sell_prefetch_distance,
                   .block_width = symmetric::default_block_width},
      .instruction_sets = of_this_processor(symmetric::sets),
      .maker = make_sell<symmetric::form_for>,
      .makes_several = true,
      .external_maker = make_external_sell<symmetric::form_for>,
      .panel_rows = symmetric::window_rows,
      .most_panel_rows = band_sizes.most_rows_of_one,
  };
}

KernelRow symmetric_distinct_kernel() {
  // Scatters are worse than gathers where those are slow: then avx2, which has none here, is what one expects.
  const auto sets = of_this_processor(sets_without_gathers);
  return {
      .name = "symmetric-distinct",
      .description =
          "symmetric storage; SELL-8-1024 in column blocks, 16-bit columns, lanes with distinct columns",
      .storage = Storage::half,
      .is_default = sets.size() > 1,
      .is_tried = sets.size() > 1,
      .bytes_per_nonzero = 5.6,
      .converts = true,
      .windows = sell_windows(symmetric_distinct::window_rows),
      .defaults = {.prefetch_distance = default_sell_prefetch_distance,
                   .block_width = symmetric_distinct::default_block_width},
      .instruction_sets = sets,
      .measured_instruction_set = measured_set<make_sell<symmetric_distinct::form_for>, sets_without_gathers>,
      .maker = make_sell<symmetric_distinct::form_for>,
      .external_maker = make_external_sell<symmetric_distinct::form_for>,
      .panel_rows = symmetric_distinct::window_rows,
      .most_panel_rows = band_sizes.most_rows_of_one,
      .format_depends_on_set = true,
  };
}

}  // namespace cg2d::kernels
#endif
