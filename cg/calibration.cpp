#include "cg/calibration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <memory>
#include <utility>

#include "cg/agreement.hpp"
#include "cg/block_operator.hpp"
#include "cg/matrix_source.hpp"
#include "cg/performance_model.hpp"
#include "cg/solver.hpp"
#include "cg/tune_measure.hpp"

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

/// Outer steps of the benchmark itself, timed by phase.
OuterStepTimes measure_outer_steps(comm::RankGroup& group, const KernelChoice& choice, const Problem& problem,
                                   const comm::ProcessGrid& grid, int thread_count) {
  const auto layout = comm::BlockLayout::even(problem.n, grid);
  auto block = npb_source().build(problem, layout, group, thread_count).block;
  const auto nonzeros = block.nonzero_count();
  std::unique_ptr<BlockProduct> product;
  agree_on(group, [&] {
    product = make_block_product(choice.kernel, std::move(block), layout, group.rank(),
                                 {.thread_count = thread_count, .tuning = choice.tuning});
  });
  const auto communicator =
      comm::default_transport().make(group, layout, {.mirrored = product->is_symmetric()});
  PhaseTimer timer(true, *communicator);
  BlockOperator matrix(*communicator, *product, timer, thread_count);
  Solver solver(matrix, *communicator, timer, thread_count);
  static_cast<void>(solver.outer_step(problem.shift, false));

  constexpr double long_enough_s = 0.5;
  constexpr std::size_t fewest_steps = 5;
  const auto start = std::chrono::steady_clock::now();
  std::vector<PhaseRecords> steps;
  bool goes_on = true;
  while (goes_on) {
    timer.reset();
    static_cast<void>(solver.outer_step(problem.shift, false));
    steps.push_back(timer.records());
    const double spent_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    goes_on = group.maximum(steps.size() < fewest_steps || spent_s < long_enough_s ? 1.0 : 0.0) > 0.0;
  }
  return typical_times(group, steps, nonzeros);
}

/// Everything that was measured of the benchmark itself.
class Measurements {
 public:
  void add(const KernelChoice& choice, const Problem& problem, const comm::ProcessGrid& grid,
           const OuterStepTimes& times, const MachineDescription& machine) {
    const auto n = static_cast<double>(problem.n);
    const bool is_symmetric = choice.kernel.is_symmetric;
    const double piece = n / grid.rank_count();
    const auto phase = [&](Phase which) { return times.phases[static_cast<std::size_t>(which)]; };
    const double dot_s = phase(Phase::dot) - times.waiting[static_cast<std::size_t>(Phase::dot)];
    dots_.push_back({.x = piece, .y = std::max(dot_s, 0.0) / OuterStepCalls::local_dots});
    updates_.push_back(
        {.x = piece, .y = phase(Phase::vector_updates) / OuterStepCalls::updates(is_symmetric)});

    const auto layout = comm::BlockLayout::even(problem.n, grid);
    const auto network = communication_costs(
        machine, layout, {.sum_form = comm::SumForm::reduce_scatter, .is_symmetric = is_symmetric});
    const double messages_s =
        OuterStepCalls::products * (network.collection_s + network.summation_s + network.shuffle_s) +
        OuterStepCalls::sums * network.dot_s + std::max(dot_s, 0.0);
    const double measured_s =
        phase(Phase::collection) + phase(Phase::summation) + phase(Phase::shuffle) + phase(Phase::dot);
    const double multiply_s = phase(Phase::multiply);
    kernel_of(choice.kernel)
        .shapes.push_back({.rows = n / grid.rows,
                           .columns = n / grid.columns,
                           .nonzeros = times.nonzeros,
                           .seconds_per_nonzero = multiply_s / OuterStepCalls::products / times.nonzeros,
                           .waiting_share = std::max(measured_s - messages_s, 0.0) / multiply_s});
  }

  /// The start of a dot product is in its messages already.
  [[nodiscard]] VectorCost vectors() const {
    const auto updates = fit_line(updates_);
    return {.dot_s_per_element = fit_line(dots_).slope,
            .dot_call_s = 0.0,
            .update_s_per_element = updates.slope,
            .update_call_s = updates.intercept};
  }
  [[nodiscard]] std::vector<KernelCost> kernels() const { return kernels_; }

 private:
  KernelCost& kernel_of(const KernelInfo& kernel) {
    const auto found = std::ranges::find(kernels_, kernel.name, &KernelCost::name);
    if (found != kernels_.end()) return *found;
    return kernels_.emplace_back(KernelCost{
        .name = std::string(kernel.name), .is_symmetric = kernel.is_symmetric, .loop = {}, .shapes = {}});
  }

  std::vector<LinePoint> dots_;
  std::vector<LinePoint> updates_;
  std::vector<KernelCost> kernels_;
};

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
  Measurements measurements;
  for (const auto& problem : setting.problems) {
    for (const auto& grid : comm::factorizations(group.size())) {
      const KernelTask task{.problem = problem,
                            .grid = grid,
                            .thread_count = setting.thread_count,
                            .ranks_oversubscribed = setting.environment.ranks_oversubscribed};
      const auto choice = choose_kernel({}, task, setting.profile);
      say(fmt::format("class {}, grid {}: {}", problem.class_name, grid.name(), choice.kernel.name));
      const auto times = measure_outer_steps(group, choice, problem, grid, setting.thread_count);
      measurements.add(choice, problem, grid, times, machine);
    }
  }
  machine.vectors = measurements.vectors();
  machine.kernels = measurements.kernels();
  return machine;
}

}  // namespace cg2d
