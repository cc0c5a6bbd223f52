#include "comm/put_operations.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace cg2d::comm {
namespace {

using Shared = PutOperations::Shared;

/// Pages of their own, so that a flag is not in the same cache line as somebody else's data.
constexpr std::int64_t elements_per_line = 8;

std::int64_t round_up(std::int64_t count) {
  return (count + elements_per_line - 1) / elements_per_line * elements_per_line;
}

std::int64_t give_away(Shared& shared, std::int64_t count) {
  const auto offset = shared.used;
  shared.used += round_up(count);
  assert(shared.used <= std::ssize(shared.port.memory()));
  return offset;
}

std::int64_t offset_of(const Shared& shared, std::span<const double> values) {
  return values.data() - shared.port.memory().data();
}

/// Elements of one of the ranges, in the sender's and in the receiver's memory.
struct PutRange {
  std::span<const double> source;
  std::int64_t target = 0;  // offset in the receiver's memory
};

/// One message: of the sender to `partner`.
struct PutMessage {
  int partner = ScheduleStep::no_partner;
  std::vector<PutRange> ranges;
  std::int64_t flag = 0;
  std::int64_t byte_count = 0;

  [[nodiscard]] bool idle() const { return partner == ScheduleStep::no_partner; }
};

/// What comes in one step.
struct Arrival {
  bool expected = false;
  std::int64_t flag = 0;
  std::vector<IndexRange> targets;  // where in the block it is added; empty: it is in place
  std::span<const double> buffer;
};

/// One step, by the turn of the buffers.
struct PutStep {
  std::array<PutMessage, 2> send;
  std::array<Arrival, 2> receive;
};

void add_arrived(const Arrival& arrival, std::span<double> block) {
  const double* source = arrival.buffer.data();
  for (const auto& range : arrival.targets) {
    double* const target = block.data() + range.begin;
    const auto count = range.size();
#pragma omp simd
    for (std::int64_t k = 0; k < count; ++k) target[k] += source[k];
    source += count;
  }
}

/// Steps that are run one after the other.
class PutSteps final : public PreparedOperation {
 public:
  PutSteps(Shared& shared, Operation operation, std::span<double> block, std::vector<PutStep> steps)
      : shared_(shared), operation_(operation), block_(block), steps_(std::move(steps)) {}

  void run() override {
    begin();
    const auto turn = static_cast<std::size_t>(takes_turns() ? number_ % 2 : 0);
    for (const auto& step : steps_) {
      send(step.send[turn]);
      const auto& arrival = step.receive[turn];
      if (!arrival.expected) continue;
      shared_.port.wait_for(arrival.flag, number_);
      add_arrived(arrival, block_);
    }
    if (takes_turns()) ++shared_.scalar_sums;
  }

 private:
  [[nodiscard]] bool takes_turns() const { return operation_ == Operation::dot; }

  void begin() {
    if (!takes_turns()) {
      if (number_ > 0 && shared_.scalar_sums == scalars_at_run_) shared_.port.wait_for_all();
      scalars_at_run_ = shared_.scalar_sums;
    }
    ++number_;
  }
  void send(const PutMessage& message) {
    if (message.idle()) return;
    for (const auto& range : message.ranges) shared_.port.put(message.partner, range.target, range.source);
    shared_.port.complete(message.partner);
    shared_.port.notify(message.partner, message.flag, number_);
    shared_.sent.add(operation_, message.byte_count);
  }

  Shared& shared_;
  Operation operation_;
  std::span<double> block_;
  std::vector<PutStep> steps_;
  std::uint64_t number_ = 0;
  std::uint64_t scalars_at_run_ = 0;
};

/// Tells all ranks the slots of this one, and finds those that others have for it.
class SlotExchange {
 public:
  SlotExchange(Shared& shared, const std::vector<PutSlot>& mine)
      : rank_(shared.rank), slots_(shared.port.gather(mine)), next_(slots_.size(), 0) {}

  /// The receiver's next slot for this rank: messages between two ranks go in the order of the steps.
  const PutSlot& next(int receiver) {
    const auto& theirs = slots_[static_cast<std::size_t>(receiver)];
    auto& next = next_[static_cast<std::size_t>(receiver)];
    while (theirs[next].sender != rank_) ++next;
    return theirs[next++];
  }

 private:
  int rank_;
  std::vector<std::vector<PutSlot>> slots_;
  std::vector<std::size_t> next_;
};

/// Two turns where an operation takes turns, else one.
std::size_t turns_of(Operation operation) { return operation == Operation::dot ? 2 : 1; }

std::unique_ptr<PreparedOperation> make_steps(Shared& shared, const GroupTask& task) {
  const auto rank_of = [&](int member) { return task.ranks[static_cast<std::size_t>(member)]; };
  std::vector<PutStep> steps(task.schedule.steps.size());
  std::vector<PutSlot> slots;
  for (std::size_t k = 0; k < steps.size(); ++k) {
    const auto& planned = task.schedule.steps[k];
    const auto count = task.pieces.element_count(planned.received);
    if (planned.receive_from == ScheduleStep::no_partner || count == 0) continue;
    for (std::size_t turn = 0; turn < turns_of(task.operation); ++turn) {
      auto& arrival = steps[k].receive[turn];
      arrival.expected = true;
      arrival.flag = give_away(shared, 1);
      auto offset = offset_of(shared, task.block);
      if (planned.combine == Combine::add) {
        offset = give_away(shared, count);
        arrival.targets = task.pieces.ranges(planned.received);
        arrival.buffer = shared.port.memory().subspan(static_cast<std::size_t>(offset),
                                                      static_cast<std::size_t>(count));
      }
      slots.push_back({.sender = rank_of(planned.receive_from), .offset = offset, .flag = arrival.flag});
    }
  }
  SlotExchange exchange(shared, slots);
  for (std::size_t k = 0; k < steps.size(); ++k) {
    const auto& planned = task.schedule.steps[k];
    const auto count = task.pieces.element_count(planned.sent);
    if (planned.send_to == ScheduleStep::no_partner || count == 0) continue;
    for (std::size_t turn = 0; turn < turns_of(task.operation); ++turn) {
      const auto& slot = exchange.next(rank_of(planned.send_to));
      auto& message = steps[k].send[turn];
      message.partner = rank_of(planned.send_to);
      message.flag = slot.flag;
      message.byte_count = count * static_cast<std::int64_t>(sizeof(double));
      std::int64_t packed = slot.offset;
      for (const auto& range : task.pieces.ranges(planned.sent)) {
        message.ranges.push_back({.source = task.block.subspan(static_cast<std::size_t>(range.begin),
                                                               static_cast<std::size_t>(range.size())),
                                  .target = slot.is_block ? slot.offset + range.begin : packed});
        packed += range.size();
      }
    }
  }
  return std::make_unique<PutSteps>(shared, task.operation, task.block, std::move(steps));
}

}  // namespace
}  // namespace cg2d::comm
