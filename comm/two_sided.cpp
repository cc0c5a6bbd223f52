// The transport "two-sided": persistent messages between fixed buffers, all made at set-up.

#include <deque>
#include <vector>

#include "comm/buffer.hpp"
#include "comm/halo.hpp"
#include "comm/prepared_operation.hpp"
#include "comm/transfer.hpp"

namespace cg2d::comm {
namespace {

/// One step of a schedule, ready to run.
struct Step {
  Transfer send;
  Transfer receive;
  Buffer scratch;                   // received data that are added to the block
  std::vector<IndexRange> targets;  // where in the block the scratch is added; empty: received in place
};

std::vector<Step> steps_of(const Endpoint& endpoint, const BlockCollective& collective,
                           std::pmr::memory_resource& memory) {
  const auto communicator = endpoint.handle();
  std::vector<Step> steps;
  for (const auto& planned : collective.schedule.steps) {
    Step step;
    const auto rank_of = [&](int member) { return collective.ranks[static_cast<size_t>(member)]; };
    if (planned.send_to != ScheduleStep::no_partner && collective.pieces.element_count(planned.sent) > 0) {
      step.send = Transfer::send(communicator, collective.block, collective.pieces.ranges(planned.sent),
                                 rank_of(planned.send_to), collective.operation);
    }
    if (planned.receive_from != ScheduleStep::no_partner &&
        collective.pieces.element_count(planned.received) > 0) {
      auto ranges = collective.pieces.ranges(planned.received);
      if (planned.combine == Combine::place) {
        step.receive = Transfer::receive(communicator, collective.block, ranges,
                                         rank_of(planned.receive_from), collective.operation);
      } else {
        step.scratch = Buffer(memory, static_cast<size_t>(collective.pieces.element_count(planned.received)));
        step.receive = Transfer::receive(communicator, step.scratch.span(), whole(step.scratch.span()),
                                         rank_of(planned.receive_from), collective.operation);
        step.targets = std::move(ranges);
      }
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

/// The steps of a schedule, one after the other.
class ScheduledSteps final : public PreparedGather {
 public:
  ScheduledSteps(const Endpoint& endpoint, const BlockCollective& collective,
                 std::pmr::memory_resource& memory)
      : endpoint_(endpoint),
        operation_(collective.operation),
        block_(collective.block),
        steps_(steps_of(endpoint, collective, memory)) {}
  /// One step.
  ScheduledSteps(const Endpoint& endpoint, const PieceExchange& pieces)
      : endpoint_(endpoint), operation_(pieces.operation), steps_(1) {
    const auto communicator = endpoint.handle();
    if (!pieces.sent.empty())
      steps_[0].send =
          Transfer::send(communicator, pieces.sent, whole(pieces.sent), pieces.destination, operation_);
    if (!pieces.received.empty())
      steps_[0].receive =
          Transfer::receive(communicator, pieces.received, whole(pieces.received), pieces.source, operation_);
  }

  void run() override {
    begin_run();
    end_run();
  }
  /// Starts the first step.
  void begin_run() override {
    // Receives that are added have buffers of their own, so they are all posted ahead. Receives in place are
    // not: that of the last step of an all-reduce replaces what the steps before it send.
    for (auto& step : steps_) {
      if (!step.targets.empty()) step.receive.start();
    }
    if (!steps_.empty()) start(steps_.front());
  }
  void end_run() override {
    for (size_t k = 0; k < steps_.size(); ++k) {
      auto& step = steps_[k];
      if (k > 0) start(step);
      endpoint_.wait_for(step.send, step.receive);
      add_to_ranges(step.scratch.span(), step.targets, block_);
    }
  }

  // A gather in parts posts every receive at once: all of them are in place, nothing of them is read before
  // they are complete, and no two are from the same rank.
  void begin() override {
    for (auto& step : steps_) step.receive.start();
    arrived_ = 0;
    send_next();
  }
  void wait_for_part(size_t part) override {
    for (; arrived_ < part; send_next()) {
      endpoint_.remind(steps_[arrived_].send);
      endpoint_.wait_for_receive(steps_[arrived_].receive);
      ++arrived_;
    }
  }
  void progress() override {
    while (arrived_ < steps_.size() && endpoint_.has_arrived(steps_[arrived_].receive)) {
      ++arrived_;
      send_next();
    }
  }
  void finish() override {
    wait_for_part(steps_.size());
    for (const auto& step : steps_) endpoint_.wait_for_send(step.send);
  }

 private:
  void start(Step& step) {
    if (step.targets.empty()) step.receive.start();
    endpoint_.start_send(operation_, step.send);
  }
  /// Starts the send of the first step that has not arrived, which all before it allow.
  void send_next() {
    if (arrived_ < steps_.size()) endpoint_.start_send(operation_, steps_[arrived_].send);
  }

  const Endpoint& endpoint_;
  Operation operation_;
  std::span<double> block_;
  std::vector<Step> steps_;
  size_t arrived_ = 0;  // steps of a gather in parts
};

class TwoSidedOperations final : public OperationMaker {
 public:
  TwoSidedOperations(RankGroup& group, TrafficCounts& sent, std::pmr::memory_resource& memory)
      : endpoint_(group, sent), memory_(memory) {}

  std::span<double> allocate(size_t count) override { return buffers_.emplace_back(memory_, count).span(); }
  std::unique_ptr<PreparedGather> gather(const BlockCollective& collective) override {
    return std::make_unique<ScheduledSteps>(endpoint_, collective, memory_);
  }
  std::unique_ptr<PreparedOperation> sum(const BlockCollective& collective) override {
    return gather(collective);
  }
  std::unique_ptr<PreparedOperation> move(const PieceExchange& pieces) override {
    return std::make_unique<ScheduledSteps>(endpoint_, pieces);
  }

 private:
  Endpoint endpoint_;
  std::pmr::memory_resource& memory_;
  std::deque<Buffer> buffers_;
};

}  // namespace

std::unique_ptr<PreparedOperation> make_scheduled_steps(const Endpoint& endpoint,
                                                        const BlockCollective& collective,
                                                        std::pmr::memory_resource& memory) {
  return std::make_unique<ScheduledSteps>(endpoint, collective, memory);
}

TransportRow two_sided_transport() {
  return {
      .name = "two-sided",
      .description = "persistent messages between fixed buffers, butterflies of test-and-yield",
      .counts = CountedTraffic::messages,
      .make = [](RankGroup& group, const BlockLayout& layout,
                 const CommunicatorOptions& options) -> std::unique_ptr<Communicator> {
        return make_buffered_communicator(
            "two-sided", {group.rank(), group.waiter()}, layout, options, [&](TrafficCounts& sent) {
              return std::make_unique<TwoSidedOperations>(group, sent, *options.memory);
            });
      },
      .make_halo = &make_two_sided_halo,
  };
}

}  // namespace cg2d::comm
