#include "cg/stencil/stencil_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>

#include "cg/base/agreement.hpp"
#include "cg/base/errors.hpp"
#include "cg/base/process_memory.hpp"
#include "cg/base/values.hpp"
#include "cg/files/crc32c.hpp"
#include "cg/stencil/block_trial.hpp"

namespace cg2d {

StencilRun::StencilRun(const StencilOptions& options, comm::RankGroup& group, const Progress& progress,
                       const PanelReaderRow& reader)
    : options_(options),
      group_(group),
      progress_(progress),
      planes_progress_(Progress::Within{.task = progress}),
      reader_(reader),
      layout_(options.shape),
      field_(options.shape),
      slab_(comm::share_of(options.shape[2], group.rank(), group.size())) {}

void StencilRun::perform() {
  write_start_values();
  report_.block = most_block_;
  if (!options_.block) choose_block_by_trial();
  report_.needed_bytes = group_.maximum(memory_for(report_.block));
  make_passes();
  check_result();
  gather_ranks();
}

void StencilRun::write_start_values() {
  progress_.say(fmt::format("writing the start values, {} per rank",
                            format_bytes(plane_count() * layout_.byte_count())));
  group_.barrier();
  const Stopwatch stopwatch;
  agree_on(group_, [&] {
    for (std::int64_t z = 0; z < plane_count(); ++z) {
      field_.fill(slab_.begin + z, 0, store_->room(z));
      store_->written(z);
    }
    store_->finish_writing();
  });
  report_.start_s = group_.maximum(stopwatch.seconds());
}

void StencilRun::choose_block_by_trial() {
  progress_.say("trying how many steps a pass should make");
  report_.choice = try_blocks({.layout = layout_,
                               .work = {.plane_count = group_.maximum(plane_count()),
                                        .neighbour_count = std::min(group_.size() - 1, 2),
                                        .step_count = options_.step_count},
                               .most_block = most_block_,
                               .plane_count = plane_count(),
                               .planes_per_moment = planes_per_moment_,
                               .store = options_.folders.empty() ? nullptr : store_.get()},
                              group_);
  report_.block = choose_block(report_.choice->predictions).block;
}

void StencilRun::make_passes() {
  std::unique_ptr<Wavefront> wavefront;
  border_ = std::make_unique<BorderExchange>(group_, layout_, plane_count(), report_.block);
  agree_on(group_, [&] {
    wavefront = std::make_unique<Wavefront>(layout_, wavefront_options(report_.block));
    std::vector<double> plane(static_cast<std::size_t>(layout_.size()));
    const auto keep_start = [&](std::int64_t z) {
      field_.fill(slab_.begin + z, 0, plane.data());
      border_->keep(z, plane.data());
    };
    const auto kept = std::min<std::int64_t>(report_.block, plane_count());
    for (std::int64_t z = 0; z < kept && group_.size() > 1; ++z) keep_start(z);
    for (auto z = plane_count() - kept; z < plane_count() && group_.size() > 1; ++z) keep_start(z);
  });
  const auto before = store_->figures();
  const InterruptWatch watch;
  const Progress::TimedRegion region(progress_);
  group_.barrier();
  since_begin_ = Stopwatch();
  for (done_count_ = 0; done_count_ < options_.step_count; done_count_ += report_.block)
    make_pass(*wavefront,
              {.domain_planes = options_.shape[2],
               .slab = slab_,
               .step_count = std::min(report_.block, options_.step_count - done_count_)},
              watch);
  mine_.total_s = since_begin_.seconds();
  mine_.moved = store_->figures() - before;
  mine_.sent_bytes = border_->sent_bytes();
}

/// The first planes are read while the borders are exchanged. After the pass ranks learn whether all have made it.
void StencilRun::make_pass(Wavefront& wavefront, const SlabPass& pass, const InterruptWatch& watch) {
  show_pass(pass);
  Agreement agreement(group_);
  agreement.attempt([&] { store_->begin_reading(plane_count()); });
  const Stopwatch exchange;
  border_->exchange(pass.step_count);
  mine_.communication_s += exchange.seconds();
  const Stopwatch stopwatch;
  const double waited_before = store_->figures().wait_s();
  wavefront.begin(pass);
  agreement.attempt([&] {
    const auto moments = wavefront.moments();
    for (auto first = moments.begin; first < moments.end; first += planes_per_moment_) {
      if (watch.asked())
        throw RunError(ExitCode::interrupted, fmt::format("interrupted by a signal after {} of {} steps",
                                                          done_count_, options_.step_count));
      make_moment(wavefront, pass, first);
      show_moment(pass, static_cast<double>(first + planes_per_moment_ - moments.begin) /
                            static_cast<double>(moments.size() + planes_per_moment_));
    }
    store_->finish_writing();
  });
  mine_.computing_s += stopwatch.seconds() - (store_->figures().wait_s() - waited_before);
  const Stopwatch barrier;
  agreement.reach();
  mine_.barrier_s += barrier.seconds();
}

void StencilRun::make_moment(Wavefront& wavefront, const SlabPass& pass, std::int64_t first) {
  std::vector<const double*> given(static_cast<std::size_t>(planes_per_moment_));
  std::vector<double*> made(given.size());
  for (std::size_t k = 0; k < given.size(); ++k) {
    const auto z = first + static_cast<std::int64_t>(k);
    if (pass.slab.contains(z)) {
      given[k] = store_->next();
    } else if (pass.planes(0).contains(z)) {
      given[k] = border_->received(z - pass.slab.begin);
    }
    if (const auto made_z = z - pass.step_count; pass.slab.contains(made_z))
      made[k] = store_->room(made_z - pass.slab.begin);
  }
  wavefront.advance(first, given, made);
  for (std::size_t k = 0; k < made.size(); ++k) {
    if (made[k] == nullptr) continue;
    const auto z = first + static_cast<std::int64_t>(k) - pass.step_count - pass.slab.begin;
    border_->keep(z, made[k]);
    store_->written(z);
  }
}

/// Elsewhere than on a terminal each pass is a line.
void StencilRun::show_pass(const SlabPass& pass) const {
  progress_.tick([&] {
    if (done_count_ > 0)
      progress_.expect(since_begin_.seconds() / done_count_ * (options_.step_count - done_count_));
    return fmt::format("steps {} to {} of {}", done_count_ + 1, done_count_ + pass.step_count,
                       options_.step_count);
  });
}

void StencilRun::show_moment(const SlabPass& pass, double share) const {
  planes_progress_.tick([&] {
    const double done = done_count_ + share * pass.step_count;
    progress_.expect(since_begin_.seconds() / done * (options_.step_count - done));
    return fmt::format("{:.0f} % of the planes", 100.0 * share);
  });
}

void StencilRun::check_result() {
  progress_.say("comparing the result with the closed form");
  const Stopwatch stopwatch;
  std::vector<PlaneFigures> mine;
  agree_on(group_, [&] {
    store_->begin_reading(plane_count());
    for (std::int64_t z = 0; z < plane_count(); ++z)
      mine.push_back(field_.compare(slab_.begin + z, options_.step_count, store_->next()));
  });
  auto& domain = report_.domain;
  domain.tolerance = field_.tolerance(options_.step_count);
  for (const auto& planes : group_.gather_all(std::span<const PlaneFigures>(mine))) {
    for (const auto& plane : planes) {
      domain.sum += plane.sum;
      domain.checksum = crc32c(std::as_bytes(std::span(&plane.checksum, 1)), domain.checksum);
      if (std::isnan(plane.largest_error) || plane.largest_error > domain.largest_error)
        domain.largest_error = plane.largest_error;
    }
  }
  report_.check_s = group_.maximum(stopwatch.seconds());
}

void StencilRun::gather_ranks() {
  mine_.plane_count = plane_count();
  mine_.peak_bytes = peak_resident_bytes();
  report_.ranks = group_.gather_one(mine_);
  report_.steps_s = group_.maximum(mine_.total_s);
}

}  // namespace cg2d
