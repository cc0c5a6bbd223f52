#include "cg/stencil/wavefront.hpp"

#include <algorithm>

#include "cg/stencil/heat_field.hpp"
#include "kernels/stencil_lines.hpp"

namespace cg2d {
namespace {

constexpr std::int64_t kept_count = 2;  // planes of a step
/// Zeros before the first line: its point -1.
constexpr std::int64_t margin = 8;

std::int64_t passed_size(const PlaneLayout& layout, const Wavefront::Options& options) {
  return margin +
         2 * std::int64_t{options.most_steps} * (options.planes_at_once + kept_count) * layout.stride();
}
std::int64_t made_size(const PlaneLayout& layout, const Wavefront::Options& options) {
  return 2 * std::int64_t{options.planes_at_once} * layout.stride();
}

}  // namespace

Wavefront::Wavefront(const PlaneLayout& layout, const Options& options)
    : layout_(layout),
      loop_(options.loop),
      planes_at_once_(options.planes_at_once),
      active_(static_cast<std::size_t>(options.most_steps) + 1),
      kept_(static_cast<std::size_t>(kept_count * options.most_steps * layout.size())),
      passed_(static_cast<std::size_t>(passed_size(layout, options))),
      made_(static_cast<std::size_t>(made_size(layout, options))),
      zeros_(static_cast<std::size_t>(layout.stride())),
      line_{.planes =
                std::vector<const double*>(static_cast<std::size_t>(options.planes_at_once + kept_count))} {
  // The system's part of it belongs to no pass.
  for (auto* const buffer : {&kept_, &passed_, &made_}) std::ranges::fill(buffer->span(), 0.0);
}

std::int64_t Wavefront::byte_count(const PlaneLayout& layout, const Options& options) {
  return kept_count * options.most_steps * layout.byte_count() +
         (passed_size(layout, options) + made_size(layout, options)) * std::int64_t{sizeof(double)};
}

double* Wavefront::kept_line(int step, int number, std::int64_t y) {
  return kept_.data() + (kept_count * step + number) * layout_.size() + layout_.line(y);
}

/// plane: 0 ... n+1.
double* Wavefront::passed_line(int step, std::int64_t y, std::int64_t plane) {
  return passed_.data() + margin +
         ((2 * std::int64_t{step} + (y & 1)) * (planes_at_once_ + kept_count) + plane) * layout_.stride();
}

/// Below the first plane of the domain there are zeros.
void Wavefront::begin(const SkewedPass& pass, const WavefrontBorders& borders) {
  pass_ = pass;
  borders_ = borders;
  if (!pass.is_first()) return;
  std::fill_n(kept_.data(), kept_count * pass.step_count * layout_.size(), 0.0);
}

comm::IndexRange Wavefront::places_of(int step, const comm::IndexRange& planes, std::int64_t first) const {
  const auto within = [&](std::int64_t z) {
    return std::clamp<std::int64_t>(place(first, step, z), 0, planes_at_once_);
  };
  return {.begin = within(planes.begin), .end = within(planes.end)};
}

void Wavefront::find_active_planes(std::int64_t first) {
  first_ = first;
  for (int step = 0; step <= pass_.step_count; ++step)
    active_[static_cast<std::size_t>(step)] = places_of(step, pass_.planes(step), first);
}

void Wavefront::advance(std::int64_t first, std::span<const double* const> given,
                        std::span<double* const> made) {
  find_active_planes(first);
  const int step_count = pass_.step_count;
  // Before the first line there are zeros.
  for (int step = 0; step < step_count; ++step)
    std::fill_n(passed_line(step, -1, 0), (planes_at_once_ + kept_count) * layout_.stride(), 0.0);
  for (std::int64_t front_y = 0; front_y < layout_.line_count + step_count; ++front_y) {
    take_given(front_y, given);
    for (int step = 1; step <= step_count && line_.y >= 0; ++step) {
      if (line_.y <= layout_.line_count) {
        make_line(step, made);
        pass_on(step);
        keep(step - 1);
      }
      describe_made(step, made);
    }
    if (borders_.look) borders_.look();
  }
}

/// Line y of step 0. After the last line of a plane there are zeros.
void Wavefront::take_given(std::int64_t y, std::span<const double* const> given) {
  line_.y = y;
  std::ranges::fill(line_.planes, zeros_.data());
  if (y >= layout_.line_count) return;
  for (int number = 0; number < kept_count; ++number)
    line_.planes[static_cast<std::size_t>(number)] = kept_line(0, number, y);
  for (std::size_t k = 0; k < given.size(); ++k) {
    if (given[k] != nullptr) line_.planes[k + kept_count] = given[k] + layout_.line(y);
  }
  if (y + 1 >= layout_.line_count) return;
  for (const double* const plane : given) {
    if (plane != nullptr) kernels::fetch_ahead(plane + layout_.line(y + 1), layout_.line_length);
  }
}

/// The lines of the kept planes that the next step takes are in memory, those of the others in caches.
void Wavefront::fetch_kept_lines(int step, std::int64_t y) {
  for (int number = 0; number < kept_count; ++number)
    kernels::fetch_ahead(kept_line(step, number, y), layout_.line_length);
}

/// Line y-1 of a step from the lines y-2, y-1 and y of the step before; the last one is where line_ says, and takes the place of the first.
void Wavefront::make_line(int step, std::span<double* const> made) {
  const auto y = line_.y - 1;
  const auto& active = active_[static_cast<std::size_t>(step)];
  if (y < 0 || active.size() <= 0) return;
  if (step < pass_.step_count) fetch_kept_lines(step, y);
  for (auto plane = active.begin; plane < active.end; ++plane)
    loop_({.previous = passed_line(step - 1, y + 1, plane + 1),
           .lower = passed_line(step - 1, y, plane),
           .middle = passed_line(step - 1, y, plane + 1),
           .upper = passed_line(step - 1, y, plane + 2),
           .next = line_.planes[static_cast<std::size_t>(plane + 1)]},
          heat_weights, layout_.line_length, target_line(step, plane, y, made));
  lend_line(step, y, made);
}

/// To the rank before.
void Wavefront::lend_line(int step, std::int64_t y, std::span<double* const> made) {
  const auto lent = pass_.lent(step);
  const auto places = places_of(step, lent, first_);
  for (auto plane = places.begin; plane < places.end; ++plane) {
    const auto number = plane - place(first_, step, lent.begin);
    std::copy_n(target_line(step, plane, y, made), layout_.line_length,
                borders_.lent + SkewedPass::border_place(step, number) * layout_.size() + layout_.line(y));
  }
}

/// Where a step makes its line y of a plane.
double* Wavefront::target_line(int step, std::int64_t plane, std::int64_t y, std::span<double* const> made) {
  if (step == pass_.step_count) return made[static_cast<std::size_t>(plane)] + layout_.line(y);
  return made_.data() + (step % 2 * planes_at_once_ + plane) * layout_.stride();
}

/// Moves what the loop has not moved to where this step finds the lines of the step before.
void Wavefront::pass_on(int step) {
  const auto& active = active_[static_cast<std::size_t>(step)];
  if (active.size() <= 0 || line_.y >= layout_.line_count) return;
  for (std::int64_t plane = 0; plane < planes_at_once_ + kept_count; ++plane) {
    const bool is_moved = line_.y > 0 && active.contains(plane - 1);
    if (is_moved) continue;
    std::copy_n(line_.planes[static_cast<std::size_t>(plane)], layout_.line_length,
                passed_line(step - 1, line_.y, plane));
  }
}

/// The last two planes of a step, if it computes one of them. They take the place of those kept so far, which nobody needs any more.
void Wavefront::keep(int step) {
  const auto& active = active_[static_cast<std::size_t>(step)];
  const auto n = planes_at_once_;
  if (line_.y >= layout_.line_count ||
      (n >= kept_count && (active.size() <= 0 || active.end + kept_count <= n)))
    return;
  for (int number = 0; number < kept_count; ++number)
    std::copy_n(line_.planes[static_cast<std::size_t>(n + number)], layout_.line_length,
                kept_line(step, number, line_.y));
}

/// The line that a step has just made.
void Wavefront::describe_made(int step, std::span<double* const> made) {
  const auto y = --line_.y;
  std::ranges::fill(line_.planes, zeros_.data());
  if (step == pass_.step_count || y < 0 || y >= layout_.line_count) return;
  for (int number = 0; number < kept_count; ++number)
    line_.planes[static_cast<std::size_t>(number)] = kept_line(step, number, y);
  const auto& active = active_[static_cast<std::size_t>(step)];
  for (auto plane = active.begin; plane < active.end; ++plane)
    line_.planes[static_cast<std::size_t>(plane + kept_count)] = target_line(step, plane, y, made);
  const auto borrowed = pass_.borrowed(step);
  const auto places = places_of(step, borrowed, first_);
  for (auto plane = places.begin; plane < places.end; ++plane) {
    const auto number = plane - place(first_, step, borrowed.begin);
    line_.planes[static_cast<std::size_t>(plane + kept_count)] =
        borders_.borrowed + SkewedPass::border_place(step, number) * layout_.size() + layout_.line(y);
  }
}

}  // namespace cg2d
