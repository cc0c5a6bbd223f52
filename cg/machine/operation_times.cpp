#include "cg/machine/operation_times.hpp"

#include <numeric>

#include "cg/base/agreement.hpp"
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
  const auto write = [](std::span<double> values, const comm::IndexRange& range) {
    std::iota(values.begin(), values.end(), static_cast<double>(range.begin + 1));
  };
  const auto holds = [](std::span<const double> values, const comm::IndexRange& range, int times) {
    auto index = static_cast<double>(range.begin);
    return std::ranges::all_of(values, [&](double value) { return value == times * ++index; });
  };
  const auto mine = layout.own_piece(rank);
  write(communicator.piece(), mine);
  communicator.collect();
  const bool is_collected = holds(communicator.column_block(), layout.columns_of(rank), 1);
  write(communicator.partial(), layout.rows_of(rank));
  communicator.sum();
  communicator.shuffle();
  const bool is_summed = holds(communicator.result(), mine, layout.grid().columns);
  double sum = rank + 1.0;
  communicator.sum_scalars({&sum, 1});
  const double ranks = layout.grid().rank_count();
  // From here on the timed calls add up nothing but zeros: no overflow, no denormals.
  std::ranges::fill(communicator.partial(), 0.0);
  return is_collected && is_summed && sum == ranks * (ranks + 1.0) / 2.0;
}

/// A sum over all ranks whose result is known, and different in every call.
struct CheckedSum {
  std::string way;
  std::function<double(double)> sum;
  double calls = 0.0;
  bool is_right = true;
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
      comm::BlockLayout::even(group.size(), {.columns = 1, .rows = group.size()});  // sums need no vectors
  std::vector<std::unique_ptr<comm::Communicator>> communicators;
  std::vector<CheckedSum> sums;
  for (const auto* transport : transports) {
    communicators.push_back(make_communicator(*transport, group, layout, {}));
    sums.push_back({std::string(transport->name), [&communicator = *communicators.back()](double value) {
                      communicator.sum_scalars({&value, 1});
                      return value;
                    }});
  }
  if (may_block)
    sums.push_back({"MPI_Allreduce", [&](double value) { return comm::sum_blocking(group, value); }});
  sums.push_back({"MPI_Iallreduce", [&](double value) { return comm::sum_nonblocking(group, value); }});

  const double rank = group.rank();
  const double rank_count = group.size();
  std::vector<std::function<void()>> works;
  works.reserve(sums.size());
  for (auto& one : sums)
    works.emplace_back([=, &one] {
      const double number = ++one.calls;
      one.is_right &= one.sum(number + rank) == rank_count * number + rank_count * (rank_count - 1.0) / 2.0;
    });
  auto samples = race_samples(group, works, limits);
  std::vector<SumTime> times;
  for (size_t k = 0; k < sums.size(); ++k) {
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
