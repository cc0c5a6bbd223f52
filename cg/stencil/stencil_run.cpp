#include "cg/stencil/stencil_run.hpp"

#include <array>

#include "cg/base/agreement.hpp"
#include "cg/base/describe.hpp"
#include "cg/base/interrupt.hpp"
#include "cg/base/output_file.hpp"
#include "cg/base/storage/crc32c.hpp"
#include "cg/base/storage/unnamed_file.hpp"
#include "cg/stencil/stencil_method.hpp"
#include "cg/timing/race.hpp"
#include "kernels/cpu_features.hpp"

namespace cg2d {

std::unique_ptr<comm::Messages> plane_messages(comm::Endpoint& endpoint, int partner, std::span<double> sent,
                                               std::span<double> received, int64_t size_of_one) {
  const auto size = static_cast<size_t>(size_of_one);
  std::vector<comm::Message> sends;
  std::vector<comm::Message> receives;
  for (size_t begin = 0; begin < sent.size(); begin += size) {
    const auto from = sent.subspan(begin, size);
    const auto to = received.subspan(begin, size);
    sends.push_back({.partner = partner, .buffer = from, .ranges = comm::whole(from)});
    receives.push_back({.partner = partner, .buffer = to, .ranges = comm::whole(to)});
  }
  return endpoint.prepare(comm::Operation::halo, sends, receives);
}

// ---------------------------------------------------------------- how many steps a pass makes: predicted from measured times

namespace {

/// Writes planes, whatever is in them, then reads and writes them as a pass does, with nothing to compute.
StorageTimes try_storage(const PlaneLayout& layout, int planes_at_once, PlaneStore& store) {
  constexpr int64_t wanted_bytes = int64_t{256} << 20;
  const auto wanted =
      std::max<int64_t>(wanted_bytes / layout.byte_count(), 4 * int64_t{store_depth(layout, planes_at_once)});
  const auto count = std::min(wanted, store.stored().size());
  const comm::IndexRange planes{.begin = store.stored().begin, .end = store.stored().begin + count};
  for (auto z = planes.begin; z < planes.end; ++z) {
    std::fill_n(store.room(z), layout.size(), 0.0);
    store.written(z);
  }
  store.finish_writing();
  store.take_figures();
  const Stopwatch stopwatch;
  store.begin_reading(planes);
  for (auto z = planes.begin; z < planes.end; ++z) {
    const double* const plane = store.next();
    std::copy_n(plane, layout.size(), store.room(z));
    store.written(z);
  }
  store.finish_writing();
  const double plane_s = stopwatch.seconds() / static_cast<double>(count);
  const double wait_s = store.take_figures().wait_s() / static_cast<double>(count);
  return {.plane_s = plane_s, .work_s = std::max(plane_s - wait_s, 0.0)};
}

/// A wavefront step in the middle of a pass of this size.
std::function<void()> wavefront_step(const StencilMethod& method, const FrontSize& size) {
  // Planes of zeros take as long as others.
  const auto plane_size = method.layout().size();
  const auto planes = std::make_shared<kernels::PageBuffer<double>>(
      static_cast<size_t>(int64_t{2} * size.planes_at_once * plane_size));
  std::vector<const double*> given;
  std::vector<double*> made;
  for (int64_t k = 0; k < size.planes_at_once; ++k) {
    given.push_back(planes->data() + 2 * k * plane_size);
    made.push_back(planes->data() + (2 * k + 1) * plane_size);
  }
  return [planes, given, made, advance = method.trial_advance(size)] { advance(given, made); };
}

}  // namespace

std::vector<int> candidate_blocks(int most) {
  std::vector<int> blocks;
  for (int power = 1; power < most; power *= 2) {
    blocks.push_back(power);
    if (power >= 2 && power / 2 * 3 < most) blocks.push_back(power / 2 * 3);
  }
  blocks.push_back(most);
  return blocks;
}

BlockPrediction predict_block(const StencilWork& work, int block, double plane_step_s,
                              const StorageTimes& storage) {
  // A device that becomes slower by a quarter is to be hidden, too.
  constexpr double reserve = 1.25;
  const auto planes = static_cast<double>(work.plane_count);
  BlockPrediction prediction{.block = block, .plane_step_s = plane_step_s};
  const auto add = [&](int pass_count, int steps) {
    const double computing_s = static_cast<double>(work.planes_of_pass(steps)) * plane_step_s;
    const double storage_s = planes * storage.plane_s;
    prediction.pass_count += pass_count;
    prediction.computing_s += pass_count * computing_s;
    prediction.storage_s += pass_count * storage_s;
    prediction.total_s += pass_count * std::max(computing_s + planes * storage.work_s, reserve * storage_s);
  };
  add(work.step_count / block, block);
  if (const int rest = work.step_count % block; rest > 0) add(1, rest);
  return prediction;
}

const BlockPrediction& choose_block(std::span<const BlockPrediction> predictions) {
  constexpr double good_enough = 1.02;
  const auto best = std::ranges::min_element(predictions, {}, &BlockPrediction::total_s);
  return *std::ranges::find_if(
      predictions, [&](const auto& prediction) { return prediction.total_s <= good_enough * best->total_s; });
}

namespace {

/// All ranks measure at the same time, and the slowest one counts. Planes of the store are overwritten. size: with the longest block that memory,
/// steps and slabs allow. store: nullptr where reading and writing take no time. Collective. Takes a few seconds at most, unless the device
/// is slow.
BlockChoice try_blocks(const StencilMethod& method, const StencilWork& work, const FrontSize& size,
                       PlaneStore* store, comm::RankGroup& group) {
  constexpr double most_seconds = 3.0;
  BlockChoice choice;
  const Stopwatch stopwatch;
  if (store != nullptr) {
    group.barrier();
    StorageTimes mine;
    agree_on(group, [&] { mine = try_storage(method.layout(), size.planes_at_once, *store); });
    choice.storage = {.plane_s = group.maximum(mine.plane_s), .work_s = group.maximum(mine.work_s)};
  }
  const Stopwatch computing;
  for (const int block : candidate_blocks(size.most_steps)) {
    Agreement agreement(group);
    std::function<void()> advance;
    agreement.attempt([&] {
      advance = wavefront_step(method, {.most_steps = block, .planes_at_once = size.planes_at_once});
    });
    agreement.reach();
    const std::array<std::function<void()>, 1> step{[&] { agreement.attempt(advance); }};
    const double step_s =
        race(group, step, {.fewest_rounds = 3, .most_rounds = 3, .shortest_turn_s = 0.01}).medians().front();
    agreement.reach();
    choice.tried.push_back(
        predict_block(work, block, step_s / (block * size.planes_at_once), choice.storage));
    if (group.maximum(computing.seconds()) > most_seconds) break;
  }
  choice.duration_s = group.maximum(stopwatch.seconds());
  return choice;
}

// ---------------------------------------------------------------- run

/// This rank's planes. Throws where they are too few.
comm::IndexRange share_of_rank(const StencilOptions& options, const comm::RankGroup& group) {
  constexpr int64_t least = SkewedPass::border_planes;
  const auto plane_count = options.shape[2];
  if (group.size() > 1 && plane_count < least * group.size())
    throw InputError("--shape {}: its {} along z are too few for {}, each of which needs two",
                     shape_text(options.shape), format_count(plane_count, "plane"),
                     format_count(group.size(), "rank"));
  return comm::share_of(plane_count, group.rank(), group.size());
}

/// The slab of planes of one rank, its store, and the passes over it. All operations are collective; they throw RunError on every rank
/// alike, MpiError, std::bad_alloc.
class StencilRun {
 public:
  /// Checks shape, memory and room, and makes the store.
  StencilRun(const StencilOptions& options, comm::RankGroup& group, const Progress& progress,
             const PanelIoRow& reader)
      : options_(options),
        group_(group),
        progress_(progress),
        reader_(reader),
        method_(row_named(stencil_method_table(), options.method)->make(options)),
        layout_(method_->layout()),
        share_(share_of_rank(options, group)),
        environment_(inspect_environment(group, 1, options.memory_limit_bytes, &progress)),
        available_bytes_(environment_.memory_of_rank(group.rank())) {
    group_.waiter().set_mode(environment_.wait_mode());
    report_.machine = environment_.nodes.front().processor_with_caches();
    report_.mpi = environment_.mpi_version;
    report_.node_count = static_cast<int>(environment_.nodes.size());
    report_.instruction_set =
        kernels::name_of(kernels::of_this_processor(kernels::sets_without_gathers).back());
    report_.options = options;
    if (is_in_files()) report_.reader = reader_.name;
    choose_planes_at_once();
    limit_block();
    open_store();
  }

  /// Start values, the choice of a block where none was asked for, all passes, and the verdict.
  const StencilReport& perform() {
    if (!options_.block) choose_block_by_trial();
    report_.block = size_.most_steps;
    report_.needed_bytes = group_.maximum(memory_for(size_.most_steps));
    method_->make_ready(share_, size_, group_);
    write_start_values();
    make_passes();
    check_result();
    mine_.plane_count = method_->slab().size();
    mine_.peak_bytes = peak_resident_bytes();
    report_.ranks = group_.gather_one(mine_);
    report_.steps_s = group_.maximum(mine_.total_s);
    return report_;
  }

 private:
  bool is_in_files() const { return !options_.folders.empty(); }

  /// The bytes of this rank, beside what every process takes.
  int64_t memory_for(int block) const {
    const FrontSize size{.most_steps = block, .planes_at_once = size_.planes_at_once};
    const auto store_bytes = is_in_files()
                                 ? store_buffer_bytes(layout_, size.planes_at_once)
                                 : method_->stored_planes(share_, block).size() * layout_.byte_count();
    const auto planes_of_trial = options_.block ? 0 : 2 * size.planes_at_once;
    const int neighbour_count = int{group_.rank() > 0} + int{group_.rank() + 1 < group_.size()};
    return store_bytes + planes_of_trial * layout_.byte_count() + method_->byte_count(size, neighbour_count);
  }

  /// The buffers of files must not take much of the memory, which long passes need. Collective.
  void choose_planes_at_once() {
    constexpr int64_t share_of_buffers = 4;
    const auto is_too_much = [&] {
      return is_in_files()
                 ? store_buffer_bytes(layout_, size_.planes_at_once) > available_bytes_ / share_of_buffers
                 : memory_for(1) > available_bytes_;
    };
    size_.planes_at_once = method_->traits().most_planes_at_once;
    while (size_.planes_at_once > 1 && is_too_much()) size_.planes_at_once /= 2;
    // The same on all ranks: predictions divide a common time by it.
    size_.planes_at_once = static_cast<int>(group_.minimum(int64_t{size_.planes_at_once}));
  }

  /// The longest pass that steps, slabs and memory allow. Throws where that of the user, or any, is longer.
  void limit_block() {
    const auto smallest_slab = group_.minimum(share_.size());
    const auto& traits = method_->traits();
    const auto planes_of_step = traits.planes_per_step;
    const int64_t by_slabs = group_.size() > 1 ? smallest_slab / planes_of_step : traits.most_steps;
    const auto by_shape = static_cast<int>(std::min<int64_t>(traits.most_steps, by_slabs));
    int block = options_.block.value_or(std::min(by_shape, traits.most_tried_steps));
    if (block > by_shape)
      throw InputError("--temporal-block {}: must be at most {}, {}", block, by_shape,
                       by_slabs < traits.most_steps
                           ? fmt::format("the planes of the smallest rank ({}){}", smallest_slab,
                                         planes_of_step > 1 ? fmt::format(" by {}", planes_of_step) : "")
                           : fmt::format("the steps of a pass of {}", options_.method));
    while (!options_.block && block > 1 && memory_for(block) > available_bytes_) --block;
    agree_on(group_, [&] {
      const auto missing_bytes = memory_for(block) - available_bytes_;
      if (missing_bytes <= 0) return;
      const auto& node = environment_.node_of(group_.rank());
      throw RunError(ExitCode::memory,
                     "not enough memory: rank {} needs {} for a pass of {}, {} are available; {}{}",
                     group_.rank(), format_bytes(memory_for(block)), format_count(block, "step"),
                     format_bytes(std::max<int64_t>(available_bytes_, 0)),
                     enough_limit_text(node.memory, missing_bytes * node.rank_count, node.rank_count),
                     is_in_files() ? "take more memory, or planes (x and y) with fewer points"
                                   : "take more ranks, or --out-of-core");
    });
    size_.most_steps = static_cast<int>(group_.minimum(int64_t{block}));
  }

  void open_store() {
    const StoreOptions store{
        .stored = method_->stored_planes(share_, size_.most_steps),
        .folder = is_in_files() ? folder_of_rank(options_.folders, group_.rank()) : std::string(),
        .planes_at_once = size_.planes_at_once,
        .reader = &reader_};
    if (is_in_files())
      require_room("--out-of-core", store.folder, store.stored.size() * layout_.byte_count(),
                   environment_.ranks[static_cast<size_t>(group_.rank())].node, group_);
    agree_on(group_, [&] { store_ = make_store(layout_, store); });
    mine_.is_direct = store_->is_direct();
    if (is_in_files() && group_.minimum(int64_t{mine_.is_direct}) == 0)
      progress_.warn(
          "--out-of-core: a file system cannot read and write past the system's cache (O_DIRECT); it goes "
          "through it");
  }

  void write_start_values() {
    const auto slab = method_->slab();
    progress_.say(fmt::format("writing the start values, {} per rank",
                              format_bytes(slab.size() * layout_.byte_count())));
    group_.barrier();
    const Stopwatch stopwatch;
    agree_on(group_, [&] {
      for (auto z = slab.begin; z < slab.end; ++z) {
        method_->fill_start(z, store_->room(z));
        store_->written(z);
      }
      store_->finish_writing();
    });
    report_.start_s = group_.maximum(stopwatch.seconds());
  }

  void choose_block_by_trial() {
    progress_.say("trying how many steps a pass should make");
    const auto largest_slab = group_.maximum(share_.size());
    const StencilWork work{.plane_count = largest_slab,
                           .step_count = options_.step_count,
                           .planes_of_pass = [&](int step_count) {
                             return method_->computed_planes(largest_slab, std::min(group_.size() - 1, 2),
                                                             step_count);
                           }};
    report_.choice = try_blocks(*method_, work, size_, is_in_files() ? store_.get() : nullptr, group_);
    size_.most_steps = choose_block(report_.choice->tried).block;
  }

  /// All time but that of waiting for the device, other ranks and their messages is computing.
  void make_passes() {
    const InterruptWatch watch;
    NoiseMonitor quiet(group_, environment_);
    quiet.begin();
    store_->take_figures();
    group_.barrier();
    since_begin_ = Stopwatch();
    for (auto pass = method_->begin_pass(0, group_); pass.step_count > 0;
         pass = method_->begin_pass(report_.step_count, group_)) {
      // Elsewhere than on a terminal each pass is a line.
      progress_.tick([&] {
        expect_end(report_.step_count);
        return fmt::format("steps {} to {} of {}", report_.step_count + 1,
                           report_.step_count + pass.step_count, options_.step_count);
      });
      // The first planes are read while ranks exchange others. After the pass ranks learn whether all have made it.
      Agreement agreement(group_);
      agreement.attempt([&] { store_->begin_reading(pass.read, pass.sweep); });
      method_->exchange();
      agreement.attempt([&] { make_wavefront_steps(pass, watch); });
      method_->end_pass();
      agreement.attempt([&] { store_->finish_writing(); });
      const Stopwatch barrier;
      agreement.reach();
      mine_.barrier_s += barrier.seconds();
      report_.step_count += pass.step_count;
      ++report_.pass_count;
    }
    mine_.total_s = since_begin_.seconds();
    quiet.end();
    report_.quiet = quiet.result();
    static_cast<StoreFigures&>(mine_) = store_->take_figures();
    mine_.communication_s = method_->communication_s();
    mine_.computing_s =
        std::max(mine_.total_s - mine_.wait_s() - mine_.communication_s - mine_.barrier_s, 0.0);
    mine_.sent_bytes = method_->sent_bytes();
  }

  void make_wavefront_steps(const StencilPass& pass, const InterruptWatch& watch) {
    const int64_t n = size_.planes_at_once;
    const auto& wavefront_steps = pass.wavefront_steps;
    for (auto first = wavefront_steps.begin; first < wavefront_steps.end; first += n) {
      if (watch.asked())
        throw RunError(ExitCode::interrupted, "{} after {} of {} steps", interruption(), report_.step_count,
                       options_.step_count);
      const auto first_made = first - pass.step_count;
      std::vector<const double*> given;
      std::vector<double*> made;
      for (int64_t k = 0; k < n; ++k) {
        given.push_back(pass.read.contains(first + k) ? store_->next() : nullptr);
        made.push_back(pass.written.contains(first_made + k) ? store_->room(first_made + k) : nullptr);
      }
      method_->advance(first, given, made);
      for (auto number = first_made; number < first_made + n; ++number) {
        if (pass.written.contains(number)) store_->written(number);
      }
      const double share = static_cast<double>(first + n - wavefront_steps.begin) /
                           static_cast<double>(wavefront_steps.size() + n);
      expect_end(report_.step_count + share * pass.step_count);
    }
  }

  /// done: steps so far.
  void expect_end(double done) const {
    if (done > 0.0) progress_.expect(since_begin_.seconds() / done * (options_.step_count - done));
  }

  void check_result() {
    progress_.say("verifying the result");
    const Stopwatch stopwatch;
    Agreement agreement(group_);
    std::vector<PlaneFigures> mine;
    agreement.attempt([&] { store_->begin_reading(method_->slab()); });
    method_->exchange();
    agreement.attempt([&] { mine = method_->check(*store_); });
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

  const StencilOptions& options_;
  comm::RankGroup& group_;
  const Progress& progress_;
  const PanelIoRow& reader_;
  std::unique_ptr<StencilMethod> method_;
  const PlaneLayout& layout_;
  comm::IndexRange share_;  // this rank's planes of the domain
  Environment environment_;
  int64_t available_bytes_;  // memory for this rank
  FrontSize size_;
  std::unique_ptr<PlaneStore> store_;
  StencilReport report_;
  StencilRank mine_;
  Stopwatch since_begin_;
};

}  // namespace

StencilReport perform_stencil(const StencilOptions& options, comm::RankGroup& group, const Progress& progress,
                              const PanelIoRow& reader) {
  return StencilRun(options, group, progress, reader).perform();
}

ExitCode run_stencil(const StencilOptions& options, comm::RankGroup& group) {
  const Progress progress(options.progress, group.rank());
  StencilRun run(options, group, progress, usual_panel_io());
  const auto output = open_output(options.output, group);
  const auto& report = run.perform();
  write_output(output.get(), group,
               [&] { return options.format == "json" ? document_text(report) : stencil_text(report); });
  if (group.rank() == 0 && report.code() != ExitCode::success) say_on_stderr(verdict_text(report));
  return report.code();
}

}  // namespace cg2d
