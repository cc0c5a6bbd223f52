#pragma once

// One operation's messages between nodes, from the point of view of one rank.

#include <cstddef>
#include <cstdint>
#include <memory>
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

}  // namespace cg2d::comm
