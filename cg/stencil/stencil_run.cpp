#include "cg/stencil/stencil_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "cg/base/agreement.hpp"
#include "cg/base/errors.hpp"
#include "cg/base/interrupt.hpp"
#include "cg/base/output_file.hpp"
#include "cg/base/process_memory.hpp"
#include "cg/base/storage/crc32c.hpp"
#include "cg/base/storage/folders.hpp"
#include "cg/base/values.hpp"
#include "cg/machine/environment.hpp"
#include "cg/stencil/plane_store.hpp"
#include "cg/stencil/stencil_method.hpp"
#include "kernels/cpu_features.hpp"
#include "kernels/heat_lines.hpp"

namespace cg2d {
namespace {

int neighbour_count(const comm::RankGroup& group) {
  return (group.rank() > 0 ? 1 : 0) + (group.rank() + 1 < group.size() ? 1 : 0);
}

/// The slab of planes of one rank, its store, and the passes over it. All operations are collective; they throw RunError on every rank
/// alike, MpiError, std::bad_alloc.
class StencilRun {
 public:
  StencilRun(const StencilOptions& options, comm::RankGroup& group, const Progress& progress,
             const PanelIoRow& reader)
      : options_(options),
        group_(group),
        progress_(progress),
        planes_progress_(Progress::Within{.task = progress}),
        reader_(reader),
        method_(stencil_method(options.method).make(options)),
        layout_(method_->layout()),
        share_(comm::share_of(options.shape[2], group.rank(), group.size())) {}

  /// Checks shape, memory and room, and makes the store.
  void prepare() {
    check_shape();
    inspect();
    choose_planes_at_once();
    limit_block();
    make_store();
  }

  /// Start values, the choice of a block where none was asked for, all passes, and the verdict.
  void perform() {
    report_.block = most_block_;
    if (!options_.block) choose_block_by_trial();
    report_.needed_bytes = group_.maximum(memory_for(report_.block));
    method_->make_ready({.share = share_, .block = report_.block, .planes_at_once = planes_at_once_}, group_);
    write_start_values();
    make_passes();
    if (const auto error = group_.maximum(std::int64_t{store_->reader_refusal()}); error != 0) {
      report_.reader = fallback_panel_io().name;
      progress_.warn(refusal_warning(static_cast<int>(error)));
    }
    check_result();
    gather_ranks();
  }

  [[nodiscard]] const StencilReport& report() const { return report_; }

 private:
  [[nodiscard]] std::int64_t plane_count() const { return share_.size(); }
  void check_shape() const {
    constexpr std::int64_t least = SkewedPass::border_planes;
    const auto plane_count = options_.shape[2];
    if (group_.size() > 1 && plane_count < least * group_.size())
      throw InputError(fmt::format("--shape {}: its {} along z are too few for {}, each of which needs two",
                                   shape_text(options_.shape), format_count(plane_count, "plane"),
                                   format_count(group_.size(), "rank")));
  }

  /// The machine, and the memory that this rank may take.
  void inspect() {
    environment_ = inspect_environment(group_, 1, options_.memory_limit_bytes, progress_);
    const auto& environment = *environment_;
    group_.waiter().set_mode(environment.wait_mode());
    report_.machine = environment.nodes.front().processor_with_caches();
    report_.mpi = environment.mpi_version;
    report_.node_count = static_cast<int>(environment.nodes.size());
    report_.instruction_set = kernels::name_of(kernels::heat_instruction_sets().back());
    report_.shape = options_.shape;
    report_.method = options_.method;
    report_.step_count = options_.step_count;
    report_.folders = options_.folders;
    if (!options_.folders.empty()) report_.reader = reader_.name;
    node_ = environment.ranks[static_cast<std::size_t>(group_.rank())].node;
    node_info_ = environment.node_of(group_.rank());
    available_bytes_ = node_info_.memory.available_bytes / node_info_.rank_count;
  }

  /// The bytes of this rank, beside what every process takes.
  [[nodiscard]] std::int64_t memory_for(int block) const {
    const auto store_bytes = options_.folders.empty()
                                 ? method_->stored_planes(share_, block).size() * layout_.byte_count()
                                 : store_buffer_bytes(layout_, planes_at_once_);
    const auto planes_of_trial = options_.block ? 0 : 2 * planes_at_once_;
    return store_bytes + planes_of_trial * layout_.byte_count() +
           method_->byte_count(block, planes_at_once_, neighbour_count(group_));
  }

  /// The buffers of files must not take much of the memory, which long passes need.
  void choose_planes_at_once() {
    constexpr std::int64_t share_of_buffers = 4;
    const auto is_too_much = [&] {
      if (options_.folders.empty()) return memory_for(1) > available_bytes_;
      return store_buffer_bytes(layout_, planes_at_once_) > available_bytes_ / share_of_buffers;
    };
    planes_at_once_ = method_->traits().most_planes_at_once;
    while (planes_at_once_ > 1 && is_too_much()) planes_at_once_ /= 2;
  }

  /// The longest pass that steps, slabs and memory allow. Throws where that of the user, or any, is longer.
  void limit_block() {
    const auto smallest_slab = group_.minimum(plane_count());
    const auto& traits = method_->traits();
    const auto planes_of_step = traits.planes_per_step;
    const std::int64_t by_slabs = group_.size() > 1 ? smallest_slab / planes_of_step : traits.most_steps;
    const auto by_shape = static_cast<int>(std::min<std::int64_t>(traits.most_steps, by_slabs));
    if (options_.block && *options_.block > by_shape)
      throw InputError(
          fmt::format("--temporal-block {}: must be at most {}, the smaller one of the steps of a pass of {} "
                      "({}) and the planes of the "
                      "smallest rank ({}){}",
                      *options_.block, by_shape, options_.method, traits.most_steps, smallest_slab,
                      planes_of_step > 1 ? fmt::format(" by {}", planes_of_step) : ""));
    int block = options_.block.value_or(std::min(by_shape, traits.most_tried_steps));
    if (!options_.block) {
      while (block > 1 && memory_for(block) > available_bytes_) --block;
    }
    agree_on(group_, [&] {
      if (memory_for(block) <= available_bytes_) return;
      throw RunError(
          ExitCode::memory,
          fmt::format("not enough memory: rank {} needs {} for a pass of {}, {} are available; {}{}",
                      group_.rank(), format_bytes(memory_for(block)), format_count(block, "step"),
                      format_bytes(std::max<std::int64_t>(available_bytes_, 0)),
                      enough_limit_text(node_info_.memory,
                                        (memory_for(block) - available_bytes_) * node_info_.rank_count,
                                        node_info_.rank_count),
                      options_.folders.empty() ? "take more ranks, or --out-of-core"
                                               : "take more memory, or planes (x and y) with fewer points"));
    });
    most_block_ = static_cast<int>(group_.minimum(std::int64_t{block}));
  }

  [[nodiscard]] const std::string& folder() const { return folder_of_rank(options_.folders, group_.rank()); }

  void make_store() {
    const auto planes = method_->stored_planes(share_, most_block_);
    first_stored_ = planes.begin;
    if (!options_.folders.empty())
      require_room({.option = "--out-of-core",
                    .folder = folder(),
                    .byte_count = planes.size() * layout_.byte_count(),
                    .node = node_},
                   group_);
    agree_on(group_, [&] {
      if (options_.folders.empty()) {
        store_ = make_memory_store(layout_, planes.size());
        return;
      }
      store_ = make_file_store(layout_, {.folder = folder(),
                                         .plane_count = planes.size(),
                                         .planes_at_once = planes_at_once_,
                                         .reader = &reader_});
    });
    mine_.is_direct = store_->is_direct();
    if (!options_.folders.empty() && group_.minimum(std::int64_t{mine_.is_direct}) == 0)
      progress_.warn(
          "--out-of-core: a file system cannot read and write past the system's cache (O_DIRECT); it goes "
          "through it");
  }

  [[nodiscard]] PlaneSequence in_store(const comm::IndexRange& planes, bool is_downward = false) const {
    return {.planes = {.begin = planes.begin - first_stored_, .end = planes.end - first_stored_},
            .is_backward = is_downward};
  }

  void write_start_values() {
    const auto slab = method_->slab();
    progress_.say(fmt::format("writing the start values, {} per rank",
                              format_bytes(slab.size() * layout_.byte_count())));
    group_.barrier();
    const Stopwatch stopwatch;
    agree_on(group_, [&] {
      for (auto z = slab.begin; z < slab.end; ++z) {
        method_->fill_start(z, store_->room(z - first_stored_));
        store_->written(z - first_stored_);
      }
      store_->finish_writing();
    });
    report_.start_s = group_.maximum(stopwatch.seconds());
  }

  void choose_block_by_trial() {
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
                                 .planes_at_once = planes_at_once_,
                                 .store = options_.folders.empty() ? nullptr : store_.get()},
                                group_);
    report_.block = choose_block(report_.choice->tried).block;
  }

  void make_passes() {
    const auto before = store_->figures();
    const InterruptWatch watch;
    const Progress::TimedRegion region(progress_);
    NoiseMonitor quiet(group_, *environment_, 1);
    quiet.begin();
    group_.barrier();
    since_begin_ = Stopwatch();
    const auto begin_pass = [&] {
      StencilPass pass;
      take_times([&] { pass = method_->begin_pass(done_count_, group_); });
      return pass;
    };
    for (auto pass = begin_pass(); pass.step_count > 0; pass = begin_pass()) {
      make_pass(pass, watch);
      done_count_ += pass.step_count;
      ++report_.pass_count;
    }
    report_.step_count = done_count_;
    mine_.total_s = since_begin_.seconds();
    quiet.end();
    report_.quiet = quiet.result();
    mine_.moved = store_->figures() - before;
    mine_.sent_bytes = method_->sent_bytes();
  }

  /// Takes the times of an action: all but waiting for the device and communication is computing.
  void take_times(const std::function<void()>& action) {
    const Stopwatch stopwatch;
    const double waited_before = store_->figures().wait_s();
    const double communication_before = method_->communication_s();
    action();
    const double communication_s = method_->communication_s() - communication_before;
    mine_.communication_s += communication_s;
    mine_.computing_s += stopwatch.seconds() - communication_s - (store_->figures().wait_s() - waited_before);
  }

  /// The first planes are read while ranks exchange others. After the pass ranks learn whether all have made it.
  void make_pass(const StencilPass& pass, const InterruptWatch& watch) {
    show_pass(pass.step_count);
    Agreement agreement(group_);
    take_times([&] {
      agreement.attempt([&] { store_->begin_reading(in_store(pass.read, pass.sweep.is_downward)); });
      method_->exchange();
      agreement.attempt([&] { make_wavefront_steps(pass, watch); });
      method_->end_pass();
      agreement.attempt([&] { store_->finish_writing(); });
    });
    const Stopwatch barrier;
    agreement.reach();
    mine_.barrier_s += barrier.seconds();
  }

  void make_wavefront_steps(const StencilPass& pass, const InterruptWatch& watch) {
    const auto& wavefront_steps = pass.wavefront_steps;
    for (auto first = wavefront_steps.begin; first < wavefront_steps.end; first += planes_at_once_) {
      if (watch.asked())
        throw RunError(ExitCode::interrupted, fmt::format("{} after {} of {} steps", interruption(),
                                                          done_count_, options_.step_count));
      make_wavefront_step(pass, first);
      show_wavefront_step(pass.step_count,
                          static_cast<double>(first + planes_at_once_ - wavefront_steps.begin) /
                              static_cast<double>(wavefront_steps.size() + planes_at_once_));
    }
  }

  void make_wavefront_step(const StencilPass& pass, std::int64_t first) {
    std::vector<const double*> given(static_cast<std::size_t>(planes_at_once_));
    std::vector<double*> made(given.size());
    const auto made_plane = [&](std::size_t k) {
      return pass.sweep.number_of(first + static_cast<std::int64_t>(k) - pass.step_count);
    };
    for (std::size_t k = 0; k < given.size(); ++k) {
      if (pass.read.contains(pass.sweep.number_of(first + static_cast<std::int64_t>(k))))
        given[k] = store_->next();
      if (const auto z = made_plane(k); pass.written.contains(z)) made[k] = store_->room(z - first_stored_);
    }
    method_->advance(first, given, made);
    for (std::size_t k = 0; k < made.size(); ++k) {
      if (made[k] != nullptr) store_->written(made_plane(k) - first_stored_);
    }
  }

  /// Elsewhere than on a terminal each pass is a line.
  void show_pass(int step_count) const {
    progress_.tick([&] {
      if (done_count_ > 0)
        progress_.expect(since_begin_.seconds() / done_count_ * (options_.step_count - done_count_));
      return fmt::format("steps {} to {} of {}", done_count_ + 1, done_count_ + step_count,
                         options_.step_count);
    });
  }

  void show_wavefront_step(int step_count, double share) const {
    planes_progress_.tick([&] {
      const double done = done_count_ + share * step_count;
      progress_.expect(since_begin_.seconds() / done * (options_.step_count - done));
      return fmt::format("{:.0f} % of the planes", 100.0 * share);
    });
  }

  void check_result() {
    progress_.say("verifying the result");
    const Stopwatch stopwatch;
    Agreement agreement(group_);
    std::vector<PlaneFigures> mine;
    agreement.attempt([&] { store_->begin_reading(in_store(method_->slab())); });
    method_->exchange();
    agreement.attempt([&] { mine = method_->check([&] { return store_->next(); }); });
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

  void gather_ranks() {
    mine_.plane_count = method_->slab().size();
    mine_.peak_bytes = peak_resident_bytes();
    report_.ranks = group_.gather_one(mine_);
    report_.steps_s = group_.maximum(mine_.total_s);
  }

  const StencilOptions& options_;
  comm::RankGroup& group_;
  const Progress& progress_;
  Progress planes_progress_;
  const PanelIoRow& reader_;
  std::unique_ptr<StencilMethod> method_;
  const PlaneLayout& layout_;
  comm::IndexRange share_;  // this rank's planes of the domain
  StencilReport report_;
  std::optional<Environment> environment_{};
  int node_ = 0;
  NodeInfo node_info_;
  std::int64_t available_bytes_ = 0;  // memory for this rank
  int planes_at_once_ = 1;
  int most_block_ = 1;
  std::unique_ptr<PlaneStore> store_;
  std::int64_t first_stored_ = 0;  // plane 0 of the store
  StencilRank mine_;
  Stopwatch since_begin_;
  int done_count_ = 0;  // steps
};

}  // namespace

StencilReport perform_stencil(const StencilOptions& options, comm::RankGroup& group, const Progress& progress,
                              const PanelIoRow& reader) {
  StencilRun run(options, group, progress, reader);
  run.prepare();
  run.perform();
  return run.report();
}

ExitCode run_stencil(const StencilOptions& options, comm::RankGroup& group) {
  const Progress progress(options.progress, group.rank());
  StencilRun run(options, group, progress, usual_panel_io());
  run.prepare();
  const auto output = open_output(options.output, group);
  run.perform();
  const auto& report = run.report();
  write_output(output.get(), group, [&] { return write_stencil_report(report, options.format); });
  if (group.rank() == 0 && report.code() != ExitCode::success) say_on_stderr(verdict_text(report));
  return report.code();
}

}  // namespace cg2d
