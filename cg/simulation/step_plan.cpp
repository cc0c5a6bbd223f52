#include "cg/simulation/simulate_command.hpp"

#include <numeric>
#include <sstream>
#include <unordered_map>

#include "cg/base/output_file.hpp"
#include "cg/matrix/files/permutation.hpp"
#include "cg/solver/cg_step.hpp"
#include "cg/solver/communicator_setup.hpp"

namespace cg2d {
namespace {

// ---------------------------------------------------------------- places

std::vector<int> in_order(int rank_count) {
  std::vector<int> places(static_cast<size_t>(rank_count));
  std::iota(places.begin(), places.end(), 0);
  return places;
}

/// Tiles of `width` columns and `height` rows, one after the other along the rows of tiles.
std::vector<int> in_tiles(const comm::ProcessGrid& grid, int together) {
  // The widest tile that is no wider than high, of so many ranks at most.
  int width = 1;
  while ((width + 1) * (width + 1) <= together && width < grid.columns) ++width;
  const int height = std::min(std::max(together / width, 1), grid.rows);
  std::vector<int> ranks = in_order(grid.rank_count());
  const auto tile_of = [&](int rank) {
    return std::pair(grid.row_of(rank) / height, grid.column_of(rank) / width);
  };
  std::ranges::stable_sort(ranks, {}, tile_of);
  std::vector<int> places(ranks.size());
  for (size_t place = 0; place < ranks.size(); ++place)
    places[static_cast<size_t>(ranks[place])] = static_cast<int>(place);
  return places;
}

/// Fisher and Yates, by SplitMix64: generators of the library differ from machine to machine.
std::vector<int> shuffled(int rank_count, uint64_t seed) {
  const auto next = [&seed] { return splitmix_bits(seed += golden_ratio_bits); };
  auto places = in_order(rank_count);
  for (size_t rest = places.size(); rest > 1; --rest) std::swap(places[rest - 1], places[next() % rest]);
  return places;
}

std::vector<int> in_file(const std::string& path, int rank_count) {
  std::istringstream words(text_of_named_file("--placement file:" + path, path));
  std::vector<int> places;
  for (int place = 0; words >> place;) places.push_back(place);
  if (!words.eof() || std::ssize(places) != rank_count)
    throw InputError("--placement file:{}: must have a whole number for each of the {} ranks", path,
                     rank_count);
  auto sorted = places;
  std::ranges::sort(sorted);
  if (sorted.front() < 0 || std::ranges::adjacent_find(sorted) != sorted.end())
    throw InputError("--placement file:{}: places must be 0 or greater, each once", path);
  return places;
}

// ---------------------------------------------------------------- operations

/// Bytes per second of messages that take no time by their bytes: the simulator knows no infinity.
constexpr double unlimited = 1e18;

/// The operations of one rank, as they are added.
class RankSteps {
 public:
  RankSteps(const PlacedRun& run, int rank) : run_(run), rank_(rank) {}

  [[nodiscard]] std::vector<RankOperation> taken() { return std::move(operations_); }

  void work(Phase phase, double seconds) {
    if (seconds > 0.0) operations_.push_back({.phase = phase, .before_s = seconds});
  }

  void exchange(const StepPart& part, std::span<const StepMessages> messages) {
    const auto& machine = run_.machine;
    for (const auto& step : messages) {
      const bool stays = step.to == rank_;
      const bool sends = step.sent_count > 0 && !stays;
      const bool receives = step.received_count > 0 && !stays;
      RankOperation operation{.phase = part.phase, .round = rounds_[part.phase]++};
      if (sends) send(step, operation);
      if (receives) operation.from = step.from;
      if (part.group != StepGroup::all_ranks) {
        const auto software_s = [&](int partner, int64_t element_count) {
          return network_to(partner).software_s(static_cast<double>(element_count));
        };
        operation.after_s += std::max(sends ? software_s(step.to, step.sent_count) : 0.0,
                                      receives ? software_s(step.from, step.received_count) : 0.0);
      }
      if (step.is_added)
        operation.after_s += static_cast<double>(step.received_count) * machine.network.add_s_per_element;
      if (stays && machine.shuffles_kept_pieces) {
        const auto& network = network_to(rank_);
        operation.after_s += network.start_up_s + bytes_of(step.sent_count) / network.bytes_per_s;
      }
      if (sends || receives || part.is_move()) operations_.push_back(operation);
    }
  }

 private:
  static double bytes_of(int64_t element_count) {
    return NetworkCost::element_bytes * static_cast<double>(element_count);
  }
  const NetworkCost& network_to(int partner) const {
    return run_.machine.network_between(run_.place_of(rank_), run_.place_of(partner));
  }
  /// Messages within a node take their time before they leave, since no link is described there.
  void send(const StepMessages& step, RankOperation& operation) const {
    const auto& network = network_to(step.to);
    operation.to = step.to;
    operation.byte_count = step.sent_count * static_cast<int64_t>(sizeof(double));
    operation.before_s = network.start_up_s;
    operation.bytes_per_s = std::min(network.bytes_per_s, unlimited);
    if (run_.node_of(step.to) == run_.node_of(rank_)) {
      operation.before_s += bytes_of(step.sent_count) / network.bytes_per_s;
      operation.bytes_per_s = unlimited;
    }
  }

  const PlacedRun& run_;
  int rank_;
  std::vector<RankOperation> operations_;
  std::map<Phase, int> rounds_;
};

/// The loads of the links in one phase.
struct LinkLoads {
  std::map<size_t, comm::Traffic> links{};          // by their numbers
  std::map<std::pair<size_t, int>, int> at_once{};  // by link and round
};

}  // namespace

std::vector<int> places_from(std::string_view placement, const comm::ProcessGrid& grid, int together) {
  constexpr std::string_view file = "file:";
  if (placement == "row-major") return in_order(grid.rank_count());
  if (placement == "blocked") return in_tiles(grid, together);
  if (placement.starts_with(file))
    return in_file(std::string(placement.substr(file.size())), grid.rank_count());
  if (const auto seed = seed_from("--placement", placement)) return shuffled(grid.rank_count(), *seed);
  throw InputError("--placement {}: unknown; valid: {}", placement, placement_values);
}

PlacedRun place_run(const MachineDescription& machine, std::string_view shape, const MatrixFacts& matrix,
                    const Configuration& configuration, std::string_view placement, const SlowRanks& slow) {
  PlacedRun run{.machine = machine.through(configuration.transport),
                .interconnect = machine.interconnect.value_or(InterconnectCost{}),
                .links = {},
                .configuration = configuration,
                .layout = make_layout(matrix, configuration),
                .row_lengths = matrix.row_lengths(configuration.grid.columns),
                .places = {},
                .slowness = {}};
  if (!run.configuration.has_kernel())
    run.configuration.kernel =
        machine.default_kernel.empty() ? machine.kernels.front().name : machine.default_kernel;
  static_cast<void>(machine.kernel(run.configuration.kernel));
  if (!shape.empty()) run.interconnect.shape = interconnect_from(shape);
  const auto& grid = configuration.grid;
  require_ranks(slow, grid.rank_count());
  run.slowness = factors_at(slow, grid.rank_count(), 0);
  const auto& dimensions = run.interconnect.shape.dimensions;
  const int together =
      machine.node.ranks > 0 ? machine.node.ranks : (dimensions.empty() ? 1 : dimensions.front());
  run.places = places_from(placement, grid, together);
  int node_count = 0;
  for (int rank = 0; rank < grid.rank_count(); ++rank)
    node_count = std::max(node_count, run.node_of(rank) + 1);
  run.links = make_interconnect(run.interconnect.shape, node_count);
  if (node_count > run.links.node_count) {
    throw InputError("{} has {}; {} of {}, placed {}, need {}", text_of(run.interconnect.shape),
                     format_count(run.links.node_count, "node"), format_count(grid.rank_count(), "rank"),
                     machine.name, placement, node_count);
  }
  return run;
}

RankCosts costs_of(const PlacedRun& run, int rank) {
  const auto& vectors = run.machine.vectors;
  const auto rows = static_cast<double>(run.layout.rows_of(rank).size());
  const auto columns = static_cast<double>(run.layout.columns_of(rank).size());
  const auto piece = static_cast<double>(run.layout.own_piece(rank).size());
  const auto block =
      block_costs(run.machine, run.machine.kernel(run.configuration.kernel), rows, columns, run.row_lengths);
  const double factor = run.work_factor;
  return {.multiply_s = factor * block.multiply_s * run.slowness[static_cast<size_t>(rank)],
          .waiting_s = factor * block.waiting_s,
          .dot_s = vectors.dot_call_s + factor * piece * block.dot_s_per_element,
          .update_s = vectors.update_call_s + factor * piece * block.update_s_per_element};
}

std::vector<RankOperation> step_of_rank(const PlacedRun& run, int rank) {
  const auto& layout = run.layout;
  const bool is_symmetric = run.machine.kernel(run.configuration.kernel).is_symmetric;
  const auto costs = costs_of(run, rank);
  RankSteps steps(run, rank);
  for (const auto& part : step_parts) {
    if (part.is_mirrored && !is_symmetric) continue;
    if (part.phase == Phase::multiply) {
      steps.work(Phase::multiply, costs.multiply_s);
      steps.work(waiting_phase(layout.grid(), is_symmetric), costs.waiting_s);
      continue;
    }
    const auto messages = messages_of(part, layout, rank, run.configuration.sum_form);
    if (part.phase != Phase::dot) {
      steps.exchange(part, messages);
      continue;
    }
    // The sum of p.q, two updates, the square of r, and the last update.
    for (const int updates : {StepCalls::updates_of(is_symmetric) - 1, 1}) {
      steps.work(Phase::dot, costs.dot_s);
      steps.exchange(part, messages);
      steps.work(Phase::vector_updates, updates * costs.update_s);
    }
  }
  return steps.taken();
}

StepPlan plan_step(const PlacedRun& run, int repeats) {
  std::vector<LinkLoads> loads(benchmark_phase_count);
  std::vector<std::string> links;  // by number, in the order of their first use
  std::unordered_map<std::string, size_t> numbers;
  std::map<std::pair<int, int>, std::vector<size_t>> routes;  // between nodes
  const auto route_between = [&](int from, int to) -> const std::vector<size_t>& {
    auto& route = routes[{from, to}];
    if (!route.empty()) return route;
    for (const auto& link : run.links.route(from, to)) {
      const auto [place, is_new] = numbers.try_emplace(link, links.size());
      if (is_new) links.push_back(link);
      route.push_back(place->second);
    }
    return route;
  };
  StepPlan plan{.replay = {.repeats = repeats}, .phases = std::vector<PhaseTraffic>(benchmark_phase_count)};
  auto& replay = plan.replay;
  for (int rank = 0; rank < run.configuration.grid.rank_count(); ++rank) {
    const int node = run.node_of(rank);
    const auto& planned = replay.ranks.emplace_back(
        PlannedRank{.node = static_cast<size_t>(node), .operations = step_of_rank(run, rank)});
    replay.node_count = std::max(replay.node_count, planned.node + 1);
    for (const auto& operation : planned.operations) {
      if (operation.to == RankOperation::nobody) continue;
      const auto phase = index_of(operation.phase);
      const comm::Traffic message{.message_count = 1, .byte_count = operation.byte_count};
      plan.phases[phase].all_ranks += message;
      const int other = run.node_of(operation.to);
      if (other == node) continue;
      for (const auto number : route_between(node, other)) {
        loads[phase].links[number] += message;
        auto& most = plan.phases[phase].most_at_once;
        most = std::max(most, ++loads[phase].at_once[{number, operation.round}]);
      }
    }
  }
  const auto& node = run.machine.node;
  const double link_bytes_per_s =
      run.interconnect.link_bytes_per_s > 0.0
          ? run.interconnect.link_bytes_per_s
          : std::min(node.ranks > 0 ? node.link_bytes_per_s : run.machine.network.bytes_per_s, unlimited);
  for (const auto& link : links) {
    const double share = link == run.slow_link ? PlacedRun::slow_link_share : 1.0;
    replay.links.push_back({share * link_bytes_per_s, run.interconnect.hop_s});
  }
  for (const auto& [nodes, route] : routes)
    replay.routes.push_back({static_cast<size_t>(nodes.first), static_cast<size_t>(nodes.second), route});
  for (size_t phase = 0; phase < benchmark_phase_count; ++phase) {
    auto& traffic = plan.phases[phase];
    for (const auto& [number, load] : loads[phase].links) {
      ++traffic.used_link_count;
      traffic.mean_link_bytes += static_cast<double>(load.byte_count);
      if (!traffic.busiest_link.empty() && load.byte_count <= traffic.busiest.byte_count) continue;
      traffic.busiest_link = links[number];
      traffic.busiest = load;
    }
    if (traffic.used_link_count > 0) traffic.mean_link_bytes /= static_cast<double>(traffic.used_link_count);
  }
  return plan;
}

}  // namespace cg2d
