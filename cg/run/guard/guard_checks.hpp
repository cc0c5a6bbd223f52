#pragma once

// The checks of a guard: sums with short chains of additions, and so with small errors that can be bounded; checksums of a block's product,
// since the sum of q follows from p and the sums of the block's columns, and of its bytes, in the format of its kernel; and Meurant's relation
// between the numbers of a CG step. Each with the most that rounding explains.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "cg/solver/step_observer.hpp"
#include "comm/block_layout.hpp"
#include "comm/communicator.hpp"
#include "kernels/csr_block.hpp"
#include "kernels/spmv.hpp"

namespace cg2d {

/// Two sums over the same elements.
using TwoSums = std::pair<double, double>;

inline constexpr std::size_t block_of_sums = 512;
inline constexpr std::size_t lanes_of_sums = 8;

/// Adds add(element, first, second) of the elements 0 ... size-1 in blocks, each in lanes, which are vectorized: an element's work must
/// not depend on another's. (Without the pragma gcc 12 makes no vectors of them: 14 instead of 48 GB/s from a cache, Intel Xeon, 2026-11.)
template <typename Add>
TwoSums blocked_sums(std::size_t size, const Add& add) {
  TwoSums total;
  for (std::size_t begin = 0; begin < size; begin += block_of_sums) {
    const std::size_t end = std::min(begin + block_of_sums, size);
    std::array<double, lanes_of_sums> first{};
    std::array<double, lanes_of_sums> second{};
    std::size_t element = begin;
    for (; element + lanes_of_sums <= end; element += lanes_of_sums) {
#pragma omp simd
      for (std::size_t lane = 0; lane < lanes_of_sums; ++lane) add(element + lane, first[lane], second[lane]);
    }
    for (; element < end; ++element) add(element, first[0], second[0]);
    TwoSums block;
    for (std::size_t lane = 0; lane < lanes_of_sums; ++lane) {
      block.first += first[lane];
      block.second += second[lane];
    }
    total.first += block.first;
    total.second += block.second;
  }
  return total;
}

/// The square of the norm of v, or of W^1/2 v with the weights of a diagonal W.
inline TwoSums square_of(std::span<const double> v, std::span<const double> weights = {}) {
  if (weights.empty())
    return blocked_sums(v.size(),
                        [&](std::size_t k, double& sum, double& /*unused*/) { sum += v[k] * v[k]; });
  return blocked_sums(
      v.size(), [&](std::size_t k, double& sum, double& /*unused*/) { sum += v[k] * v[k] * weights[k]; });
}

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

  double largest_column_sum = 0.0;  ///< the largest sum of |a_ij| over a column of the block, whole
  std::int64_t longest_row = 0;     ///< the most entries in a row of the block, whole

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

/// Measures of A, or, with M, of M^-1/2 A M^-1/2; at least.
struct MatrixScale {
  double norm = 0.0;         ///< || |A| ||
  double longest_row = 0.0;  ///< entries in any row
  double order = 0.0;        ///< rows
};

/// In exact arithmetic r_new . M^-1 r = 0, so r_new . M^-1 r_new = alpha^2 q . M^-1 q - rho, which is
/// alpha^2 q . M^-1 q / rho = 1 + beta (G. Meurant, The Lanczos and Conjugate Gradient Algorithms, SIAM 2006). Norms of r and q are those
/// of M^-1, norms of p those of M. The derivation of the tolerance is in the README of this room.
///
/// Local, trivially copyable: a copy is the place to go on from. Cost: some scalar operations per step.
class StepRelation {
 public:
  StepRelation() = default;
  explicit StepRelation(const MatrixScale& scale);

  /// product_square: q . M^-1 q of the step.
  [[nodiscard]] CheckedError after_step(const CgState& state, double product_square);
  /// The largest r . M^-1 r so far.
  [[nodiscard]] double largest_rho() const { return largest_rho_; }

 private:
  /// The step before, and bounds that it leaves.
  struct Step {
    double alpha = 0.0;
    double beta_before = 0.0;  // beta of the step's own direction
    double rho = 0.0;
    double next_rho = 0.0;
    double direction_norm = 0.0;
    double product_norm = 0.0;
    double next_direction_norm = 0.0;
    double residual_overlap = 0.0;   // | r_new . r |
    double direction_overlap = 0.0;  // | r . p_before |
  };

  double dot_unit_ = 0.0;      // relative error of a dot product
  double product_unit_ = 0.0;  // error of x . A y, relative to ||x|| ||y||
  double largest_rho_ = 0.0;
  int replacement_count_ = -1;  // at the last step; -1: there was none
  Step last_;
};

}  // namespace cg2d
