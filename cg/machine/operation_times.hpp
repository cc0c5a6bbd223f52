#pragma once

// Times of the transports' operations by themselves, measured in turns: for `cg2d pingpong` and the
// calibration of the model.

#include "cg/base/sample.hpp"
#include "cg/timing/race.hpp"
#include "comm/communicator.hpp"

namespace cg2d {

/// One operation of one transport. `transport` must be able to serve the group.
struct TimedOperation {
  const comm::TransportRow& transport;
  comm::Operation operation{};
  comm::BlockLayout layout;
  comm::CommunicatorOptions options{};
};

/// Times of one call per operation, including the piece() or partial() call that precedes writing: a program
/// makes that one for each of its calls, too. Each operation is checked once before it is timed.
/// Collective; the same answer on every rank. Throws RunError (on every rank alike), MpiError.
std::vector<Sample> time_operations(comm::RankGroup& group, std::span<const TimedOperation> operations,
                                    const RaceLimits& limits);

/// Time of the sum of one number over all ranks, by one way.
struct SumTime {
  std::string way;  ///< a transport's name, "MPI_Allreduce" or "MPI_Iallreduce"
  Sample seconds;
};
/// The transports' own sums, then MPI's, all in one race; MPI_Allreduce only where `may_block`. Every sum is
/// compared with the known result. Collective. Throws as time_operations().
std::vector<SumTime> time_sums(comm::RankGroup& group, std::span<const comm::TransportRow* const> transports,
                               bool may_block, const RaceLimits& limits);

/// Transports that can serve a group, and why the others cannot.
struct UsableTransports {
  std::vector<const comm::TransportRow*> available;
  /// Name and reason.
  std::vector<std::pair<std::string, std::string>> left_out;
};
/// Collective; the same answer on every rank.
UsableTransports transports_for(comm::RankGroup& group);

}  // namespace cg2d
