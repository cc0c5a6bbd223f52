#pragma once

// The table of preconditioners, and the part of a distributed matrix that they are made of. A new one is one file that defines its row,
// and its entry in preconditioner_table().

#include <memory>

#include "cg/base/process_memory.hpp"
#include "cg/solver/linear_operator.hpp"
#include "comm/rank_group.hpp"
#include "kernels/csr_block.hpp"

namespace cg2d {

/// Numbers of a polynomial preconditioner; those that are 0 follow from the row and the matrix.
struct PolynomialOptions {
  int degree =
      0;  ///< products with A per application; even: of an odd degree the polynomial is negative beyond high + low
  /// The eigenvalues that it is made for: of D^-1 A, D the diagonal of A, or of A where that is not known.
  double low = 0.0;
  double high = 0.0;

  double center() const { return (high + low) / 2.0; }
  double radius() const { return (high - low) / 2.0; }
};

/// The input of every row's make(). A row takes what it needs, as its properties say.
struct PreconditionerInput {
  LinearOperator& matrix;
  /// This rank's piece of A's diagonal, for rows that use it; no rank has any where it is not known.
  ConstPiece diagonal{};
  /// A in the rows and columns of this rank's piece, see diagonal_block_of(); for rows that need it.
  const kernels::CsrBlock* diagonal_block = nullptr;
  /// The global number of the piece's first row, for messages and for vectors that do not depend on the grid.
  int64_t first_row = 0;
  PolynomialOptions polynomial{};  ///< for rows that have a degree
  int thread_count = 1;
};

/// Memory of a preconditioner on each rank while it is made, at most, with the diagonal or diagonal block that it
/// needs: for each row of the rank's piece, and for each nonzero in these rows.
struct PieceMemory {
  int64_t bytes_per_row = 0;
  int64_t bytes_per_nonzero = 0;
};

enum class DiagonalUse { none, where_known, needed };

/// One preconditioner, with the properties that callers need before they make one.
struct PreconditionerRow {
  std::string_view name;
  bool is_diagonal = false;  ///< M is, and so depends neither on the grid nor on an order of sums
  DiagonalUse diagonal = DiagonalUse::none;
  /// Others work with an operator on several vectors at once, too, as one on all of their elements.
  bool needs_diagonal_block = false;
  int default_degree = 0;  ///< 0: it has no degree
  PieceMemory memory{};
  /// Collective over the ranks of the matrix. Throws InputError, on every rank alike, where the input does
  /// not suffice; RunError (memory), alike, without memory for factors; std::bad_alloc for vectors.
  std::unique_ptr<Preconditioner> (*make)(const PreconditionerInput& input) = nullptr;
};

/// All preconditioners; the first one is none, M = 1.
std::span<const PreconditionerRow> preconditioner_table();
/// The row of that name, which may be the first part of a text as "chebyshev:4:0.1:2"; or nullptr.
const PreconditionerRow* find_preconditioner(std::string_view text);
/// The numbers in such a text: degree, and lower and upper bound. Throws InputError, which begins with `option`, for an unknown name, for
/// numbers of a row that takes none, and for those that make no definite polynomial.
PolynomialOptions polynomial_from(const std::string& option, const std::string& text);
/// Throws InputError, which begins with `name`, for a degree or bounds that make no definite polynomial.
void require_valid(std::string_view name, const PolynomialOptions& polynomial);
/// "none or jacobi": those with a diagonal M.
std::string names_of_diagonal_preconditioners();

// ---------------------------------------------------------------- the diagonal block

/// The matrix in the rows and columns of this rank's column piece, where its part of the vectors is, numbered
/// from the first of them. `block`: this rank's whole block (before half of it is dropped).
///
/// The diagonal block of piece k lies in row block k / Px and in column block k / Py, so in one block: that of
/// the rank (k / Px, k / Py), which has the process column of the owner of the piece. On a grid of one process
/// column it is the owner's own block; on others one message goes to the owner. Collective. Cost: 16 bytes
/// per entry that moves. Throws MpiError, std::bad_alloc.
kernels::CsrBlock diagonal_block_of(const kernels::CsrBlock& block, const comm::BlockLayout& layout,
                                    comm::RankGroup& group);

/// The diagonal of a square block; 0 where an entry is not stored.
HugePageVector diagonal_of(const kernels::CsrBlock& diagonal_block);

/// Throws RunError (not_positive_definite, or not_finite for NaN), on every rank alike, that names the first entry of the whole diagonal that is
/// not positive: with it A is not positive definite. `first_row`: the global number of the piece's first row. Collective. Cost: one sum over
/// all ranks, and some 64 more where there is such an entry.
void require_positive(std::string_view preconditioner, LinearOperator& matrix, ConstPiece diagonal,
                      int64_t first_row);

}  // namespace cg2d
