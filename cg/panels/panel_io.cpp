#include "cg/panels/panel_io.hpp"

#include <fmt/format.h>
#include <liburing.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <functional>
#include <future>
#include <random>
#include <vector>

#include "cg/base/errors.hpp"
#include "cg/base/sample.hpp"
#include "cg/base/storage/crc32c.hpp"
#include "cg/base/storage/open_file.hpp"
#include "cg/base/values.hpp"
#include "kernels/page_buffer.hpp"

namespace cg2d {
namespace {

// ---------------------------------------------------------------- threads

/// All bytes of a request.
PanelResult move_all(int descriptor, const PanelRequest& request) {
  PanelResult result;
  if (request.direction == PanelDirection::read) {
    const auto count = read_whole(descriptor, request.position, request.memory);
    if (!count) result.error = errno;
    result.byte_count = static_cast<int64_t>(count.value_or(0));
  } else if (write_whole(descriptor, request.position, request.memory)) {
    result.byte_count = std::ssize(request.memory);
  } else {
    result.error = errno;
  }
  return result;
}

/// A thread for each request, which calls pread or pwrite. Where the system has no thread left, wait() does it.
class ThreadIo final : public PanelIo {
 public:
  explicit ThreadIo(const PanelIoSetup& setup)
      : descriptor_(setup.descriptor), slots_(static_cast<size_t>(setup.slot_count)) {}

  void start(const PanelRequest& request) override {
    slots_[static_cast<size_t>(request.slot)].under_way =
        std::async(std::launch::async | std::launch::deferred, &move_all, descriptor_, request);
  }
  PanelResult wait(int number) override {
    auto& slot = slots_[static_cast<size_t>(number)];
    if (slot.under_way.valid()) slot.result = slot.under_way.get();
    return slot.result;
  }

 private:
  struct Slot {
    std::future<PanelResult> under_way{};  // its destructor waits
    PanelResult result{};
  };

  int descriptor_;
  std::vector<Slot> slots_;
};

// ---------------------------------------------------------------- io_uring

/// The kernel reads and writes, and no thread waits for it. Linux from 5.6 on, where it is not forbidden.
class UringIo final : public PanelIo {
 public:
  explicit UringIo(const PanelIoSetup& setup)
      : descriptor_(setup.descriptor), slots_(static_cast<size_t>(setup.slot_count)), threads_(setup) {
    const int error = io_uring_queue_init(static_cast<unsigned>(setup.slot_count), &ring_, 0);
    if (error < 0)
      throw RunError(ExitCode::unavailable, "io_uring: the system refuses it ({})", std::strerror(-error));
  }
  ~UringIo() override {
    for (size_t slot = 0; slot < slots_.size(); ++slot) wait(static_cast<int>(slot));
    io_uring_queue_exit(&ring_);
  }
  UringIo(const UringIo&) = delete;
  UringIo& operator=(const UringIo&) = delete;

  void start(const PanelRequest& request) override {
    auto& slot = slots_[static_cast<size_t>(request.slot)];
    slot = {.request = request, .result = {}, .is_under_way = true};
    if (refusal_ != 0) return hand_over(slot);
    submit(slot);
  }
  PanelResult wait(int number) override {
    const auto& slot = slots_[static_cast<size_t>(number)];
    io_uring_cqe* done = nullptr;
    while (slot.is_under_way) {
      if (io_uring_wait_cqe(&ring_, &done) == 0) take(done);  // otherwise a signal: again
    }
    return slot.is_handed_over ? threads_.wait(number) : slot.result;
  }
  int refusal() const override { return refusal_; }

 private:
  struct Slot {
    PanelRequest request;
    PanelResult result;
    bool is_under_way = false;    ///< in the ring
    bool is_handed_over = false;  ///< to threads
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

  /// All of a request, whatever has been moved of it.
  void hand_over(Slot& slot) {
    slot.is_under_way = false;
    slot.is_handed_over = true;
    threads_.start(slot.request);
  }

  /// The part of a request that is still missing.
  void submit(Slot& slot) {
    const auto rest = slot.request.memory.subspan(static_cast<size_t>(slot.result.byte_count));
    // There is an entry for each slot.
    auto* const entry = io_uring_get_sqe(&ring_);
    const auto size = static_cast<unsigned>(std::min(rest.size(), most_bytes));
    const auto position = static_cast<uint64_t>(slot.request.position + slot.result.byte_count);
    const bool reads = slot.request.direction == PanelDirection::read;
    io_uring_prep_rw(reads ? IORING_OP_READ : IORING_OP_WRITE, entry, descriptor_, rest.data(), size,
                     position);
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

  // Most bytes of a request.
  static constexpr size_t most_bytes = size_t{1} << 30;

  int descriptor_;
  io_uring ring_{};
  std::vector<Slot> slots_;
  ThreadIo threads_;  // from the first refusal on
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

// ---------------------------------------------------------------- table

std::span<const PanelIoRow> panel_io_table() {
  static const std::array table{
      PanelIoRow{.name = "io_uring",
                 .why_unavailable = why_no_uring,
                 .make = [](const PanelIoSetup& setup) -> std::unique_ptr<PanelIo> {
                   return std::make_unique<UringIo>(setup);
                 }},
      PanelIoRow{.name = "threads", .make = [](const PanelIoSetup& setup) -> std::unique_ptr<PanelIo> {
                   return std::make_unique<ThreadIo>(setup);
                 }}};
  return table;
}

const PanelIoRow* find_panel_io(std::string_view name) { return row_named(panel_io_table(), name); }

const PanelIoRow& usual_panel_io() {
  constexpr const char* variable = "CG2D_READER";
  const auto table = panel_io_table();
  if (const auto name = environment_variable(variable); !name.empty()) {
    require_known(variable, name, names_of(table));
    return *find_panel_io(name);
  }
  return *std::ranges::find_if(table, [](const auto& row) { return row.why_unavailable().empty(); });
}

const PanelIoRow& fallback_panel_io() { return panel_io_table().back(); }

std::string refusal_warning(int error) {
  return fmt::format("--out-of-core: the system refuses requests of io_uring ({}); threads move the data",
                     std::strerror(error));
}

// ---------------------------------------------------------------- rates

StorageSample::StorageSample(const std::string& folder, int64_t byte_count)
    : file_(folder, FileCaching::direct, byte_count), byte_count_(byte_count) {
  constexpr int64_t most_at_once = int64_t{1} << 20;
  const auto word_count = static_cast<size_t>(std::min(most_at_once, byte_count)) / sizeof(uint64_t);
  kernels::PageBuffer<uint64_t> words(word_count);
  std::mt19937_64 random;  // words that no storage can compress
  for (int64_t position = 0; position < byte_count;) {
    std::ranges::generate(words.span(), std::ref(random));
    const auto bytes = std::as_bytes(words.span());
    const auto count = std::min(std::ssize(bytes), byte_count - position);
    file_.write_at(position, bytes.first(static_cast<size_t>(count)));
    position += count;
  }
  file_.put_on_disk();
}

double StorageSample::rate(const PanelIoRow& reader, const PanelReading& reading, double least_s) const {
  const auto panel_bytes = reading.panel_bytes;
  const auto panel_count = byte_count_ / panel_bytes;
  kernels::PageBuffer<std::byte> buffers(static_cast<size_t>(panel_bytes * reading.depth));
  const auto readings = reader.make({.descriptor = file_.descriptor(), .slot_count = reading.depth});
  const auto request = [&](int64_t number) {
    const auto slot = static_cast<int>(number % reading.depth);
    return PanelRequest{.slot = slot,
                        .position = number % panel_count * panel_bytes,
                        .memory = buffers.span().subspan(static_cast<size_t>(slot * panel_bytes),
                                                         static_cast<size_t>(panel_bytes))};
  };
  const Stopwatch stopwatch;
  for (int number = 0; number < reading.depth; ++number) readings->start(request(number));
  int64_t number = 0;
  volatile uint32_t checksums = 0;  // somebody might read them
  double time_s = 0.0;
  for (; time_s < least_s || number < panel_count; ++number) {
    const auto result = readings->wait(static_cast<int>(number % reading.depth));
    if (result.error != 0 || result.byte_count < panel_bytes)
      throw RunError(ExitCode::cannot_write, "a file that was written for measuring cannot be read: {}",
                     std::strerror(result.error));
    if (reading.checks) checksums = checksums + crc32c(request(number).memory);
    time_s = stopwatch.seconds();
    readings->start(request(number + reading.depth));
  }
  return static_cast<double>(number * panel_bytes) / time_s;
}

}  // namespace cg2d
