#include "cg/solver/lanczos.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace cg2d {
namespace {

/// Solves of more steps than this make room as they go: a step limit may be any number.
constexpr int most_reserved_steps = 1 << 16;

struct TridiagonalRow {
  double diagonal;
  double before_square;  ///< square of the entry before the diagonal
};

/// Rows of T, scaled by a power of two so that the largest 1 / alpha is near 1: squares of others would leave the range of double precision.
std::vector<TridiagonalRow> tridiagonal_rows(std::span<const StepNumbers> rows, int exponent) {
  std::vector<TridiagonalRow> scaled;
  scaled.reserve(rows.size());
  for (size_t k = 0; k < rows.size(); ++k) {
    const bool begins = k == 0 || rows[k].replacement_count != rows[k - 1].replacement_count;
    const double alpha_before = begins ? 1.0 : std::ldexp(rows[k - 1].alpha, -exponent);
    const double ratio = begins ? 0.0 : rows[k - 1].beta / alpha_before;
    scaled.push_back({.diagonal = 1.0 / std::ldexp(rows[k].alpha, -exponent) + ratio,
                      .before_square = ratio / alpha_before});
  }
  return scaled;
}

/// The number of eigenvalues below the bound: that of negative pivots of T - bound (Sturm's sequence).
int eigenvalues_below(std::span<const TridiagonalRow> rows, double bound) {
  int count = 0;
  double pivot = 1.0;
  for (const auto& row : rows) {
    pivot = row.diagonal - bound - row.before_square / pivot;
    if (pivot == 0.0) pivot = -std::numeric_limits<double>::min();
    if (pivot < 0.0) ++count;
  }
  return count;
}

/// The eigenvalue within 0 ... high below or at which there are `count`.
double bisected(std::span<const TridiagonalRow> rows, double high, int count) {
  constexpr double accuracy = 1e-12;
  double low = 0.0;
  // 2 ^ -1100 is below every number: the loop ends also for an eigenvalue of zero.
  for (int halvings = 0; halvings < 1100 && high - low > accuracy * high; ++halvings) {
    const double middle = low + (high - low) / 2.0;
    (eigenvalues_below(rows, middle) >= count ? high : low) = middle;
  }
  return high;
}

}  // namespace

double SpectrumEstimate::predicted_steps(double relative) const {
  if (step_count == 0 || relative >= 1.0) return 0.0;
  const double root = std::sqrt(condition_number());
  if (root <= 1.0) return 1.0;
  return std::ceil(std::log(2.0 / relative) / std::log1p(2.0 / (root - 1.0)));
}

StepHistory::StepHistory(int most_steps) {
  steps_.reserve(static_cast<size_t>(std::clamp(most_steps, 0, most_reserved_steps)));
}

bool StepHistory::after_step(const CgState& state) {
  if (steps_.empty()) first_norm_ = state.first_residual_norm();
  steps_.resize(std::min(steps_.size(), static_cast<size_t>(state.number - 1)));
  steps_.push_back({.alpha = state.alpha,
                    .beta = state.beta,
                    .residual_square = state.residual_square,
                    .replacement_count = state.replacement_count});
  return false;
}

void StepHistory::restore(double first_residual_norm, std::vector<StepNumbers> steps) {
  first_norm_ = first_residual_norm;
  steps_ = std::move(steps);
}

std::vector<double> StepHistory::norms() const {
  std::vector<double> norms;
  if (!steps_.empty()) norms.push_back(first_norm_);
  for (const auto& step : steps_) norms.push_back(std::sqrt(step.residual_square));
  return norms;
}

SpectrumEstimate StepHistory::estimate() const {
  auto telling = steps_;
  std::erase_if(telling, [](const StepNumbers& step) {
    return !(step.alpha > 0.0) || !std::isfinite(step.alpha) || !(step.beta >= 0.0) ||
           !std::isfinite(step.beta);
  });
  if (telling.empty()) return {};
  const int exponent = std::ilogb(std::ranges::min_element(telling, {}, &StepNumbers::alpha)->alpha);
  const auto rows = tridiagonal_rows(telling, exponent);
  // All eigenvalues are positive, and none is above the largest sum of a row (Gershgorin).
  double high = 0.0;
  for (size_t k = 0; k < rows.size(); ++k) {
    const double after = k + 1 < rows.size() ? std::sqrt(rows[k + 1].before_square) : 0.0;
    high = std::max(high, rows[k].diagonal + std::sqrt(rows[k].before_square) + after);
  }
  const int count = static_cast<int>(rows.size());
  return {.smallest = std::ldexp(bisected(rows, high, 1), -exponent),
          .largest = std::ldexp(bisected(rows, high, count), -exponent),
          .step_count = count};
}

}  // namespace cg2d
