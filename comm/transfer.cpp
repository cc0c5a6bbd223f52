#include "comm/transfer.hpp"

namespace cg2d::comm {
namespace {

int tag_of(Operation operation) { return static_cast<int>(operation); }

/// The elements of several ranges of one buffer as one MPI datatype.
OwnedDatatype datatype_of(const std::vector<IndexRange>& ranges) {
  std::vector<int> lengths;
  std::vector<int> starts;
  for (const auto& range : ranges) {
    lengths.push_back(int_count(range.size()));
    starts.push_back(int_count(range.begin));
  }
  MPI_Datatype type = MPI_DATATYPE_NULL;
  check(MPI_Type_indexed(int_count(std::ssize(ranges)), lengths.data(), starts.data(), MPI_DOUBLE, &type),
        "MPI_Type_indexed");
  OwnedDatatype owned(type);
  check(MPI_Type_commit(&type), "MPI_Type_commit");
  return owned;
}

bool looks_complete(const Transfer& transfer) {
  MPI_Request request = transfer.handle();
  int is_complete = 0;
  check(MPI_Test(&request, &is_complete, MPI_STATUS_IGNORE), "MPI_Test");
  return is_complete != 0;
}

/// One operation's messages.
class MpiMessages final : public Messages {
 public:
  MpiMessages(const Endpoint& endpoint, Operation operation, const std::vector<Message>& sends,
              const std::vector<Message>& receives, std::pmr::memory_resource& memory)
      : endpoint_(endpoint), operation_(operation) {
    for (const auto& message : sends) {
      auto& send = sends_.emplace_back();
      if (!message.ranges.empty())
        send = Transfer::send(endpoint.handle(), message.buffer, message.ranges, message.partner, operation);
    }
    for (const auto& message : receives) {
      const auto own_count = message.buffer.empty() ? message.element_count() : 0;
      const auto& own = received_.emplace_back(memory, static_cast<size_t>(own_count));
      auto& receive = receives_.emplace_back();
      if (!message.ranges.empty())
        receive = Transfer::receive(endpoint.handle(), own_count > 0 ? own.span() : message.buffer,
                                    message.ranges, message.partner, operation);
    }
  }

  void start_receive(size_t which) override { receives_[which].start(); }
  void start_send(size_t which) override { endpoint_.start_send(operation_, sends_[which]); }
  bool has_arrived(size_t which) override { return endpoint_.has_arrived(receives_[which]); }
  void wait_for_receive(size_t which) override { endpoint_.wait_for_receive(receives_[which]); }
  void wait_for_send(size_t which) override { endpoint_.wait_for_send(sends_[which]); }
  void remind(size_t which) override { endpoint_.remind(sends_[which]); }
  std::span<const double> received(size_t which) const override { return received_[which].span(); }

 private:
  const Endpoint& endpoint_;
  Operation operation_;
  std::vector<Transfer> sends_;
  std::vector<Buffer> received_;  // of messages without a buffer of the caller
  std::vector<Transfer> receives_;
};

}  // namespace

/// `init`: MPI_Send_init or MPI_Recv_init.
template <typename Init>
Transfer Transfer::make(const Init& init, const char* call, MPI_Comm communicator, std::span<double> buffer,
                        const std::vector<IndexRange>& ranges, int partner, Operation operation) {
  Transfer transfer(partner);
  double* data = buffer.data();
  int count = 1;
  MPI_Datatype type = MPI_DOUBLE;
  if (ranges.size() == 1) {  // needs no datatype of its own
    data += ranges[0].begin;
    count = int_count(ranges[0].size());
  } else {
    transfer.type_ = datatype_of(ranges);
    type = transfer.type_.get();
  }
  check(init(data, count, type, partner, tag_of(operation), communicator, &transfer.handle_), call);
  transfer.request_ = OwnedRequest(transfer.handle_);
  for (const auto& range : ranges)
    transfer.byte_count_ += range.size() * static_cast<int64_t>(sizeof(double));
  return transfer;
}

Transfer Transfer::send(MPI_Comm communicator, std::span<double> buffer,
                        const std::vector<IndexRange>& ranges, int destination, Operation operation) {
  return make(MPI_Send_init, "MPI_Send_init", communicator, buffer, ranges, destination, operation);
}

Transfer Transfer::receive(MPI_Comm communicator, std::span<double> buffer,
                           const std::vector<IndexRange>& ranges, int source, Operation operation) {
  return make(MPI_Recv_init, "MPI_Recv_init", communicator, buffer, ranges, source, operation);
}

void Transfer::start() {
  if (!idle()) check(MPI_Start(&handle_), "MPI_Start");
}

Endpoint::Endpoint(RankGroup& group, TrafficCounts& sent) : group_(group), sent_(sent) {
  if (group.waiter().mode() == WaitMode::yield) bells_ = std::make_unique<Doorbells>(group);
}

void Endpoint::start_send(Operation operation, Transfer& send) const {
  if (send.idle()) return;
  send.start();
  if (bells_) bells_->ring(Bell::sent, send.partner());
  sent_.add(operation, send.byte_count());
}

bool Endpoint::has_arrived(const Transfer& receive) const {
  if (receive.idle()) return true;
  const bool is_complete = looks_complete(receive);
  if (is_complete) tell_taken(receive);
  return is_complete;
}

void Endpoint::wait_for_receive(const Transfer& receive) const {
  wait_for_bell(receive, Bell::sent);
  tell_taken(receive);
}

void Endpoint::tell_taken(const Transfer& receive) const {
  // A long message is complete for its sender only when its receiver has fetched it. The sender may sleep
  // until then, so it is rung before this rank waits for anything else.
  if (bells_ && !receive.idle()) bells_->ring(Bell::taken, receive.partner());
}

void Endpoint::wait_for_send(const Transfer& send) const { wait_for_bell(send, Bell::taken); }

void Endpoint::remind(const Transfer& send) const {
  if (bells_ && !send.idle()) bells_->ring(Bell::sent, send.partner());
}

void Endpoint::push(const Transfer& send) const {
  if (!send.idle() && !looks_complete(send)) remind(send);
}

void Endpoint::wait_for_bell(const Transfer& transfer, Bell bell) const {
  if (transfer.idle()) return;
  MPI_Request request = transfer.handle();
  group_.waiter().expect(transfer.partner());
  if (bells_ && bells_->reaches(transfer.partner())) {
    group_.waiter().wait(request, *bells_, bell);
  } else {
    group_.waiter().wait_all({&request, 1});
  }
}

std::unique_ptr<Messages> MpiLink::prepare(Operation operation, const std::vector<Message>& sends,
                                           const std::vector<Message>& receives) {
  return std::make_unique<MpiMessages>(endpoint_, operation, sends, receives, memory_);
}

MakeLink mpi_link(RankGroup& group, std::pmr::memory_resource& memory) {
  return [&](TrafficCounts& sent) { return std::make_unique<MpiLink>(group, sent, memory); };
}

}  // namespace cg2d::comm
