#pragma once

// Persistent messages of MPI between buffers that stay where they are. They are all that the transport "two-sided" has, whose
// row endpoint.cpp makes.

#include <deque>
#include <memory>
#include <memory_resource>
#include <span>
#include <vector>

#include "comm/doorbells.hpp"
#include "comm/messages.hpp"
#include "comm/rank_group.hpp"

namespace cg2d::comm {

/// One rank's end of messages between the ranks of a group, which must outlive it. Where waiting ranks yield they sleep until their partner rings:
///
///     this rank            rings                           so that
///     start_send           its receiver's bell "sent"      a receiver that sleeps looks again
///     wait_for_receive     its sender's bell "taken"       a sender whose long message was fetched goes on
///     remind               its receiver's bell "sent"      a receiver that needs this rank's help gets it
class Endpoint : public MessageLink {
 public:
  /// Buffers come from `memory`. Collective over the group. Throws MpiError.
  Endpoint(RankGroup& group, TrafficCounts& sent,
           std::pmr::memory_resource& memory = *std::pmr::new_delete_resource());

  std::span<double> allocate(size_t count) override {
    return buffers_.emplace_back(shared_.memory, count).span();
  }
  /// Local.
  std::unique_ptr<Messages> prepare(Operation operation, const std::vector<Message>& sends,
                                    const std::vector<Message>& receives) override;

  /// The state that all messages share.
  struct Shared {
    RankGroup& group;
    TrafficCounts& sent;
    std::pmr::memory_resource& memory;
    std::unique_ptr<Doorbells> bells{};  ///< only where waiting ranks yield
  };

 protected:
  Shared shared_;

 private:
  std::deque<Buffer> buffers_;
};

/// Makes such an endpoint.
MakeLink mpi_endpoint(RankGroup& group, std::pmr::memory_resource& memory);

}  // namespace cg2d::comm
