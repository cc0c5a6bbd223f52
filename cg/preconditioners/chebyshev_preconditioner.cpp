// M^-1 is a polynomial in A: some steps of Chebyshev's iteration for A z = r from z = 0. It needs products, but
// no sum over ranks. (Saad, Iterative Methods for Sparse Linear Systems, algorithm 12.1.)

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "cg/base/process_memory.hpp"
#include "cg/files/permutation.hpp"
#include "cg/preconditioners/preconditioner_table.hpp"
#include "cg/solver/conjugate_gradient.hpp"
#include "cg/solver/distributed_vectors.hpp"
#include "cg/solver/lanczos.hpp"
#include "cg/timing/phase_timer.hpp"

namespace cg2d {
namespace {

/// Even: beyond the upper bound the polynomial then stays positive. Degrees from 2 to 8 take the same time within 10 %
/// on the Laplacian of 96^3 (measured in README.md).
constexpr int usual_degree = 4;
constexpr int lanczos_steps = 20;
/// The largest eigenvalue is above its estimate, by a percent or two after so many steps.
constexpr double upper_margin = 1.05;

struct Bounds {
  double low;
  double high;
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

class ChebyshevPreconditioner final : public Preconditioner {
 public:
  ChebyshevPreconditioner(LinearOperator& matrix, const Bounds& bounds, int degree)
      : matrix_(matrix), bounds_(bounds), degree_(degree), d_(matrix.local_size()) {}

  [[nodiscard]] bool uses_products() const override { return true; }

  /// z := r / center, then z := z + d with d from the residual of A z = r, as often as the degree says.
  std::span<const double> apply(std::span<const double> r, DistributedVectors& vectors) override {
    const double center = (bounds_.high + bounds_.low) / 2.0;
    const double radius = (bounds_.high - bounds_.low) / 2.0;
    auto z = matrix_.operand();
    vectors.update([&](VectorOps& local) { local.set_scaled(1.0 / center, r, z); });
    double ratio = radius / center;
    for (int product = 0; product < degree_; ++product) {
      matrix_.apply();
      const double next = 1.0 / (2.0 * center / radius - ratio);
      z = matrix_.operand();
      const bool is_last = product + 1 == degree_;
      vectors.update([&](VectorOps& local) {
        local.chebyshev_step(next * ratio, 2.0 * next / radius,
                             {.r = r,
                              .q = matrix_.result(),
                              .last_d = product == 0 ? std::span<const double>(z) : d_,
                              .d = is_last ? std::span<double>() : d_,
                              .z = z});
      });
      ratio = next;
    }
    return z;
  }

  [[nodiscard]] std::string remark() const override {
    return fmt::format("degree {}, for eigenvalues from {:.3g} to {:.3g}", degree_, bounds_.low,
                       bounds_.high);
  }

 private:
  LinearOperator& matrix_;
  Bounds bounds_;
  int degree_;
  HugePageVector d_;
};

std::unique_ptr<Preconditioner> make_chebyshev(const PreconditionerInput& input) {
  const auto spectrum = lanczos_estimate(input);
  // A that shows no positive eigenvalue is left to the solve, which names it.
  if (spectrum.step_count == 0) return std::make_unique<IdentityPreconditioner>();
  const int degree = input.degree > 0 ? input.degree : usual_degree;
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
                         std::int64_t{7} * 8},  // b, x, d, and the vectors of CG that estimates the bounds
          .make = &make_chebyshev};
}

}  // namespace cg2d
