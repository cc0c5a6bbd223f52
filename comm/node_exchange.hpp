#pragma once

// One operation's messages between nodes, as one rank of a node has to do with them.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "comm/node_link.hpp"
#include "comm/shared_areas.hpp"

namespace cg2d::comm {

/// The messages of an operation, at most one each way with each other node. This rank carries those for which
/// it is the carrier, and knows when all of the node's have come. What it refers to must outlive it.
class NodeExchange {
 public:
  /// One way: parts of a buffer in the node's memory. ranges(node) is asked once for each other node, in
  /// order; none: no message.
  struct Way {
    std::span<double> buffer;
    std::function<std::vector<IndexRange>(int node)> ranges;
  };

  /// `arrived` counts the messages that have come. Collective.
  NodeExchange(const SharedStand& stand, Operation operation, const Way& sent, const Way& received,
               SharedCounter& arrived, NodeLink& link);

  /// Whether this rank carries messages.
  [[nodiscard]] bool carries() const { return messages_ != nullptr; }
  /// Whether any rank of the node does.
  [[nodiscard]] bool is_needed() const { return outgoing_ + incoming_ > 0; }
  /// What the messages hold that this rank sends.
  [[nodiscard]] const std::vector<std::vector<IndexRange>>& sent() const { return sent_; }

  /// From here on what comes may be written.
  void start_receives();
  /// Sends each message when wait_until_ready(its index in sent()) has returned.
  template <typename WaitUntilReady>
  void send(const WaitUntilReady& wait_until_ready) {
    for (std::size_t k = 0; k < sent_.size(); ++k) {
      wait_until_ready(k);
      messages_->start_send(k);
    }
  }
  /// Waits for the messages that this rank receives, and tells the node.
  void receive();
  /// Returns when all of the node's messages of that many runs have come.
  void wait_until_arrived(std::uint64_t runs);
  void wait_for_sends();

 private:
  Waiter& waiter_;
  SharedCounter& arrived_;
  std::unique_ptr<NodeMessages> messages_;  // only where this rank carries some
  std::vector<std::vector<IndexRange>> sent_;
  std::size_t receive_count_ = 0;
  std::uint64_t outgoing_ = 0;  // messages of the whole node
  std::uint64_t incoming_ = 0;
};

}  // namespace cg2d::comm
