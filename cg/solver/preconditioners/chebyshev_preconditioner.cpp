// M^-1 is a polynomial in A: z after some steps of Chebyshev's iteration for A z = r from z = 0. It needs products, but
// no sum over ranks. (Saad, Iterative Methods for Sparse Linear Systems, sections 12.3.1 and 12.3.2.)

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cg/base/errors.hpp"
#include "cg/base/process_memory.hpp"
#include "cg/matrix/files/permutation.hpp"
#include "cg/solver/conjugate_gradient.hpp"
#include "cg/solver/distributed_vectors.hpp"
#include "cg/solver/lanczos.hpp"
#include "cg/solver/preconditioners/preconditioner_table.hpp"
#include "cg/timing/phase_timer.hpp"

namespace cg2d {
namespace {

/// Even: beyond the upper bound the polynomial then stays positive. Laplacian of 128^3 on 1 and 2 ranks, assembled, Zen 5, 2026-11, of the
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

struct Bounds {
  double low;
  double high;

  [[nodiscard]] double center() const { return (high + low) / 2.0; }
  [[nodiscard]] double radius() const { return (high - low) / 2.0; }
};

/// A number within -1 ... 1 that depends on the global row alone (splitmix64), so that every grid gets the same
/// bounds.
double random_number(std::uint64_t row) {
  const auto word = splitmix_bits((row + 1) * golden_ratio_bits);
  return static_cast<double>(static_cast<std::int64_t>(word)) * 0x1p-63;
}

/// The extreme eigenvalues that some steps of CG see. A's smallest one is lower than `low`; that does little
/// harm, since the polynomial grows like a straight line there.
SpectrumEstimate lanczos_estimate(const PreconditionerInput& input) {
  PhaseTimer no_timer;
  DistributedVectors vectors(input.matrix, no_timer, input.thread_count);
  IdentityPreconditioner none;
  ConjugateGradient conjugate_gradient(input.matrix, none, vectors);
  LanczosEstimates estimates(lanczos_steps);
  conjugate_gradient.observers().add(estimates);
  HugePageVector b(input.matrix.local_size());
  HugePageVector x(b.size());
  for (std::size_t k = 0; k < b.size(); ++k)
    b[k] = random_number(static_cast<std::uint64_t>(input.first_row) + k);
  static_cast<void>(
      conjugate_gradient.solve(b, x, Tolerance({.relative = 1e-10, .most_steps = lanczos_steps})));
  return estimates.estimate();
}

/// 1 - x p(x) is the polynomial of degree `degree` + 1 that is 1 at 0 and smallest within the bounds: Chebyshev's of t = (center - x) /
/// radius, scaled. Returns the coefficients of p for powers of t, lowest first.
std::vector<double> inverse_polynomial(const Bounds& bounds, int degree) {
  std::vector<double> last{1.0};
  std::vector<double> chebyshev{0.0, 1.0};
  for (int order = 1; order <= degree; ++order) {
    std::vector<double> next(chebyshev.size() + 1);
    for (std::size_t k = 0; k < chebyshev.size(); ++k) next[k + 1] = 2.0 * chebyshev[k];
    for (std::size_t k = 0; k < last.size(); ++k) next[k] -= last[k];
    last = std::exchange(chebyshev, std::move(next));
  }
  // (T(zero) - T(t)) / T(zero) by x = radius (zero - t), where zero is t at x = 0: synthetic division, highest power first.
  const double zero = bounds.center() / bounds.radius();
  std::vector<double> quotient(chebyshev.size() - 1);
  double value = 0.0;
  for (std::size_t k = quotient.size(); k-- > 0;) {
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
  ChebyshevPreconditioner(LinearOperator& matrix, const Bounds& bounds, int degree)
      : matrix_(matrix), bounds_(bounds), coefficients_(inverse_polynomial(bounds, degree)) {}

  [[nodiscard]] bool uses_products() const override { return true; }

  /// z := p(A) r by Horner's rule, z := t(A) z + c r: it reads and writes two thirds of the vectors that the three-term recurrence does.
  std::span<const double> apply(std::span<const double> r, DistributedVectors& vectors) override {
    auto z = matrix_.operand();
    vectors.update([&](VectorOps& local) { local.set_scaled(coefficients_.back(), r, z); });
    for (auto power = coefficients_.size() - 1; power-- > 0;) {
      matrix_.apply();
      z = matrix_.operand();
      vectors.update([&](VectorOps& local) {
        local.combine({-1.0 / bounds_.radius(), matrix_.result()}, {coefficients_[power], r},
                      bounds_.center() / bounds_.radius(), z);
      });
    }
    return z;
  }

  [[nodiscard]] std::string remark() const override {
    return fmt::format("degree {}, for eigenvalues from {:.3g} to {:.3g}", coefficients_.size() - 1,
                       bounds_.low, bounds_.high);
  }

 private:
  LinearOperator& matrix_;
  Bounds bounds_;
  std::vector<double> coefficients_;
};

std::unique_ptr<Preconditioner> make_chebyshev(const PreconditionerInput& input) {
  const auto spectrum = lanczos_estimate(input);
  // A that shows no positive eigenvalue is left to the solve, which names it.
  if (spectrum.step_count == 0) return std::make_unique<IdentityPreconditioner>();
  const int degree = input.degree > 0 ? input.degree : usual_degree;
  if (degree > most_degree)
    throw InputError(
        fmt::format("degree {} of a Chebyshev polynomial: must be from 1 to {}", degree, most_degree));
  // With one eigenvalue the interval is as wide as its margin.
  return std::make_unique<ChebyshevPreconditioner>(
      input.matrix, Bounds{.low = spectrum.smallest, .high = upper_margin * spectrum.largest}, degree);
}

}  // namespace

PreconditionerRow chebyshev_preconditioner() {
  return {.name = "chebyshev",
          .description = "a polynomial in A: some steps of Chebyshev's iteration, without sums over ranks",
          .default_degree = usual_degree,
          .memory = {.bytes_per_row =
                         std::int64_t{6} * 8},  // b, x, and the vectors of CG that estimates the bounds
          .make = &make_chebyshev};
}

}  // namespace cg2d
