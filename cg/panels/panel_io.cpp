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

/// The kernel reads and writes, and no thread waits for it. What it does not do of a request (a signal came in between; shared folders may refuse
/// requests, and a seccomp profile io_uring_enter(2)), wait() does.
class UringIo final : public PanelIo {
 public:
  explicit UringIo(const PanelIoSetup& setup)
      : descriptor_(setup.descriptor), slots_(static_cast<size_t>(setup.slot_count)) {
    const int error = io_uring_queue_init(static_cast<unsigned>(setup.slot_count), &ring_, 0);
    if (error < 0)
      throw RunError(ExitCode::unavailable, "io_uring: the system refuses it ({})", std::strerror(-error));
  }
  ~UringIo() override {
    for (const auto& slot : slots_) take_until_done(slot);
    io_uring_queue_exit(&ring_);
  }
  UringIo(const UringIo&) = delete;
  UringIo& operator=(const UringIo&) = delete;

  void start(const PanelRequest& request) override {
    auto& slot = slots_[static_cast<size_t>(request.slot)];
    slot = {.request = request};
    if (is_refused_) return;
    auto* const entry = io_uring_get_sqe(&ring_);  // there is one for each slot
    constexpr size_t most_bytes = size_t{1} << 30;
    io_uring_prep_rw(request.direction == PanelDirection::read ? IORING_OP_READ : IORING_OP_WRITE, entry,
                     descriptor_, request.memory.data(),
                     static_cast<unsigned>(std::min(request.memory.size(), most_bytes)),
                     static_cast<uint64_t>(request.position));
    io_uring_sqe_set_data(entry, &slot);
    int error = 0;
    do {
      error = io_uring_submit(&ring_);
    } while (error == -EINTR || error == -EAGAIN);
    is_refused_ = error < 0;
    slot.is_under_way = !is_refused_;
  }
  PanelResult wait(int number) override {
    const auto& slot = slots_[static_cast<size_t>(number)];
    take_until_done(slot);
    auto rest = slot.request;
    rest.position += slot.byte_count;
    rest.memory = rest.memory.subspan(static_cast<size_t>(slot.byte_count));
    auto result = move_all(descriptor_, rest);
    result.byte_count += slot.byte_count;
    return result;
  }

 private:
  struct Slot {
    PanelRequest request;
    int64_t byte_count = 0;     ///< moved by the ring
    bool is_under_way = false;  ///< in the ring
  };

  void take_until_done(const Slot& slot) {
    io_uring_cqe* done = nullptr;
    while (slot.is_under_way) {
      if (io_uring_wait_cqe(&ring_, &done) != 0) continue;  // a signal: again
      auto& any = *static_cast<Slot*>(io_uring_cqe_get_data(done));
      any.byte_count = std::max(done->res, 0);
      any.is_under_way = false;
      io_uring_cqe_seen(&ring_, done);
    }
  }

  int descriptor_;
  io_uring ring_{};
  std::vector<Slot> slots_;
  bool is_refused_ = false;  // by io_uring_submit()
};

/// A kernel that cannot be asked which operations it has (5.1 to 5.5) does not have those of UringIo.
std::string why_no_uring() {
  io_uring ring{};
  const int error = io_uring_queue_init(1, &ring, 0);
  if (error < 0) return fmt::format("the system refuses io_uring ({})", std::strerror(-error));
  auto* const probe = io_uring_get_probe_ring(&ring);
  io_uring_queue_exit(&ring);
  if (probe == nullptr) return "the system's io_uring is older than Linux 5.6";
  io_uring_free_probe(probe);
  return {};
}

template <typename Io>
std::unique_ptr<PanelIo> made(const PanelIoSetup& setup) {
  return std::make_unique<Io>(setup);
}

}  // namespace

// ---------------------------------------------------------------- table

std::span<const PanelIoRow> panel_io_table() {
  static const std::array table{
      PanelIoRow{.name = "io_uring", .why_unavailable = why_no_uring, .make = &made<UringIo>},
      PanelIoRow{.name = "threads", .make = &made<ThreadIo>}};
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

double StorageSample::rate(int64_t panel_bytes, int depth, double least_s) const {
  const auto panel_count = byte_count_ / panel_bytes;
  kernels::PageBuffer<std::byte> buffers(static_cast<size_t>(panel_bytes * depth));
  const auto readings = usual_panel_io().make({.descriptor = file_.descriptor(), .slot_count = depth});
  const auto request = [&](int64_t number) {
    const auto slot = static_cast<int>(number % depth);
    return PanelRequest{.slot = slot,
                        .position = number % panel_count * panel_bytes,
                        .memory = buffers.span().subspan(static_cast<size_t>(slot * panel_bytes),
                                                         static_cast<size_t>(panel_bytes))};
  };
  const Stopwatch stopwatch;
  for (int number = 0; number < depth; ++number) readings->start(request(number));
  int64_t number = 0;
  double time_s = 0.0;
  for (; time_s < least_s || number < panel_count; ++number) {
    const auto result = readings->wait(static_cast<int>(number % depth));
    if (result.error != 0 || result.byte_count < panel_bytes)
      throw RunError(ExitCode::cannot_write, "a file that was written for measuring cannot be read: {}",
                     std::strerror(result.error));
    time_s = stopwatch.seconds();
    readings->start(request(number + depth));
  }
  return static_cast<double>(number * panel_bytes) / time_s;
}

}  // namespace cg2d
