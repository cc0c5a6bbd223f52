#include "cg/stencil/heat_field.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <span>

#include "cg/base/storage/crc32c.hpp"

namespace cg2d {
namespace {

/// sin(pi wave (k + 1) / (length + 1)). The angle is reduced in whole numbers, so that large ones lose nothing.
double sine_at(std::int64_t length, std::int64_t wave, std::int64_t k) {
  const auto half = length + 1;
  const auto angle = wave * (k + 1) % (2 * half);
  return std::sin(std::numbers::pi * static_cast<double>(angle) / static_cast<double>(half));
}

std::vector<double> sine_wave(std::int64_t length, std::int64_t wave) {
  std::vector<double> values(static_cast<std::size_t>(length));
  for (std::int64_t k = 0; k < length; ++k) values[static_cast<std::size_t>(k)] = sine_at(length, wave, k);
  return values;
}

}  // namespace

HeatField::HeatField(const comm::Extents& shape) : layout_(shape), plane_count_(shape[2]) {
  constexpr comm::Extents smoothest{1, 1, 1};
  constexpr comm::Extents divisors{16, 12, 20};  // different ones, so that an exchange of directions shows
  comm::Extents several{};
  for (std::size_t k = 0; k < several.size(); ++k)
    several[k] = std::min(1 + shape[k] / divisors[k], shape[k]);
  double amplitude = 1.0;
  for (const auto& waves : {smoothest, several, shape}) {
    auto& mode = modes_.emplace_back(Mode{.amplitude = amplitude,
                                          .decay = 1.0,
                                          .along_x = sine_wave(shape[0], waves[0]),
                                          .along_y = sine_wave(shape[1], waves[1]),
                                          .wave_z = waves[2]});
    for (std::size_t k = 0; k < shape.size(); ++k) {
      const double half_sine = std::sin(std::numbers::pi * static_cast<double>(waves[k]) /
                                        (2.0 * static_cast<double>(shape[k] + 1)));
      mode.decay -= 4.0 * heat_side_weight * half_sine * half_sine;
    }
    amplitude /= 2.0;
  }
}

std::vector<double> HeatField::plane_weights(std::int64_t z, int step_count) const {
  std::vector<double> weights;
  for (const auto& mode : modes_)
    weights.push_back(mode.amplitude * std::pow(mode.decay, step_count) *
                      sine_at(plane_count_, mode.wave_z, z));
  return weights;
}

void HeatField::fill_line(std::int64_t y, const std::vector<double>& weights, double* line) const {
  std::fill_n(line, layout_.line_length, 0.0);
  for (std::size_t number = 0; number < modes_.size(); ++number) {
    const double weight = weights[number] * modes_[number].along_y[static_cast<std::size_t>(y)];
    const double* const wave = modes_[number].along_x.data();
    for (std::int64_t x = 0; x < layout_.line_length; ++x) line[x] += weight * wave[x];
  }
}

void HeatField::fill_start(std::int64_t z, double* plane) const {
  const auto weights = plane_weights(z, 0);
  for (std::int64_t y = 0; y < layout_.line_count; ++y) fill_line(y, weights, plane + layout_.line(y));
}

PlaneFigures HeatField::compare(std::int64_t z, int step_count, const double* plane) const {
  const auto weights = plane_weights(z, step_count);
  const auto length = static_cast<std::size_t>(layout_.line_length);
  std::vector<double> expected(length);
  PlaneFigures figures;
  for (std::int64_t y = 0; y < layout_.line_count; ++y) {
    const std::span line(plane + layout_.line(y), length);
    fill_line(y, weights, expected.data());
    double sum = 0.0;
    for (std::size_t x = 0; x < length; ++x) {
      sum += line[x];
      const double error = std::abs(line[x] - expected[x]);
      if (std::isnan(error) || error > figures.largest_error) figures.largest_error = error;  // a NaN stays
    }
    figures.sum += sum;
    figures.checksum = crc32c(std::as_bytes(line), figures.checksum);
  }
  return figures;
}

double HeatField::tolerance(int step_count) const {
  constexpr double roundings_per_step = 16.0;
  constexpr double roundings_of_start = 32.0;
  double bound = 0.0;  // of all points at any time
  for (const auto& mode : modes_) bound += mode.amplitude;
  return (roundings_per_step * step_count + roundings_of_start) * std::numeric_limits<double>::epsilon() *
         bound;
}

}  // namespace cg2d
