// Two-sided messages: persistent requests between fixed buffers, all made at set-up.

#include <deque>
#include <vector>

#include "comm/doorbells.hpp"
#include "comm/huge_page_vector.hpp"
#include "comm/prepared_operation.hpp"
#include "comm/transports.hpp"

namespace cg2d::comm {
namespace {

// Messages of one operation between two ranks arrive in the order in which they were sent: one tag each is
// enough.
int tag_of(Operation operation) { return static_cast<int>(operation); }

int mpi_count(std::int64_t count) { return static_cast<int>(count); }

/// The elements of up to two ranges of one buffer as one MPI datatype.
OwnedDatatype datatype_of(const std::vector<IndexRange>& ranges) {
  std::vector<int> lengths;
  std::vector<int> starts;
  for (const auto& range : ranges) {
    lengths.push_back(mpi_count(range.size()));
    starts.push_back(mpi_count(range.begin));
  }
  MPI_Datatype type = MPI_DATATYPE_NULL;
  check(MPI_Type_indexed(mpi_count(static_cast<std::int64_t>(ranges.size())), lengths.data(), starts.data(),
                         MPI_DOUBLE, &type),
        "MPI_Type_indexed");
  OwnedDatatype owned(type);
  check(MPI_Type_commit(&type), "MPI_Type_commit");
  return owned;
}

/// Buffer, count and datatype as MPI's calls take them. A single range needs no datatype of its own.
struct Message {
  double* data = nullptr;
  int count = 0;
  OwnedDatatype own_type;
  MPI_Datatype type = MPI_DOUBLE;
  std::int64_t byte_count = 0;
};

Message message_of(std::span<double> buffer, const std::vector<IndexRange>& ranges) {
  Message message;
  for (const auto& range : ranges)
    message.byte_count += range.size() * static_cast<std::int64_t>(sizeof(double));
  if (ranges.size() == 1) {
    message.data = buffer.data() + ranges[0].begin;
    message.count = mpi_count(ranges[0].size());
  } else {
    message.data = buffer.data();
    message.count = 1;
    message.own_type = datatype_of(ranges);
    message.type = message.own_type.get();
  }
  return message;
}

Message whole(std::span<double> buffer) {
  return message_of(buffer, {IndexRange{.begin = 0, .end = static_cast<std::int64_t>(buffer.size())}});
}

/// A persistent send or receive; idle (never started, never waited for) when there is nothing to move.
class Transfer {
 public:
  Transfer() = default;

  static Transfer send(MPI_Comm communicator, Message message, int destination, int tag) {
    Transfer transfer(destination);
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Send_init(message.data, message.count, message.type, destination, tag, communicator, &request),
          "MPI_Send_init");
    transfer.adopt(request, std::move(message));
    return transfer;
  }

  static Transfer receive(MPI_Comm communicator, Message message, int source, int tag) {
    Transfer transfer(source);
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Recv_init(message.data, message.count, message.type, source, tag, communicator, &request),
          "MPI_Recv_init");
    transfer.adopt(request, std::move(message));
    return transfer;
  }

  [[nodiscard]] bool idle() const { return handle_ == MPI_REQUEST_NULL; }
  [[nodiscard]] std::int64_t byte_count() const { return message_.byte_count; }
  [[nodiscard]] MPI_Request handle() const { return handle_; }
  [[nodiscard]] int partner() const { return partner_; }

  void start() {
    if (!idle()) check(MPI_Start(&handle_), "MPI_Start");
  }

 private:
  explicit Transfer(int partner) : partner_(partner) {}

  void adopt(MPI_Request request, Message message) {
    request_ = OwnedRequest(request);
    handle_ = request;
    message_ = std::move(message);
  }

  int partner_ = ScheduleStep::no_partner;
  OwnedRequest request_;
  MPI_Request handle_ = MPI_REQUEST_NULL;
  Message message_;
};

/// One step of a schedule, ready to run.
struct Step {
  Transfer send;
  Transfer receive;
  HugePageVector scratch;           // what is received in order to be added
  std::vector<IndexRange> targets;  // where in the block the scratch is added; empty: received in place
};

std::vector<Step> steps_of(const RankGroup& group, const GroupTask& task) {
  const auto tag = tag_of(task.operation);
  std::vector<Step> steps;
  for (const auto& planned : task.schedule.steps) {
    Step step;
    const auto rank_of = [&](int member) { return task.ranks[static_cast<std::size_t>(member)]; };
    if (planned.send_to != ScheduleStep::no_partner && task.pieces.element_count(planned.sent) > 0) {
      step.send = Transfer::send(group.handle(), message_of(task.block, task.pieces.ranges(planned.sent)),
                                 rank_of(planned.send_to), tag);
    }
    if (planned.receive_from != ScheduleStep::no_partner && task.pieces.element_count(planned.received) > 0) {
      auto ranges = task.pieces.ranges(planned.received);
      if (planned.combine == Combine::place) {
        step.receive = Transfer::receive(group.handle(), message_of(task.block, ranges),
                                         rank_of(planned.receive_from), tag);
      } else {
        step.scratch.resize(static_cast<std::size_t>(task.pieces.element_count(planned.received)));
        step.receive =
            Transfer::receive(group.handle(), whole(step.scratch), rank_of(planned.receive_from), tag);
        step.targets = std::move(ranges);
      }
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

void add_received(const Step& step, std::span<double> block) {
  const double* source = step.scratch.data();
  for (const auto& range : step.targets) {
    double* target = block.data() + range.begin;
    const auto count = range.size();
#pragma omp simd
    for (std::int64_t k = 0; k < count; ++k) target[k] += source[k];
    source += count;
  }
}

/// What the prepared operations of one communicator have in common.
struct Endpoint {
  RankGroup& group;
  TrafficCounts& sent;
  std::unique_ptr<Doorbells> bells;  // only where waiting ranks yield

  void start_send(Operation operation, Transfer& send) const {
    if (send.idle()) return;
    send.start();
    if (bells) bells->ring(Bell::sent, send.partner());
    sent.add(operation, send.byte_count());
  }

  void wait_for(const Transfer& send, const Transfer& receive) const {
    wait_for_message(receive);
    wait_until_taken(send);
  }

  void wait_for_message(const Transfer& receive) const {
    wait_for(receive, Bell::sent);
    // A long message is complete for its sender only when its receiver has fetched it: the sender may sleep
    // until then, so it is rung before this rank waits for anything else.
    if (bells && !receive.idle()) bells->ring(Bell::taken, receive.partner());
  }
  void wait_until_taken(const Transfer& send) const { wait_for(send, Bell::taken); }

  /// For a send that was started a while ago: its receiver may sleep, and need this rank's help to fetch it,
  /// which it gives from now on.
  void remind(const Transfer& send) const {
    if (bells && !send.idle()) bells->ring(Bell::sent, send.partner());
  }

  void wait_for(const Transfer& transfer, Bell bell) const {
    if (transfer.idle()) return;
    MPI_Request request = transfer.handle();
    if (bells && bells->reaches(transfer.partner())) {
      group.waiter().wait(request, *bells, bell);
    } else {
      group.waiter().wait_all({&request, 1});
    }
  }
};

/// The steps of a schedule, one after the other.
class ScheduledSteps final : public PreparedGather {
 public:
  ScheduledSteps(const Endpoint& endpoint, const GroupTask& task)
      : endpoint_(endpoint),
        operation_(task.operation),
        block_(task.block),
        steps_(steps_of(endpoint.group, task)) {}

  void run() override {
    // Receives that are added have buffers of their own and receives in place go where nothing is read or
    // sent before they are complete... but for the last step of an all-reduce, which replaces what was sent:
    // so only the former are posted ahead.
    for (auto& step : steps_) {
      if (!step.targets.empty()) step.receive.start();
    }
    for (auto& step : steps_) {
      if (step.targets.empty()) step.receive.start();
      endpoint_.start_send(operation_, step.send);
      endpoint_.wait_for(step.send, step.receive);
      add_received(step, block_);
    }
  }

  // In parts, of a gather: all that is received is placed, and nothing of it is read before it is there, so
  // every receive is posted at once. No two of them are from the same rank.
  void begin() override {
    for (auto& step : steps_) step.receive.start();
    arrived_ = 0;
    send_next();
  }
  void wait_for_part(std::size_t part) override {
    for (; arrived_ < part; send_next()) {
      endpoint_.remind(steps_[arrived_].send);
      endpoint_.wait_for_message(steps_[arrived_].receive);
      ++arrived_;
    }
  }
  void finish() override {
    for (const auto& step : steps_) endpoint_.wait_until_taken(step.send);
  }

 private:
  /// What the steps that have arrived let this rank send.
  void send_next() {
    if (arrived_ < steps_.size()) endpoint_.start_send(operation_, steps_[arrived_].send);
  }

  const Endpoint& endpoint_;
  Operation operation_;
  std::span<double> block_;
  std::vector<Step> steps_;
  std::size_t arrived_ = 0;  // steps, of a gather in parts
};

class Move final : public PreparedOperation {
 public:
  Move(const Endpoint& endpoint, const MoveTask& task) : endpoint_(endpoint), operation_(task.operation) {
    const int tag = tag_of(task.operation);
    const auto communicator = endpoint.group.handle();
    if (!task.sent.empty()) send_ = Transfer::send(communicator, whole(task.sent), task.destination, tag);
    if (!task.received.empty())
      receive_ = Transfer::receive(communicator, whole(task.received), task.source, tag);
  }

  void run() override {
    receive_.start();
    endpoint_.start_send(operation_, send_);
    endpoint_.wait_for(send_, receive_);
  }

 private:
  const Endpoint& endpoint_;
  Operation operation_;
  Transfer send_;
  Transfer receive_;
};

class TwoSidedOperations final : public OperationMaker {
 public:
  TwoSidedOperations(RankGroup& group, TrafficCounts& sent)
      : endpoint_{.group = group, .sent = sent, .bells = nullptr} {
    if (group.waiter().mode() == WaitMode::yield) endpoint_.bells = std::make_unique<Doorbells>(group);
  }

  std::span<double> allocate(std::size_t count) override { return buffers_.emplace_back(count); }
  std::unique_ptr<PreparedGather> gather(const GroupTask& task) override {
    return std::make_unique<ScheduledSteps>(endpoint_, task);
  }
  std::unique_ptr<PreparedOperation> sum(const GroupTask& task) override { return gather(task); }
  std::unique_ptr<PreparedOperation> move(const MoveTask& task) override {
    return std::make_unique<Move>(endpoint_, task);
  }

 private:
  Endpoint endpoint_;
  std::deque<HugePageVector> buffers_;
};

}  // namespace

TransportRow two_sided_transport() {
  return {
      .name = "two-sided",
      .description = "persistent messages between fixed buffers, butterflies of test-and-yield",
      .counts = CountedTraffic::messages,
      .why_unavailable = [](RankGroup&) { return std::string(); },
      .make = [](RankGroup& group, const BlockLayout& layout,
                 const CommunicatorOptions& options) -> std::unique_ptr<Communicator> {
        return make_buffered_communicator(
            "two-sided", group, layout, options,
            [](RankGroup& ranks, TrafficCounts& sent) -> std::unique_ptr<OperationMaker> {
              return std::make_unique<TwoSidedOperations>(ranks, sent);
            });
      },
  };
}

}  // namespace cg2d::comm
