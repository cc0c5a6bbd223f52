#include "cg/calibration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <utility>

#include "cg/errors.hpp"
#include "cg/grid_solver.hpp"
#include "cg/line_fit.hpp"
#include "cg/matrix_source.hpp"
#include "cg/performance_model.hpp"
#include "cg/sample.hpp"
#include "cg/stopwatch.hpp"
#include "cg/tune_measure.hpp"
#include "cg/vector_ops.hpp"

namespace cg2d {
namespace {

/// Seconds of one call, the median of several turns, of the slowest rank.
double seconds_of(comm::RankGroup& group, const std::function<void()>& work) {
  const std::array works{work};
  return race(group, works, {.fewest_rounds = 7, .budget_s = 0.05}).front();
}

comm::BlockLayout one_column(std::int64_t piece_size, int ranks) {
  return comm::BlockLayout::even(piece_size * ranks, {.columns = 1, .rows = ranks});
}
comm::BlockLayout one_row(std::int64_t piece_size, int ranks) {
  return comm::BlockLayout::even(piece_size * ranks, {.columns = ranks, .rows = 1});
}

/// Seconds of a collection as those of one of its messages, which go one after the other.
LinePoint message_point(const comm::BlockLayout& layout, bool is_symmetric, double seconds) {
  // On a machine where only messages take time they are counted, where only bytes do, these.
  const auto count = [&](double start_up_s, double bytes_per_s) {
    MachineDescription machine;
    machine.network = {.start_up_s = start_up_s, .bytes_per_s = bytes_per_s};
    return communication_costs(machine, layout,
                               {.sum_form = comm::SumForm::reduce_scatter, .is_symmetric = is_symmetric})
        .collection_s;
  };
  const double messages = count(1.0, std::numeric_limits<double>::infinity());
  return {.x = count(0.0, 1.0) / messages, .y = seconds / messages};
}

/// Collections of some bytes to some kilobytes.
std::vector<LinePoint> measure_short_messages(comm::RankGroup& group) {
  constexpr std::array<std::int64_t, 4> piece_sizes{1, 16, 128, 1024};
  std::vector<LinePoint> points;
  for (const auto piece_size : piece_sizes) {
    const auto layout = one_column(piece_size, group.size());
    const auto gathering = comm::default_transport().make(group, layout, {});
    points.push_back(message_point(layout, false, seconds_of(group, [&] { gathering->collect(); })));
  }
  return points;
}

/// What a sum takes longer than a collection of as many bytes, per element: the median over blocks of several
/// sizes, since small ones differ by the noise of their messages and large ones by that of the memory.
double measure_addition(comm::RankGroup& group) {
  constexpr std::array<std::int64_t, 3> piece_sizes{4096, 16384, 65536};
  std::vector<double> seconds;
  for (const auto piece_size : piece_sizes) {
    const auto gathering = comm::default_transport().make(group, one_column(piece_size, group.size()), {});
    const auto summing = comm::default_transport().make(group, one_row(piece_size, group.size()), {});
    const std::array<std::function<void()>, 2> works{[&] { gathering->collect(); }, [&] { summing->sum(); }};
    const auto times = race(group, works, {.most_rounds = 99, .budget_s = 0.2});
    seconds.push_back(std::max(times[1] - times[0], 0.0) /
                      static_cast<double>(piece_size * (group.size() - 1)));
  }
  return sample_of(seconds).median;
}

/// Seconds of one outer step, mean over the ranks.
struct StepTimes {
  PhaseSeconds phases{};
  PhaseSeconds waiting{};

  [[nodiscard]] double total_s() const { return std::accumulate(phases.begin(), phases.end(), 0.0); }
};

std::vector<StepTimes> times_of_steps(comm::RankGroup& group, const std::vector<PhaseRecords>& my_steps) {
  const double divisor = CycleCalibration().ticks_per_second() * group.size();
  std::vector<StepTimes> times(my_steps.size());
  for (const auto& steps : group.gather_all(std::span<const PhaseRecords>(my_steps))) {
    for (std::size_t k = 0; k < times.size(); ++k) {
      for (std::size_t phase = 0; phase < phase_count; ++phase) {
        times[k].phases[phase] += static_cast<double>(steps[k][phase].clocks) / divisor;
        times[k].waiting[phase] += static_cast<double>(steps[k][phase].waited_clocks) / divisor;
      }
    }
  }
  return times;
}

/// Mean of the steps without the slowest tenth: a run takes the mean of its steps, but what else happens on
/// the machine once in a while is no part of it.
StepTimes typical_times(comm::RankGroup& group, const std::vector<PhaseRecords>& my_steps) {
  auto steps = times_of_steps(group, my_steps);
  std::ranges::sort(steps, {}, &StepTimes::total_s);
  constexpr std::size_t slow_part = 10;
  steps.resize(steps.size() - steps.size() / slow_part);
  StepTimes times;
  for (const auto& step : steps) {
    for (std::size_t phase = 0; phase < phase_count; ++phase) {
      times.phases[phase] += step.phases[phase] / static_cast<double>(steps.size());
      times.waiting[phase] += step.waiting[phase] / static_cast<double>(steps.size());
    }
  }
  return times;
}

/// The benchmark on one grid.
class MeasuredGrid {
 public:
  MeasuredGrid(comm::RankGroup& group, const GridSolverSetting& setting)
      : group_(group), solver_(GridSolver::make(group, setting)) {}

  /// One outer step, timed by phase. In front of a short one another one gets the caches back from the other
  /// grids.
  void take_turn() {
    constexpr double long_s = 0.03;
    if (step_s_ < long_s) static_cast<void>(solver_->outer_step());
    solver_->timer().reset();
    const Stopwatch watch;
    static_cast<void>(solver_->outer_step());
    step_s_ = group_.maximum(watch.seconds());
    steps_.push_back(solver_->timer().records());
  }
  [[nodiscard]] StepTimes times() const { return typical_times(group_, steps_); }
  /// Of one rank's block, whole; mean over the ranks. Collective.
  [[nodiscard]] double nonzeros() const {
    return static_cast<double>(group_.sum(solver_->nonzero_count())) / group_.size();
  }

 private:
  comm::RankGroup& group_;
  std::unique_ptr<GridSolver> solver_;
  std::vector<PhaseRecords> steps_;
  double step_s_ = 0.0;  // of the last one
};

/// In turns, so that a drift of the machine hits all grids alike.
void take_turns(comm::RankGroup& group, std::span<const std::unique_ptr<MeasuredGrid>> grids) {
  constexpr int fewest_rounds = 20;
  const double long_enough_s = 1.0 * static_cast<double>(grids.size());
  const Stopwatch watch;
  double spent_s = 0.0;
  for (int round = 0; round < fewest_rounds || spent_s < long_enough_s; ++round) {
    for (const auto& grid : grids) grid->take_turn();
    spent_s = group.maximum(watch.seconds());
  }
}

/// One problem on one grid, as it was measured.
struct MeasuredCase {
  Problem problem;
  comm::ProcessGrid grid;
  KernelChoice choice;
  StepTimes times;
  double nonzeros = 0.0;  // of one rank's block

  [[nodiscard]] double phase_s(Phase phase) const { return times.phases[static_cast<std::size_t>(phase)]; }
  [[nodiscard]] double waiting_s(Phase phase) const { return times.waiting[static_cast<std::size_t>(phase)]; }
  [[nodiscard]] comm::BlockLayout layout() const { return comm::BlockLayout::even(problem.n, grid); }
  [[nodiscard]] double piece() const { return static_cast<double>(problem.n) / grid.rank_count(); }
};

/// One problem on all grids of the ranks, each with the kernel that auto takes there.
void measure_problem(comm::RankGroup& group, const Problem& problem, const CalibrationSetting& setting,
                     const std::function<void(const std::string&)>& say, std::vector<MeasuredCase>& cases) {
  const auto first = cases.size();
  std::vector<std::unique_ptr<MeasuredGrid>> grids;
  for (const auto& grid : comm::factorizations(group.size())) {
    const auto choice = choose_kernel({},
                                      {.problem = problem,
                                       .grid = grid,
                                       .thread_count = setting.thread_count,
                                       .ranks_oversubscribed = setting.environment.ranks_oversubscribed},
                                      setting.profile);
    say(fmt::format("class {}, grid {}: {}", problem.class_name, grid.name(), choice.kernel.name));
    const auto source = npb_source();
    grids.push_back(
        std::make_unique<MeasuredGrid>(group, GridSolverSetting{.problem = problem,
                                                                .grid = grid,
                                                                .source = source,
                                                                .transport = comm::default_transport(),
                                                                .choice = choice,
                                                                .thread_count = setting.thread_count,
                                                                .times_phases = true}));
    cases.push_back({.problem = problem, .grid = grid, .choice = choice, .times = {}, .nonzeros = 0.0});
  }
  take_turns(group, grids);
  for (std::size_t k = 0; k < grids.size(); ++k) {
    cases[first + k].times = grids[k]->times();
    cases[first + k].nonzeros = grids[k]->nonzeros();
  }
}

/// Short messages by themselves; longer ones as the benchmark's collections take them, which find the data
/// where a CG step leaves it: hardly in a cache of the receiver.
NetworkCost network_from(std::vector<LinePoint> messages, double addition_s,
                         const std::vector<MeasuredCase>& cases) {
  for (const auto& measured : cases) {
    if (measured.grid.rows == 1) continue;
    messages.push_back(message_point(measured.layout(), measured.choice.kernel.is_symmetric,
                                     measured.phase_s(Phase::collection) / OuterStepCalls::products));
  }
  const auto line = fit_line(messages);
  constexpr double fastest_byte_s = 1e-12;  // where the slope is lost in the start-up
  return {.start_up_s = line.intercept,
          .bytes_per_s = 1.0 / std::max(line.slope, fastest_byte_s),
          .add_s_per_element = addition_s};
}

/// Network and calls of the machine are known: what is left of dot products and updates is their elements',
/// what is left of the messages is waiting.
BlockShapeCost shape_of(const MeasuredCase& measured, const MachineDescription& machine) {
  const bool is_symmetric = measured.choice.kernel.is_symmetric;
  const double dot_s = std::max(measured.phase_s(Phase::dot) - measured.waiting_s(Phase::dot), 0.0);
  const double one_dot_s = dot_s / OuterStepCalls::local_dots;
  const double one_update_s = measured.phase_s(Phase::vector_updates) / OuterStepCalls::updates(is_symmetric);
  const auto network = communication_costs(
      machine, measured.layout(), {.sum_form = comm::SumForm::reduce_scatter, .is_symmetric = is_symmetric});
  const double messages_s =
      OuterStepCalls::products * (network.collection_s + network.summation_s + network.shuffle_s) +
      OuterStepCalls::sums * network.dot_s + dot_s;
  const double measured_s = measured.phase_s(Phase::collection) + measured.phase_s(Phase::summation) +
                            measured.phase_s(Phase::shuffle) + measured.phase_s(Phase::dot);
  const double multiply_s = measured.phase_s(Phase::multiply);
  const auto n = static_cast<double>(measured.problem.n);
  return {
      .rows = n / measured.grid.rows,
      .columns = n / measured.grid.columns,
      .nonzeros = measured.nonzeros,
      .seconds_per_nonzero = multiply_s / OuterStepCalls::products / measured.nonzeros,
      .dot_s_per_element = std::max(one_dot_s - machine.vectors.dot_call_s, 0.0) / measured.piece(),
      .update_s_per_element = std::max(one_update_s - machine.vectors.update_call_s, 0.0) / measured.piece(),
      .waiting_share = std::max(measured_s - messages_s, 0.0) / multiply_s};
}

/// What one call of a vector operation takes beside its elements: one on a single element. And for products
/// that have no measured shapes, what elements take in all cases.
VectorCost vectors_from(comm::RankGroup& group, int thread_count, const std::vector<MeasuredCase>& cases,
                        const NetworkCost& network) {
  VectorOps vectors(thread_count);
  const std::vector<double> x(1, 1.0);
  std::vector<double> y(1, 1.0);
  MachineDescription calls;
  calls.network = network;
  calls.vectors.dot_call_s = seconds_of(group, [&] { y.front() = vectors.dot(x, x); });
  calls.vectors.update_call_s = seconds_of(group, [&] { vectors.add_scaled(0.5, x, y); });
  std::vector<LinePoint> dots;
  std::vector<LinePoint> updates;
  for (const auto& measured : cases) {
    const auto shape = shape_of(measured, calls);
    dots.push_back({.x = measured.piece(), .y = shape.dot_s_per_element * measured.piece()});
    updates.push_back({.x = measured.piece(), .y = shape.update_s_per_element * measured.piece()});
  }
  return {.dot_s_per_element = fit_line(dots).slope,
          .dot_call_s = calls.vectors.dot_call_s,
          .update_s_per_element = fit_line(updates).slope,
          .update_call_s = calls.vectors.update_call_s};
}

/// Every kernel that was measured, with its shapes and its curve over the row length. Collective.
std::vector<KernelCost> kernels_from(comm::RankGroup& group, int thread_count,
                                     const std::vector<MeasuredCase>& cases,
                                     const MachineDescription& machine) {
  std::vector<KernelCost> kernels;
  for (const auto& measured : cases) {
    const auto& kernel = measured.choice.kernel;
    auto found = std::ranges::find(kernels, kernel.name, &KernelCost::name);
    if (found == kernels.end()) {
      kernels.push_back(
          {.name = std::string(kernel.name),
           .is_symmetric = kernel.is_symmetric,
           .row_lengths = measure_row_lengths_of(group, kernel, measured.choice.tuning, thread_count)});
      found = kernels.end() - 1;
    }
    found->shapes.push_back(shape_of(measured, machine));
  }
  return kernels;
}

}  // namespace

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
  std::vector<MeasuredCase> cases;
  for (const auto& problem : setting.problems) measure_problem(group, problem, setting, say, cases);
  say("messages");
  const auto addition_s = measure_addition(group);
  machine.network = network_from(measure_short_messages(group), addition_s, cases);
  machine.vectors = vectors_from(group, setting.thread_count, cases, machine.network);
  say("row lengths");
  machine.kernels = kernels_from(group, setting.thread_count, cases, machine);
  return machine;
}

}  // namespace cg2d
