#include "comm/node_exchange.hpp"

namespace cg2d::comm {

NodeExchange::NodeExchange(const SharedStand& stand, Operation operation, const Way& sent,
                           const Way& received, SharedCounter& arrived, MessageLink& link)
    : waiter_(stand.waiter), arrived_(arrived) {
  const auto& nodes = stand.nodes;
  const int here = stand.node();
  std::vector<Message> sends;
  std::vector<Message> receives;
  for (int there = 0; there < nodes.node_count(); ++there) {
    if (there == here) continue;
    const bool is_mine = nodes.carrier(here, there) == stand.rank;
    const int partner = nodes.carrier(there, here);
    if (const auto& ranges = sent.ranges[static_cast<size_t>(there)]; !ranges.empty()) {
      ++outgoing_;
      if (is_mine) {
        sent_.push_back(ranges);
        sends.push_back({.partner = partner, .buffer = sent.buffer, .ranges = ranges});
      }
    }
    if (const auto& ranges = received.ranges[static_cast<size_t>(there)]; !ranges.empty()) {
      ++incoming_;
      if (is_mine) receives.push_back({.partner = partner, .buffer = received.buffer, .ranges = ranges});
    }
  }
  receive_count_ = receives.size();
  if (sends.size() + receives.size() > 0) messages_ = link.prepare(operation, sends, receives);
}

void NodeExchange::start_receives() {
  for (size_t k = 0; k < receive_count_; ++k) messages_->start_receive(k);
}

void NodeExchange::receive() {
  for (size_t k = 0; k < receive_count_; ++k) {
    messages_->wait_for_receive(k);
    arrived_.add_one(incoming_);
  }
}

void NodeExchange::wait_until_arrived(uint64_t runs) { arrived_.wait_for(incoming_ * runs, waiter_); }

void NodeExchange::wait_for_sends() {
  for (size_t k = 0; k < sent_.size(); ++k) messages_->wait_for_send(k);
}

}  // namespace cg2d::comm
