// M^-1 is a polynomial in D^-1 A times D^-1, D the diagonal of A: z after some steps of Chebyshev's iteration for D^-1 A z = D^-1 r from
// z = 0. It needs products, but no sum over ranks. (Saad, Iterative Methods for Sparse Linear Systems, sections 12.3.1 and 12.3.2.)

#include <fmt/format.h>

#include "cg/base/errors.hpp"
#include "cg/matrix/files/permutation.hpp"
#include "cg/solver/conjugate_gradient.hpp"
#include "cg/solver/lanczos.hpp"
#include "cg/solver/preconditioners/preconditioner_table.hpp"

namespace cg2d {
namespace {

/// Even, as every degree must be: beyond the upper bound, which is an estimate, the polynomial then stays positive. Laplacian of 128^3 on 1 and 2 ranks, assembled, Zen 5, 2026-11, of the
/// time without a preconditioner: degree 4 0.89 and 0.92, 6 0.88 and 0.87, 8 0.89 and 0.85; without a matrix 1.03 and 0.93, 1.00 and 0.88,
/// 1.00 and 0.88 (powers of A; in the centered variable degree 6 has 0.85 and 0.81, without a matrix 0.81 and 0.86).
constexpr int usual_degree = 6;
/// Horner's rule loses digits where coefficients cancel: those of the powers of t have a sum without signs of about (1 + sqrt 2)^(degree + 1) /
/// 2, some hundred. Powers of A itself, with which a step reads one vector less, have (3 + sqrt 8)^(degree + 1) / 2, 10^5: pipelined CG then
/// failed on one of the 300 generated systems.
constexpr int most_degree = 8;
constexpr int lanczos_steps = 20;
/// The largest eigenvalue is above its estimate, by a percent or two after so many steps.
constexpr double upper_margin = 1.05;

/// A number within -1 ... 1 that depends on the global row alone (splitmix64), so that every grid gets the same
/// bounds.
double random_number(uint64_t row) {
  const auto word = splitmix_bits((row + 1) * golden_ratio_bits);
  return static_cast<double>(static_cast<int64_t>(word)) * 0x1p-63;
}

/// The extreme eigenvalues of M^-1 A that some steps of CG see, M the diagonal or 1. The smallest one is lower than `low`; that does little
/// harm, since the polynomial grows like a straight line there. b is random for the scaled matrix, so that no eigenvector is hidden.
SpectrumEstimate lanczos_estimate(const PreconditionerInput& input, Preconditioner& diagonal) {
  PhaseTimer no_timer;
  DistributedVectors vectors(input.matrix, no_timer, input.thread_count);
  ConjugateGradient conjugate_gradient(input.matrix, diagonal, vectors);
  StepHistory history(lanczos_steps);
  conjugate_gradient.observers().add(history);
  HugePageVector b(input.matrix.local_size());
  HugePageVector x(b.size());
  for (size_t k = 0; k < b.size(); ++k) {
    const double scale = input.diagonal.empty() ? 1.0 : std::sqrt(input.diagonal[k]);
    b[k] = scale * random_number(static_cast<uint64_t>(input.first_row) + k);
  }
  static_cast<void>(conjugate_gradient.iterate({.b = b, .x = x},
                                               Tolerance({.relative = 1e-10, .most_steps = lanczos_steps})));
  return history.estimate();
}

/// 1 - x p(x) is the polynomial of degree `degree` + 1 that is 1 at 0 and smallest within the bounds: Chebyshev's of t = (center - x) /
/// radius, scaled. Returns the coefficients of p for powers of t, lowest first.
std::vector<double> inverse_polynomial(const PolynomialOptions& bounds) {
  std::vector<double> last{1.0};
  std::vector<double> chebyshev{0.0, 1.0};
  for (int order = 1; order <= bounds.degree; ++order) {
    std::vector<double> next(chebyshev.size() + 1);
    for (size_t k = 0; k < chebyshev.size(); ++k) next[k + 1] = 2.0 * chebyshev[k];
    for (size_t k = 0; k < last.size(); ++k) next[k] -= last[k];
    last = std::exchange(chebyshev, std::move(next));
  }
  // (T(zero) - T(t)) / T(zero) by x = radius (zero - t), where zero is t at x = 0: synthetic division, highest power first.
  const double zero = bounds.center() / bounds.radius();
  std::vector<double> quotient(chebyshev.size() - 1);
  double value = 0.0;
  for (size_t k = quotient.size(); k-- > 0;) {
    value = value * zero + chebyshev[k + 1];
    quotient[k] = value;
  }
  const double at_zero = value * zero + chebyshev[0];
  // In two steps by powers of two: the product of both divisors may overflow.
  const int exponent = std::ilogb(bounds.radius());
  const double divisor = at_zero * std::ldexp(bounds.radius(), -exponent);
  for (double& coefficient : quotient) coefficient = std::ldexp(coefficient / divisor, -exponent);
  return quotient;
}

class ChebyshevPreconditioner final : public Preconditioner {
 public:
  /// diagonal: D, unless it is a number, with the inverse `factor`, as all of a Laplacian's diagonal: then a step reads one vector less.
  ChebyshevPreconditioner(LinearOperator& matrix, const PolynomialOptions& polynomial, double factor,
                          std::unique_ptr<Preconditioner> diagonal)
      : matrix_(matrix),
        bounds_(polynomial),
        factor_(factor),
        coefficients_(inverse_polynomial(polynomial)),
        diagonal_(std::move(diagonal)) {}

  bool uses_products() const override { return true; }

  /// z := p(B) s for B = D^-1 A and s = D^-1 r by Horner's rule, z := t(B) z + c s: it reads and writes two thirds of the vectors that the
  /// three-term recurrence does.
  ConstPiece apply(ConstPiece r, DistributedVectors& vectors) override {
    const auto s = diagonal_ ? diagonal_->apply(r, vectors) : r;
    const auto inverse_diagonal = diagonal_ ? diagonal_->inverse_diagonal() : ConstPiece();
    auto z = matrix_.operand();
    vectors.updates()->set_scaled(factor_ * coefficients_.back(), s, z);
    for (auto power = coefficients_.size() - 1; power-- > 0;) {
      vectors.multiply();
      z = matrix_.operand();
      vectors.updates()->combine({-factor_ / bounds_.radius(), matrix_.result()},
                                 {factor_ * coefficients_[power], s}, bounds_.center() / bounds_.radius(), z,
                                 inverse_diagonal);
    }
    return z;
  }

  std::string remark() const override {
    const bool is_scaled = diagonal_ || factor_ != 1.0;
    return fmt::format("degree {}, for eigenvalues from {:.3g} to {:.3g}{}", coefficients_.size() - 1,
                       bounds_.low, bounds_.high, is_scaled ? " of the matrix over its diagonal" : "");
  }

 private:
  LinearOperator& matrix_;
  PolynomialOptions bounds_;
  double factor_;
  std::vector<double> coefficients_;
  std::unique_ptr<Preconditioner> diagonal_;
};

/// The number that all entries of the diagonal are; empty where they differ. Two sums over all ranks, of which the first brings the first
/// entry to all: others add 0.
std::optional<double> only_entry(const PreconditionerInput& input) {
  const bool has_first = input.first_row == 0 && !input.diagonal.empty();
  const double first = input.matrix.sum_of_ranks(has_first ? input.diagonal.front() : 0.0);
  const auto others = std::ranges::count_if(input.diagonal, [&](double entry) { return entry != first; });
  return input.matrix.sum_of_ranks(static_cast<double>(others)) == 0.0 ? std::optional(first) : std::nullopt;
}

std::unique_ptr<Preconditioner> make_chebyshev(const PreconditionerInput& input) {
  auto polynomial = input.polynomial;
  require_valid("preconditioner chebyshev", polynomial);
  if (polynomial.degree == 0) polynomial.degree = usual_degree;
  const bool is_known = input.matrix.sum_of_ranks(static_cast<double>(input.diagonal.size())) > 0.0;
  std::unique_ptr<Preconditioner> diagonal = std::make_unique<IdentityPreconditioner>();
  if (is_known) {
    require_positive("chebyshev", input.matrix, input.diagonal, input.first_row);
    diagonal = find_preconditioner("jacobi")->make(input);
  }
  if (polynomial.high == 0.0) {
    const auto spectrum = lanczos_estimate(input, *diagonal);
    // A that shows no positive eigenvalue is left to the solve, which names it.
    if (spectrum.step_count == 0) return std::make_unique<IdentityPreconditioner>();
    // With one eigenvalue the interval is as wide as its margin.
    polynomial.low = spectrum.smallest;
    polynomial.high = upper_margin * spectrum.largest;
  }
  const auto only = is_known ? only_entry(input) : std::optional(1.0);
  if (only) diagonal.reset();
  return std::make_unique<ChebyshevPreconditioner>(input.matrix, polynomial, 1.0 / only.value_or(1.0),
                                                   std::move(diagonal));
}

}  // namespace

void require_valid(std::string_view name, const PolynomialOptions& polynomial) {
  const auto& [degree, low, high] = polynomial;
  if (degree < 0 || degree > most_degree || degree % 2 != 0)
    throw InputError(
        "{}: degree {} of a Chebyshev polynomial: must be 2, 4, 6 or 8; an odd one is not positive beyond "
        "its "
        "bounds, a higher one loses digits",
        name, degree);
  const bool has_bounds = low != 0.0 || high != 0.0;
  if (has_bounds && !(low > 0.0 && high > low && std::isfinite(high)))
    throw InputError(
        "{}: bounds {} and {} of a Chebyshev polynomial: must be greater than 0, the lower one first", name,
        low, high);
}

PreconditionerRow chebyshev_preconditioner() {
  return {
      .name = "chebyshev",
      .diagonal = DiagonalUse::where_known,
      .default_degree = usual_degree,
      // b, x, and the vectors of CG that estimates the bounds, with its kept iterate; those of the diagonal.
      .memory = {.bytes_per_row = int64_t{10} * 8},
      .make = &make_chebyshev};
}

}  // namespace cg2d
