#include "cg/solver/preconditioners/preconditioner_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "cg/base/errors.hpp"
#include "cg/base/values.hpp"

namespace cg2d {
namespace {

/// M is the diagonal of A: each element of r is divided by its diagonal entry.
class JacobiPreconditioner final : public Preconditioner {
 public:
  explicit JacobiPreconditioner(HugePageVector inverse_diagonal)
      : inverse_diagonal_(std::move(inverse_diagonal)), scaled_(inverse_diagonal_.size()) {}

  ConstPiece apply(ConstPiece r, DistributedVectors& vectors) override {
    vectors.updates()->multiply(inverse_diagonal_, r, scaled_);
    return scaled_;
  }

  ConstPiece inverse_diagonal() const override { return inverse_diagonal_; }

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

// The other rows, each defined in its own file.
PreconditionerRow block_jacobi_preconditioner();
PreconditionerRow chebyshev_preconditioner();

std::span<const PreconditionerRow> preconditioner_table() {
  static const std::array table{
      PreconditionerRow{.name = "none",
                        .description = "M = 1",
                        .is_diagonal = true,
                        .make = [](const PreconditionerInput& /*input*/) -> std::unique_ptr<Preconditioner> {
                          return std::make_unique<IdentityPreconditioner>();
                        }},
      PreconditionerRow{.name = "jacobi",
                        .description = "the diagonal of A",
                        .is_diagonal = true,
                        .diagonal = DiagonalUse::needed,
                        .memory = {.bytes_per_row = int64_t{3} * 8},  // the diagonal, its inverse, the result
                        .make = &make_jacobi},
      block_jacobi_preconditioner(), chebyshev_preconditioner()};
  return table;
}

const PreconditionerRow* find_preconditioner(std::string_view text) {
  return row_named(preconditioner_table(), text.substr(0, text.find(':')));
}

PolynomialOptions polynomial_from(const std::string& option, const std::string& text) {
  const auto colon = text.find(':');
  require_known(option, text.substr(0, colon), names_of(preconditioner_table()));
  if (colon == std::string::npos) return {};
  const auto refuse = [&](std::string_view reason) { throw InputError("{} {}: {}", option, text, reason); };
  if (find_preconditioner(text)->default_degree == 0) refuse("takes no numbers; chebyshev does");
  const auto parts = split_at(std::string_view(text).substr(colon + 1), ':');
  const auto degree = number_from<int>(parts.front());
  const bool has_bounds = parts.size() == 3;
  const auto low = number_from<double>(has_bounds ? parts[1] : "0");
  const auto high = number_from<double>(has_bounds ? parts[2] : "0");
  if (!degree || !low || !high || (parts.size() != 1 && !has_bounds))
    refuse("must be chebyshev:DEGREE or chebyshev:DEGREE:LOW:HIGH, as in chebyshev:4:0.1:2");
  if (*degree == 0 || (has_bounds && *high == 0.0)) refuse("its numbers must be greater than 0");
  const PolynomialOptions polynomial{.degree = *degree, .low = *low, .high = *high};
  require_valid(option + " " + text, polynomial);
  return polynomial;
}

std::string names_of_diagonal_preconditioners() {
  const auto names = names_where(preconditioner_table(), [](const auto& row) { return row.is_diagonal; });
  return fmt::format("{}", fmt::join(names, " or "));
}

}  // namespace cg2d
