// Round trips by puts and gets, in a window that is open all the time (passive target).
//
// Each rank's part of the window holds a number and room for the variables. The number is that of the last
// transfer that the other rank has made ready: the notification.
//
// Why what is received is what was sent.
//   put: the puts of the variables are complete at the target behind MPI_Win_flush, and only then the put of
//     the number begins. The receiver waits until it reads exactly the number of this transfer: even if the
//     eight bytes came in two parts, the number could not be complete before its put had begun. The flush
//     behind the number sends it on its way. MPI_Win_sync behind the reading keeps the reads of the variables
//     behind that of the number, and makes MPI's copy of the window the one that is read.
//   get: the sender writes to its own part; MPI_Win_sync in front of the notification puts these stores in
//     front of it. The receiver gets the variables behind the notification, and has them behind its flush.
//   The ranks take turns. So a number is written again, and so are variables, only behind an answer, which
//   was sent behind the reading of the number before it.

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
constexpr bool gets(std::size_t method) { return method >= 2; }
constexpr bool flushes_each(std::size_t method) { return method % 2 == 0; }

/// Memory of MPI that the other rank may write to and read, from its making to its end.
class OpenWindow {
 public:
  OpenWindow(MPI_Comm communicator, std::size_t byte_count) {
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
  OpenWindow(OpenWindow&&) = delete;
  OpenWindow& operator=(OpenWindow&&) = delete;

  [[nodiscard]] std::byte* memory() const { return memory_; }
  [[nodiscard]] MPI_Win handle() const { return window_; }

 private:
  std::byte* memory_ = nullptr;
  MPI_Win window_ = MPI_WIN_NULL;
};

class OneSidedPingPong final : public PingPong {
 public:
  OneSidedPingPong(RankGroup& pair, const VariableShape& largest)
      : pair_(pair),
        partner_(1 - pair.rank()),
        private_(largest.memory_byte_count()),
        window_(pair.handle(), variables_begin + largest.memory_byte_count()) {
    std::fill_n(window_.memory(), variables_begin + largest.memory_byte_count(), std::byte{0});
    check(MPI_Win_sync(window_.handle()), "MPI_Win_sync");
    pair_.barrier();  // nobody writes before the numbers are zero
  }

  [[nodiscard]] std::span<std::byte> outgoing(std::size_t method) override {
    return gets(method) ? exposed() : std::span<std::byte>(private_);
  }
  [[nodiscard]] std::span<std::byte> incoming(std::size_t method) override {
    return gets(method) ? std::span<std::byte>(private_) : exposed();
  }

  void send(std::size_t method, const VariableShape& shape) override {
    if (gets(method)) {
      check(MPI_Win_sync(window_.handle()), "MPI_Win_sync");
    } else {
      move(method, shape);
    }
    notify();
  }

  void receive(std::size_t method, const VariableShape& shape) override {
    wait_for_notification();
    if (gets(method)) move(method, shape);
  }

 private:
  static constexpr std::size_t variables_begin = 64;  // behind the number, in a cache line of its own

  [[nodiscard]] std::span<std::byte> exposed() {
    return {window_.memory() + variables_begin, private_.size()};
  }

  /// The variables, between the memory of this rank alone and the other rank's part of the window.
  void move(std::size_t method, const VariableShape& shape) {
    const auto bytes = static_cast<int>(shape.byte_count);
    for (std::size_t k = 0; k < shape.count; ++k) {
      std::byte* const mine = private_.data() + shape.offset(k);
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
    const std::atomic_ref<std::uint64_t> number(*reinterpret_cast<std::uint64_t*>(window_.memory()));
    pair_.waiter().wait_until([&] {
      if (number.load(std::memory_order_acquire) == received_) return true;
      help_messages();
      return false;
    });
    check(MPI_Win_sync(window_.handle()), "MPI_Win_sync");
  }

  /// Puts, gets and flushes may be messages inside (with MPICH over UCX they are, on one node, too): they get
  /// on only while the target calls MPI.
  void help_messages() {
    int found = 0;
    check(MPI_Iprobe(partner_, 0, pair_.handle(), &found, MPI_STATUS_IGNORE), "MPI_Iprobe");
    check(MPI_Win_sync(window_.handle()), "MPI_Win_sync");
  }

  RankGroup& pair_;
  int partner_;
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
  std::vector<std::byte> private_;
  OpenWindow window_;
};

}  // namespace

PingPongRow one_sided_pingpong() {
  return {.methods = one_sided_methods,
          .why_unavailable = [](RankGroup&) { return std::string(); },
          .make = [](RankGroup& pair, const VariableShape& largest) -> std::unique_ptr<PingPong> {
            return std::make_unique<OneSidedPingPong>(pair, largest);
          }};
}

}  // namespace cg2d::comm
