// M is the diagonal of A: each element of r is divided by its diagonal entry.

#include <cmath>

#include "cg/base/errors.hpp"
#include "cg/solver/preconditioners/diagonal_block.hpp"
#include "cg/solver/preconditioners/preconditioner_table.hpp"

namespace cg2d {
namespace {

class JacobiPreconditioner final : public Preconditioner {
 public:
  explicit JacobiPreconditioner(HugePageVector inverse_diagonal)
      : inverse_diagonal_(std::move(inverse_diagonal)), scaled_(inverse_diagonal_.size()) {}

  ConstPiece apply(ConstPiece r, DistributedVectors& vectors) override {
    vectors.updates()->multiply(inverse_diagonal_, r, scaled_);
    return scaled_;
  }

  [[nodiscard]] ConstPiece inverse_diagonal() const override { return inverse_diagonal_; }

 private:
  HugePageVector inverse_diagonal_;
  HugePageVector scaled_;
};

std::unique_ptr<Preconditioner> make_jacobi(const PreconditionerInput& input) {
  require_positive("jacobi", input.matrix, input.diagonal, input.first_row);
  // Ranks count what they cannot use before any of them throws.
  const bool is_whole = input.diagonal.size() == input.matrix.local_size();
  const auto unusable = std::ranges::count_if(
      input.diagonal, [](double entry) { return !std::isnormal(entry) || !std::isfinite(1.0 / entry); });
  std::array<double, 2> counts{is_whole ? 0.0 : 1.0, static_cast<double>(unusable)};
  input.matrix.sum_over_ranks(counts);
  if (counts[0] > 0.0)
    throw InputError(
        "preconditioner jacobi: the piece of the diagonal has another length than the vectors on {} ranks",
        counts[0]);
  if (counts[1] > 0.0)
    throw InputError("preconditioner jacobi: {} entries of the diagonal have no finite inverse", counts[1]);
  HugePageVector inverse(input.diagonal.size());
  std::ranges::transform(input.diagonal, inverse.begin(), [](double entry) { return 1.0 / entry; });
  return std::make_unique<JacobiPreconditioner>(std::move(inverse));
}

}  // namespace

PreconditionerRow jacobi_preconditioner() {
  return {.name = "jacobi",
          .description = "the diagonal of A",
          .is_diagonal = true,
          .diagonal = DiagonalUse::needed,
          .memory = {.bytes_per_row = std::int64_t{3} * 8},  // the diagonal, its inverse, the result
          .make = &make_jacobi};
}

}  // namespace cg2d
