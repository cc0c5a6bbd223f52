#include "cg/stencil/stencil_run.hpp"

#include <fmt/format.h>

#include <algorithm>
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
      method_(stencil_method(options.method).make(options)),
      layout_(method_->layout()),
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
      method_->fill_start(slab_.begin + z, store_->room(z));
      store_->written(z);
    }
    store_->finish_writing();
  });
  report_.start_s = group_.maximum(stopwatch.seconds());
}

void StencilRun::choose_block_by_trial() {
  progress_.say("trying how many steps a pass should make");
  const auto largest_slab = group_.maximum(plane_count());
  const auto planes_of_pass = [&](int step_count) {
    return method_->computed_planes(largest_slab, std::min(group_.size() - 1, 2), step_count);
  };
  report_.choice = try_blocks({.method = *method_,
                               .work = {.plane_count = largest_slab,
                                        .step_count = options_.step_count,
                                        .planes_of_pass = planes_of_pass},
                               .most_block = most_block_,
                               .plane_count = plane_count(),
                               .planes_per_moment = planes_per_moment_,
                               .store = options_.folders.empty() ? nullptr : store_.get()},
                              group_);
  report_.block = choose_block(report_.choice->predictions).block;
}

/// Memory for the passes; the planes that neighbours need at first.
void StencilRun::make_ready() {
  const auto depth = method_->border_depth(report_.block);
  border_ = std::make_unique<BorderExchange>(group_, layout_, plane_count(), depth);
  agree_on(group_, [&] {
    method_->make_ready({.slab = slab_, .block = report_.block, .planes_per_moment = planes_per_moment_});
    std::vector<double> plane(static_cast<std::size_t>(layout_.size()));
    const auto keep_start = [&](std::int64_t z) {
      method_->fill_start(slab_.begin + z, plane.data());
      border_->keep(z, plane.data());
    };
    const auto kept = std::min<std::int64_t>(depth, plane_count());
    for (std::int64_t z = 0; z < kept && group_.size() > 1; ++z) keep_start(z);
    for (auto z = plane_count() - kept; z < plane_count() && group_.size() > 1; ++z) keep_start(z);
  });
}

void StencilRun::make_passes() {
  make_ready();
  const auto before = store_->figures();
  const InterruptWatch watch;
  const Progress::TimedRegion region(progress_);
  group_.barrier();
  since_begin_ = Stopwatch();
  const auto begin_pass = [&] {
    const Stopwatch stopwatch;
    const int step_count = method_->begin_pass(done_count_, group_);
    mine_.communication_s += stopwatch.seconds();
    return step_count;
  };
  while (const int step_count = begin_pass()) {
    make_pass(step_count, watch);
    done_count_ += step_count;
    ++report_.pass_count;
  }
  report_.step_count = done_count_;
  mine_.total_s = since_begin_.seconds();
  mine_.moved = store_->figures() - before;
  mine_.sent_bytes = border_->sent_bytes();
}

/// The first planes are read while the borders are exchanged. After the pass ranks learn whether all have made it.
void StencilRun::make_pass(int step_count, const InterruptWatch& watch) {
  show_pass(step_count);
  Agreement agreement(group_);
  agreement.attempt([&] { store_->begin_reading(plane_count()); });
  const Stopwatch exchange;
  border_->exchange(method_->pass_depth());
  mine_.communication_s += exchange.seconds();
  const Stopwatch stopwatch;
  const double waited_before = store_->figures().wait_s();
  agreement.attempt([&] {
    const auto moments = method_->moments();
    for (auto first = moments.begin; first < moments.end; first += planes_per_moment_) {
      if (watch.asked())
        throw RunError(ExitCode::interrupted, fmt::format("interrupted by a signal after {} of {} steps",
                                                          done_count_, options_.step_count));
      make_moment(step_count, first);
      show_moment(step_count, static_cast<double>(first + planes_per_moment_ - moments.begin) /
                                  static_cast<double>(moments.size() + planes_per_moment_));
    }
    store_->finish_writing();
  });
  mine_.computing_s += stopwatch.seconds() - (store_->figures().wait_s() - waited_before);
  const Stopwatch barrier;
  agreement.reach();
  mine_.barrier_s += barrier.seconds();
}

void StencilRun::make_moment(int step_count, std::int64_t first) {
  std::vector<const double*> given(static_cast<std::size_t>(planes_per_moment_));
  std::vector<double*> made(given.size());
  const auto given_planes = method_->given_planes();
  for (std::size_t k = 0; k < given.size(); ++k) {
    const auto z = first + static_cast<std::int64_t>(k);
    if (slab_.contains(z)) {
      given[k] = store_->next();
    } else if (given_planes.contains(z)) {
      given[k] = border_->received(z - slab_.begin);
    }
    if (const auto made_z = z - step_count; slab_.contains(made_z))
      made[k] = store_->room(made_z - slab_.begin);
  }
  method_->advance(first, given, made);
  for (std::size_t k = 0; k < made.size(); ++k) {
    if (made[k] == nullptr) continue;
    const auto z = first + static_cast<std::int64_t>(k) - step_count - slab_.begin;
    border_->keep(z, made[k]);
    store_->written(z);
  }
}

/// Elsewhere than on a terminal each pass is a line.
void StencilRun::show_pass(int step_count) const {
  progress_.tick([&] {
    if (done_count_ > 0)
      progress_.expect(since_begin_.seconds() / done_count_ * (options_.step_count - done_count_));
    return fmt::format("steps {} to {} of {}", done_count_ + 1, done_count_ + step_count,
                       options_.step_count);
  });
}

void StencilRun::show_moment(int step_count, double share) const {
  planes_progress_.tick([&] {
    const double done = done_count_ + share * step_count;
    progress_.expect(since_begin_.seconds() / done * (options_.step_count - done));
    return fmt::format("{:.0f} % of the planes", 100.0 * share);
  });
}

void StencilRun::check_result() {
  progress_.say("verifying the result");
  const Stopwatch stopwatch;
  Agreement agreement(group_);
  std::vector<PlaneFigures> mine;
  agreement.attempt([&] { store_->begin_reading(plane_count()); });
  border_->exchange(1);
  agreement.attempt([&] {
    mine = method_->check([&] { return store_->next(); },
                          [&](std::int64_t z) { return border_->received(z - slab_.begin); });
  });
  agreement.reach();
  std::vector<PlaneFigures> planes;
  for (const auto& of_rank : group_.gather_all(std::span<const PlaneFigures>(mine)))
    planes.insert(planes.end(), of_rank.begin(), of_rank.end());
  auto& domain = report_.domain;
  for (const auto& plane : planes) {
    domain.sum += plane.sum;
    domain.checksum = crc32c(std::as_bytes(std::span(&plane.checksum, 1)), domain.checksum);
  }
  method_->judge(planes, report_);
  report_.check_s = group_.maximum(stopwatch.seconds());
}

void StencilRun::gather_ranks() {
  mine_.plane_count = plane_count();
  mine_.peak_bytes = peak_resident_bytes();
  report_.ranks = group_.gather_one(mine_);
  report_.steps_s = group_.maximum(mine_.total_s);
}

}  // namespace cg2d
