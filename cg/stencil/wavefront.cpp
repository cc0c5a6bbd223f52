#include "cg/stencil/wavefront.hpp"

#include <cmath>
#include <limits>
#include <numbers>

#include "cg/base/storage/crc32c.hpp"
#include "kernels/stencil_lines.hpp"

namespace cg2d {
namespace {

/// sin(pi wave (k + 1) / (length + 1)). The angle is reduced in whole numbers, so that large ones lose nothing.
double sine_at(int64_t length, int64_t wave, int64_t k) {
  const auto half = length + 1;
  const auto angle = wave * (k + 1) % (2 * half);
  return std::sin(std::numbers::pi * static_cast<double>(angle) / static_cast<double>(half));
}

std::vector<double> sine_wave(int64_t length, int64_t wave) {
  std::vector<double> values(static_cast<size_t>(length));
  for (int64_t k = 0; k < length; ++k) values[static_cast<size_t>(k)] = sine_at(length, wave, k);
  return values;
}

constexpr int64_t kept_count = 2;  // planes of a step
/// Zeros before the first line: its point -1.
constexpr int64_t margin = 8;

int64_t passed_size(const PlaneLayout& layout, const FrontSize& size) {
  return margin + 2 * int64_t{size.most_steps} * (size.planes_at_once + kept_count) * layout.stride();
}
int64_t new_size(const PlaneLayout& layout, const FrontSize& size) {
  return 2 * int64_t{size.planes_at_once} * layout.stride();
}

}  // namespace

HeatField::HeatField(const comm::Extents& shape) : layout_(shape), plane_count_(shape[2]) {
  constexpr comm::Extents smoothest{1, 1, 1};
  constexpr comm::Extents divisors{16, 12, 20};  // different ones, so that an exchange of directions shows
  comm::Extents several{};
  for (size_t k = 0; k < several.size(); ++k) several[k] = std::min(1 + shape[k] / divisors[k], shape[k]);
  double amplitude = 1.0;
  for (const auto& waves : {smoothest, several, shape}) {
    auto& mode = modes_.emplace_back(Mode{.amplitude = amplitude,
                                          .decay = 1.0,
                                          .along_x = sine_wave(shape[0], waves[0]),
                                          .along_y = sine_wave(shape[1], waves[1]),
                                          .wave_z = waves[2]});
    for (size_t k = 0; k < shape.size(); ++k) {
      const double half_sine = std::sin(std::numbers::pi * static_cast<double>(waves[k]) /
                                        (2.0 * static_cast<double>(shape[k] + 1)));
      mode.decay -= 4.0 * heat_side_weight * half_sine * half_sine;
    }
    amplitude /= 2.0;
  }
}

std::vector<double> HeatField::plane_weights(int64_t z, int step_count) const {
  std::vector<double> weights;
  for (const auto& mode : modes_)
    weights.push_back(mode.amplitude * std::pow(mode.decay, step_count) *
                      sine_at(plane_count_, mode.wave_z, z));
  return weights;
}

void HeatField::fill_line(int64_t y, const std::vector<double>& weights, double* line) const {
  std::fill_n(line, layout_.line_length, 0.0);
  for (size_t number = 0; number < modes_.size(); ++number) {
    const double weight = weights[number] * modes_[number].along_y[static_cast<size_t>(y)];
    const double* const wave = modes_[number].along_x.data();
    for (int64_t x = 0; x < layout_.line_length; ++x) line[x] += weight * wave[x];
  }
}

void HeatField::fill_start(int64_t z, double* plane) const {
  const auto weights = plane_weights(z, 0);
  for (int64_t y = 0; y < layout_.line_count; ++y) fill_line(y, weights, plane + layout_.line(y));
}

PlaneFigures HeatField::compare(int64_t z, int step_count, const double* plane) const {
  const auto weights = plane_weights(z, step_count);
  const auto length = static_cast<size_t>(layout_.line_length);
  std::vector<double> expected(length);
  PlaneFigures figures;
  for (int64_t y = 0; y < layout_.line_count; ++y) {
    const std::span line(plane + layout_.line(y), length);
    fill_line(y, weights, expected.data());
    double sum = 0.0;
    for (size_t x = 0; x < length; ++x) {
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

Wavefront::Wavefront(const PlaneLayout& layout, const FrontSize& size, kernels::HeatLoop loop)
    : layout_(layout),
      loop_(loop),
      planes_at_once_(size.planes_at_once),
      active_(static_cast<size_t>(size.most_steps) + 1),
      kept_(written_zeros(kept_count * size.most_steps * layout.size())),
      passed_(written_zeros(passed_size(layout, size))),
      new_(written_zeros(new_size(layout, size))),
      zeros_(static_cast<size_t>(layout.stride())),
      line_planes_(static_cast<size_t>(size.planes_at_once + kept_count)) {}

int64_t Wavefront::byte_count(const PlaneLayout& layout, const FrontSize& size) {
  return kept_count * size.most_steps * layout.byte_count() +
         (passed_size(layout, size) + new_size(layout, size)) * int64_t{sizeof(double)};
}

double* Wavefront::kept_line(int step, int number, int64_t y) {
  return kept_.data() + (kept_count * step + number) * layout_.size() + layout_.line(y);
}

/// plane: 0 ... n+1.
double* Wavefront::passed_line(int step, int64_t y, int64_t plane) {
  return passed_.data() + margin +
         ((2 * int64_t{step} + (y & 1)) * (planes_at_once_ + kept_count) + plane) * layout_.stride();
}

/// Below the first plane of the domain there are zeros.
void Wavefront::begin(const SkewedPass& pass, const WavefrontBorders& borders) {
  pass_ = pass;
  borders_ = borders;
  if (!pass.is_first()) return;
  std::fill_n(kept_.data(), kept_count * pass.step_count * layout_.size(), 0.0);
}

comm::IndexRange Wavefront::places_of(int step, const comm::IndexRange& planes) const {
  const auto within = [&](int64_t z) {
    return std::clamp<int64_t>(place(first_, step, z), 0, planes_at_once_);
  };
  return {.begin = within(planes.begin), .end = within(planes.end)};
}

void Wavefront::advance(int64_t first, std::span<const double* const> given, std::span<double* const> made) {
  first_ = first;
  given_ = given;
  made_ = made;
  const int step_count = pass_.step_count;
  for (int step = 0; step <= step_count; ++step)
    active_[static_cast<size_t>(step)] = places_of(step, pass_.planes(step));
  // Before the first line there are zeros.
  for (int step = 0; step < step_count; ++step)
    std::fill_n(passed_line(step, -1, 0), (planes_at_once_ + kept_count) * layout_.stride(), 0.0);
  for (int64_t front_y = 0; front_y < layout_.line_count + step_count; ++front_y) {
    show_line(0, front_y);
    for (const double* const plane : given) {
      if (plane != nullptr && front_y + 1 < layout_.line_count)
        kernels::fetch_ahead(plane + layout_.line(front_y + 1), layout_.line_length);
    }
    for (int step = 1; step <= step_count && line_y_ >= 0; ++step) {
      if (line_y_ <= layout_.line_count) {
        make_line(step);
        pass_on(step);
        keep(step - 1);
      }
      show_line(step, line_y_ - 1);
    }
    if (borders_.look) borders_.look();
  }
}

/// Line y-1 of a step from the lines y-2, y-1 and y of the step before; the last one is where line_planes_ say, and takes the place of the first.
void Wavefront::make_line(int step) {
  const auto y = line_y_ - 1;
  const auto& active = active_[static_cast<size_t>(step)];
  if (y < 0 || active.size() <= 0) return;
  // The lines of the kept planes that the next step takes are in memory, those of the others in caches.
  for (int number = 0; step < pass_.step_count && number < kept_count; ++number)
    kernels::fetch_ahead(kept_line(step, number, y), layout_.line_length);
  for (auto plane = active.begin; plane < active.end; ++plane)
    loop_({.previous = passed_line(step - 1, y + 1, plane + 1),
           .lower = passed_line(step - 1, y, plane),
           .middle = passed_line(step - 1, y, plane + 1),
           .upper = passed_line(step - 1, y, plane + 2),
           .next = line_planes_[static_cast<size_t>(plane + 1)]},
          heat_weights, layout_.line_length, target_line(step, plane, y));
}

/// Where a step makes its line y of a plane.
double* Wavefront::target_line(int step, int64_t plane, int64_t y) {
  if (step == pass_.step_count) return made_[static_cast<size_t>(plane)] + layout_.line(y);
  return new_.data() + (step % 2 * planes_at_once_ + plane) * layout_.stride();
}

/// The line y of a plane that a step has just made; those of step 0 are given.
const double* Wavefront::line_of(int step, int64_t plane, int64_t y) {
  return step == 0 ? given_[static_cast<size_t>(plane)] + layout_.line(y) : target_line(step, plane, y);
}

/// Moves what the loop has not moved to where this step finds the lines of the step before.
void Wavefront::pass_on(int step) {
  const auto& active = active_[static_cast<size_t>(step)];
  if (active.size() <= 0 || line_y_ >= layout_.line_count) return;
  for (int64_t plane = 0; plane < planes_at_once_ + kept_count; ++plane) {
    if (line_y_ > 0 && active.contains(plane - 1)) continue;  // moved by the loop
    std::copy_n(line_planes_[static_cast<size_t>(plane)], layout_.line_length,
                passed_line(step - 1, line_y_, plane));
  }
}

/// The last two planes of a step, if it computes one of them. They take the place of those kept so far, which nobody needs any more.
void Wavefront::keep(int step) {
  const auto& active = active_[static_cast<size_t>(step)];
  const auto n = planes_at_once_;
  if (line_y_ >= layout_.line_count ||
      (n >= kept_count && (active.size() <= 0 || active.end + kept_count <= n)))
    return;
  for (int number = 0; number < kept_count; ++number)
    std::copy_n(line_planes_[static_cast<size_t>(n + number)], layout_.line_length,
                kept_line(step, number, line_y_));
}

/// Line y of a step is there: the next step finds it by line_planes_, and the rank before gets what it borrows. After the last line of a plane
/// there are zeros.
void Wavefront::show_line(int step, int64_t y) {
  line_y_ = y;
  std::ranges::fill(line_planes_, zeros_.data());
  if (step == pass_.step_count || y < 0 || y >= layout_.line_count) return;
  // Where such a plane's line is among the lent or the borrowed planes of all steps.
  const auto border_line = [&](const comm::IndexRange& planes, int64_t plane) {
    const auto number = plane - place(first_, step, planes.begin);
    return SkewedPass::border_place(step, number) * layout_.size() + layout_.line(y);
  };
  const auto lent = pass_.lent(step);
  for (auto [plane, end] = places_of(step, lent); plane < end; ++plane)
    std::copy_n(line_of(step, plane, y), layout_.line_length, borders_.lent + border_line(lent, plane));
  for (int number = 0; number < kept_count; ++number)
    line_planes_[static_cast<size_t>(number)] = kept_line(step, number, y);
  for (auto [plane, end] = active_[static_cast<size_t>(step)]; plane < end; ++plane)
    line_planes_[static_cast<size_t>(plane + kept_count)] = line_of(step, plane, y);
  const auto borrowed = pass_.borrowed(step);
  for (auto [plane, end] = places_of(step, borrowed); plane < end; ++plane)
    line_planes_[static_cast<size_t>(plane + kept_count)] = borders_.borrowed + border_line(borrowed, plane);
}

}  // namespace cg2d
