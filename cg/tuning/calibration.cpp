#include "cg/tuning/trial.hpp"

#include <array>
#include <iterator>
#include <numeric>

#include "cg/base/agreement.hpp"
#include "cg/machine/operation_times.hpp"
#include "cg/solver/communicator_setup.hpp"
#include "cg/solver/vector_ops.hpp"

namespace cg2d {
namespace {

/// Seconds of one call, the median of several turns, of the slowest rank.
double seconds_of(comm::RankGroup& group, const std::function<void()>& work) {
  const std::array works{work};
  return race(group, works, {.fewest_rounds = 7, .budget_s = 0.05}).medians().front();
}

/// One message of a collection, whose messages go one after the other: its bytes and its share of the
/// seconds.
LinePoint message_point(const comm::BlockLayout& layout, const comm::CommunicatorOptions& options,
                        double seconds) {
  // A machine where only start-ups take time counts messages, one where only bytes do counts bytes.
  const auto count = [&](double start_up_s, double bytes_per_s) {
    MachineDescription machine;
    machine.network = {.start_up_s = start_up_s, .bytes_per_s = bytes_per_s};
    return communication_costs(machine, layout, options)[index_of(Phase::collection)];
  };
  const double messages = count(1.0, std::numeric_limits<double>::infinity());
  return {.x = count(0.0, 1.0) / messages, .y = seconds / messages};
}

using Transports = std::span<const comm::TransportRow* const>;

/// Median seconds of one call of each operation by each transport: [transport][operation].
std::vector<std::vector<double>> medians_of(
    comm::RankGroup& group, Transports transports,
    const std::vector<std::pair<comm::Operation, comm::BlockLayout>>& timed, double budget_s) {
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
  size_t k = 0;
  for (const auto& seconds : time_operations(group, operations, limits))
    medians[k++ / timed.size()].push_back(seconds.median);
  return medians;
}

/// Seconds of one outer step, mean over the ranks: by phase, and at the end what the phase dot waits.
using StepSeconds = std::array<double, benchmark_phase_count + 1>;

/// One matrix in one configuration, with the kernel that is chosen there, and how it was measured.
struct MeasuredCase {
  const MatrixSource* source = nullptr;
  Configuration configuration{};
  ChosenKernel chosen{};
  comm::BlockLayout layout;
  TriedBlock block{};  // while it is measured, and its iteration
  std::unique_ptr<NpbIteration> iteration{};
  std::vector<PhaseRecords> steps{};
  double step_s = 0.0;    // seconds of the last step
  StepSeconds seconds{};  // of a typical step
  double spread = 0.0;    // spread of the totals
  double nonzeros = 0.0;  // nonzeros of one rank's block, whole; mean over the ranks

  const comm::ProcessGrid& grid() const { return configuration.grid; }
  const comm::TransportRow* transport() const { return comm::find_transport(configuration.transport); }
  bool is_symmetric() const { return chosen.kernel->stores_half(); }
  comm::CommunicatorOptions options() const { return communicator_options(configuration, is_symmetric()); }
  double phase_s(Phase phase) const { return seconds[index_of(phase)]; }
  double order() const { return static_cast<double>(source->facts().key.order); }
  double piece() const { return order() / grid().rank_count(); }
};

/// Mean of the steps without the slowest tenth: a run takes the mean of its steps, but the other things that
/// happen on a machine once in a while are no part of it.
void set_typical_times(comm::RankGroup& group, MeasuredCase& measured) {
  const double divisor = clocks_per_second() * group.size();
  std::vector<StepSeconds> steps(measured.steps.size());
  for (const auto& records : group.gather_all(std::span<const PhaseRecords>(measured.steps))) {
    for (size_t k = 0; k < steps.size(); ++k) {
      for (size_t phase = 0; phase < benchmark_phase_count; ++phase)
        steps[k][phase] += static_cast<double>(records[k][phase].clocks) / divisor;
      steps[k].back() += static_cast<double>(records[k][index_of(Phase::dot)].waited_clocks) / divisor;
    }
  }
  const auto total_s = [](const StepSeconds& step) {
    return std::accumulate(step.begin(), step.end() - 1, 0.0);
  };
  std::vector<double> totals;
  std::ranges::transform(steps, std::back_inserter(totals), total_s);
  std::ranges::sort(steps, {}, total_s);
  constexpr size_t slow_part = 10;
  steps.resize(steps.size() - steps.size() / slow_part);
  measured.spread = spread_of_repeats(std::move(totals));
  for (const auto& step : steps) {
    for (size_t k = 0; k < step.size(); ++k)
      measured.seconds[k] += step[k] / static_cast<double>(steps.size());
  }
}

constexpr int fewest_turns = 20;
constexpr double shortest_turns_s = 1.0;  // all turns of a grid

/// One matrix in several configurations, whose CG steps are timed in turns: a drift of the machine hits all alike.
using MatrixCases = std::vector<MeasuredCase>;

/// All matrices by the default transport on all grids, then by the others on the grid that collects most: these are several, so only
/// matrices that do not take long, those of class A's order and smaller, or the smallest.
std::vector<MatrixCases> matrix_cases(const CalibrationConfig& config, Transports transports,
                                      int rank_count) {
  constexpr int64_t largest_order = 14'000;
  const auto order_of = [](const auto& source) { return source->facts().key.order; };
  const auto most =
      std::max(largest_order, order_of(*std::ranges::min_element(config.sources, {}, order_of)));
  std::vector<MatrixCases> all;
  for (const bool is_default : {true, false}) {
    for (const auto& source : config.sources) {
      MatrixCases cases;
      for (const auto* transport : transports) {
        if ((transport == &comm::default_transport()) != is_default) continue;
        for (const auto& grid : comm::factorizations(rank_count)) {
          if (!is_default && (grid.columns > 1 || order_of(source) > most)) continue;
          auto configuration = config.configuration;
          configuration.grid = grid;
          configuration.transport = transport->name;
          const auto chosen = choose_kernel(
              source->facts(), configuration,
              {.ranks_oversubscribed = config.environment.ranks_oversubscribed, .profile = config.profile});
          configuration.kernel = chosen.kernel->name;
          cases.push_back({.source = source.get(),
                           .configuration = configuration,
                           .chosen = chosen,
                           .layout = make_layout(source->facts(), configuration)});
        }
      }
      if (!cases.empty()) all.push_back(std::move(cases));
    }
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
    set_typical_times(group, one);
    one.nonzeros = static_cast<double>(group.sum(one.block.nonzero_count)) / group.size();
    one.iteration.reset();
    one.block = {};
  }
}

/// Elements of the pieces in measured sums, from small to large.
constexpr std::array<int64_t, 3> sum_piece_sizes{4096, 16384, 65536};

/// Memory of a rank in measure_networks(), bytes, beside its process: for each transport the vector of a collection, with that of a sum and
/// what it receives to add, each of a piece of all ranks.
int64_t network_bytes(size_t transport_count, int rank_count) {
  constexpr int64_t vectors = 3;
  return vectors * int64_t{sizeof(double)} * static_cast<int64_t>(transport_count) * sum_piece_sizes.back() *
         rank_count;
}

/// Puts the default transport's network into the machine, and those of the others that can serve here: from short messages, measured by
/// themselves, and longer ones of the benchmark's collections, which find the data where a CG step leaves it: hardly in a cache of the
/// receiver. Collective.
void measure_networks(comm::RankGroup& group, Transports transports, const std::vector<MeasuredCase>& cases,
                      MachineDescription& machine) {
  struct Times {
    // They are of collections of some bytes to some kilobytes, and of the benchmark's.
    std::vector<LinePoint> messages;
    // The time of a sum beyond that of a collection of as many bytes, per element, with blocks of several sizes: small ones differ by the noise
    // of their messages and large ones by that of the memory.
    std::vector<double> additions;
  };
  std::vector<Times> times(transports.size());
  const comm::ProcessGrid column{.columns = 1, .rows = group.size()};
  const comm::ProcessGrid row{.columns = group.size(), .rows = 1};
  for (const auto piece_size : sum_piece_sizes) {
    const auto order = piece_size * group.size();
    const auto seconds = medians_of(group, transports,
                                    {{comm::Operation::collect, comm::BlockLayout::even(order, column)},
                                     {comm::Operation::sum, comm::BlockLayout::even(order, row)}},
                                    0.1);
    for (size_t k = 0; k < times.size(); ++k)
      times[k].additions.push_back(std::max(seconds[k][1] - seconds[k][0], 0.0) /
                                   static_cast<double>(order - piece_size));
  }
  for (const int64_t piece_size : {1, 16, 128, 1024}) {
    const auto layout = comm::BlockLayout::even(piece_size * group.size(), column);
    const auto seconds = medians_of(group, transports, {{comm::Operation::collect, layout}}, 0.05);
    for (size_t k = 0; k < times.size(); ++k)
      times[k].messages.push_back(message_point(layout, {}, seconds[k].front()));
  }
  for (size_t k = 0; k < transports.size(); ++k) {
    for (const auto& measured : cases) {
      if (measured.grid().rows == 1 || measured.transport() != transports[k]) continue;
      times[k].messages.push_back(
          message_point(measured.layout, measured.options(),
                        measured.phase_s(Phase::collection) / OuterStepCalls::products));
    }
    const auto line = fit_line(times[k].messages);
    // The slope of a transport that copies nothing may be lost in the start-up; of others that is refused.
    const bool is_level = line.slope <= 1.0 / PhysicalBounds::most_bytes_per_s;
    const NetworkCost network{
        .start_up_s = line.intercept,
        .bytes_per_s = is_level ? std::numeric_limits<double>::infinity() : 1.0 / line.slope,
        .add_s_per_element = sample_of(times[k].additions).median};
    if (transports[k] == &comm::default_transport())
      machine.network = network;
    else
      machine.transports.push_back({.name = std::string(transports[k]->name), .network = network});
  }
}

/// The shape of a case. Network and calls of the machine are known: the rest of dot products and updates is
/// the time of their elements, the rest of the messages is waiting.
BlockShapeCost shape_of(const MeasuredCase& measured, const MachineDescription& machine) {
  const double dot_s = std::max(measured.phase_s(Phase::dot) - measured.seconds.back(), 0.0);
  const double one_dot_s = dot_s / OuterStepCalls::local_dots;
  const double one_update_s =
      measured.phase_s(Phase::vector_updates) / OuterStepCalls::updates(measured.is_symmetric());
  const auto network = communication_costs(machine, measured.layout, measured.options());
  const double messages_s =
      OuterStepCalls::products * (network[index_of(Phase::collection)] + network[index_of(Phase::summation)] +
                                  network[index_of(Phase::shuffle)]) +
      OuterStepCalls::sums * network[index_of(Phase::dot)] + dot_s;
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
int64_t matrix_bytes(const MatrixCases& cases, int rank) {
  int64_t kept = 0;
  int64_t most = 0;
  for (const auto& one : cases) {
    const auto plan = plan_memory(*one.source, one.configuration, one.layout, rank);
    most = std::max(most, saturated_sum(kept, plan.total_bytes()));
    kept = saturated_sum(kept, plan.kept_bytes());
  }
  return most;
}

/// The works of a calibration, in their order, with the seconds that they take on a common machine.
std::vector<Work> works_of(const std::vector<MatrixCases>& matrices, size_t transport_count) {
  // Per nonzero and core; measured on two cores of an AMD EPYC (Zen 5) at classes W to B, 2026-11-24.
  constexpr double outer_step_s = 9e-9;
  constexpr double generation_s = 80e-9;  // generation and conversion
  constexpr double messages_s = 0.8;      // the budgets of the races of one transport
  constexpr double curve_s = 3.0;         // budgets of the races of two kernels
  std::vector<Work> works;
  for (const auto& cases : matrices) {
    const auto& matrix = cases.front().source->facts();
    const bool is_one_transport = cases.front().transport() == &comm::default_transport();
    const double nonzeros = matrix.nonzero_count / cases.front().grid().rank_count();
    for (const auto& one : cases) {
      works.push_back({.key = fmt::format("class {}, grid {}, transport {}: generating the matrix",
                                          matrix.key.name, one.grid().name(), one.configuration.transport),
                       .amount = generation_s * nonzeros});
    }
    works.push_back(
        {.key = fmt::format("class {}: CG steps of {}", matrix.key.name,
                            format_count(std::ssize(cases), is_one_transport ? "grid" : "transport")),
         .amount = static_cast<double>(std::ssize(cases)) *
                   std::max(shortest_turns_s, fewest_turns * outer_step_s * nonzeros)});
  }
  works.push_back({.key = "messages", .amount = messages_s * static_cast<double>(transport_count)});
  works.push_back({.key = "row lengths", .amount = curve_s});
  return works;
}

}  // namespace

MachineDescription calibrate(comm::RankGroup& group, const CalibrationConfig& config,
                             const Progress& progress) {
  if (group.size() < 2)
    throw InputError("--calibrate measures messages: start it on at least 2 ranks, by mpiexec -n 2");
  const auto transports = transports_for(group).available;
  auto matrices = matrix_cases(config, transports, group.size());
  agree_on(group, [&] {
    check_memory(config.environment, [&](int rank) {
      auto most = std::max(row_length_bytes(), network_bytes(transports.size(), group.size()));
      for (const auto& cases : matrices) most = std::max(most, matrix_bytes(cases, rank));
      return most;
    });
  });
  const auto works = works_of(matrices, transports.size());
  PlannedProgress planned(progress, works);
  size_t next = 0;
  const auto say_next = [&] { planned.say(works[next++].key); };
  const int thread_count = config.configuration.thread_count;
  MachineDescription machine{.name = config.environment.nodes.front().processor_with_caches(),
                             .description = fmt::format("calibrated on {} ranks x {}", group.size(),
                                                        format_count(thread_count, "thread")),
                             .sources = {"cg2d model --calibrate"},
                             .clock_hz = clocks_per_second(),
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
  const auto shape = shape_of(*std::ranges::max_element(cases, {}, &MeasuredCase::piece), machine);
  machine.vectors.dot_s_per_element = shape.dot_s_per_element;
  machine.vectors.update_s_per_element = shape.update_s_per_element;
  for (const auto& one : cases) machine.measured.spread = std::max(machine.measured.spread, one.spread);
  return machine;
}

}  // namespace cg2d
