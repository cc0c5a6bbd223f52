#include "cg/machine/performance_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <span>
#include <utility>

#include "cg/base/errors.hpp"
#include "cg/solver/communicator_setup.hpp"
#include "comm/schedule.hpp"

namespace cg2d {
namespace {

/// Seconds of the messages of one rank, where nothing else is on their links but the node's other ranks.
class MessageSeconds : public MessageCost {
 public:
  MessageSeconds(const MachineDescription& machine, int rank_count, int rank)
      : MessageCost(machine, rank), between_nodes_bytes_per_s_(machine.network.bytes_per_s) {
    const auto& node = machine.node;
    if (node.ranks > 0 && rank_count > node.ranks)
      between_nodes_bytes_per_s_ = std::min(between_nodes_bytes_per_s_, node.link_bytes_per_s / node.ranks);
  }

  /// partner: a rank, which may be this one where the machine's shuffle takes its time for that.
  [[nodiscard]] double message(int partner, double elements) const {
    const auto& network = network_to(partner);
    const double bytes_per_s = is_within_node(partner) ? network.bytes_per_s : between_nodes_bytes_per_s_;
    return elements > 0.0 ? network.start_up_s + elements * element_bytes / bytes_per_s : 0.0;
  }

  /// One member's steps, one after the other; both directions of a step overlap. rank_of(member): a rank.
  template <typename RankOf>
  [[nodiscard]] double steps(const comm::Schedule& schedule, const comm::GroupPieces& pieces,
                             const RankOf& rank_of) const {
    const auto transfer = [&](int partner, const comm::PieceRun& run) {
      if (partner == comm::ScheduleStep::no_partner) return 0.0;
      const auto elements = static_cast<double>(pieces.element_count(run));
      return message(rank_of(partner), elements) + software_s(rank_of(partner), elements);
    };
    double seconds = 0.0;
    for (const auto& step : schedule.steps) {
      seconds += std::max(transfer(step.send_to, step.sent), transfer(step.receive_from, step.received));
      if (step.combine == comm::Combine::add && step.receive_from != comm::ScheduleStep::no_partner)
        seconds += addition_s(static_cast<double>(pieces.element_count(step.received)));
    }
    return seconds;
  }

 private:
  double between_nodes_bytes_per_s_;
};

std::vector<int> sampled_ranks(int rank_count) {
  const int count = std::min(rank_count, most_sampled_ranks);
  std::vector<int> ranks;
  ranks.reserve(static_cast<std::size_t>(count) + 1);
  for (std::int64_t k = 0; k < count; ++k) ranks.push_back(static_cast<int>(k * rank_count / count));
  if (ranks.back() != rank_count - 1) ranks.push_back(rank_count - 1);
  return ranks;
}

/// The shuffle of one rank, which sends and receives at the same time.
double shuffle_seconds(const MessageSeconds& cost, const comm::BlockLayout& layout, int rank) {
  const int destination = layout.shuffle_destination(rank);
  const int source = layout.shuffle_source(rank);
  double seconds = 0.0;
  if (destination != rank || cost.shuffles_kept_pieces())
    seconds = cost.message(destination, static_cast<double>(layout.piece(layout.row_piece_of(rank)).size()));
  if (source != rank)
    seconds = std::max(seconds, cost.message(source, static_cast<double>(layout.own_piece(rank).size())));
  return seconds;
}

CommunicationCosts costs_of_rank(const MachineDescription& machine, const comm::BlockLayout& layout, int rank,
                                 const comm::CommunicatorOptions& options) {
  const auto& grid = layout.grid();
  const MessageSeconds cost(machine, grid.rank_count(), rank);
  const auto over_column = comm::collection_pieces(layout, rank);
  const auto over_row = comm::summation_pieces(layout, rank);
  const auto in_column = [&](int member) { return grid.rank_at(member, grid.column_of(rank)); };
  const auto in_row = [&](int member) { return grid.rank_at(grid.row_of(rank), member); };
  CommunicationCosts costs;
  costs.collection_s = cost.steps(comm::collection_schedule(layout, rank), over_column, in_column);
  costs.summation_s = cost.steps(comm::summation_schedule(layout, rank, options.sum_form), over_row, in_row);
  costs.shuffle_s = shuffle_seconds(cost, layout, rank);
  if (options.mirrored) {
    // The collection over the rows includes a shuffle backwards.
    costs.collection_s +=
        costs.shuffle_s + cost.steps(comm::mirrored_collection_schedule(layout, rank), over_row, in_row);
    costs.summation_s +=
        cost.steps(comm::mirrored_summation_schedule(layout, rank, options.sum_form), over_column, in_column);
  }
  for (const auto& step : comm::all_reduce_schedule(grid.rank_count(), rank).steps) {
    costs.dot_s += cost.message(std::max(step.send_to, step.receive_from), 1.0);
    if (step.combine == comm::Combine::add) costs.dot_s += cost.addition_s(1.0);
  }
  return costs;
}

double loop_seconds(const RowLoopCost& loop, double rows, const RowLengthDistribution& lengths) {
  const double short_rows = lengths.share_below(loop.critical_vector_length);
  const double short_nonzeros = lengths.nonzeros_below(loop.critical_vector_length);
  return rows * ((1.0 - short_rows) * loop.row_start_up_s +
                 (lengths.mean() - short_nonzeros) * loop.seconds_per_nonzero +
                 short_nonzeros * loop.short_row_seconds_per_nonzero);
}

/// A block between the measured shapes: their figures, weighted by the inverse fourth power of the distance
/// in the logarithms of rows, columns and nonzeros. A shape that was measured is met all but exactly. The
/// time of rows of another length follows the kernel's curve.
BlockShapeCost between_shapes(const KernelCost& kernel, double rows, double columns, double nonzeros) {
  double weights = 0.0;
  BlockShapeCost mean{.rows = rows, .columns = columns, .nonzeros = nonzeros};
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
    mean.dot_s_per_element += weight * shape.dot_s_per_element;
    mean.update_s_per_element += weight * shape.update_s_per_element;
    mean.waiting_share += weight * shape.waiting_share;
  }
  mean.seconds_per_nonzero /= weights;
  mean.dot_s_per_element /= weights;
  mean.update_s_per_element /= weights;
  mean.waiting_share /= weights;
  return mean;
}

/// A part of the products, in which the ranks do not change.
struct Period {
  double share = 1.0;              ///< of all products
  std::vector<double> slowness{};  ///< [rank]; empty: all are as the description says
};

std::vector<Period> periods_of(const UnevenRanks& ranks, int rank_count, int outer_step_count) {
  if (ranks.slow.ranks.empty()) return {{.slowness = ranks.slowness}};
  // One outer step comes before the timed ones.
  const std::int64_t first = OuterStepCalls::products;
  const std::int64_t end = first + std::int64_t{OuterStepCalls::products} * outer_step_count;
  std::vector<std::int64_t> borders{first, end};
  for (const auto& slow : ranks.slow.ranks) borders.push_back(std::clamp(slow.first_product, first, end));
  std::ranges::sort(borders);
  std::vector<Period> periods;
  for (std::size_t k = 1; k < borders.size(); ++k) {
    if (borders[k] == borders[k - 1]) continue;
    Period period{
        .share = static_cast<double>(borders[k] - borders[k - 1]) / static_cast<double>(end - first),
        .slowness = factors_at(ranks.slow, rank_count, borders[k - 1])};
    for (std::size_t rank = 0; rank < ranks.slowness.size(); ++rank)
      period.slowness[rank] *= ranks.slowness[rank];
    periods.push_back(std::move(period));
  }
  return periods;
}

/// A run to be predicted with one kernel or another.
struct PredictedRun {
  MachineDescription machine;  ///< with the network of the configuration's transport
  const MatrixFacts& matrix;
  const Configuration& configuration;
  int outer_step_count = 1;
  comm::BlockLayout layout;
  std::vector<Period> periods;

  [[nodiscard]] bool has_even_pieces() const { return matrix.piece_starts.empty(); }
  [[nodiscard]] double largest_piece() const {
    if (has_even_pieces()) return static_cast<double>(layout.size()) / layout.grid().rank_count();
    std::int64_t most = 0;
    for (int piece = 0; piece < layout.grid().rank_count(); ++piece)
      most = std::max(most, layout.piece(piece).size());
    return static_cast<double>(most);
  }
};

/// Seconds of each rank's product: [rank], or one for all where pieces are even. even: of a block of the mean shape. Blocks of equal
/// sizes, as most are, are counted once.
std::vector<double> product_seconds(const KernelCost& kernel, const PredictedRun& run,
                                    const BlockCosts& even) {
  if (run.has_even_pieces()) return {even.multiply_s};
  const auto grid = run.layout.grid();
  const auto n = static_cast<double>(run.layout.size());
  std::map<std::int64_t, std::vector<int>> rows_of_height;
  std::map<std::int64_t, std::vector<int>> columns_of_width;
  for (int row = 0; row < grid.rows; ++row) rows_of_height[run.layout.row_block(row).size()].push_back(row);
  for (int column = 0; column < grid.columns; ++column)
    columns_of_width[run.layout.column_block(column).size()].push_back(column);
  std::vector<double> seconds(static_cast<std::size_t>(grid.rank_count()));
  for (const auto& [width, columns] : columns_of_width) {
    if (width == 0) continue;
    // Row lengths are known for equal parts of the columns: between the two nearest ones the time grows evenly.
    const auto parts = std::max(std::floor(n / static_cast<double>(width)), 1.0);
    const double more_parts = parts + 1.0;
    const auto wider = run.matrix.row_lengths(static_cast<int>(parts));
    const auto narrower = run.matrix.row_lengths(static_cast<int>(more_parts));
    const double share_of_wider = parts * (more_parts * static_cast<double>(width) / n - 1.0);
    for (const auto& [height, rows] : rows_of_height) {
      if (height == 0) continue;
      const auto seconds_of = [&, height = static_cast<double>(height)](
                                  double part_count, const RowLengthDistribution& lengths) {
        return block_costs(run.machine, kernel, height, n / part_count, lengths).multiply_s;
      };
      const double block_s =
          std::lerp(seconds_of(more_parts, narrower), seconds_of(parts, wider), share_of_wider);
      for (const int row : rows) {
        for (const int column : columns)
          seconds[static_cast<std::size_t>(grid.rank_at(row, column))] = block_s;
      }
    }
  }
  return seconds;
}

/// A product of all ranks.
struct ProductSeconds {
  double mean_s = 0.0;
  double slowest_s = 0.0;
};

/// The mean over the periods.
ProductSeconds products_of(const PredictedRun& run, std::span<const double> seconds) {
  const auto rank_count = static_cast<std::size_t>(run.layout.grid().rank_count());
  ProductSeconds all;
  for (const auto& [share, slowness] : run.periods) {
    const auto count = slowness.empty() ? seconds.size() : rank_count;
    double sum_s = 0.0;
    double slowest_s = 0.0;
    for (std::size_t rank = 0; rank < count; ++rank) {
      const double rank_s =
          seconds[seconds.size() == 1 ? 0 : rank] * (slowness.empty() ? 1.0 : slowness[rank]);
      sum_s += rank_s;
      slowest_s = std::max(slowest_s, rank_s);
    }
    all.mean_s += share * std::min(sum_s / static_cast<double>(count), slowest_s);  // but for rounding
    all.slowest_s += share * slowest_s;
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
    prediction.phases[static_cast<std::size_t>(phase)] = outer_steps * seconds;
  };
  put(Phase::collection, Calls::products * calls.collection_s);
  put(Phase::multiply, Calls::products * products.mean_s);
  put(Phase::summation, Calls::products * calls.summation_s);
  put(Phase::shuffle, Calls::products * calls.shuffle_s);
  put(Phase::dot, Calls::sums * calls.dot_s + Calls::local_dots * local_dot_s);
  put(Phase::vector_updates, Calls::updates(kernel.is_symmetric) * update_s);
  prediction.outside_s = machine.outside_s_per_nonzero * run.matrix.nonzero_count / grid.rank_count();
  prediction.phases[static_cast<std::size_t>(waiting_phase(grid, kernel.is_symmetric))] +=
      outer_steps * Calls::products * (block.waiting_s + products.slowest_s - products.mean_s);
  return prediction;
}

}  // namespace

double Prediction::total_s() const { return std::accumulate(phases.begin(), phases.end(), outside_s); }

CommunicationCosts communication_costs(const MachineDescription& machine, const comm::BlockLayout& layout,
                                       const comm::CommunicatorOptions& options) {
  const int rank_count = layout.grid().rank_count();
  CommunicationCosts busiest;
  for (const int rank : sampled_ranks(rank_count)) {
    const auto costs = costs_of_rank(machine, layout, rank, options);
    busiest.collection_s = std::max(busiest.collection_s, costs.collection_s);
    busiest.summation_s = std::max(busiest.summation_s, costs.summation_s);
    busiest.shuffle_s = std::max(busiest.shuffle_s, costs.shuffle_s);
    busiest.dot_s = std::max(busiest.dot_s, costs.dot_s);
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
    costs.multiply_s = loop_seconds(*kernel.loop, rows, lengths);
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
                         .layout = make_layout(matrix, configuration),
                         .periods = periods_of(ranks, configuration.grid.rank_count(), outer_step_count)};
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
