// Round trips by messages: one message for each variable, which is its own synchronization.

#include <array>
#include <vector>

#include "comm/mpi_handles.hpp"
#include "comm/pingpong.hpp"

namespace cg2d::comm {
namespace {

constexpr std::array message_methods{
    PingPongMethod{
        .name = "blocking", .description = "MPI_Send and MPI_Recv, variable by variable", .blocks = true},
    PingPongMethod{.name = "nonblocking",
                   .description = "MPI_Isend and MPI_Irecv of all variables, then one wait"},
};
constexpr size_t blocking_method = 0;

class MessagePingPong final : public PingPong {
 public:
  MessagePingPong(RankGroup& pair, const VariableShape& largest)
      : PingPong(largest), pair_(pair), partner_(1 - pair.rank()) {
    requests_.reserve(largest.count);
  }

  void send(size_t method, const VariableShape& shape) override {
    const auto bytes = int_count(shape.byte_count);
    requests_.resize(method == blocking_method ? 0 : shape.count);
    for (size_t k = 0; k < shape.count; ++k) {
      const auto* const variable = own_outgoing() + shape.offset(k);
      if (method == blocking_method)
        check(MPI_Send(variable, bytes, MPI_BYTE, partner_, int_count(k), pair_.handle()), "MPI_Send");
      else
        check(MPI_Isend(variable, bytes, MPI_BYTE, partner_, int_count(k), pair_.handle(), &requests_[k]),
              "MPI_Isend");
    }
    if (!requests_.empty()) pair_.waiter().wait_all(requests_);
  }

  void receive(size_t method, const VariableShape& shape) override {
    const auto bytes = int_count(shape.byte_count);
    requests_.resize(method == blocking_method ? 0 : shape.count);
    for (size_t k = 0; k < shape.count; ++k) {
      auto* const variable = own_incoming() + shape.offset(k);
      if (method == blocking_method)
        check(MPI_Recv(variable, bytes, MPI_BYTE, partner_, int_count(k), pair_.handle(), MPI_STATUS_IGNORE),
              "MPI_Recv");
      else
        check(MPI_Irecv(variable, bytes, MPI_BYTE, partner_, int_count(k), pair_.handle(), &requests_[k]),
              "MPI_Irecv");
    }
    if (!requests_.empty()) pair_.waiter().wait_all(requests_);
  }

 private:
  RankGroup& pair_;
  int partner_;
  std::vector<MPI_Request> requests_;
};

}  // namespace

PingPongRow message_pingpong() {
  return {.methods = message_methods,
          .make = [](RankGroup& pair, const VariableShape& largest) -> std::unique_ptr<PingPong> {
            return std::make_unique<MessagePingPong>(pair, largest);
          }};
}

std::span<const PingPongRow> pingpong_table() {
  static const std::array table{message_pingpong(), one_sided_pingpong(), shared_pingpong()};
  return table;
}

}  // namespace cg2d::comm
