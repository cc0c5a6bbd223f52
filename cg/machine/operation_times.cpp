#include "cg/machine/operation_times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>

#include "cg/base/agreement.hpp"
#include "cg/base/errors.hpp"
#include "cg/solver/communicator_setup.hpp"

namespace cg2d {
namespace {

void call(comm::Communicator& communicator, comm::Operation operation) {
  switch (operation) {
    case comm::Operation::collect:
      static_cast<void>(communicator.piece());
      return communicator.collect();
    case comm::Operation::sum:
      static_cast<void>(communicator.partial());
      return communicator.sum();
    case comm::Operation::shuffle:
      return communicator.shuffle();
    case comm::Operation::dot: {
      double one = 1.0;
      return communicator.sum_scalars({&one, 1});
    }
    case comm::Operation::halo:
      break;  // no operation of a communicator
  }
}

/// Does the communication of one product with data that tell their index. Collective; true on this rank if
/// all that arrived is right.
bool delivers_one_product(comm::Communicator& communicator, const comm::BlockLayout& layout, int rank) {
  const auto grid = layout.grid();
  const auto mine = layout.own_piece(rank);
  const auto value_at = [](std::int64_t index) { return static_cast<double>(index + 1); };
  const auto piece = communicator.piece();
  for (std::size_t k = 0; k < piece.size(); ++k)
    piece[k] = value_at(mine.begin + static_cast<std::int64_t>(k));
  communicator.collect();
  bool is_right = true;
  const auto block = layout.columns_of(rank);
  const auto collected = communicator.column_block();
  for (std::size_t k = 0; k < collected.size(); ++k)
    is_right = is_right && collected[k] == value_at(block.begin + static_cast<std::int64_t>(k));

  const auto rows = layout.rows_of(rank);
  const auto partial = communicator.partial();
  for (std::size_t k = 0; k < partial.size(); ++k)
    partial[k] = value_at(rows.begin + static_cast<std::int64_t>(k));
  communicator.sum();
  communicator.shuffle();
  const auto result = communicator.result();
  for (std::size_t k = 0; k < result.size(); ++k)
    is_right = is_right && result[k] == grid.columns * value_at(mine.begin + static_cast<std::int64_t>(k));

  double sum = rank + 1.0;
  communicator.sum_scalars({&sum, 1});
  const double ranks = grid.rank_count();
  is_right = is_right && sum == ranks * (ranks + 1.0) / 2.0;
  // From here on the timed calls add up nothing but zeros: no overflow, no denormals.
  const auto zeros = communicator.partial();
  std::fill(zeros.begin(), zeros.end(), 0.0);
  return is_right;
}

/// A sum over all ranks whose result is known, and different in every call.
struct CheckedSum {
  std::string way;
  double rank;
  double rank_count;
  std::function<double(double)> sum;
  double calls = 0.0;
  bool is_right = true;

  void call() {
    ++calls;
    is_right = is_right && sum(calls + rank) == rank_count * calls + rank_count * (rank_count - 1.0) / 2.0;
  }
};

std::vector<Sample> race_samples(comm::RankGroup& group, std::span<const std::function<void()>> works,
                                 const RaceLimits& limits) {
  std::vector<Sample> samples;
  auto result = race(group, works, limits);
  for (auto& seconds : result.turns) samples.push_back(sample_of(std::move(seconds)));
  return samples;
}

}  // namespace

std::vector<Sample> time_operations(comm::RankGroup& group, std::span<const TimedOperation> operations,
                                    const RaceLimits& limits) {
  std::vector<std::unique_ptr<comm::Communicator>> communicators;
  std::vector<std::function<void()>> works;
  for (const auto& timed : operations) {
    communicators.push_back(make_communicator(timed.transport, group, timed.layout, timed.options));
    auto& communicator = *communicators.back();
    const bool is_right = delivers_one_product(communicator, timed.layout, group.rank());
    agree_on(group, [&] {
      if (!is_right) {
        throw RunError(ExitCode::internal, "transport {}: wrong data on rank {}, grid {}",
                       timed.transport.name, group.rank(), timed.layout.grid().name());
      }
    });
    works.emplace_back([&communicator, operation = timed.operation] { call(communicator, operation); });
  }
  return race_samples(group, works, limits);
}

std::vector<SumTime> time_sums(comm::RankGroup& group, std::span<const comm::TransportRow* const> transports,
                               bool may_block, const RaceLimits& limits) {
  const auto layout =
      equal_pieces(group.size(), {.columns = 1, .rows = group.size()});  // sums need no vectors
  std::vector<std::unique_ptr<comm::Communicator>> communicators;
  std::vector<CheckedSum> sums;
  const auto add = [&](std::string_view way, std::function<double(double)> sum) {
    sums.push_back({.way = std::string(way),
                    .rank = static_cast<double>(group.rank()),
                    .rank_count = static_cast<double>(group.size()),
                    .sum = std::move(sum)});
  };
  for (const auto* transport : transports) {
    communicators.push_back(make_communicator(*transport, group, layout, {}));
    add(transport->name, [&communicator = *communicators.back()](double value) {
      communicator.sum_scalars({&value, 1});
      return value;
    });
  }
  if (may_block) add("MPI_Allreduce", [&](double value) { return comm::sum_blocking(group, value); });
  add("MPI_Iallreduce", [&](double value) { return comm::sum_nonblocking(group, value); });

  std::vector<std::function<void()>> works;
  works.reserve(sums.size());
  for (auto& sum : sums) works.emplace_back([&sum] { sum.call(); });
  auto samples = race_samples(group, works, limits);
  std::vector<SumTime> times;
  for (std::size_t k = 0; k < sums.size(); ++k) {
    agree_on(group, [&] {
      if (!sums[k].is_right)
        throw RunError(ExitCode::internal, "{}: a wrong sum on rank {}", sums[k].way, group.rank());
    });
    times.push_back({.way = sums[k].way, .seconds = samples[k]});
  }
  return times;
}

UsableTransports transports_for(comm::RankGroup& group) {
  UsableTransports transports;
  for (const auto& row : comm::transport_table()) {
    const auto reason = group.broadcast(row.why_unavailable(group));
    if (reason.empty()) {
      transports.available.push_back(&row);
    } else {
      transports.left_out.emplace_back(row.name, reason);
    }
  }
  return transports;
}

}  // namespace cg2d
