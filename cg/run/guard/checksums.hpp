#pragma once

// Checksums of a block: of its product, since the sum of q follows from p and the sums of the block's columns, and of its bytes, in the
// format of its kernel.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "comm/block_layout.hpp"
#include "comm/communicator.hpp"
#include "kernels/csr_block.hpp"
#include "kernels/spmv.hpp"

namespace cg2d {

/// A quantity that is zero but for rounding, and the most that rounding explains.
struct CheckedError {
  double error = 0.0;
  double tolerance = 0.0;

  /// False for NaN, and where the tolerance itself is not finite.
  [[nodiscard]] bool holds() const;
  /// error / tolerance; 0 where both are 0.
  [[nodiscard]] double ratio() const;
};

/// The checksums of one rank's block A as a kernel stores it, in exact arithmetic:
///
///     whole storage    1^T q_rows = c^T p_columns              with c = A^T 1
///     half storage     the same, and 1^T q_columns = d^T p_rows    with d = A 1
///     joined sums      1^T q_rows + 1^T q_columns = c^T p_columns + d^T p_rows    (KernelRow::joins_sums)
///
/// for A what is stored: one entry of each mirrored pair, and half of the diagonal. The identities hold for any order of
/// additions, so for every kernel and for products in parts.
///
/// Tolerance, to first order in u = 2^-53 (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1): q_i has an
/// error of at most k u sum_j |a_ij| |p_j|, where k is the number of entries in the row and some additions of parts and
/// threads; the sum of q and that of c_j p_j add as many u as their chains are long. Each of these is relative to
/// w^T |p| with w = |A|^T 1, and w^T |p| <= ||w|| ||p||. So the error is at most
///
///     u (k + chain of the sum of q + chain of c^T p + 2) ||w|| ||p||
///
/// The tolerance is twice that, for the terms of higher order and the rounding of c, w and the norms.
class ProductChecksums {
 public:
  /// block: as generated, the whole of it. Local. Cost: one pass over the entries.
  ProductChecksums(const kernels::CsrBlock& block, const kernels::KernelRow& kernel,
                   const comm::BlockLayout& layout, int rank);

  /// The worse one of the two directions, after the product and before anything of it is sent. low_partial: the second halves of q in
  /// a reproducible product, else empty. Local. Cost: one pass over the block's p, q and weights.
  [[nodiscard]] CheckedError error_of(comm::Communicator& communicator,
                                      std::span<const double> low_partial = {}) const;

  /// The largest sum of |a_ij| over a column of the block, whole.
  [[nodiscard]] double largest_column_sum() const { return largest_column_sum_; }
  /// The most entries in a row of the block, whole.
  [[nodiscard]] std::int64_t longest_row() const { return longest_row_; }

 private:
  struct Direction {
    std::vector<double> weights;  // c, or d
    double absolute_norm = 0.0;   // || w ||
    double chain = 0.0;           // entries of the longest row of this direction
  };
  /// The sum of q less what it should be, with its sign.
  [[nodiscard]] static CheckedError excess_of(const Direction& direction, std::span<const double> p,
                                              std::span<const double> q, std::span<const double> q_low);

  Direction by_columns_;
  Direction by_rows_;  // with half storage
  bool has_joined_sums_;
  double largest_column_sum_ = 0.0;
  std::int64_t longest_row_ = 0;
};

/// CRC-32C of each piece of the block's arrays, taken when it is made. Local.
class MatrixChecksum {
 public:
  /// The arrays must outlive this. Cost: one pass over them.
  MatrixChecksum(const std::vector<kernels::StoredArray>& arrays, int thread_count);

  /// Whether the pieces share, share + share_count, ... are as they were. Cost: a pass over them, on the threads.
  [[nodiscard]] bool holds(int share, int share_count) const;

 private:
  struct Piece {
    std::span<const std::byte> bytes;
    std::uint32_t checksum = 0;
  };

  std::vector<Piece> pieces_;
  int thread_count_;
};

}  // namespace cg2d
