#pragma once

// The lengths of a block's rows: products are slow on short rows, and the more process columns a grid has,
// the shorter its rows are.

#include <cstdint>

#include "kernels/csr_block.hpp"

namespace cg2d {

/// Figures of the rows of one block, or of several together. Trivially copyable: ranks send it as it is.
struct RowLengths {
  std::int64_t critical_vector_length = 0;
  std::int64_t row_count = 0;
  std::int64_t nonzero_count = 0;
  std::int64_t shortest = 0;                 ///< 0 without rows
  std::int64_t longest = 0;                  ///< likewise
  std::int64_t short_row_count = 0;          ///< rows below the critical vector length
  std::int64_t short_row_nonzero_count = 0;  ///< nonzeros in them

  /// Nonzeros per row; 0 without rows.
  [[nodiscard]] double mean() const;
  /// Parts of all rows and of all nonzeros, 0 to 1; 0 where there are none.
  [[nodiscard]] double short_row_share() const;
  [[nodiscard]] double short_row_nonzero_share() const;
};

/// Counts the rows of a whole block, before a kernel takes it. Cost: one pass over the rows.
RowLengths row_lengths(const kernels::CsrBlock& block, std::int64_t critical_vector_length);

/// The figures of the rows of both, which must have the same critical vector length.
RowLengths merged(const RowLengths& first, const RowLengths& second);

}  // namespace cg2d
