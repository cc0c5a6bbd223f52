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
constexpr std::size_t blocking_method = 0;

class MessagePingPong final : public PingPong {
 public:
  MessagePingPong(RankGroup& pair, const VariableShape& largest)
      : pair_(pair),
        partner_(1 - pair.rank()),
        outgoing_(largest.memory_byte_count()),
        incoming_(largest.memory_byte_count()),
        requests_(largest.count) {}

  [[nodiscard]] std::span<std::byte> outgoing(std::size_t /*method*/) override { return outgoing_; }
  [[nodiscard]] std::span<std::byte> incoming(std::size_t /*method*/) override { return incoming_; }

  void send(std::size_t method, const VariableShape& shape) override {
    const auto bytes = int_count(shape.byte_count);
    if (method == blocking_method) {
      for (std::size_t k = 0; k < shape.count; ++k) {
        check(MPI_Send(outgoing_.data() + shape.offset(k), bytes, MPI_BYTE, partner_, tag_of(k),
                       pair_.handle()),
              "MPI_Send");
      }
      return;
    }
    requests_.resize(shape.count);
    for (std::size_t k = 0; k < shape.count; ++k) {
      check(MPI_Isend(outgoing_.data() + shape.offset(k), bytes, MPI_BYTE, partner_, tag_of(k),
                      pair_.handle(), &requests_[k]),
            "MPI_Isend");
    }
    pair_.waiter().wait_all(requests_);
  }

  void receive(std::size_t method, const VariableShape& shape) override {
    const auto bytes = int_count(shape.byte_count);
    if (method == blocking_method) {
      for (std::size_t k = 0; k < shape.count; ++k) {
        check(MPI_Recv(incoming_.data() + shape.offset(k), bytes, MPI_BYTE, partner_, tag_of(k),
                       pair_.handle(), MPI_STATUS_IGNORE),
              "MPI_Recv");
      }
      return;
    }
    requests_.resize(shape.count);
    for (std::size_t k = 0; k < shape.count; ++k) {
      check(MPI_Irecv(incoming_.data() + shape.offset(k), bytes, MPI_BYTE, partner_, tag_of(k),
                      pair_.handle(), &requests_[k]),
            "MPI_Irecv");
    }
    pair_.waiter().wait_all(requests_);
  }

 private:
  static int tag_of(std::size_t variable) { return int_count(variable); }

  RankGroup& pair_;
  int partner_;
  std::vector<std::byte> outgoing_;
  std::vector<std::byte> incoming_;
  std::vector<MPI_Request> requests_;
};

}  // namespace

PingPongRow message_pingpong() {
  return {.methods = message_methods,
          .why_unavailable = [](RankGroup&) { return std::string(); },
          .make = [](RankGroup& pair, const VariableShape& largest) -> std::unique_ptr<PingPong> {
            return std::make_unique<MessagePingPong>(pair, largest);
          }};
}

std::span<const PingPongRow> pingpong_table() {
  static const std::array table{message_pingpong(), one_sided_pingpong(), shared_pingpong()};
  return table;
}

}  // namespace cg2d::comm
