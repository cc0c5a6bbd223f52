#pragma once

// Messages of the transport "shared" between nodes, of one operation and one rank; and one summation: over the process row or over the process
// column.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "comm/messages.hpp"
#include "comm/shared_areas.hpp"

namespace cg2d::comm {

/// The messages of an operation, at most one each way between two nodes. The node's ranks carry them in turns
/// (NodeMap::carrier); each rank learns when all of them have come. The references must outlive it.
///
///     carriers                                   all ranks of the node
///     start_receives()
///     send(): each when its data are ready
///     receive(): counts what has come            wait_until_arrived()
///     wait_for_sends()
///
/// A rank that carries nothing may call all of them.
class NodeExchange {
 public:
  /// One direction: parts of a buffer in the node's memory.
  struct Way {
    std::span<double> buffer;
    std::vector<std::vector<IndexRange>>
        ranges{};  ///< [node], this one's are left out; no ranges: no message
  };

  /// `arrived` counts the messages that have come to the node. Collective.
  NodeExchange(const SharedStand& stand, Operation operation, const Way& sent, const Way& received,
               SharedCounter& arrived, MessageLink& link);

  /// Whether this rank carries messages.
  bool carries() const { return messages_ != nullptr; }
  /// Whether any rank of the node does.
  bool is_needed() const { return outgoing_ + incoming_ > 0; }
  /// The ranges in each message that this rank sends.
  const std::vector<std::vector<IndexRange>>& sent() const { return sent_; }

  /// From here on messages may write to the buffer.
  void start_receives();
  /// Sends each message after wait_until_ready(its index in sent()).
  template <typename WaitUntilReady>
  void send(const WaitUntilReady& wait_until_ready) {
    for (size_t k = 0; k < sent_.size(); ++k) {
      wait_until_ready(k);
      messages_->start_send(k);
    }
  }
  /// Waits for the messages that this rank receives, and counts them for the node.
  void receive();
  /// Returns when all messages to the node have come, in that many runs.
  void wait_until_arrived(uint64_t runs);
  void wait_for_sends();

 private:
  Waiter& waiter_;
  SharedCounter& arrived_;
  std::unique_ptr<Messages> messages_;  // only where this rank carries some
  std::vector<std::vector<IndexRange>> sent_;
  size_t receive_count_ = 0;
  uint64_t outgoing_ = 0;  // messages of the whole node
  uint64_t incoming_ = 0;
};

/// Sums this rank's column piece of q. Each rank of a node adds up the partial sums of its own piece where
/// they are. For pieces of other nodes' ranks the node's ranks first add up their own partial sums, each rank
/// an equal share of them; then one message goes to each node. The references must outlive it.
class SharedSum {
 public:
  /// `link` is needed where there are several nodes; `memory` gives the buffer of the result. Collective.
  SharedSum(const SharedStand& stand, Line over, MessageLink* link, std::pmr::memory_resource& memory);

  /// My partial sums of the whole block. Waits until all ranks of the node have read the last ones, unless
  /// there was a sum_scalars() since.
  [[nodiscard]] std::span<double> partial(const ScalarSumCounts& scalar_sums);
  std::span<const double> result() const;
  void run(const ScalarSumCounts& scalar_sums);

 private:
  /// A part of the sums for other nodes, which this rank adds up.
  struct Share {
    int group;
    std::vector<const double*> sources;
    std::span<double> target;
  };

  void prepare(MessageLink* link);
  void add_shares(const NodeSums& sums, int64_t begin);
  void exchange();
  uint64_t local_count(int group) const { return local_counts_[static_cast<size_t>(group)]; }
  void wait_for_partials(int group);

  SharedStand stand_;
  Line over_;
  std::span<double> partial_;
  int my_group_ = 0;                    // whose partial sums I write
  int summed_group_ = 0;                // whose sums my piece is
  std::vector<uint64_t> local_counts_;  // ranks of this node, by group
  std::vector<const double*> sources_;  // partial sums of my piece
  Buffer result_;
  bool in_place_ = false;  // a group of one: the partial sums are the sums
  std::vector<Share> shares_;
  std::optional<NodeExchange> exchange_;  // with other nodes, where there are some
  uint64_t number_ = 0;
  uint64_t scalars_at_run_ = 0;
};

}  // namespace cg2d::comm
