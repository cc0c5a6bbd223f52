#include "cg/run/benchmark_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "cg/base/agreement.hpp"
#include "cg/base/output_file.hpp"
#include "cg/machine/performance_model.hpp"
#include "cg/matrix/files/vector_file.hpp"
#include "cg/matrix/matrix_facts.hpp"
#include "cg/solver/communicator_setup.hpp"
#include "cg/solver/matrix_cut.hpp"
#include "cg/tuning/run_plan.hpp"

namespace cg2d {
BenchmarkRun::BenchmarkRun(const RunOptions& options, comm::RankGroup& group, const Progress& progress)
    : Session(options, group, progress, report_, WorkKind::outer_iterations),
      options_(options),
      source_(default_source().make(options.problem)) {
  report_.detail = options.detail;
  report_.problem = options.problem;
  report_.phases_timed = options.time_phases;
}

void BenchmarkRun::prepare() {
  Session::prepare();
  // The pieces, which all layouts of the matrix follow.
  report_.configuration = with_cut(report_.configuration, even_cut);
  const auto cut = matrix_cut_from(configuration().cut);
  require_cut_of_benchmark(configuration().cut);
  const bool has_borders = cut.kind == MatrixCut::Kind::nonzeros || cut.kind == MatrixCut::Kind::file;
  if (has_borders && options_.planned_ranks > 0)
    throw InputError("--cut {}: --ranks plans even pieces only", configuration().cut);
  source_->set_piece_starts(piece_starts_for(cut, *source_, group_));
  const int rank_count = options_.planned_ranks > 0 ? options_.planned_ranks : group_.size();
  set_grid(resolve_grid(options_, source_->facts(), configuration(), rank_count));
  // Only rank 0 reports, so only rank 0 predicts. Without a description there is no prediction; one that cannot be read is a warning.
  if (group_.rank() == 0 && options_.profile.is_used && options_.planned_ranks == 0) {
    try {
      machine_ = calibrated_condition(report_.environment->nodes.front().processor_with_caches(),
                                      group_.size(), configuration().thread_count);
    } catch (const InputError& error) {
      report_.warnings.push_back(fmt::format("no prediction: {}", error.what()));
    }
  }
  if (report_.grid_is_automatic && options_.open_grid.tries_grids && options_.planned_ranks == 0) {
    set_grid(shortlist(source_->facts(), machine_).grids.front());
  }
  if (options_.dry_run) return;
  begin_work();
  if (const auto* const found = found_checkpoint()) report_.restart = restart_facts(*found, options_.problem);
}

void BenchmarkRun::predict_phases() {
  if (!machine_ || report_.restart) return;  // it would be of the whole run
  if (!machine_->has_kernel(configuration().kernel)) return;
  auto prediction =
      predict(*machine_, source_->facts(), configuration(), options_.problem.niter, uneven_ranks());
  if (std::isfinite(prediction.total_s())) {
    report_.prediction = std::move(prediction);
  } else {
    report_.warnings.push_back(
        fmt::format("no prediction: by the description of {} the run never ends", machine_->name));
  }
}

ChosenKernel BenchmarkRun::kernel_for(const comm::ProcessGrid& grid) const {
  auto asked = options_.configuration;
  asked.grid = grid;
  return chosen_kernel(source_->facts(), asked);
}

/// Everything that is chosen without the matrix.
void BenchmarkRun::choose() {
  check_reproducible();
  check_choices();
  begin_threads();
  try_grids(*source_, machine_);
  if (const auto& trial = report_.grid_trial; trial && !trial->tried.empty()) {
    // A grid of the trial has been generated, as the one of the run is now, and its steps have been timed.
    const double generation_s = trial->duration_s / static_cast<double>(trial->tried.size());
    const double outer_step_s =
        products_per_outer_step * std::ranges::min_element(trial->tried, {}, &TimedCandidate::step_s)->step_s;
    progress_.expect(generation_s + outer_step_s * (1.0 + options_.problem.niter * options_.repeat_count));
  }
  cut_by_speed(*source_);
  predict_phases();
  remark_on_measurements();
}

MeasuredSolver BenchmarkRun::make() {
  const auto layout = make_layout(source_->facts(), configuration());
  const Stopwatch of_block;
  const std::shared_ptr<BlockProduct> product = streaming_ ? stream(layout) : make_in_memory(layout);
  const double block_s = of_block.seconds();
  if (chooses_transport()) choose_transport(*source_, layout, product, options_.problem.shift);
  const Stopwatch of_communicator;
  assembled_ = connect(layout, product);
  const double set_up_s = block_s + of_communicator.seconds();
  iteration_.emplace(*assembled_, options_.problem.shift, guard_ ? &*guard_ : nullptr);
  piece_ = layout.own_piece(group_.rank());
  if (options_.features.rebalances)
    rebalancer_.emplace(feature_context(), assembled_->timer(), set_up_s,
                        [this](auto shares) { move_to(shares); });
  const auto& restart = report_.restart;
  if (restart) restarted_x_ = restarted_x(*restart, piece_, group_);
  if (auto* const saved = saved_checkpoints())
    checkpoints_.emplace(options_.problem, *iteration_, piece_,
                         restart ? restart->earlier_steps : std::vector<OuterStep>(), *saved);
  return {.timer = assembled_->timer(),
          .observers = iteration_->observers(),
          .sent = [this](comm::Operation operation) { return assembled_->sent(operation); },
          .vectors = iteration_->vectors(),
          .local_size = assembled_->matrix().local_size()};
}

TraceRoom BenchmarkRun::trace_room(int step_count) const {
  return TraceRoom::of_benchmark(step_count, assembled_->product().part_count());
}

/// Between two outer iterations: the block is made anew, and x goes over. The times of the set-up stay in the report.
void BenchmarkRun::move_to(std::span<const double> shares) {
  const auto set_up = std::pair(report_.generation_s, report_.conversion_s);
  const auto before = make_layout(source_->facts(), configuration());
  source_->set_piece_starts(source_->balanced_piece_starts(shares, group_));
  const auto layout = make_layout(source_->facts(), configuration());
  const auto x = moved_piece(iteration_->x(), before, layout, group_);
  assembled_->release();
  std::shared_ptr<BlockProduct> product = make_in_memory(layout);
  auto communicator = communicator_for(layout, *product);
  assembled_->exchange(std::move(product), std::move(communicator));
  piece_ = layout.own_piece(group_.rank());
  iteration_->lay_out(x);
  std::tie(report_.generation_s, report_.conversion_s) = set_up;
}

/// The product of a block that is generated, and in memory as a whole.
std::unique_ptr<BlockProduct> BenchmarkRun::make_in_memory(const comm::BlockLayout& layout) {
  const auto& problem = options_.problem;
  agree_on(group_, [&] { check_memory(*source_, configuration(), layout, *report_.environment); });
  progress_.say(fmt::format("generating class {} (n {}) on grid {}", problem.class_name, problem.n,
                            configuration().grid.name()));
  group_.barrier();
  const Stopwatch stopwatch;
  auto [block, facts] = source_->build(layout, group_, configuration().thread_count);
  report_.generation_s = group_.maximum(stopwatch.seconds());
  report_.source_facts = facts;
  report_.nonzero_count = group_.sum(block.nonzero_count());
  progress_.say(fmt::format("{} nonzeros in {:.3f} s", report_.nonzero_count, report_.generation_s));
  if (!options_.export_mtx.empty() && assembled_ == nullptr) {
    const auto file = open_output(options_.export_mtx, group_);
    export_matrix_market(
        block, layout,
        fmt::format("NAS CG class {}: n {}, nonzer {}, rcond {}, shift {} (shift included)",
                    problem.class_name, problem.n, problem.nonzer, Problem::rcond, problem.shift),
        group_, file.get());
    progress_.say(fmt::format("wrote the matrix to {}", options_.export_mtx));
  }
  auto [product, conversion_s] = convert(std::move(block), layout);
  report_.conversion_s = conversion_s;
  const auto& kernel = product->kernel();
  report_.converted = kernel.converts || kernel.stores_half() || product->part_count() > 1;
  return std::move(product);
}

StreamedMatrix BenchmarkRun::streamed_matrix(const comm::BlockLayout& layout) const {
  const auto& problem = options_.problem;
  return {.source = *source_,
          .hash = hash_of_text(fmt::format("npb n {} nonzer {} rcond {} shift {}", problem.n, problem.nonzer,
                                           Problem::rcond, problem.shift)),
          .vector_bytes = plan_memory(*source_, configuration(), layout, group_.rank()).vector_bytes};
}

std::optional<StreamPlan> BenchmarkRun::plan_streaming(const comm::BlockLayout& layout) {
  if (!streaming_) return {};
  predict_phases();
  double multiply_s = 0.0;
  if (report_.prediction)
    multiply_s =
        report_.prediction->phase_s(Phase::multiply) / (products_per_outer_step * options_.problem.niter);
  return streaming_->plan(streamed_matrix(layout), layout, group_.maximum(multiply_s));
}

/// The product of a block on local storage.
std::unique_ptr<BlockProduct> BenchmarkRun::stream(const comm::BlockLayout& layout) {
  auto product = streaming_->make_product(streamed_matrix(layout), layout);
  report_.generation_s = streaming_->generation_s();
  report_.source_facts = streaming_->figures().source;
  report_.nonzero_count = group_.sum(streaming_->figures().nonzero_count);
  report_.converted = true;
  // The storage is a limit of this run: a product waits for its panels.
  const double rate = streaming_->storage_bytes_per_s();
  const double reading_s = group_.maximum(rate > 0.0 ? mine_.streamed_bytes_per_product / rate : 0.0);
  if (!report_.prediction) return product;
  auto& multiply_s = report_.prediction->phases[index_of(Phase::multiply)];
  multiply_s = std::max(multiply_s, reading_s * products_per_outer_step * options_.problem.niter);
  return product;
}

/// One line for an old or poor profile or calibration that this run uses.
void BenchmarkRun::remark_on_measurements() {
  const auto now = date_now();
  const auto& choice = report_.kernel_choice;
  const bool uses_profile =
      choice.kernel_origin == ChoiceOrigin::profile || choice.tuning_origin == ChoiceOrigin::profile;
  if (uses_profile) {
    const auto remark =
        remark_on(report_.profile.processor.record_for(source_->facts().key, configuration()), now);
    if (!remark.empty())
      report_.warnings.push_back(fmt::format("the profile is {}; cg2d tune renews it", remark));
  }
  if (!report_.prediction) return;
  if (const auto remark = remark_on(machine_->measured, now); !remark.empty()) {
    report_.warnings.push_back(
        fmt::format("the calibration is {}; cg2d model --calibrate renews it", remark));
  }
}

}  // namespace cg2d
