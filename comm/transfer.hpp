#pragma once

// Persistent messages of MPI between buffers that stay where they are.

#include <mpi.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <memory_resource>
#include <span>
#include <vector>

#include "comm/block_layout.hpp"
#include "comm/buffer.hpp"
#include "comm/communicator.hpp"
#include "comm/doorbells.hpp"
#include "comm/messages.hpp"
#include "comm/mpi_handles.hpp"
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

 private:
  void tell_taken(const Transfer& receive) const;
  void wait_for_bell(const Transfer& transfer, Bell bell) const;

  RankGroup& group_;
  TrafficCounts& sent_;
  std::unique_ptr<Doorbells> bells_;  // only where waiting ranks yield
};

/// Persistent messages of a group, which must outlive it; buffers come from `memory`.
class MpiLink : public MessageLink {
 public:
  /// Collective over the group.
  MpiLink(RankGroup& group, TrafficCounts& sent, std::pmr::memory_resource& memory)
      : endpoint_(group, sent), memory_(memory) {}

  std::span<double> allocate(size_t count) override { return buffers_.emplace_back(memory_, count).span(); }
  /// Local.
  std::unique_ptr<Messages> prepare(Operation operation, const std::vector<Message>& sends,
                                    const std::vector<Message>& receives) override;

 private:
  Endpoint endpoint_;
  std::pmr::memory_resource& memory_;
  std::deque<Buffer> buffers_;
};

/// Makes such a link.
MakeLink mpi_link(RankGroup& group, std::pmr::memory_resource& memory);

}  // namespace cg2d::comm
