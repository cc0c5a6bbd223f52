// Round trips by puts and gets, in a window that is open all the time (passive target).
//
// Each rank's part of the window holds a number, the notification, and room for the variables. The number is
// that of the last transfer that the other rank has made ready. Received is what was sent, because:
//
//     method    sender                                      receiver
//     put       1. puts the variables
//               2. MPI_Win_flush: they are complete there
//               3. puts the number                          4. reads the number until it is this transfer's
//                  and flushes it                           5. MPI_Win_sync: later reads see the variables
//                                                           6. copies them out of the window
//     get       1. writes the variables to its own part
//               2. MPI_Win_sync: the number follows them
//               3. puts the number                          4. reads the number until it is this transfer's
//                  and flushes it                           5. gets the variables, and flushes
//
// - The eight bytes of a number may come in two parts: the receiver waits for equality, and no byte of the
//   number is put before the variables are complete.
// - The ranks take turns: a number, or a variable, is written again only after an answer, which was sent
//   after the number before it was read.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "comm/mpi_handles.hpp"
#include "comm/pingpong.hpp"

namespace cg2d::comm {
namespace {

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

/// Memory of MPI that the other rank may write and read, from the constructor to the destructor.
class OpenWindow {
 public:
  OpenWindow(MPI_Comm communicator, size_t byte_count) {
    check(MPI_Win_allocate(static_cast<MPI_Aint>(byte_count), 1, MPI_INFO_NULL, communicator,
                           static_cast<void*>(&memory_), &window_),
          "MPI_Win_allocate");
    check(MPI_Win_set_errhandler(window_, MPI_ERRORS_RETURN), "MPI_Win_set_errhandler");
    check(MPI_Win_lock_all(MPI_MODE_NOCHECK, window_), "MPI_Win_lock_all");
  }
  ~OpenWindow() {
    static_cast<void>(MPI_Win_unlock_all(window_));
    static_cast<void>(MPI_Win_free(&window_));
  }
  OpenWindow(const OpenWindow&) = delete;
  OpenWindow& operator=(const OpenWindow&) = delete;

  std::byte* memory() const { return memory_; }
  MPI_Win handle() const { return window_; }

 private:
  std::byte* memory_ = nullptr;
  MPI_Win window_ = MPI_WIN_NULL;
};

class OneSidedPingPong final : public PingPong {
 public:
  OneSidedPingPong(RankGroup& pair, const VariableShape& largest)
      : PingPong(largest),
        pair_(pair),
        partner_(1 - pair.rank()),
        window_(pair.handle(), variables_begin + largest.memory_byte_count()) {
    std::fill_n(window_.memory(), variables_begin + largest.memory_byte_count(), std::byte{0});
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
    return {window_.memory() + variables_begin, PingPong::outgoing(0).size()};
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
    const std::atomic_ref<uint64_t> number(*reinterpret_cast<uint64_t*>(window_.memory()));
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
  OpenWindow window_;
};

}  // namespace

PingPongRow one_sided_pingpong() {
  return {.methods = one_sided_methods,
          .make = [](RankGroup& pair, const VariableShape& largest) -> std::unique_ptr<PingPong> {
            return std::make_unique<OneSidedPingPong>(pair, largest);
          }};
}

}  // namespace cg2d::comm
