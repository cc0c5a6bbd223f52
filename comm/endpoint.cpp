#include "comm/endpoint.hpp"

#include "comm/halo.hpp"
#include "comm/mpi_handles.hpp"

namespace cg2d::comm {
namespace {

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

/// A persistent send or receive; idle (never started, never waited for) when there is nothing to move.
struct Transfer {
  int partner = 0;
  int64_t byte_count = 0;
  OwnedDatatype type{};  // where there are several ranges
  OwnedRequest request{};

  bool is_idle() const { return byte_count == 0; }
};

/// `init`: MPI_Send_init or MPI_Recv_init.
template <typename Init>
Transfer transfer_of(const Init& init, const char* call, MPI_Comm communicator, const Message& message,
                     Operation operation) {
  Transfer transfer{.partner = message.partner,
                    .byte_count = message.element_count() * static_cast<int64_t>(sizeof(double))};
  if (transfer.is_idle()) return transfer;
  double* data = message.buffer.data();
  int count = 1;
  MPI_Datatype type = MPI_DOUBLE;
  if (message.ranges.size() == 1) {  // needs no datatype of its own
    data += message.ranges[0].begin;
    count = int_count(message.ranges[0].size());
  } else {
    transfer.type = datatype_of(message.ranges);
    type = transfer.type.get();
  }
  MPI_Request request = MPI_REQUEST_NULL;
  check(init(data, count, type, message.partner, static_cast<int>(operation), communicator, &request), call);
  transfer.request = OwnedRequest(request);
  return transfer;
}

/// One operation's messages.
class MpiMessages final : public Messages {
 public:
  MpiMessages(const Endpoint::Shared& shared, Operation operation, const std::vector<Message>& sends,
              const std::vector<Message>& receives)
      : shared_(shared), operation_(operation) {
    const auto communicator = shared.group.handle();
    for (const auto& message : sends)
      sends_.push_back(transfer_of(MPI_Send_init, "MPI_Send_init", communicator, message, operation));
    for (auto message : receives) {
      const auto own_count = message.buffer.empty() ? message.element_count() : 0;
      const auto& own = received_.emplace_back(shared.memory, static_cast<size_t>(own_count));
      if (own_count > 0) message.buffer = own.span();
      receives_.push_back(transfer_of(MPI_Recv_init, "MPI_Recv_init", communicator, message, operation));
    }
  }

  void start_receive(size_t which) override { start(receives_[which]); }
  void start_send(size_t which) override {
    const auto& send = sends_[which];
    if (send.is_idle()) return;
    start(send);
    ring(Bell::sent, send);
    shared_.sent.add(operation_, send.byte_count);
  }
  bool has_arrived(size_t which) override {
    const bool is_here = is_complete(receives_[which]);
    if (is_here) tell_taken(receives_[which]);
    return is_here;
  }
  void wait_for_receive(size_t which) override {
    wait(receives_[which], Bell::sent);
    tell_taken(receives_[which]);
  }
  void wait_for_send(size_t which) override { wait(sends_[which], Bell::taken); }
  bool has_left(size_t which) override { return is_complete(sends_[which]); }
  void remind(size_t which) override { ring(Bell::sent, sends_[which]); }
  std::span<const double> received(size_t which) const override { return received_[which].span(); }

 private:
  static void start(const Transfer& transfer) {
    if (transfer.is_idle()) return;
    MPI_Request request = transfer.request.get();
    check(MPI_Start(&request), "MPI_Start");
  }
  static bool is_complete(const Transfer& transfer) {
    if (transfer.is_idle()) return true;
    MPI_Request request = transfer.request.get();
    int is_over = 0;
    check(MPI_Test(&request, &is_over, MPI_STATUS_IGNORE), "MPI_Test");
    return is_over != 0;
  }
  void wait(const Transfer& transfer, Bell bell) const {
    if (transfer.is_idle()) return;
    MPI_Request request = transfer.request.get();
    auto& waiter = shared_.group.waiter();
    waiter.expect(transfer.partner);
    if (shared_.bells && shared_.bells->reaches(transfer.partner)) {
      waiter.wait(request, *shared_.bells, bell);
    } else {
      waiter.wait_all({&request, 1});
    }
  }
  void ring(Bell bell, const Transfer& transfer) const {
    if (shared_.bells && !transfer.is_idle()) shared_.bells->ring(bell, transfer.partner);
  }
  /// A long message is complete for its sender only when its receiver has fetched it. The sender may sleep
  /// until then, so it is rung before this rank waits for anything else.
  void tell_taken(const Transfer& receive) const { ring(Bell::taken, receive); }

  const Endpoint::Shared& shared_;
  Operation operation_;
  std::vector<Transfer> sends_;
  std::vector<Buffer> received_;  // of messages without a buffer of the caller
  std::vector<Transfer> receives_;
};

}  // namespace

Endpoint::Endpoint(RankGroup& group, TrafficCounts& sent, std::pmr::memory_resource& memory)
    : shared_{.group = group, .sent = sent, .memory = memory} {
  if (group.waiter().mode() == WaitMode::yield) shared_.bells = std::make_unique<Doorbells>(group);
}

std::unique_ptr<Messages> Endpoint::prepare(Operation operation, const std::vector<Message>& sends,
                                            const std::vector<Message>& receives) {
  return std::make_unique<MpiMessages>(shared_, operation, sends, receives);
}

MakeLink mpi_endpoint(RankGroup& group, std::pmr::memory_resource& memory) {
  return [&](TrafficCounts& sent) { return std::make_unique<Endpoint>(group, sent, memory); };
}

/// Persistent messages, all made at set-up.
TransportRow two_sided_transport() {
  return {
      .name = "two-sided",
      .description = "persistent messages between fixed buffers, butterflies of test-and-yield",
      .make = [](RankGroup& group, const BlockLayout& layout,
                 const CommunicatorOptions& options) -> std::unique_ptr<Communicator> {
        return make_buffered_communicator("two-sided", {group.rank(), group.waiter()}, layout, options,
                                          mpi_endpoint(group, *options.memory));
      },
      .make_halo = [](RankGroup& group, const DomainLayout& layout,
                      const HaloOptions& options) -> std::unique_ptr<HaloExchange> {
        return make_message_halo(mpi_endpoint(group, *options.memory), group.rank(), layout, options);
      },
  };
}

}  // namespace cg2d::comm
