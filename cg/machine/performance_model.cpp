#include "cg/machine/performance_model.hpp"

#include <numeric>

#include "cg/solver/cg_step.hpp"
#include "cg/solver/communicator_setup.hpp"

namespace cg2d {
namespace {

/// One rank's communication by phase, that of a dot product once, where nothing else is on its links but the node's other ranks. Both
/// directions of a step overlap. Pieces that stay take time where the machine's shuffle does for them.
PhaseSeconds exchange_seconds(const MachineDescription& machine, const comm::BlockLayout& layout, int rank,
                              const comm::CommunicatorOptions& options) {
  const auto& node = machine.node;
  double between_nodes_bytes_per_s = machine.network.bytes_per_s;
  if (node.ranks > 0 && layout.grid().rank_count() > node.ranks)
    between_nodes_bytes_per_s = std::min(between_nodes_bytes_per_s, node.link_bytes_per_s / node.ranks);
  const auto transfer = [&](const StepPart& part, int partner, int64_t count) {
    if (count == 0 || (partner == rank && !machine.shuffles_kept_pieces)) return 0.0;
    const auto elements = static_cast<double>(count);
    const auto& network = machine.network_between(rank, partner);
    const double bytes_per_s = &network == &machine.network ? between_nodes_bytes_per_s : network.bytes_per_s;
    const double seconds = network.start_up_s + elements * NetworkCost::element_bytes / bytes_per_s;
    return part.group == StepGroup::all_ranks ? seconds : seconds + network.software_s(elements);
  };
  PhaseSeconds seconds{};
  // From the last part to the first: predictions are kept and compared to the bit, and this is the order of their additions.
  for (auto part = step_parts.rbegin(); part != step_parts.rend(); ++part) {
    if (part->group == StepGroup::none || (part->is_mirrored && !options.mirrored)) continue;
    double part_s = 0.0;
    for (const auto& step : messages_of(*part, layout, rank, options.sum_form)) {
      part_s += std::max(transfer(*part, step.to, step.sent_count),
                         transfer(*part, step.from, step.received_count));
      if (step.is_added)
        part_s += static_cast<double>(step.received_count) * machine.network.add_s_per_element;
    }
    seconds[index_of(part->phase)] += part_s;
  }
  return seconds;
}

/// A block between the measured shapes: their figures, weighted by the inverse fourth power of the distance
/// in the logarithms of rows, columns and nonzeros. A shape that was measured is met all but exactly. The
/// time of rows of another length follows the kernel's curve.
BlockShapeCost between_shapes(const KernelCost& kernel, double rows, double columns, double nonzeros) {
  using Shape = BlockShapeCost;
  constexpr std::array others{&Shape::dot_s_per_element, &Shape::update_s_per_element, &Shape::waiting_share};
  double weights = 0.0;
  Shape mean{.rows = rows, .columns = columns, .nonzeros = nonzeros};
  const double at_these_rows = kernel.at_row_length(nonzeros / rows);
  for (const auto& shape : kernel.shapes) {
    constexpr double same = 1e-6;
    const double by_rows = std::log(shape.rows / rows);
    const double by_columns = std::log(shape.columns / columns);
    const double by_nonzeros = std::log(shape.nonzeros / nonzeros);
    const double square = by_rows * by_rows + by_columns * by_columns + by_nonzeros * by_nonzeros + same;
    const double weight = 1.0 / (square * square);
    weights += weight;
    mean.seconds_per_nonzero += weight * shape.seconds_per_nonzero * at_these_rows /
                                kernel.at_row_length(shape.nonzeros / shape.rows);
    for (const auto figure : others) mean.*figure += weight * shape.*figure;
  }
  mean.seconds_per_nonzero /= weights;
  for (const auto figure : others) mean.*figure /= weights;
  return mean;
}

/// A run to be predicted with one kernel or another.
struct PredictedRun {
  MachineDescription machine;  ///< with the network of the configuration's transport
  const MatrixFacts& matrix;
  const Configuration& configuration;
  int outer_step_count = 1;
  const UnevenRanks& ranks;
  comm::BlockLayout layout;

  bool has_even_pieces() const { return matrix.piece_starts.empty(); }
  double largest_piece() const {
    if (has_even_pieces()) return static_cast<double>(layout.size()) / layout.grid().rank_count();
    int64_t most = 0;
    for (int piece = 0; piece < layout.grid().rank_count(); ++piece)
      most = std::max(most, layout.piece(piece).size());
    return static_cast<double>(most);
  }
};

/// Seconds of each rank's product: [rank], or one for all where pieces are even. even: of a block of the mean shape.
std::vector<double> product_seconds(const KernelCost& kernel, const PredictedRun& run,
                                    const BlockCosts& even) {
  if (run.has_even_pieces()) return {even.multiply_s};
  const auto n = static_cast<double>(run.layout.size());
  // Most columns have one width, and most rows one of a few heights.
  std::map<int, RowLengthDistribution> lengths;            // [equal parts of the columns]
  std::map<std::pair<int64_t, int64_t>, double> of_shape;  // [height and width]
  const auto seconds_in_parts = [&](int64_t height, int parts) {
    const auto [known, is_new] = lengths.try_emplace(parts);
    if (is_new) known->second = run.matrix.row_lengths(parts);
    return block_costs(run.machine, kernel, static_cast<double>(height), n / parts, known->second).multiply_s;
  };
  std::vector<double> seconds;
  for (int rank = 0; rank < run.layout.grid().rank_count(); ++rank) {
    const auto height = run.layout.rows_of(rank).size();
    const auto width = run.layout.columns_of(rank).size();
    const auto [known, is_new] = of_shape.try_emplace(std::pair(height, width));
    if (is_new && height > 0 && width > 0) {
      // Row lengths are known for equal parts of the columns: between the two nearest ones the time grows evenly.
      const auto parts = std::max(static_cast<int>(n / static_cast<double>(width)), 1);
      const double share_of_wider = parts * ((parts + 1.0) * static_cast<double>(width) / n - 1.0);
      known->second =
          std::lerp(seconds_in_parts(height, parts + 1), seconds_in_parts(height, parts), share_of_wider);
    }
    seconds.push_back(known->second);
  }
  return seconds;
}

/// A product of all ranks.
struct ProductSeconds {
  double mean_s = 0.0;
  double slowest_s = 0.0;
};

/// The mean over the run: the ranks change in some of its products.
ProductSeconds products_of(const PredictedRun& run, std::span<const double> seconds) {
  const int rank_count = run.layout.grid().rank_count();
  ProductSeconds all;
  // share: of all products; slowness: [rank], empty: all are as the description says.
  const auto add = [&](double share, const std::vector<double>& slowness) {
    const auto count = slowness.empty() ? seconds.size() : static_cast<size_t>(rank_count);
    double sum_s = 0.0;
    double slowest_s = 0.0;
    for (size_t rank = 0; rank < count; ++rank) {
      const double rank_s =
          seconds[seconds.size() == 1 ? 0 : rank] * (slowness.empty() ? 1.0 : slowness[rank]);
      sum_s += rank_s;
      slowest_s = std::max(slowest_s, rank_s);
    }
    all.mean_s += share * std::min(sum_s / static_cast<double>(count), slowest_s);  // but for rounding
    all.slowest_s += share * slowest_s;
  };
  const auto& [of_all, slow] = run.ranks;
  if (slow.empty()) {
    add(1.0, of_all);
    return all;
  }
  // One outer step comes before the timed ones.
  const int64_t first = OuterStepCalls::products;
  const int64_t end = first + int64_t{OuterStepCalls::products} * run.outer_step_count;
  std::vector<int64_t> borders{first, end};
  for (const auto& change : slow) borders.push_back(std::clamp(change.first_product, first, end));
  std::ranges::sort(borders);
  for (size_t k = 1; k < borders.size(); ++k) {
    if (borders[k] == borders[k - 1]) continue;
    auto slowness = factors_at(slow, rank_count, borders[k - 1]);
    for (size_t rank = 0; rank < of_all.size(); ++rank) slowness[rank] *= of_all[rank];
    add(static_cast<double>(borders[k] - borders[k - 1]) / static_cast<double>(end - first), slowness);
  }
  return all;
}

Prediction predict_with(const KernelCost& kernel, const PredictedRun& run) {
  const auto& machine = run.machine;
  const auto& grid = run.configuration.grid;
  const auto calls =
      communication_costs(machine, run.layout, communicator_options(run.configuration, kernel.is_symmetric));
  const auto n = static_cast<double>(run.matrix.key.order);
  const double piece = run.largest_piece();
  const auto block =
      block_costs(machine, kernel, n / grid.rows, n / grid.columns, run.matrix.row_lengths(grid.columns));
  const auto products = products_of(run, product_seconds(kernel, run, block));
  const double update_s = machine.vectors.update_call_s + piece * block.update_s_per_element;
  const double local_dot_s = machine.vectors.dot_call_s + piece * block.dot_s_per_element;

  using Calls = OuterStepCalls;
  const double outer_steps = run.outer_step_count;
  Prediction prediction{.machine = machine.name, .configuration = run.configuration};
  prediction.configuration.kernel = kernel.name;
  const auto put = [&](Phase phase, double seconds) {
    prediction.phases[index_of(phase)] = outer_steps * seconds;
  };
  for (const auto phase : {Phase::collection, Phase::summation, Phase::shuffle})
    put(phase, Calls::products * calls[index_of(phase)]);
  put(Phase::multiply, Calls::products * products.mean_s);
  put(Phase::dot, Calls::sums * calls[index_of(Phase::dot)] + Calls::local_dots * local_dot_s);
  put(Phase::vector_updates, Calls::updates(kernel.is_symmetric) * update_s);
  prediction.outside_s = machine.outside_s_per_nonzero * run.matrix.nonzero_count / grid.rank_count();
  prediction.phases[index_of(waiting_phase(grid, kernel.is_symmetric))] +=
      outer_steps * Calls::products * (block.waiting_s + products.slowest_s - products.mean_s);
  return prediction;
}

}  // namespace

double Prediction::total_s() const { return std::accumulate(phases.begin(), phases.end(), outside_s); }

PhaseSeconds communication_costs(const MachineDescription& machine, const comm::BlockLayout& layout,
                                 const comm::CommunicatorOptions& options) {
  const int rank_count = layout.grid().rank_count();
  const int count = std::min(rank_count, most_sampled_ranks);
  PhaseSeconds busiest{};
  for (int64_t k = 0; k <= count; ++k) {  // the last rank is one of them
    const auto rank = static_cast<int>(std::min<int64_t>(k * rank_count / count, rank_count - 1));
    const auto seconds = exchange_seconds(machine, layout, rank, options);
    for (size_t phase = 0; phase < busiest.size(); ++phase)
      busiest[phase] = std::max(busiest[phase], seconds[phase]);
  }
  return busiest;
}

BlockCosts block_costs(const MachineDescription& machine, const KernelCost& kernel, double rows,
                       double columns, const RowLengthDistribution& lengths) {
  const auto& vectors = machine.vectors;
  BlockCosts costs{.dot_s_per_element = vectors.dot_s_per_element,
                   .update_s_per_element = vectors.update_s_per_element};
  const double nonzeros = rows * lengths.mean();
  if (kernel.loop) {
    const auto& loop = *kernel.loop;
    const double short_rows = lengths.share_below(loop.critical_vector_length);
    const double short_nonzeros = lengths.nonzeros_below(loop.critical_vector_length);
    costs.multiply_s = rows * ((1.0 - short_rows) * loop.row_start_up_s +
                               (lengths.mean() - short_nonzeros) * loop.seconds_per_nonzero +
                               short_nonzeros * loop.short_row_seconds_per_nonzero);
  } else if (nonzeros > 0.0) {
    const auto shape = between_shapes(kernel, rows, columns, nonzeros);
    costs.multiply_s = nonzeros * shape.seconds_per_nonzero;
    costs.waiting_s = costs.multiply_s * shape.waiting_share;
    costs.dot_s_per_element = shape.dot_s_per_element;
    costs.update_s_per_element = shape.update_s_per_element;
  }
  return costs;
}

void require_some_time(double seconds, std::string_view machine, std::string_view kernel) {
  if (seconds > 0.0) return;
  throw InputError(
      fmt::format(
          "machine {}: nothing takes any time: \"seconds_per_nonzero\" of kernel {} must be greater than 0",
          machine, kernel),
      ExitCode::bad_data);
}

Phase waiting_phase(const comm::ProcessGrid& grid, bool is_symmetric) {
  return grid.columns > 1 || (is_symmetric && grid.rows > 1) ? Phase::summation : Phase::dot;
}

Prediction predict(const MachineDescription& machine, const MatrixFacts& matrix,
                   const Configuration& configuration, int outer_step_count, const UnevenRanks& ranks) {
  const PredictedRun run{.machine = machine.through(configuration.transport),
                         .matrix = matrix,
                         .configuration = configuration,
                         .outer_step_count = outer_step_count,
                         .ranks = ranks,
                         .layout = make_layout(matrix, configuration)};
  if (configuration.has_kernel()) return predict_with(run.machine.kernel(configuration.kernel), run);
  if (!machine.default_kernel.empty()) return predict_with(run.machine.kernel(machine.default_kernel), run);
  Prediction best = predict_with(run.machine.kernels.front(), run);
  for (const auto& kernel : run.machine.kernels) {
    auto candidate = predict_with(kernel, run);
    if (candidate.total_s() < best.total_s()) best = std::move(candidate);
  }
  return best;
}

}  // namespace cg2d
