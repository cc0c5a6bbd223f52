#include "comm/put_operations.hpp"

#include <array>
#include <cassert>
#include <utility>

namespace cg2d::comm {
namespace {

using Shared = PutOperations::Shared;

int64_t give_away(Shared& shared, int64_t count) {
  const auto offset = shared.used;
  shared.used += whole_lines(count);
  assert(shared.used <= std::ssize(shared.port.memory()));
  return offset;
}

int64_t offset_of(const Shared& shared, std::span<const double> values) {
  return values.data() - shared.port.memory().data();
}

/// Elements of one of the ranges, in the sender's and in the receiver's memory.
struct PutRange {
  std::span<const double> source;
  int64_t target = 0;  // offset in the receiver's memory
};

/// One message to `partner`.
struct PutMessage {
  int partner = ScheduleStep::no_partner;
  std::vector<PutRange> ranges;
  int64_t flag = 0;
  int64_t byte_count = 0;

  bool idle() const { return partner == ScheduleStep::no_partner; }
};

/// The message that this rank receives in one step.
struct Arrival {
  int sender = ScheduleStep::no_partner;
  int64_t flag = 0;
  std::vector<IndexRange> targets;  // where in the block it is added; empty: it is in place
  std::span<const double> buffer;

  bool idle() const { return sender == ScheduleStep::no_partner; }
};

/// One step; both arrays by the turn of the buffers.
struct PutStep {
  std::array<PutMessage, 2> send;
  std::array<Arrival, 2> receive;
};

/// The steps of one operation, run one after the other.
class PutSteps final : public PreparedGather {
 public:
  PutSteps(Shared& shared, Operation operation, std::span<double> block, std::vector<PutStep> steps)
      : shared_(shared), operation_(operation), block_(block), steps_(std::move(steps)) {}

  void run() override {
    begin();
    wait_for_part(steps_.size());
    if (takes_turns()) ++shared_.scalar_sums;
  }
  void begin() override {
    wait_for_readers();
    ++number_;
    arrived_ = 0;
    send_next();
  }
  void wait_for_part(size_t part) override {
    while (arrived_ < part) {
      const auto& arrival = steps_[arrived_].receive[turn()];
      if (!arrival.idle()) {
        shared_.port.expect(arrival.sender);
        shared_.port.wait_for(arrival.flag, number_);
        add_to_ranges(arrival.buffer, arrival.targets, block_);
      }
      ++arrived_;
      send_next();
    }
  }
  void progress() override {
    while (arrived_ < steps_.size()) {
      const auto& arrival = steps_[arrived_].receive[turn()];
      if (!arrival.idle() && !shared_.port.has(arrival.flag, number_)) return;
      wait_for_part(arrived_ + 1);
    }
  }
  /// Puts are complete, and have left, as soon as they are made.
  void finish() override { wait_for_part(steps_.size()); }

 private:
  bool takes_turns() const { return operation_ == Operation::dot; }
  size_t turn() const { return static_cast<size_t>(takes_turns() ? number_ % 2 : 0); }

  /// Returns when no rank reads the data of the last run any more: invariants 2 and 3.
  void wait_for_readers() {
    if (takes_turns()) return;
    if (number_ > 0 && shared_.scalar_sums == scalars_at_run_) shared_.port.wait_for_all();
    scalars_at_run_ = shared_.scalar_sums;
  }
  /// Sends in the first step that has not arrived, which all before it allow.
  void send_next() {
    if (arrived_ < steps_.size()) send(steps_[arrived_].send[turn()]);
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
  uint64_t number_ = 0;
  uint64_t scalars_at_run_ = 0;
  size_t arrived_ = 0;  // steps of this run
};

/// Sends the slots of this rank to all ranks, and finds those that others have for it.
class SlotExchange {
 public:
  SlotExchange(Shared& shared, const std::vector<PutSlot>& mine)
      : rank_(shared.rank), slots_(shared.port.gather(mine)), next_(slots_.size(), 0) {}

  /// The receiver's next slot for this rank: messages between two ranks go in the order of the steps.
  const PutSlot& next(int receiver) {
    const auto& theirs = slots_[static_cast<size_t>(receiver)];
    auto& next = next_[static_cast<size_t>(receiver)];
    while (theirs[next].sender != rank_) ++next;
    return theirs[next++];
  }

 private:
  int rank_;
  std::vector<std::vector<PutSlot>> slots_;
  std::vector<size_t> next_;
};

/// Two turns where an operation takes turns, else one.
size_t turns_of(Operation operation) { return operation == Operation::dot ? 2 : 1; }

int rank_of(const BlockCollective& collective, int member) {
  return collective.ranks[static_cast<size_t>(member)];
}

/// Room for the message of one step, and the slot for its sender.
Arrival make_arrival(Shared& shared, const BlockCollective& collective, const ScheduleStep& planned,
                     PutSlot& slot) {
  const bool is_added = planned.combine == Combine::add;
  const auto count = collective.pieces.element_count(planned.received);
  const int sender = rank_of(collective, planned.receive_from);
  Arrival arrival{.sender = sender, .flag = give_away(shared, 1), .targets = {}, .buffer = {}};
  slot = {.sender = sender,
          .offset = is_added ? give_away(shared, count) : offset_of(shared, collective.block),
          .is_block = is_added ? 0 : 1,
          .flag = arrival.flag};
  if (is_added) {
    arrival.targets = collective.pieces.ranges(planned.received);
    arrival.buffer =
        shared.port.memory().subspan(static_cast<size_t>(slot.offset), static_cast<size_t>(count));
  }
  return arrival;
}

PutMessage make_message(const BlockCollective& collective, const ScheduleStep& planned, const PutSlot& slot) {
  PutMessage message{.partner = rank_of(collective, planned.send_to), .ranges = {}, .flag = slot.flag};
  int64_t packed = slot.offset;
  for (const auto& range : collective.pieces.ranges(planned.sent)) {
    message.ranges.push_back({.source = collective.block.subspan(static_cast<size_t>(range.begin),
                                                                 static_cast<size_t>(range.size())),
                              .target = slot.is_block != 0 ? slot.offset + range.begin : packed});
    packed += range.size();
  }
  message.byte_count = collective.pieces.element_count(planned.sent) * static_cast<int64_t>(sizeof(double));
  return message;
}

std::unique_ptr<PreparedGather> make_steps(Shared& shared, const BlockCollective& collective) {
  std::vector<PutStep> steps;
  std::vector<PutSlot> slots;
  const auto turns = turns_of(collective.operation);
  for (const auto& planned : collective.schedule.steps) {
    auto& step = steps.emplace_back();
    if (planned.receive_from == ScheduleStep::no_partner ||
        collective.pieces.element_count(planned.received) == 0)
      continue;
    for (size_t turn = 0; turn < turns; ++turn)
      step.receive[turn] = make_arrival(shared, collective, planned, slots.emplace_back());
  }
  SlotExchange exchange(shared, slots);
  for (size_t k = 0; k < steps.size(); ++k) {
    const auto& planned = collective.schedule.steps[k];
    if (planned.send_to == ScheduleStep::no_partner || collective.pieces.element_count(planned.sent) == 0)
      continue;
    for (size_t turn = 0; turn < turns; ++turn)
      steps[k].send[turn] =
          make_message(collective, planned, exchange.next(rank_of(collective, planned.send_to)));
  }
  return std::make_unique<PutSteps>(shared, collective.operation, collective.block, std::move(steps));
}

/// Elements that the receives of a schedule take beside the block.
int64_t received_size(const Schedule& schedule, const GroupPieces& pieces, int64_t turns) {
  int64_t size = 0;
  for (const auto& step : schedule.steps) {
    if (step.receive_from == ScheduleStep::no_partner) continue;
    size += turns * whole_lines(1);
    if (step.combine == Combine::add) size += turns * whole_lines(pieces.element_count(step.received));
  }
  return size;
}

}  // namespace

int64_t put_memory_size(const BlockLayout& layout, int rank, const CommunicatorOptions& options) {
  const auto grid = layout.grid();
  const auto columns = collection_pieces(layout, rank);
  const auto rows = summation_pieces(layout, rank);
  const auto piece_size = layout.own_piece(rank).size();
  const auto column_size = whole_lines(columns.size());
  const auto row_size = whole_lines(rows.size());
  int64_t size = column_size + row_size + whole_lines(piece_size) + whole_lines(1);
  size += received_size(collection_schedule(layout, rank), columns, 1);
  size += received_size(summation_schedule(layout, rank, options.sum_form), rows, 1);
  for (const auto count : Communicator::scalar_counts) {
    const auto scalars = static_cast<int64_t>(count);
    size += whole_lines(scalars) + received_size(all_reduce_schedule(grid.rank_count(), rank),
                                                 GroupPieces::of_scalars(grid.rank_count(), scalars), 2);
  }
  if (options.mirrored) {
    size += column_size + row_size + whole_lines(1);
    size += received_size(mirrored_collection_schedule(layout, rank), rows, 1);
    size += received_size(mirrored_summation_schedule(layout, rank, options.sum_form), columns, 1);
  }
  return size;
}

PutOperations::PutOperations(PutPort& port, int rank, TrafficCounts& sent)
    : shared_{.port = port, .rank = rank, .sent = sent} {}

std::span<double> PutOperations::allocate(size_t count) {
  const auto offset = give_away(shared_, static_cast<int64_t>(count));
  return shared_.port.memory().subspan(static_cast<size_t>(offset), count);
}

std::unique_ptr<PreparedGather> PutOperations::gather(const BlockCollective& collective) {
  return make_steps(shared_, collective);
}

std::unique_ptr<PreparedOperation> PutOperations::sum(const BlockCollective& collective) {
  return gather(collective);
}

std::unique_ptr<PreparedOperation> PutOperations::move(const PieceExchange& pieces) {
  std::vector<PutStep> steps(1);
  std::vector<PutSlot> slots;
  if (!pieces.received.empty()) {
    slots.push_back({.sender = pieces.source,
                     .offset = offset_of(shared_, pieces.received),
                     .is_block = 0,
                     .flag = give_away(shared_, 1)});
    steps[0].receive[0] = {.sender = pieces.source, .flag = slots.back().flag, .targets = {}, .buffer = {}};
  }
  SlotExchange exchange(shared_, slots);
  if (!pieces.sent.empty()) {
    const auto& slot = exchange.next(pieces.destination);
    steps[0].send[0] = {.partner = pieces.destination,
                        .ranges = {{.source = pieces.sent, .target = slot.offset}},
                        .flag = slot.flag,
                        .byte_count = static_cast<int64_t>(pieces.sent.size_bytes())};
  }
  return std::make_unique<PutSteps>(shared_, pieces.operation, std::span<double>(), std::move(steps));
}

}  // namespace cg2d::comm
