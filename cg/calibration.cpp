#include "cg/calibration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "cg/agreement.hpp"
#include "cg/block_operator.hpp"
#include "cg/matrix_source.hpp"
#include "cg/performance_model.hpp"
#include "cg/solver.hpp"
#include "cg/tune_measure.hpp"
#include "cg/vector_ops.hpp"

namespace cg2d {
namespace {

/// Seconds of one call, the median of several turns, of the slowest rank.
double seconds_of(comm::RankGroup& group, const std::function<void()>& work) {
  const std::array works{work};
  return race(group, works, {.fewest_rounds = 7, .budget_s = 0.05}).front();
}

/// What messages and additions take, from blocks of 8 bytes to some megabytes.
NetworkCost measure_network(comm::RankGroup& group) {
  constexpr std::array<std::int64_t, 8> piece_sizes{1, 16, 128, 1024, 4096, 16384, 65536, 262144};
  const int ranks = group.size();
  std::vector<LinePoint> collections;
  std::vector<LinePoint> additions;
  for (const auto piece_size : piece_sizes) {
    const auto n = piece_size * ranks;
    const comm::ProcessGrid column{.columns = 1, .rows = ranks};
    const comm::ProcessGrid row{.columns = ranks, .rows = 1};
    const auto gathering = comm::default_transport().make(group, comm::BlockLayout::even(n, column), {});
    const auto summing = comm::default_transport().make(group, comm::BlockLayout::even(n, row), {});
    const double collect_s = seconds_of(group, [&] { gathering->collect(); });
    const double sum_s = seconds_of(group, [&] { summing->sum(); });
    const auto layout = comm::BlockLayout::even(n, column);
    const auto steps = static_cast<double>(comm::collection_schedule(layout, 0).steps.size());
    const auto elements = static_cast<double>(n - piece_size);
    collections.push_back({.x = elements * sizeof(double) / steps, .y = collect_s / steps});
    additions.push_back({.x = elements, .y = std::max(sum_s - collect_s, 0.0)});
  }
  const auto messages = fit_line(collections);
  // Small sums differ by the noise of their messages; the largest one tells what an addition takes.
  const auto& largest = additions.back();
  constexpr double fastest_byte_s = 1e-12;  // where the slope is lost in the start-up
  return {.start_up_s = messages.intercept,
          .bytes_per_s = 1.0 / std::max(messages.slope, fastest_byte_s),
          .add_s_per_element = largest.y / largest.x};
}

/// Seconds of one outer step.
struct OuterStepTimes {
  PhaseSeconds phases{};
  PhaseSeconds waiting{};
  double nonzeros = 0.0;  ///< of one rank's block, whole
};

/// Per phase the median of the steps, for what else runs on the machine makes some of them slow; each is the
/// mean over the ranks.
OuterStepTimes typical_times(comm::RankGroup& group, const std::vector<PhaseRecords>& my_steps,
                             std::int64_t my_nonzeros) {
  const auto of_ranks = group.gather_all(std::span<const PhaseRecords>(my_steps));
  const double divisor = CycleCalibration().ticks_per_second() * group.size();
  const auto median = [&](std::size_t phase, std::uint64_t PhaseRecord::*clocks) {
    std::vector<double> seconds(my_steps.size(), 0.0);
    for (const auto& steps : of_ranks) {
      for (std::size_t k = 0; k < seconds.size(); ++k) {
        seconds[k] += static_cast<double>(steps[k][phase].*clocks) / divisor;
      }
    }
    const auto middle = seconds.begin() + std::ssize(seconds) / 2;
    std::nth_element(seconds.begin(), middle, seconds.end());
    return *middle;
  };
  OuterStepTimes times;
  for (std::size_t phase = 0; phase < phase_count; ++phase) {
    times.phases[phase] = median(phase, &PhaseRecord::clocks);
    times.waiting[phase] = median(phase, &PhaseRecord::waited_clocks);
  }
  times.nonzeros = static_cast<double>(group.sum(my_nonzeros)) / group.size();
  return times;
}

/// The benchmark on one grid, with the kernel that auto takes.
class MeasuredGrid {
 public:
  MeasuredGrid(comm::RankGroup& group, const KernelChoice& choice, const Problem& problem,
               const comm::ProcessGrid& grid, int thread_count)
      : group_(group), shift_(problem.shift) {
    const auto layout = comm::BlockLayout::even(problem.n, grid);
    auto block = npb_source().build(problem, layout, group, thread_count).block;
    nonzero_count_ = block.nonzero_count();
    agree_on(group, [&] {
      product_ = make_block_product(choice.kernel, std::move(block), layout, group.rank(),
                                    {.thread_count = thread_count, .tuning = choice.tuning});
    });
    communicator_ = comm::default_transport().make(group, layout, {.mirrored = product_->is_symmetric()});
    timer_.emplace(true, *communicator_);
    operator_.emplace(*communicator_, *product_, *timer_, thread_count);
    solver_.emplace(*operator_, *communicator_, *timer_, thread_count);
  }

  /// One outer step, timed by phase; the one before it gets the caches back from the other grids.
  void take_turn() {
    static_cast<void>(solver_->outer_step(shift_, false));
    timer_->reset();
    static_cast<void>(solver_->outer_step(shift_, false));
    steps_.push_back(timer_->records());
  }
  [[nodiscard]] OuterStepTimes times() const { return typical_times(group_, steps_, nonzero_count_); }

 private:
  comm::RankGroup& group_;
  double shift_;
  std::int64_t nonzero_count_ = 0;
  std::unique_ptr<BlockProduct> product_;
  std::unique_ptr<comm::Communicator> communicator_;
  std::optional<PhaseTimer> timer_;
  std::optional<BlockOperator> operator_;
  std::optional<Solver> solver_;
  std::vector<PhaseRecords> steps_;
};

/// In turns, so that a drift of the machine hits all grids alike.
void take_turns(comm::RankGroup& group, std::span<const std::unique_ptr<MeasuredGrid>> grids) {
  constexpr int fewest_rounds = 5;
  const double long_enough_s = 1.0 * static_cast<double>(grids.size());
  const auto start = std::chrono::steady_clock::now();
  double spent_s = 0.0;
  for (int round = 0; round < fewest_rounds || spent_s < long_enough_s; ++round) {
    for (const auto& grid : grids) grid->take_turn();
    spent_s = group.maximum(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
}

/// What one call of a vector operation takes beside its elements: one on a single element.
VectorCost measure_vector_calls(comm::RankGroup& group, int thread_count) {
  VectorOps vectors(thread_count);
  const std::vector<double> x(1, 1.0);
  std::vector<double> y(1, 1.0);
  return {.dot_call_s = seconds_of(group, [&] { y.front() = vectors.dot(x, x); }),
          .update_call_s = seconds_of(group, [&] { vectors.add_scaled(0.5, x, y); })};
}

/// Everything that was measured of the benchmark itself.
class Measurements {
 public:
  /// Network and calls of the machine have been measured.
  explicit Measurements(const MachineDescription& machine) : machine_(machine) {}

  void add(const KernelChoice& choice, const Problem& problem, const comm::ProcessGrid& grid,
           const OuterStepTimes& times) {
    const auto n = static_cast<double>(problem.n);
    const double piece = n / grid.rank_count();
    const bool is_symmetric = choice.kernel.is_symmetric;
    const auto phase = [&](Phase which) { return times.phases[static_cast<std::size_t>(which)]; };
    const double dot_s =
        std::max(phase(Phase::dot) - times.waiting[static_cast<std::size_t>(Phase::dot)], 0.0);
    const double one_dot_s = dot_s / OuterStepCalls::local_dots;
    const double one_update_s = phase(Phase::vector_updates) / OuterStepCalls::updates(is_symmetric);

    const auto network =
        communication_costs(machine_, comm::BlockLayout::even(problem.n, grid),
                            {.sum_form = comm::SumForm::reduce_scatter, .is_symmetric = is_symmetric});
    const double messages_s =
        OuterStepCalls::products * (network.collection_s + network.summation_s + network.shuffle_s) +
        OuterStepCalls::sums * network.dot_s + dot_s;
    const double measured_s =
        phase(Phase::collection) + phase(Phase::summation) + phase(Phase::shuffle) + phase(Phase::dot);
    const double multiply_s = phase(Phase::multiply);
    const BlockShapeCost shape{
        .rows = n / grid.rows,
        .columns = n / grid.columns,
        .nonzeros = times.nonzeros,
        .seconds_per_nonzero = multiply_s / OuterStepCalls::products / times.nonzeros,
        .dot_s_per_element = std::max(one_dot_s - machine_.vectors.dot_call_s, 0.0) / piece,
        .update_s_per_element = std::max(one_update_s - machine_.vectors.update_call_s, 0.0) / piece,
        .waiting_share = std::max(measured_s - messages_s, 0.0) / multiply_s};
    dots_.push_back({.x = piece, .y = shape.dot_s_per_element * piece});
    updates_.push_back({.x = piece, .y = shape.update_s_per_element * piece});
    kernel_of(choice).shapes.push_back(shape);
  }

  /// For products that have no measured shapes.
  [[nodiscard]] double dot_s_per_element() const { return fit_line(dots_).slope; }
  [[nodiscard]] double update_s_per_element() const { return fit_line(updates_).slope; }

  /// With their curves over the row length. Collective.
  [[nodiscard]] std::vector<KernelCost> kernels(comm::RankGroup& group, int thread_count) const {
    auto kernels = kernels_;
    for (std::size_t k = 0; k < kernels.size(); ++k) {
      kernels[k].row_lengths =
          measure_row_lengths_of(group, choices_[k].kernel, choices_[k].tuning, thread_count);
    }
    return kernels;
  }

 private:
  KernelCost& kernel_of(const KernelChoice& choice) {
    const auto found = std::ranges::find(kernels_, choice.kernel.name, &KernelCost::name);
    if (found != kernels_.end()) return *found;
    choices_.push_back(choice);
    return kernels_.emplace_back(
        KernelCost{.name = std::string(choice.kernel.name), .is_symmetric = choice.kernel.is_symmetric});
  }

  const MachineDescription& machine_;
  std::vector<LinePoint> dots_;
  std::vector<LinePoint> updates_;
  std::vector<KernelCost> kernels_;
  std::vector<KernelChoice> choices_;  // kernel by kernel the first one, for its settings
};

/// One problem on all grids of the ranks, each with the kernel that auto takes there.
void measure_problem(comm::RankGroup& group, const Problem& problem, const CalibrationSetting& setting,
                     Measurements& measurements, const std::function<void(const std::string&)>& say) {
  const auto grids = comm::factorizations(group.size());
  std::vector<KernelChoice> choices;
  std::vector<std::unique_ptr<MeasuredGrid>> measured;
  for (const auto& grid : grids) {
    choices.push_back(choose_kernel({},
                                    {.problem = problem,
                                     .grid = grid,
                                     .thread_count = setting.thread_count,
                                     .ranks_oversubscribed = setting.environment.ranks_oversubscribed},
                                    setting.profile));
    say(fmt::format("class {}, grid {}: {}", problem.class_name, grid.name(), choices.back().kernel.name));
    measured.push_back(
        std::make_unique<MeasuredGrid>(group, choices.back(), problem, grid, setting.thread_count));
  }
  take_turns(group, measured);
  for (std::size_t k = 0; k < grids.size(); ++k)
    measurements.add(choices[k], problem, grids[k], measured[k]->times());
}

/// Solves w00 a + w01 b = r0, w01 a + w11 b = r1 with weights 1 / y^2; nothing where the points are all at
/// one x.
std::pair<double, double> weighted_solution(const std::vector<LinePoint>& points) {
  double ones = 0.0;
  double x_sum = 0.0;
  double xx_sum = 0.0;
  double y_sum = 0.0;
  double xy_sum = 0.0;
  for (const auto& point : points) {
    const double weight = 1.0 / (point.y * point.y);
    ones += weight;
    x_sum += weight * point.x;
    xx_sum += weight * point.x * point.x;
    y_sum += weight * point.y;
    xy_sum += weight * point.x * point.y;
  }
  const double determinant = ones * xx_sum - x_sum * x_sum;
  constexpr double all_at_one_x = 1e-12;
  if (determinant <= all_at_one_x * ones * xx_sum) return {0.0, xy_sum / xx_sum};
  return {(y_sum * xx_sum - xy_sum * x_sum) / determinant, (ones * xy_sum - x_sum * y_sum) / determinant};
}

}  // namespace

Line fit_line(const std::vector<LinePoint>& all_points) {
  auto points = all_points;
  std::erase_if(points, [](const auto& point) { return !(point.y > 0.0) || !(point.x > 0.0); });
  if (points.empty()) return {};
  const auto [intercept, slope] = weighted_solution(points);
  if (intercept >= 0.0 && slope >= 0.0) return {.intercept = intercept, .slope = slope};
  // The nearest line that is allowed goes through the origin, or is level.
  double squares = 0.0;
  double linear = 0.0;
  for (const auto& point : points) {
    const double share = slope < 0.0 ? 1.0 / point.y : point.x / point.y;
    squares += share * share;
    linear += share;
  }
  return slope < 0.0 ? Line{.intercept = linear / squares, .slope = 0.0}
                     : Line{.intercept = 0.0, .slope = linear / squares};
}

MachineDescription calibrate(comm::RankGroup& group, const CalibrationSetting& setting,
                             const std::function<void(const std::string&)>& say) {
  if (group.size() < 2) {
    throw InputError("--calibrate measures messages: start it on at least 2 ranks, by mpiexec -n 2");
  }
  MachineDescription machine{.name = setting.environment.nodes.front().processor_with_caches(),
                             .description = fmt::format("calibrated on {} ranks", group.size()),
                             .sources = {"cg2d model --calibrate"},
                             .clock_hz = CycleCalibration().ticks_per_second(),
                             .network = {},
                             .vectors = {},
                             .node = {},
                             .default_kernel = {},
                             .kernels = {},
                             .calibrated_ranks = group.size(),
                             .calibrated_threads = setting.thread_count};
  say("messages");
  machine.network = measure_network(group);
  machine.vectors = measure_vector_calls(group, setting.thread_count);
  Measurements measurements(machine);
  for (const auto& problem : setting.problems) measure_problem(group, problem, setting, measurements, say);
  say("row lengths");
  machine.vectors.dot_s_per_element = measurements.dot_s_per_element();
  machine.vectors.update_s_per_element = measurements.update_s_per_element();
  machine.kernels = measurements.kernels(group, setting.thread_count);
  return machine;
}

}  // namespace cg2d
