// Round trips between two ranks by messages, by puts and gets, and by memory that they share.

#include "comm/pingpong.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <vector>

#include "comm/mpi_handles.hpp"
#include "comm/rma_window.hpp"
#include "comm/shared_counter.hpp"
#include "comm/shared_segment.hpp"

namespace cg2d::comm {
namespace {

constexpr std::array message_methods{
    PingPongMethod{
        .name = "blocking", .description = "MPI_Send and MPI_Recv, variable by variable", .blocks = true},
    PingPongMethod{.name = "nonblocking",
                   .description = "MPI_Isend and MPI_Irecv of all variables, then one wait"},
};
constexpr size_t blocking_method = 0;

/// One message for each variable, which is its own synchronization.
class MessagePingPong final : public PingPong {
 public:
  MessagePingPong(RankGroup& pair, const VariableShape& largest)
      : PingPong(largest), pair_(pair), partner_(1 - pair.rank()) {
    requests_.reserve(largest.count);
  }

  void send(size_t method, const VariableShape& shape) override {
    move(method, shape, [&](size_t offset, int bytes, int tag, MPI_Request* request) {
      const auto* const variable = own_outgoing() + offset;
      if (request == nullptr)
        check(MPI_Send(variable, bytes, MPI_BYTE, partner_, tag, pair_.handle()), "MPI_Send");
      else
        check(MPI_Isend(variable, bytes, MPI_BYTE, partner_, tag, pair_.handle(), request), "MPI_Isend");
    });
  }

  void receive(size_t method, const VariableShape& shape) override {
    move(method, shape, [&](size_t offset, int bytes, int tag, MPI_Request* request) {
      auto* const variable = own_incoming() + offset;
      if (request == nullptr)
        check(MPI_Recv(variable, bytes, MPI_BYTE, partner_, tag, pair_.handle(), MPI_STATUS_IGNORE),
              "MPI_Recv");
      else
        check(MPI_Irecv(variable, bytes, MPI_BYTE, partner_, tag, pair_.handle(), request), "MPI_Irecv");
    });
  }

 private:
  /// move_one: of each variable; without a request it blocks.
  template <typename MoveOne>
  void move(size_t method, const VariableShape& shape, const MoveOne& move_one) {
    const bool blocks = method == blocking_method;
    requests_.resize(blocks ? 0 : shape.count);
    for (size_t k = 0; k < shape.count; ++k)
      move_one(shape.offset(k), int_count(shape.byte_count), int_count(k), blocks ? nullptr : &requests_[k]);
    if (!blocks) pair_.waiter().wait_all(requests_);
  }

  RankGroup& pair_;
  int partner_;
  std::vector<MPI_Request> requests_;
};

constexpr std::array one_sided_methods{
    PingPongMethod{.name = "put-immediate",
                   .description = "MPI_Put and MPI_Win_flush for each variable, then the notification",
                   .blocks = true},
    PingPongMethod{.name = "put-delayed",
                   .description = "MPI_Put of all variables, one MPI_Win_flush, then the notification",
                   .blocks = true},
    PingPongMethod{.name = "get-immediate",
                   .description = "the notification, then MPI_Get and MPI_Win_flush for each variable",
                   .blocks = true},
    PingPongMethod{.name = "get-delayed",
                   .description = "the notification, then MPI_Get of all variables, one MPI_Win_flush",
                   .blocks = true},
};
constexpr bool gets(size_t method) { return method >= 2; }
constexpr bool flushes_each(size_t method) { return method % 2 == 0; }

/// A window with memory of its own, which begins at `memory`.
MPI_Win allocated_window(MPI_Comm communicator, size_t byte_count, std::byte*& memory) {
  MPI_Win window = MPI_WIN_NULL;
  check(MPI_Win_allocate(static_cast<MPI_Aint>(byte_count), 1, MPI_INFO_NULL, communicator,
                         static_cast<void*>(&memory), &window),
        "MPI_Win_allocate");
  return window;
}

/// Puts and gets, in a window that is open all the time (passive target).
///
/// Each rank's part of the window holds a number, the notification, and room for the variables. The number is
/// that of the last transfer that the other rank has made ready. Received is what was sent, because:
///
///     method    sender                                      receiver
///     put       1. puts the variables
///               2. MPI_Win_flush: they are complete there
///               3. puts the number                          4. reads the number until it is this transfer's
///                  and flushes it                           5. MPI_Win_sync: later reads see the variables
///                                                           6. copies them out of the window
///     get       1. writes the variables to its own part
///               2. MPI_Win_sync: the number follows them
///               3. puts the number                          4. reads the number until it is this transfer's
///                  and flushes it                           5. gets the variables, and flushes
///
/// - The eight bytes of a number may come in two parts: the receiver waits for equality, and no byte of the
///   number is put before the variables are complete.
/// - The ranks take turns: a number, or a variable, is written again only after an answer, which was sent
///   after the number before it was read.
class OneSidedPingPong final : public PingPong {
 public:
  OneSidedPingPong(RankGroup& pair, const VariableShape& largest)
      : PingPong(largest),
        pair_(pair),
        partner_(1 - pair.rank()),
        window_(allocated_window(pair.handle(), variables_begin + largest.memory_byte_count(), memory_)) {
    std::fill_n(memory_, variables_begin + largest.memory_byte_count(), std::byte{0});
    check(MPI_Win_sync(window_.handle()), "MPI_Win_sync");
    pair_.barrier();  // no rank writes before the numbers are zero
  }

  [[nodiscard]] std::span<std::byte> outgoing(size_t method) override {
    return gets(method) ? exposed() : PingPong::outgoing(method);
  }
  [[nodiscard]] std::span<std::byte> incoming(size_t method) override {
    return gets(method) ? PingPong::outgoing(method) : PingPong::incoming(method);
  }

  void send(size_t method, const VariableShape& shape) override {
    if (gets(method)) {
      check(MPI_Win_sync(window_.handle()), "MPI_Win_sync");
    } else {
      move(method, shape);
    }
    notify();
  }

  void receive(size_t method, const VariableShape& shape) override {
    wait_for_notification();
    if (gets(method)) {
      move(method, shape);
    } else {
      copy_variables(exposed().data(), own_incoming(), shape);
    }
  }

 private:
  static constexpr size_t variables_begin = 64;  // after the number, which has a cache line of its own

  [[nodiscard]] std::span<std::byte> exposed() {
    return {memory_ + variables_begin, PingPong::outgoing(0).size()};
  }

  /// The variables, between the memory of this rank alone and the other rank's part of the window.
  void move(size_t method, const VariableShape& shape) {
    const auto bytes = int_count(shape.byte_count);
    for (size_t k = 0; k < shape.count; ++k) {
      std::byte* const mine = own_outgoing() + shape.offset(k);
      const auto there = static_cast<MPI_Aint>(variables_begin + shape.offset(k));
      if (gets(method)) {
        check(MPI_Get(mine, bytes, MPI_BYTE, partner_, there, bytes, MPI_BYTE, window_.handle()), "MPI_Get");
      } else {
        check(MPI_Put(mine, bytes, MPI_BYTE, partner_, there, bytes, MPI_BYTE, window_.handle()), "MPI_Put");
      }
      if (flushes_each(method)) flush();
    }
    if (!flushes_each(method)) flush();
  }

  void flush() { check(MPI_Win_flush(partner_, window_.handle()), "MPI_Win_flush"); }

  void notify() {
    ++sent_;
    check(MPI_Put(&sent_, 1, MPI_UINT64_T, partner_, 0, 1, MPI_UINT64_T, window_.handle()), "MPI_Put");
    flush();
  }

  void wait_for_notification() {
    ++received_;
    const std::atomic_ref<uint64_t> number(*reinterpret_cast<uint64_t*>(memory_));
    pair_.waiter().wait_until([&] {
      if (number.load(std::memory_order_acquire) == received_) return true;
      help_messages();
      return false;
    });
    check(MPI_Win_sync(window_.handle()), "MPI_Win_sync");
  }

  /// Puts, gets and flushes may be messages inside (with MPICH over UCX they are, even on one node): they
  /// make progress only while the target calls MPI.
  void help_messages() {
    int found = 0;
    check(MPI_Iprobe(partner_, 0, pair_.handle(), &found, MPI_STATUS_IGNORE), "MPI_Iprobe");
    check(MPI_Win_sync(window_.handle()), "MPI_Win_sync");
  }

  RankGroup& pair_;
  int partner_;
  uint64_t sent_ = 0;
  uint64_t received_ = 0;
  std::byte* memory_ = nullptr;
  OpenWindow window_;
};

constexpr std::array shared_methods{
    PingPongMethod{.name = "shared",
                   .description = "memcpy of each variable into shared memory, a counter, memcpy out of it"},
};

/// The variables follow a counter of those that have arrived, in each rank's part.
size_t shared_byte_count(const VariableShape& largest) {
  return sizeof(SharedCounter) + largest.memory_byte_count();
}

/// The sender copies the variables into the receiver's part, and counts up there; the receiver copies them out. Both copies are needed to move the
/// bytes: what is written and not read may stay in the sender's cache. SharedCounter says why copies before the count are seen after the wait.
class SharedPingPong final : public PingPong {
 public:
  SharedPingPong(RankGroup& pair, const VariableShape& largest)
      : PingPong(largest),
        waiter_(pair.waiter()),
        segment_(pair, std::array{0, 1}, shared_byte_count(largest)) {
    if (!segment_.is_there()) throw SharedMemoryError(2 * static_cast<int64_t>(shared_byte_count(largest)));
    mine_ = segment_.part(static_cast<size_t>(pair.rank()));
    partners_ = segment_.part(static_cast<size_t>(1 - pair.rank()));
  }

  void send(size_t /*method*/, const VariableShape& shape) override {
    copy_variables(own_outgoing(), partners_ + sizeof(SharedCounter), shape);
    arrived(partners_).add_one(1);
  }

  void receive(size_t /*method*/, const VariableShape& shape) override {
    arrived(mine_).wait_for(++received_, waiter_);
    copy_variables(mine_ + sizeof(SharedCounter), own_incoming(), shape);
  }

 private:
  static SharedCounter& arrived(std::byte* part) { return *reinterpret_cast<SharedCounter*>(part); }

  Waiter& waiter_;
  SharedSegment segment_;
  std::byte* mine_ = nullptr;
  std::byte* partners_ = nullptr;
  uint64_t received_ = 0;
};

template <typename Method>
std::unique_ptr<PingPong> make_pingpong(RankGroup& pair, const VariableShape& largest) {
  return std::make_unique<Method>(pair, largest);
}

}  // namespace

std::span<const PingPongRow> pingpong_table() {
  static const std::array table{
      PingPongRow{.methods = message_methods, .make = &make_pingpong<MessagePingPong>},
      PingPongRow{.methods = one_sided_methods, .make = &make_pingpong<OneSidedPingPong>},
      PingPongRow{.methods = shared_methods,
                  .shares_memory = true,
                  .why_unavailable = &why_not_mapped,
                  .make = &make_pingpong<SharedPingPong>}};
  return table;
}

}  // namespace cg2d::comm
