// The reader "io_uring": the kernel reads and writes, and no thread waits for it. Linux from 5.6 on, where it is not forbidden.

#include <fmt/format.h>
#include <liburing.h>
#include <sys/uio.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cg/base/errors.hpp"
#include "cg/panels/panel_io.hpp"

namespace cg2d {
namespace {

class UringIo final : public PanelIo {
 public:
  explicit UringIo(const PanelIoSetup& setup)
      : descriptor_(setup.descriptor), slots_(static_cast<std::size_t>(setup.slot_count)) {
    const int error = io_uring_queue_init(static_cast<unsigned>(setup.slot_count), &ring_, 0);
    if (error < 0)
      throw RunError(ExitCode::unavailable, "io_uring: the system refuses it ({})", std::strerror(-error));
    // Tells the system of memory once, so that it need not find and hold its pages for every request. A system that refuses (many let a
    // user hold little: ulimit -l) does that.
    if (setup.buffers.empty()) return;
    std::vector<iovec> parts;
    for (auto rest = setup.buffers; !rest.empty(); rest = rest.subspan(parts.back().iov_len))
      parts.push_back({.iov_base = rest.data(), .iov_len = std::min(rest.size(), most_bytes)});
    if (io_uring_register_buffers(&ring_, parts.data(), static_cast<unsigned>(parts.size())) == 0)
      registered_ = setup.buffers;
  }
  ~UringIo() override {
    for (std::size_t slot = 0; slot < slots_.size(); ++slot) wait(static_cast<int>(slot));
    io_uring_queue_exit(&ring_);
  }
  UringIo(const UringIo&) = delete;
  UringIo& operator=(const UringIo&) = delete;

  void start(const PanelRequest& request) override {
    auto& slot = slots_[static_cast<std::size_t>(request.slot)];
    slot = {.request = request, .result = {}, .is_under_way = true};
    if (fallback_) return hand_over(slot);
    submit(slot);
  }
  bool has_ended(int number) override {
    const auto& slot = slots_[static_cast<std::size_t>(number)];
    io_uring_cqe* done = nullptr;
    while (slot.is_under_way && io_uring_peek_cqe(&ring_, &done) == 0) take(done);
    return !slot.is_under_way && (!slot.is_handed_over || fallback_->has_ended(number));
  }
  PanelResult wait(int number) override {
    const auto& slot = slots_[static_cast<std::size_t>(number)];
    io_uring_cqe* done = nullptr;
    while (slot.is_under_way) {
      if (io_uring_wait_cqe(&ring_, &done) == 0) take(done);  // otherwise a signal: again
    }
    if (!slot.is_handed_over) return slot.result;
    const auto rest = fallback_->wait(number);
    return {.byte_count = slot.result.byte_count + rest.byte_count, .error = rest.error};
  }
  [[nodiscard]] int refusal() const override { return refusal_; }

 private:
  struct Slot {
    PanelRequest request;
    PanelResult result;
    bool is_under_way = false;    ///< in the ring
    bool is_handed_over = false;  ///< to the fallback, which has the rest of it
  };

  /// Kernels 5.1 to 5.5 set up a ring and have no such operation (EINVAL), shared folders may refuse it (EOPNOTSUPP), and a seccomp profile
  /// io_uring_enter(2). What is wrong with the request itself fails in the same way where it goes next.
  static bool is_refusal(int error) {
    return error == EINVAL || error == EOPNOTSUPP || error == ENOSYS || error == EPERM || error == EACCES;
  }

  void end(Slot& slot, int error) {
    slot.is_under_way = false;
    if (is_refusal(error)) {
      refusal_ = error;
      hand_over(slot);
    } else {
      slot.result.error = error;
    }
  }

  /// The part of a request that is still missing.
  void hand_over(Slot& slot) {
    if (!fallback_)
      fallback_ = fallback_panel_io().make(
          {.descriptor = descriptor_, .slot_count = static_cast<int>(slots_.size())});
    auto rest = slot.request;
    rest.position += slot.result.byte_count;
    rest.memory = rest.memory.subspan(static_cast<std::size_t>(slot.result.byte_count));
    slot.is_under_way = false;
    slot.is_handed_over = true;
    fallback_->start(rest);
  }

  /// The number of the registered part that the bytes lie in as a whole.
  [[nodiscard]] std::optional<int> registered_part(std::span<const std::byte> bytes) const {
    const auto begin = std::bit_cast<std::uintptr_t>(bytes.data());
    const auto first = std::bit_cast<std::uintptr_t>(registered_.data());
    if (begin < first || begin + bytes.size() > first + registered_.size()) return std::nullopt;
    const auto part = (begin - first) / most_bytes;
    if ((begin - first + bytes.size() - 1) / most_bytes != part) return std::nullopt;
    return static_cast<int>(part);
  }

  /// The part of a request that is still missing.
  void submit(Slot& slot) {
    const auto rest = slot.request.memory.subspan(static_cast<std::size_t>(slot.result.byte_count));
    // There is an entry for each slot.
    auto* const entry = io_uring_get_sqe(&ring_);
    const auto size = static_cast<unsigned>(std::min(rest.size(), most_bytes));
    const auto position = static_cast<std::uint64_t>(slot.request.position + slot.result.byte_count);
    const bool reads = slot.request.direction == PanelDirection::read;
    const auto part = registered_part(rest);
    const auto usual = reads ? IORING_OP_READ : IORING_OP_WRITE;
    const auto fixed = reads ? IORING_OP_READ_FIXED : IORING_OP_WRITE_FIXED;
    io_uring_prep_rw(part ? fixed : usual, entry, descriptor_, rest.data(), size, position);
    if (part) entry->buf_index = static_cast<std::uint16_t>(*part);
    io_uring_sqe_set_data(entry, &slot);
    int error = 0;
    do {
      error = io_uring_submit(&ring_);
    } while (error == -EINTR || error == -EAGAIN);
    if (error < 0) end(slot, -error);
  }

  /// A request, of any slot, has come further.
  void take(io_uring_cqe* done) {
    auto& slot = *static_cast<Slot*>(io_uring_cqe_get_data(done));
    const int count = done->res;
    io_uring_cqe_seen(&ring_, done);
    if (count > 0) slot.result.byte_count += count;
    const bool is_interrupted = count == -EINTR || count == -EAGAIN;
    const bool has_more = slot.result.byte_count < std::ssize(slot.request.memory);
    if (has_more && (count > 0 || is_interrupted)) {
      submit(slot);
    } else {
      end(slot, std::max(-count, 0));
    }
  }

  // Most bytes of a request, and of a registered part.
  static constexpr std::size_t most_bytes = std::size_t{1} << 30;

  int descriptor_;
  io_uring ring_{};
  std::span<std::byte> registered_;  // empty: none
  std::vector<Slot> slots_;
  std::unique_ptr<PanelIo> fallback_;  // from the first refusal on
  int refusal_ = 0;
};

std::string why_no_uring() {
  io_uring ring{};
  const int error = io_uring_queue_init(1, &ring, 0);
  if (error < 0) return fmt::format("the system refuses io_uring ({})", std::strerror(-error));
  io_uring_queue_exit(&ring);
  return {};
}

}  // namespace

PanelIoRow uring_panel_io() {
  return {.name = "io_uring",
          .why_unavailable = why_no_uring,
          .make = [](const PanelIoSetup& setup) -> std::unique_ptr<PanelIo> {
            return std::make_unique<UringIo>(setup);
          }};
}

}  // namespace cg2d
