#pragma once

// The common part of the kernels with half storage in SELL: vectors, the walk over column blocks, windows and
// chunks, and the kernel around a loop. A column block's parts of p and q lie side by side, element by
// element, so that one cache line serves both. The sums of a window's rows are stored chunk by chunk, and
// added to q once the window is done.
//
// The rows of a thread are cut into bands, whose column blocks are multiplied one after the other: p and q over the
// rows of a band stay in a cache from one column block to the next. Bands are whole windows, and go on with the sums
// over the columns, so that every sum has the order that it has without them.

#include <cstdint>
#include <string_view>
#include <vector>

#include "kernels/column_sums.hpp"
#include "kernels/cpu_features.hpp"
#include "kernels/parts_kernel.hpp"
#include "kernels/sell_matrix.hpp"

namespace cg2d::kernels::symmetric_sell {

constexpr int64_t lanes = 8;

/// 1 MB of p and q for a band, where without bands it would be 4 MB or more. Class D on 2 ranks of an AMD EPYC (Zen 5; 750 000 rows and 183 column
/// blocks for each) takes 0.64 times as long as without, class C (150 000 and 19 on 1 rank) 1.04 times: each band costs one pass over p and q
/// of all columns. Bands of 2^15 and 2^17 rows: 0.72 and 0.77.
constexpr BandSizes band_sizes{.most_rows_of_one = int64_t{1} << 18, .rows = int64_t{1} << 16};

// In entries: fetches 8 kB of values and 2 kB of columns before their use.
constexpr int default_prefetch_distance = 1024;

/// An element of p over the columns, and the sum for the same element of q.
struct alignas(2 * sizeof(double)) ColumnPair {
  double p;
  double q;
};

/// The vectors of one thread. p and q are those of the whole block; `pairs` holds one column block at a time
/// with its spare columns, `row_sums` one window with its spare position.
struct PartOperands {
  const double* p_columns;
  const double* p_rows;
  double* q_rows;
  double* q_columns;
  ColumnPair* pairs;
  double* row_sums;
  int64_t column_count;
  bool is_continued;  // q_columns already has sums of other rows
};

/// Some column blocks of a part, to be multiplied.
struct PartBlocks {
  const SellPart& part;
  int64_t first_block;
  int64_t last_block;
  int64_t prefetch_distance;
};

/// Adds to q_rows, and overwrites q_columns within the column blocks, or adds to it.
using PartLoop = void (*)(const PartBlocks& range, const PartOperands& operands);

/// A loop, and the shape of the matrix that it needs.
struct Loop {
  PartLoop multiply = nullptr;
  SellShape shape{};
};

/// The kernel around a loop. A row has at most one entry per column.
class Kernel final : public PartsKernel<SellBands> {
 public:
  /// Throws std::bad_alloc.
  Kernel(std::string_view name, InstructionSet set, const Loop& loop, const CsrBlock& block,
         const KernelOptions& options);
  /// On one thread, for arrays that are lent. Throws std::invalid_argument for sizes of another block.
  Kernel(std::string_view name, InstructionSet set, const Loop& loop, const ExternalArrays& block,
         const KernelOptions& options);

  void multiply(const Operands& operands, const ProductMode& mode) override;

 private:
  Kernel(std::string_view name, InstructionSet set, const Loop& loop, std::vector<SellBands> bands_of_threads,
         int64_t column_count, const KernelOptions& options);
  void multiply_bands(int thread, const Operands& operands, const ProductMode& mode);
  void multiply_band(int thread, const SellPart& band, const Operands& operands, const ProductMode& mode);

  Loop loop_;
  int64_t prefetch_distance_;
  int64_t column_count_;
  ColumnSums column_sums_;
  std::vector<PageBuffer<ColumnPair>> pairs_;  // one column block per thread
  std::vector<PageBuffer<double>> row_sums_;   // one window per thread
};

}  // namespace cg2d::kernels::symmetric_sell
