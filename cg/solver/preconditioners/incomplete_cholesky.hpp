#pragma once

// Incomplete Cholesky factors without fill-in, IC(0), of one rank's square block. Local, no MPI.

#include <optional>

#include "cg/base/process_memory.hpp"
#include "cg/solver/vector_ops.hpp"
#include "kernels/csr_block.hpp"

namespace cg2d {

/// L D L^T near a symmetric positive definite block: L has ones on its diagonal and entries only where the block
/// has some (Meijerink and van der Vorst 1977). Only the block's lower triangle is read.
///
/// Both triangles are stored, row by row, so that both solves add up a row at a time. The entry next to the
/// diagonal stands apart: a row waits for the one before it, whose element then is still in a register. Memory limits
/// the solves, so L is rounded to single precision; sums and D are double. M stays symmetric and positive definite, and as near to A as
/// the missing fill-in lets it be.
class IncompleteCholesky {
 public:
  /// The factors of the block, its diagonal multiplied by 1 + shift; empty where a pivot is not positive, or too
  /// small for its row, or an entry of L too large for single precision. Throws std::bad_alloc.
  static std::optional<IncompleteCholesky> factorize(const kernels::CsrBlock& block, ConstPiece diagonal,
                                                     double shift);

  /// z := (L D L^T)^-1 r. They may be the same.
  void solve(ConstPiece r, Piece z) const;
  /// Memory read and written by a solve, and its operations.
  VectorWork work() const;

 private:
  /// Consecutive rows with equal numbers of entries, the one next to the diagonal not counted.
  struct Run {
    int64_t row_count = 0;
    int64_t length = 0;
  };
  /// Rows of L or of L^T without the diagonal.
  struct Triangle {
    std::vector<Run> runs{};
    kernels::PageBuffer<int32_t> columns{};  ///< but for those next to the diagonal, row after row
    kernels::PageBuffer<float> values{};
    kernels::PageBuffer<float> next_to_diagonal{};  ///< 0 where there is none
  };

  IncompleteCholesky(Triangle lower, Triangle upper, HugePageVector inverse_pivots)
      : lower_(std::move(lower)), upper_(std::move(upper)), inverse_pivots_(std::move(inverse_pivots)) {}

  Triangle lower_;
  Triangle upper_;
  HugePageVector inverse_pivots_;

  friend class TriangleRows;
};

}  // namespace cg2d
