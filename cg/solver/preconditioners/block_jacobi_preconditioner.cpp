// M is block diagonal: for each rank the IC(0) factors of A in the rows and columns of its piece. Nothing is
// sent.

#include <fmt/format.h>

#include <cmath>

#include "cg/base/errors.hpp"
#include "cg/base/values.hpp"
#include "cg/solver/preconditioners/incomplete_cholesky.hpp"
#include "cg/solver/preconditioners/preconditioner_table.hpp"

namespace cg2d {
namespace {

/// First shift, as a share of the diagonal, where the factors break down without; doubled until they do not.
/// (Manteuffel 1980.)
constexpr double first_shift = 1e-3;
/// Far above the shift that makes any matrix of finite numbers dominated by its diagonal, but for absurd ones.
constexpr double largest_shift = 1e12;

class BlockJacobiPreconditioner final : public Preconditioner {
 public:
  BlockJacobiPreconditioner(IncompleteCholesky factors, size_t size, std::string remark)
      : factors_(std::move(factors)), solved_(size), remark_(std::move(remark)) {}

  ConstPiece apply(ConstPiece r, DistributedVectors& vectors) override {
    const auto local = vectors.updates();
    factors_.solve(r, solved_);
    local->record_update(factors_.work());
    return solved_;
  }
  std::string remark() const override { return remark_; }

 private:
  IncompleteCholesky factors_;
  HugePageVector solved_;
  std::string remark_;
};

std::unique_ptr<Preconditioner> make_block_jacobi(const PreconditionerInput& input) {
  // Ranks count what they cannot use before any of them throws.
  const auto size = static_cast<int64_t>(input.matrix.local_size());
  const auto* const block = input.diagonal_block;
  const bool fits = block != nullptr && block->row_count == size && block->column_count == size;
  if (const double misfits = input.matrix.sum_of_ranks(fits ? 0.0 : 1.0); misfits > 0.0 || !fits)
    throw InputError(
        "preconditioner block-jacobi: the diagonal block has another size than the vectors on {} ranks",
        misfits);
  const auto diagonal = diagonal_of(*input.diagonal_block);
  require_positive("block-jacobi", input.matrix, diagonal, input.first_row);
  auto factors = IncompleteCholesky::factorize(*input.diagonal_block, diagonal, 0.0);
  const double shifted_ranks = input.matrix.sum_of_ranks(factors ? 0.0 : 1.0);
  double failed_ranks = shifted_ranks;
  double last_shift = 0.0;
  for (double shift = first_shift; failed_ranks > 0.0 && shift < largest_shift; shift *= 2.0) {
    if (!factors) factors = IncompleteCholesky::factorize(*input.diagonal_block, diagonal, shift);
    last_shift = shift;
    failed_ranks = input.matrix.sum_of_ranks(factors ? 0.0 : 1.0);
  }
  if (failed_ranks > 0.0)
    throw InputError(
        "preconditioner block-jacobi: no factors on {} ranks, whatever the shift of the diagonal; "
        "look for NaN, infinity or very large numbers in the matrix",
        failed_ranks);
  std::string remark;
  if (shifted_ranks > 0.0)
    remark = fmt::format("IC(0) broke down on {}: the diagonal is shifted there by up to {:.3g} of itself",
                         format_count(std::llround(shifted_ranks), "rank"), last_shift);
  return std::make_unique<BlockJacobiPreconditioner>(std::move(*factors), diagonal.size(), std::move(remark));
}

}  // namespace

PreconditionerRow block_jacobi_preconditioner() {
  return {
      .name = "block-jacobi",
      .description = "incomplete Cholesky factors of each rank's own diagonal block",
      .needs_diagonal_block = true,
      // Per row: starts of block and rows, diagonal, pivots, the entries next to the diagonal, runs of rows, places while they
      // are made, the vector of a solve. Per nonzero: the block; half of it while it is factorized, and twice half of it in single
      // precision.
      .memory = {.bytes_per_row = int64_t{11} * 8, .bytes_per_nonzero = 12 + 6 + 2 * 4},
      .make = &make_block_jacobi};
}

}  // namespace cg2d
