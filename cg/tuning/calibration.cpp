#include "cg/tuning/tune_measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <numeric>
#include <set>
#include <string_view>

#include "cg/base/agreement.hpp"
#include "cg/base/errors.hpp"
#include "cg/base/sample.hpp"
#include "cg/base/values.hpp"
#include "cg/machine/operation_times.hpp"
#include "cg/machine/performance_model.hpp"
#include "cg/solver/communicator_setup.hpp"
#include "cg/solver/vector_ops.hpp"
#include "cg/tuning/run_plan.hpp"
#include "cg/tuning/trial.hpp"

namespace cg2d {
namespace {

/// Seconds of one call, the median of several turns, of the slowest rank.
double seconds_of(comm::RankGroup& group, const std::function<void()>& work) {
  const std::array works{work};
  return race(group, works, {.fewest_rounds = 7, .budget_s = 0.05}).medians().front();
}

comm::BlockLayout one_column(std::int64_t piece_size, int ranks) {
  return equal_pieces(piece_size * ranks, {.columns = 1, .rows = ranks});
}

/// One message of a collection, whose messages go one after the other: its bytes and its share of the
/// seconds.
LinePoint message_point(const comm::BlockLayout& layout, const comm::CommunicatorOptions& options,
                        double seconds) {
  // A machine where only start-ups take time counts messages, one where only bytes do counts bytes.
  const auto count = [&](double start_up_s, double bytes_per_s) {
    MachineDescription machine;
    machine.network = {.start_up_s = start_up_s, .bytes_per_s = bytes_per_s};
    return communication_costs(machine, layout, options).collection_s;
  };
  const double messages = count(1.0, std::numeric_limits<double>::infinity());
  return {.x = count(0.0, 1.0) / messages, .y = seconds / messages};
}

using Transports = std::span<const comm::TransportRow* const>;

using TimedLayout = std::pair<comm::Operation, comm::BlockLayout>;

/// Median seconds of one call of each operation by each transport: [transport][operation].
std::vector<std::vector<double>> medians_of(comm::RankGroup& group, Transports transports,
                                            const std::vector<TimedLayout>& timed, double budget_s) {
  std::vector<TimedOperation> operations;
  for (const auto* transport : transports) {
    for (const auto& [operation, layout] : timed)
      operations.push_back({.transport = *transport, .operation = operation, .layout = layout});
  }
  const RaceLimits limits{.fewest_rounds = 7,
                          .most_rounds = 99,
                          .budget_s = budget_s * static_cast<double>(operations.size()),
                          .hopeless_factor = std::numeric_limits<double>::infinity()};
  std::vector<std::vector<double>> medians(transports.size());
  std::size_t k = 0;
  for (const auto& seconds : time_operations(group, operations, limits))
    medians[k++ / timed.size()].push_back(seconds.median);
  return medians;
}

/// Messages of collections of some bytes to some kilobytes, for each transport.
std::vector<std::vector<LinePoint>> measure_short_messages(comm::RankGroup& group, Transports transports) {
  std::vector<std::vector<LinePoint>> points(transports.size());
  for (const std::int64_t piece_size : {1, 16, 128, 1024}) {
    const auto layout = one_column(piece_size, group.size());
    const auto seconds = medians_of(group, transports, {{comm::Operation::collect, layout}}, 0.05);
    for (std::size_t k = 0; k < seconds.size(); ++k)
      points[k].push_back(message_point(layout, {}, seconds[k].front()));
  }
  return points;
}

/// The time of a sum beyond that of a collection of as many bytes, per element, for each transport, with blocks of several sizes: small ones
/// differ by the noise of their messages and large ones by that of the memory.
std::vector<std::vector<double>> measure_additions(comm::RankGroup& group, Transports transports) {
  std::vector<std::vector<double>> seconds(transports.size());
  for (const std::int64_t piece_size : {4096, 16384, 65536}) {
    const auto times =
        medians_of(group, transports,
                   {{comm::Operation::collect, one_column(piece_size, group.size())},
                    {comm::Operation::sum,
                     equal_pieces(piece_size * group.size(), {.columns = group.size(), .rows = 1})}},
                   0.1);
    for (std::size_t k = 0; k < transports.size(); ++k) {
      seconds[k].push_back(std::max(times[k][1] - times[k][0], 0.0) /
                           static_cast<double>(piece_size * (group.size() - 1)));
    }
  }
  return seconds;
}

/// Seconds of one outer step, mean over the ranks.
struct StepTimes {
  PhaseSeconds phases{};
  double dot_waiting_s = 0.0;  // part of the phase dot
  double spread = 0.0;         // spread of the totals, by typical_times()

  [[nodiscard]] double total_s() const { return std::accumulate(phases.begin(), phases.end(), 0.0); }
};

/// Mean of the steps without the slowest tenth: a run takes the mean of its steps, but the other things that
/// happen on a machine once in a while are no part of it.
StepTimes typical_times(comm::RankGroup& group, const std::vector<PhaseRecords>& my_steps) {
  const double divisor = CycleCalibration().ticks_per_second() * group.size();
  std::vector<StepTimes> steps(my_steps.size());
  for (const auto& records : group.gather_all(std::span<const PhaseRecords>(my_steps))) {
    for (std::size_t k = 0; k < steps.size(); ++k) {
      for (std::size_t phase = 0; phase < benchmark_phase_count; ++phase)
        steps[k].phases[phase] += static_cast<double>(records[k][phase].clocks) / divisor;
      steps[k].dot_waiting_s += static_cast<double>(records[k][index_of(Phase::dot)].waited_clocks) / divisor;
    }
  }
  std::vector<double> totals;
  std::ranges::transform(steps, std::back_inserter(totals), &StepTimes::total_s);
  std::ranges::sort(steps, {}, &StepTimes::total_s);
  constexpr std::size_t slow_part = 10;
  steps.resize(steps.size() - steps.size() / slow_part);
  StepTimes times{.spread = spread_of_repeats(std::move(totals))};
  const auto count = static_cast<double>(steps.size());
  for (const auto& step : steps) {
    for (std::size_t phase = 0; phase < benchmark_phase_count; ++phase)
      times.phases[phase] += step.phases[phase] / count;
    times.dot_waiting_s += step.dot_waiting_s / count;
  }
  return times;
}

/// One matrix in one configuration, with the kernel that is chosen there, and how it was measured.
struct MeasuredCase {
  const MatrixSource* source = nullptr;
  Configuration configuration{};
  ChosenKernel chosen{};
  comm::BlockLayout layout;
  TriedBlock block{};  // while it is measured, and its iteration
  std::unique_ptr<NpbIteration> iteration{};
  std::vector<PhaseRecords> steps{};
  double step_s = 0.0;  // seconds of the last step
  StepTimes times{};
  double nonzeros = 0.0;  // nonzeros of one rank's block, whole; mean over the ranks

  [[nodiscard]] const comm::ProcessGrid& grid() const { return configuration.grid; }
  [[nodiscard]] const comm::TransportRow* transport() const {
    return comm::find_transport(configuration.transport);
  }
  [[nodiscard]] bool is_symmetric() const { return chosen.kernel->stores_half(); }
  [[nodiscard]] comm::CommunicatorOptions options() const {
    return communicator_options(configuration, is_symmetric());
  }
  [[nodiscard]] double phase_s(Phase phase) const { return times.phases[index_of(phase)]; }
  [[nodiscard]] double order() const { return static_cast<double>(source->facts().key.order); }
  [[nodiscard]] double piece() const { return order() / grid().rank_count(); }
};

constexpr int fewest_turns = 20;
constexpr double shortest_turns_s = 1.0;  // all turns of a grid

/// One matrix in several configurations, whose CG steps are timed in turns: a drift of the machine hits all alike.
using MatrixCases = std::vector<MeasuredCase>;

/// All matrices by the default transport on all grids, then by the others on the grid that collects most: these are several, so only
/// matrices that do not take long, those of class A's order and smaller, or the smallest.
std::vector<MatrixCases> matrix_cases(const CalibrationConfig& config, Transports transports,
                                      int rank_count) {
  constexpr std::int64_t largest_order = 14'000;
  const auto add = [&](MatrixCases& cases, const auto& source, const comm::ProcessGrid& grid,
                       const comm::TransportRow& transport) {
    auto configuration = config.configuration;
    configuration.grid = grid;
    configuration.transport = transport.name;
    const auto chosen = choose_kernel(
        source->facts(), configuration,
        {.ranks_oversubscribed = config.environment.ranks_oversubscribed, .profile = config.profile});
    configuration.kernel = chosen.kernel->name;
    cases.push_back({.source = source.get(),
                     .configuration = configuration,
                     .chosen = chosen,
                     .layout = make_layout(source->facts(), configuration)});
  };
  const auto order_of = [](const auto& source) { return source->facts().key.order; };
  const auto most =
      std::max(largest_order, order_of(*std::ranges::min_element(config.sources, {}, order_of)));
  std::vector<MatrixCases> all;
  for (const auto& source : config.sources) {
    auto& cases = all.emplace_back();
    for (const auto& grid : comm::factorizations(rank_count))
      add(cases, source, grid, comm::default_transport());
  }
  for (const auto& source : config.sources) {
    MatrixCases cases;
    for (const auto* transport : transports) {
      if (transport != &comm::default_transport() && order_of(source) <= most)
        add(cases, source, {.columns = 1, .rows = rank_count}, *transport);
    }
    if (!cases.empty()) all.push_back(std::move(cases));
  }
  return all;
}

/// say_next: begins a work of the plan.
void measure_matrix(comm::RankGroup& group, MatrixCases& cases, const std::function<void()>& say_next) {
  for (auto& one : cases) {
    say_next();
    one.block = make_tried_block(group, *one.source, one.configuration, one.chosen, true);
    one.iteration = std::make_unique<NpbIteration>(*one.block.assembled, 0.0);
  }
  say_next();
  const double long_enough_s = shortest_turns_s * static_cast<double>(cases.size());
  const Stopwatch watch;
  double spent_s = 0.0;
  for (int round = 0; round < fewest_turns || spent_s < long_enough_s; ++round) {
    for (auto& one : cases) {
      // One outer step, timed by phase. Before a short one, another one gets the caches back from the other grids.
      constexpr double long_s = 0.03;
      auto& timer = one.block.assembled->timer();
      if (one.step_s < long_s) static_cast<void>(one.iteration->outer_step());
      timer.reset();
      const Stopwatch of_step;
      static_cast<void>(one.iteration->outer_step());
      one.step_s = group.maximum(of_step.seconds());
      one.steps.push_back(timer.records());
    }
    spent_s = group.maximum(watch.seconds());
  }
  for (auto& one : cases) {
    one.times = typical_times(group, one.steps);
    one.nonzeros = static_cast<double>(group.sum(one.block.nonzero_count)) / group.size();
    one.iteration.reset();
    one.block = {};
  }
}

/// Puts the default transport's network into the machine, and those of the others that can serve here: from short messages, measured by
/// themselves, and longer ones of the benchmark's collections, which find the data where a CG step leaves it: hardly in a cache of the
/// receiver. Collective.
void measure_networks(comm::RankGroup& group, Transports transports, const std::vector<MeasuredCase>& cases,
                      MachineDescription& machine) {
  const auto additions = measure_additions(group, transports);
  auto messages = measure_short_messages(group, transports);
  for (std::size_t k = 0; k < transports.size(); ++k) {
    for (const auto& measured : cases) {
      if (measured.grid().rows == 1 || measured.transport() != transports[k]) continue;
      messages[k].push_back(message_point(measured.layout, measured.options(),
                                          measured.phase_s(Phase::collection) / OuterStepCalls::products));
    }
    const auto line = fit_line(messages[k]);
    // The slope of a transport that copies nothing may be lost in the start-up; of others that is refused.
    const bool is_level = line.slope <= 1.0 / PhysicalBounds::most_bytes_per_s;
    const NetworkCost network{
        .start_up_s = line.intercept,
        .bytes_per_s = is_level ? std::numeric_limits<double>::infinity() : 1.0 / line.slope,
        .add_s_per_element = sample_of(additions[k]).median};
    if (transports[k] == &comm::default_transport())
      machine.network = network;
    else
      machine.transports.push_back({.name = std::string(transports[k]->name), .network = network});
  }
}

/// The shape of a case. Network and calls of the machine are known: the rest of dot products and updates is
/// the time of their elements, the rest of the messages is waiting.
BlockShapeCost shape_of(const MeasuredCase& measured, const MachineDescription& machine) {
  const double dot_s = std::max(measured.phase_s(Phase::dot) - measured.times.dot_waiting_s, 0.0);
  const double one_dot_s = dot_s / OuterStepCalls::local_dots;
  const double one_update_s =
      measured.phase_s(Phase::vector_updates) / OuterStepCalls::updates(measured.is_symmetric());
  const auto network = communication_costs(machine, measured.layout, measured.options());
  const double messages_s =
      OuterStepCalls::products * (network.collection_s + network.summation_s + network.shuffle_s) +
      OuterStepCalls::sums * network.dot_s + dot_s;
  const double measured_s = measured.phase_s(Phase::collection) + measured.phase_s(Phase::summation) +
                            measured.phase_s(Phase::shuffle) + measured.phase_s(Phase::dot);
  const double multiply_s = measured.phase_s(Phase::multiply);
  return {
      .rows = measured.order() / measured.grid().rows,
      .columns = measured.order() / measured.grid().columns,
      .nonzeros = measured.nonzeros,
      .seconds_per_nonzero = multiply_s / OuterStepCalls::products / measured.nonzeros,
      .dot_s_per_element = std::max(one_dot_s - machine.vectors.dot_call_s, 0.0) / measured.piece(),
      .update_s_per_element = std::max(one_update_s - machine.vectors.update_call_s, 0.0) / measured.piece(),
      .waiting_share = std::max(measured_s - messages_s, 0.0) / multiply_s};
}

/// Every kernel that was measured, with its shapes and its curve over the row length. Collective.
std::vector<KernelCost> kernels_from(comm::RankGroup& group, int thread_count,
                                     const std::vector<MeasuredCase>& cases,
                                     const MachineDescription& machine) {
  std::vector<KernelCost> kernels;
  for (const auto& measured : cases) {
    const auto& kernel = *measured.chosen.kernel;
    auto found = std::ranges::find(kernels, kernel.name, &KernelCost::name);
    if (found == kernels.end()) {
      kernels.push_back(
          {.name = std::string(kernel.name),
           .is_symmetric = kernel.stores_half(),
           .row_lengths = measure_row_lengths_of(group, kernel, measured.chosen.tuning, thread_count)});
      found = kernels.end() - 1;
    }
    found->shapes.push_back(shape_of(measured, machine));
  }
  return kernels;
}

/// Memory of a rank in measure_matrix(), bytes, beside its process: the solvers that are ready, and the one that is made.
std::int64_t matrix_bytes(const MatrixCases& cases, int rank) {
  std::int64_t kept = 0;
  std::int64_t most = 0;
  for (const auto& one : cases) {
    const auto plan = plan_memory(*one.source, one.configuration, one.layout, rank);
    most = std::max(most, saturated_sum(kept, plan.total_bytes()));
    kept = saturated_sum(kept, plan.kept_bytes());
  }
  return most;
}

/// The works of a calibration, in their order.
std::vector<Work> works_of(const std::vector<MatrixCases>& matrices, std::size_t transport_count) {
  // Per nonzero and core; measured on two cores of an AMD EPYC (Zen 5) at classes W to B, 2026-11-24.
  constexpr double product_s = 0.35e-9;
  constexpr double generation_s = 80e-9;  // generation and conversion
  constexpr double messages_s = 0.8;      // the budgets of the races of one transport
  constexpr double curve_s = 1.4;         // budgets of the races of one kernel
  std::vector<Work> works;
  std::set<std::string_view> kernels;
  for (const auto& cases : matrices) {
    const auto& first = cases.front();
    const auto& matrix = first.source->facts();
    const double nonzeros = matrix.nonzero_count / first.grid().rank_count();
    for (const auto& one : cases) {
      works.push_back({fmt::format("class {}, grid {}, transport {}: generating the matrix", matrix.key.name,
                                   one.grid().name(), one.configuration.transport),
                       "generation", generation_s * nonzeros});
      kernels.insert(one.chosen.kernel->name);
    }
    const bool is_one_transport = first.transport() == &comm::default_transport();
    const double turn_s = OuterStepCalls::products * product_s * nonzeros;
    works.push_back(
        {fmt::format("class {}: CG steps of {}", matrix.key.name,
                     format_count(std::ssize(cases), is_one_transport ? "grid" : "transport")),
         "CG steps",
         static_cast<double>(std::ssize(cases)) * std::max(shortest_turns_s, fewest_turns * turn_s)});
  }
  works.push_back({"messages", "messages", messages_s * static_cast<double>(transport_count)});
  works.push_back({"row lengths", "curves", curve_s * static_cast<double>(kernels.size())});
  return works;
}

}  // namespace

std::vector<Work> works_of_calibration(comm::RankGroup& group, const CalibrationConfig& config) {
  const auto transports = transports_for(group).available;
  return works_of(matrix_cases(config, transports, group.size()), transports.size());
}

MachineDescription calibrate(comm::RankGroup& group, const CalibrationConfig& config,
                             const std::function<void(const std::string&)>& say) {
  if (group.size() < 2)
    throw InputError("--calibrate measures messages: start it on at least 2 ranks, by mpiexec -n 2");
  const auto transports = transports_for(group).available;
  auto matrices = matrix_cases(config, transports, group.size());
  agree_on(group, [&] {
    check_memory(config.environment, [&](int rank) {
      auto most = row_length_bytes();
      for (const auto& cases : matrices) most = std::max(most, matrix_bytes(cases, rank));
      return most;
    });
  });
  std::size_t next = 0;
  const auto say_next = [&, works = works_of(matrices, transports.size())] { say(works[next++].key); };
  const int thread_count = config.configuration.thread_count;
  MachineDescription machine{.name = config.environment.nodes.front().processor_with_caches(),
                             .description = fmt::format("calibrated on {} ranks", group.size()),
                             .sources = {"cg2d model --calibrate"},
                             .clock_hz = CycleCalibration().ticks_per_second(),
                             .calibrated_ranks = group.size(),
                             .calibrated_threads = thread_count};
  std::vector<MeasuredCase> cases;
  for (auto& matrix : matrices) {
    measure_matrix(group, matrix, say_next);
    std::ranges::move(matrix, std::back_inserter(cases));
  }
  say_next();
  measure_networks(group, transports, cases, machine);
  std::erase_if(cases, [](const auto& one) { return one.transport() != &comm::default_transport(); });
  VectorOps vectors(thread_count);
  const std::vector<double> x(1, 1.0);
  std::vector<double> y(1, 1.0);
  machine.vectors.dot_call_s = seconds_of(group, [&] { y.front() = vectors.dot(x, x); });
  machine.vectors.update_call_s = seconds_of(group, [&] { vectors.add_scaled(0.5, x, y); });
  say_next();
  machine.kernels = kernels_from(group, thread_count, cases, machine);
  // For products that have no measured shapes: that of the largest vectors.
  const auto& largest = *std::ranges::max_element(cases, {}, &MeasuredCase::piece);
  const auto shape = shape_of(largest, machine);
  machine.vectors.dot_s_per_element = shape.dot_s_per_element;
  machine.vectors.update_s_per_element = shape.update_s_per_element;
  for (const auto& measured : cases) {
    auto& spread = machine.measured.spread;
    spread = std::max(spread, measured.times.spread);
  }
  return machine;
}

}  // namespace cg2d
