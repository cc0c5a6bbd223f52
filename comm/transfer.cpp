#include "comm/transfer.hpp"

#include <utility>

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

/// Buffer, count and datatype as MPI's calls take them. A single range needs no datatype of its own.
struct Message {
  double* data = nullptr;
  int count = 0;
  OwnedDatatype own_type{};
  MPI_Datatype type = MPI_DOUBLE;
};

Message message_of(std::span<double> buffer, const std::vector<IndexRange>& ranges) {
  if (ranges.size() == 1)
    return {.data = buffer.data() + ranges[0].begin, .count = int_count(ranges[0].size())};
  Message message{.data = buffer.data(), .count = 1, .own_type = datatype_of(ranges)};
  message.type = message.own_type.get();
  return message;
}

int64_t byte_count_of(const std::vector<IndexRange>& ranges) {
  int64_t count = 0;
  for (const auto& range : ranges) count += range.size();
  return count * static_cast<int64_t>(sizeof(double));
}

}  // namespace

/// `init`: MPI_Send_init or MPI_Recv_init.
template <typename Init>
Transfer Transfer::make(const Init& init, const char* call, MPI_Comm communicator, std::span<double> buffer,
                        const std::vector<IndexRange>& ranges, int partner, Operation operation) {
  Transfer transfer(partner);
  auto message = message_of(buffer, ranges);
  check(init(message.data, message.count, message.type, partner, tag_of(operation), communicator,
             &transfer.handle_),
        call);
  transfer.request_ = OwnedRequest(transfer.handle_);
  transfer.type_ = std::move(message.own_type);
  transfer.byte_count_ = byte_count_of(ranges);
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

std::vector<IndexRange> whole(std::span<const double> buffer) {
  return {IndexRange{.begin = 0, .end = static_cast<int64_t>(buffer.size())}};
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

void Endpoint::wait_for(const Transfer& send, const Transfer& receive) const {
  wait_for_receive(receive);
  wait_for_send(send);
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

}  // namespace cg2d::comm
