// Products with a block in the format of the kernel "sell-rows" whose sums do not depend on order (exact_sums.hpp).

#include "kernels/exact_row_sell.hpp"

#include <cstddef>
#include <cstring>

#include "kernels/exact_sums.hpp"

namespace cg2d::kernels {
namespace row_sell_loops {
namespace {

/// Sums whose bits do not depend on order, in parts that fit a register: gcc 12 keeps longer vectors in memory, where the many
/// operations on them take long.
template <typename Part>
class ExactSums {
 public:
  CG2D_INLINE ExactSums(const ChunkRows& rows, const RowSellVectors& vectors) : begin_{}, low_{}, sums_{} {
    double bounds[row_sell_lanes] = {};  // 0 for lanes without a row: their terms are zeros
    const double* const first = vectors.row_bounds + rows.first;
    if (rows.listed_count == 0) {
      std::memcpy(bounds, first, sizeof(bounds));
    } else {
      for (int lane = 0; lane < rows.listed_count; ++lane) bounds[lane] = first[rows.listed[lane]];
    }
    for (std::size_t k = 0; k < part_count; ++k) {
      Part part_bounds{};
      std::memcpy(&part_bounds, bounds + k * part_lanes, sizeof(Part));
      part_bounds *= vectors.p_bound;
      begin_[k] = part_bounds * SplitConstants::high_factor;
      low_[k] = part_bounds * vectors.low_factor;
      sums_[k].high = begin_[k];
    }
  }
  CG2D_INLINE void add(const Lanes& values, const Lanes& operands) {
    for (std::size_t k = 0; k < part_count; ++k) {
      Part terms{};
      Part factors{};
      take_part(terms, values, k);
      take_part(factors, operands, k);
      terms *= factors;
      add_term(low_[k], terms, sums_[k]);
    }
  }
  CG2D_INLINE void store(const ChunkRows& rows, const RowSellVectors& vectors) const {
    double high[row_sell_lanes];
    double low[row_sell_lanes];
    for (std::size_t k = 0; k < part_count; ++k) {
      const Part part_high = sums_[k].high - begin_[k];
      std::memcpy(high + k * part_lanes, &part_high, sizeof(Part));
      std::memcpy(low + k * part_lanes, &sums_[k].low, sizeof(Part));
    }
    Lanes lanes{};
    load(lanes, high);
    store_rows(rows, lanes, vectors.q);
    load(lanes, low);
    store_rows(rows, lanes, vectors.q_low);
  }

 private:
  static constexpr std::size_t part_lanes = sizeof(Part) / sizeof(double);
  static constexpr std::size_t part_count = row_sell_lanes / part_lanes;

  static CG2D_INLINE void take_part(Part& part, const Lanes& lanes, std::size_t k) {
    std::memcpy(&part, reinterpret_cast<const char*>(&lanes) + k * sizeof(Part), sizeof(Part));
  }

  Part begin_[part_count];
  Part low_[part_count];
  RunningSums<Part> sums_[part_count];
};

void multiply_exact_portable(const RowSellWindows& range, const RowSellVectors& vectors) {
  multiply_windows<ExactSums<TwoLanes>>(range, vectors);
}
#if defined(__x86_64__)
CG2D_FMA void multiply_exact_fma(const RowSellWindows& range, const RowSellVectors& vectors) {
  multiply_windows<ExactSums<FourLanes>>(range, vectors);
}
CG2D_AVX512 void multiply_exact_avx512(const RowSellWindows& range, const RowSellVectors& vectors) {
  multiply_windows<ExactSums<Lanes>>(range, vectors);
}
#endif

}  // namespace
}  // namespace row_sell_loops

RowSellLoop exact_row_sell_loop(InstructionSet set) {
  switch (set) {
#if defined(__x86_64__)
    case InstructionSet::avx512:
      return &row_sell_loops::multiply_exact_avx512;
    case InstructionSet::fma:
      return &row_sell_loops::multiply_exact_fma;
#endif
    default:
      return &row_sell_loops::multiply_exact_portable;
  }
}

}  // namespace cg2d::kernels
