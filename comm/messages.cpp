#include "comm/messages.hpp"

#include <utility>

namespace cg2d::comm {
namespace {

/// The steps of a schedule, one after the other: step k sends and receives message k.
class ScheduledSteps final : public PreparedOperation {
 public:
  ScheduledSteps(MessageLink& link, const BlockCollective& collective)
      : is_gather_(collective.operation == Operation::collect), block_(collective.block) {
    std::vector<Message> sends;
    std::vector<Message> receives;
    const auto message = [&](int member, const PieceRun& run) {
      Message found;
      if (member == ScheduleStep::no_partner) return found;
      found.partner = collective.ranks[static_cast<size_t>(member)];
      found.buffer = collective.block;
      found.ranges = collective.pieces.ranges(run);
      return found;
    };
    for (const auto& planned : collective.schedule.steps) {
      sends.push_back(message(planned.send_to, planned.sent));
      auto& received = receives.emplace_back(message(planned.receive_from, planned.received));
      auto& targets = targets_.emplace_back();
      if (planned.combine == Combine::place || received.ranges.empty()) continue;
      const IndexRange packed{.begin = 0, .end = received.element_count()};
      targets = std::exchange(received.ranges, {packed});
      received.buffer = {};
    }
    messages_ = link.prepare(collective.operation, sends, receives);
  }
  /// One step.
  ScheduledSteps(MessageLink& link, const PieceExchange& pieces)
      : targets_(1),
        messages_(link.prepare(
            pieces.operation,
            {{.partner = pieces.destination, .buffer = pieces.sent, .ranges = whole(pieces.sent)}},
            {{.partner = pieces.source, .buffer = pieces.received, .ranges = whole(pieces.received)}})) {}

  void run() override {
    start();
    complete(targets_.size());
    end();
  }
  void begin() override {
    if (messages_->runs_at_once()) return run();
    start();
  }
  void wait_for_part(size_t part) override {
    if (is_gather_ && arrived_ < part) messages_->remind(arrived_);
    complete(part);
  }
  void progress() override {
    while (is_gather_ && arrived_ < targets_.size() && messages_->has_arrived(arrived_)) {
      ++arrived_;
      send_next();
    }
  }
  void finish() override {
    if (messages_->runs_at_once()) return;
    wait_for_part(targets_.size());
    end();
  }

 private:
  bool is_added(size_t step) const { return !targets_[step].empty(); }
  /// Receives of a gather are all in place, nothing of them is read before they are complete, and no two are from the same rank. Those that are
  /// added have buffers of their own. Others wait for their step: that of the last step of an all-reduce replaces what the steps before it send.
  bool is_posted_ahead(size_t step) const { return is_gather_ || is_added(step); }

  void start() {
    messages_->begin();
    arrived_ = 0;
    for (size_t step = 0; step < targets_.size(); ++step) {
      if (is_posted_ahead(step)) messages_->start_receive(step);
    }
    send_next();
  }
  /// Starts the first step that has not arrived, which all before it allow.
  void send_next() {
    if (arrived_ == targets_.size()) return;
    if (!is_posted_ahead(arrived_)) messages_->start_receive(arrived_);
    messages_->start_send(arrived_);
  }
  /// Returns when the first `part` steps have arrived.
  void complete(size_t part) {
    for (; arrived_ < part; send_next()) {
      const auto step = arrived_;
      messages_->wait_for_receive(step);
      if (!is_gather_)
        messages_->wait_for_send(step);  // what is sent may be added to, or replaced, from now on
      if (is_added(step)) add_to_ranges(messages_->received(step), targets_[step], block_);
      ++arrived_;
    }
  }
  void end() {
    for (size_t step = 0; is_gather_ && step < targets_.size(); ++step) messages_->wait_for_send(step);
    messages_->end();
  }

  bool is_gather_ = false;
  std::span<double> block_;
  std::vector<std::vector<IndexRange>>
      targets_;  // [step]: where in the block the message is added; empty: it comes in place
  std::unique_ptr<Messages> messages_;
  size_t arrived_ = 0;  // steps of this run
};

}  // namespace

int64_t Message::element_count() const {
  int64_t count = 0;
  for (const auto& range : ranges) count += range.size();
  return count;
}

std::vector<IndexRange> whole(std::span<const double> buffer) {
  if (buffer.empty()) return {};
  return {IndexRange{.begin = 0, .end = std::ssize(buffer)}};
}

std::unique_ptr<PreparedOperation> MessageLink::collective(const BlockCollective& collective) {
  return std::make_unique<ScheduledSteps>(*this, collective);
}

std::unique_ptr<PreparedOperation> MessageLink::move(const PieceExchange& pieces) {
  return std::make_unique<ScheduledSteps>(*this, pieces);
}

}  // namespace cg2d::comm
