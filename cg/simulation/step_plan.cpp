#include "cg/simulation/simulate_command.hpp"

#include <sstream>
#include <unordered_map>

#include "cg/base/output_file.hpp"
#include "cg/matrix/files/permutation.hpp"
#include "cg/solver/cg_step.hpp"
#include "cg/solver/communicator_setup.hpp"

namespace cg2d {
namespace {

// ---------------------------------------------------------------- places

/// Tiles of `width` columns and `height` rows, one after the other along the rows of tiles.
std::vector<int> in_tiles(const comm::ProcessGrid& grid, int together) {
  // The widest tile that is no wider than high, of so many ranks at most.
  int width = 1;
  while ((width + 1) * (width + 1) <= together && width < grid.columns) ++width;
  const int height = std::min(std::max(together / width, 1), grid.rows);
  auto ranks = grid.ranks_by_place();
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
std::vector<int> shuffled(std::vector<int> places, uint64_t seed) {
  const auto next = [&seed] { return splitmix_bits(seed += golden_ratio_bits); };
  for (size_t rest = places.size(); rest > 1; --rest) std::swap(places[rest - 1], places[next() % rest]);
  return places;
}

std::vector<int> in_file(const std::string& path, int rank_count) {
  std::istringstream words(text_of_named_file("--placement file:" + path, path));
  std::vector<int> places;
  for (std::string word; words >> word;) places.push_back(number_from<int>(word).value_or(-1));
  if (std::ssize(places) != rank_count)
    throw InputError("--placement file:{}: must have a whole number for each of the {} ranks", path,
                     rank_count);
  auto sorted = places;
  std::ranges::sort(sorted);
  if (sorted.front() < 0 || sorted.back() >= most_nodes || std::ranges::adjacent_find(sorted) != sorted.end())
    throw InputError("--placement file:{}: places must be whole numbers within 0 ... {}, each once", path,
                     most_nodes - 1);
  return places;
}

// ---------------------------------------------------------------- operations

/// Bytes per second of messages that take no time by their bytes: the simulator knows no infinity.
constexpr double unlimited = 1e18;

/// The operation of a rank in one step of a schedule. Messages within a node take their time before they leave, since no link is described there.
RankOperation operation_in(const PlacedRun& run, int rank, const StepPart& part, const StepMessages& step) {
  const auto network_to = [&](int partner) -> const NetworkCost& {
    return run.machine.network_between(run.place_of(rank), run.place_of(partner));
  };
  const auto moving_s = [&](const NetworkCost& network) {
    return NetworkCost::element_bytes * static_cast<double>(step.sent_count) / network.bytes_per_s;
  };
  const bool stays = step.to == rank;
  RankOperation operation{.phase = part.phase};
  double software_s = 0.0;
  if (step.sent_count > 0 && !stays) {
    const auto& network = network_to(step.to);
    const bool is_within_node = run.node_of(step.to) == run.node_of(rank);
    operation.to = step.to;
    operation.byte_count = step.sent_count * static_cast<int64_t>(sizeof(double));
    operation.before_s = network.start_up_s + (is_within_node ? moving_s(network) : 0.0);
    operation.bytes_per_s = is_within_node ? unlimited : std::min(network.bytes_per_s, unlimited);
    software_s = network.software_s(static_cast<double>(step.sent_count));
  }
  if (step.received_count > 0 && !stays) {
    operation.from = step.from;
    software_s =
        std::max(software_s, network_to(step.from).software_s(static_cast<double>(step.received_count)));
  }
  if (part.group != StepGroup::all_ranks) operation.after_s = software_s;
  if (step.is_added)
    operation.after_s += static_cast<double>(step.received_count) * run.machine.network.add_s_per_element;
  if (stays && run.machine.shuffles_kept_pieces)
    operation.after_s += network_to(rank).start_up_s + moving_s(network_to(rank));
  return operation;
}

/// The loads of the links in one phase.
struct LinkLoads {
  std::map<size_t, comm::Traffic> links{};          // by their numbers
  std::map<std::pair<size_t, int>, int> at_once{};  // by link and round
};

}  // namespace

std::vector<int> places_from(std::string_view placement, const comm::ProcessGrid& grid, int together) {
  constexpr std::string_view file = "file:";
  if (placement == "row-major") return grid.ranks_by_place();
  if (placement == "blocked") return in_tiles(grid, together);
  if (placement.starts_with(file))
    return in_file(std::string(placement.substr(file.size())), grid.rank_count());
  if (const auto seed = seed_from("--placement", placement)) return shuffled(grid.ranks_by_place(), *seed);
  throw InputError("--placement {}: unknown; valid: {}", placement, placement_values);
}

PlacedRun place_run(const SimulateOptions& options, const MachineDescription& machine,
                    const MatrixFacts& matrix, const comm::ProcessGrid& grid) {
  auto configuration = options.configuration;
  require_described(machine, configuration.transport);
  configuration.grid = grid;
  configuration.sum_form = machine.sum_form;
  PlacedRun run{.machine = machine.through(configuration.transport),
                .interconnect = machine.interconnect.value_or(InterconnectCost{}),
                .links = {},
                .configuration = configuration,
                .layout = make_layout(matrix, configuration),
                .row_lengths = matrix.row_lengths(grid.columns),
                .places = {},
                .slowness = {}};
  if (!run.configuration.has_kernel())
    run.configuration.kernel =
        machine.default_kernel.empty() ? machine.kernels.front().name : machine.default_kernel;
  static_cast<void>(machine.kernel(run.configuration.kernel));
  if (!options.interconnect.empty()) run.interconnect.shape = interconnect_from(options.interconnect);
  require_ranks(options.slow, grid.rank_count());
  run.slowness = factors_at(options.slow, grid.rank_count(), 0);
  const auto& dimensions = run.interconnect.shape.dimensions;
  const int together =
      machine.node.ranks > 0 ? machine.node.ranks : (dimensions.empty() ? 1 : dimensions.front());
  run.places = places_from(options.placement, grid, together);
  int node_count = 0;
  for (int rank = 0; rank < grid.rank_count(); ++rank)
    node_count = std::max(node_count, run.node_of(rank) + 1);
  run.links = make_interconnect(run.interconnect.shape, node_count);
  if (node_count > run.links.node_count) {
    throw InputError("{} has {}; {} of {}, placed {}, need {}", text_of(run.interconnect.shape),
                     format_count(run.links.node_count, "node"), format_count(grid.rank_count(), "rank"),
                     machine.name, options.placement, node_count);
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
  std::vector<RankOperation> operations;
  std::array<int, benchmark_phase_count> rounds{};
  const auto work = [&](Phase phase, double seconds) {
    if (seconds > 0.0) operations.push_back({.phase = phase, .before_s = seconds});
  };
  const auto exchange = [&](const StepPart& part) {
    for (const auto& step : messages_of(part, layout, rank, run.configuration.sum_form)) {
      auto operation = operation_in(run, rank, part, step);
      operation.round = rounds[index_of(part.phase)]++;
      const bool is_empty = operation.to == RankOperation::nobody && operation.from == RankOperation::nobody;
      if (!is_empty || part.is_move()) operations.push_back(operation);
    }
  };
  for (const auto& part : step_parts) {
    if (part.is_mirrored && !is_symmetric) continue;
    if (part.phase == Phase::multiply) {
      work(Phase::multiply, costs.multiply_s);
      work(waiting_phase(layout.grid(), is_symmetric), costs.waiting_s);
    } else if (part.phase != Phase::dot) {
      exchange(part);
    } else {
      // The sum of p.q, two updates, the square of r, and the last update.
      for (const int updates : {StepCalls::updates_of(is_symmetric) - 1, 1}) {
        work(Phase::dot, costs.dot_s);
        exchange(part);
        work(Phase::vector_updates, updates * costs.update_s);
      }
    }
  }
  return operations;
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
