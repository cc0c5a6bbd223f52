#pragma once

// Persistent messages of MPI between buffers that stay where they are.

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <memory_resource>
#include <span>
#include <vector>

#include "comm/block_layout.hpp"
#include "comm/communicator.hpp"
#include "comm/doorbells.hpp"
#include "comm/mpi_handles.hpp"
#include "comm/prepared_operation.hpp"
#include "comm/rank_group.hpp"

namespace cg2d::comm {

/// A persistent send or receive; idle (never started, never waited for) when there is nothing to move.
class Transfer {
 public:
  Transfer() = default;

  /// Moves these ranges of the buffer, in their order; at least one, none of them empty. Messages of one
  /// operation between two ranks arrive in the order in which they were sent. Throws MpiError.
  static Transfer send(MPI_Comm communicator, std::span<double> buffer, const std::vector<IndexRange>& ranges,
                       int destination, Operation operation);
  static Transfer receive(MPI_Comm communicator, std::span<double> buffer,
                          const std::vector<IndexRange>& ranges, int source, Operation operation);

  bool idle() const { return handle_ == MPI_REQUEST_NULL; }
  int64_t byte_count() const { return byte_count_; }
  MPI_Request handle() const { return handle_; }
  int partner() const { return partner_; }

  void start();

 private:
  explicit Transfer(int partner) : partner_(partner) {}
  template <typename Init>
  static Transfer make(const Init& init, const char* call, MPI_Comm communicator, std::span<double> buffer,
                       const std::vector<IndexRange>& ranges, int partner, Operation operation);

  int partner_ = -1;
  OwnedDatatype type_;  // where there are several ranges
  OwnedRequest request_;
  MPI_Request handle_ = MPI_REQUEST_NULL;
  int64_t byte_count_ = 0;
};

/// All of a buffer as the ranges of a Transfer.
std::vector<IndexRange> whole(std::span<const double> buffer);

/// Starts one rank's transfers and waits for them. Counts the sends. Where waiting ranks yield they sleep
/// until their partner rings:
///
///     this rank            rings                           so that
///     start_send           its receiver's bell "sent"      a receiver that sleeps looks again
///     wait_for_receive     its sender's bell "taken"       a sender whose long message was fetched goes on
///     remind               its receiver's bell "sent"      a receiver that needs this rank's help gets it
///
/// Each throws MpiError.
class Endpoint {
 public:
  /// Collective over the group.
  Endpoint(RankGroup& group, TrafficCounts& sent);

  MPI_Comm handle() const { return group_.handle(); }
  void start_send(Operation operation, Transfer& send) const;
  void wait_for_receive(const Transfer& receive) const;
  /// Looks once, which lets MPI work.
  bool has_arrived(const Transfer& receive) const;
  void wait_for_send(const Transfer& send) const;
  /// For a send that was started a while ago: its receiver may sleep because it needs calls of MPI on this
  /// rank to fetch the message, which this rank makes from now on.
  void remind(const Transfer& send) const;
  /// Looks once for a send while this rank has other work, and reminds the receiver if it has not all of it.
  void push(const Transfer& send) const;
  /// Waits for both, in the order that lets the partner go on first.
  void wait_for(const Transfer& send, const Transfer& receive) const;

 private:
  void tell_taken(const Transfer& receive) const;
  void wait_for_bell(const Transfer& transfer, Bell bell) const;

  RankGroup& group_;
  TrafficCounts& sent_;
  std::unique_ptr<Doorbells> bells_;  // only where waiting ranks yield
};

/// The steps of collective.schedule as persistent messages, run one after the other; buffers for what they add
/// come from `memory`. For transports that need such an operation beside their own. The endpoint and the
/// memory must outlive it. Collective over the members.
std::unique_ptr<PreparedOperation> make_scheduled_steps(const Endpoint& endpoint,
                                                        const BlockCollective& collective,
                                                        std::pmr::memory_resource& memory);

}  // namespace cg2d::comm
