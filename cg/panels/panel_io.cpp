#include "cg/panels/panel_io.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <stop_token>
#include <thread>
#include <vector>

#include "cg/base/errors.hpp"
#include "cg/base/sample.hpp"
#include "cg/base/storage/crc32c.hpp"
#include "cg/base/storage/open_file.hpp"
#include "cg/base/values.hpp"
#include "kernels/page_buffer.hpp"

namespace cg2d {

PanelIoRow uring_panel_io();
PanelIoRow thread_panel_io();

std::span<const PanelIoRow> panel_io_table() {
  static const std::array table{uring_panel_io(), thread_panel_io()};
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

StorageSample::StorageSample(const std::string& folder, std::int64_t byte_count)
    : file_(folder, FileCaching::direct, byte_count), byte_count_(byte_count) {
  constexpr std::int64_t most_at_once = std::int64_t{1} << 20;
  const auto word_count =
      static_cast<std::size_t>(std::min(most_at_once, byte_count)) / sizeof(std::uint64_t);
  kernels::PageBuffer<std::uint64_t> words(word_count);
  std::mt19937_64 random;  // words that no storage can compress
  for (std::int64_t position = 0; position < byte_count;) {
    std::ranges::generate(words.span(), std::ref(random));
    const auto bytes = std::as_bytes(words.span());
    const auto count = std::min(std::ssize(bytes), byte_count - position);
    file_.write_at(position, bytes.first(static_cast<std::size_t>(count)));
    position += count;
  }
  file_.put_on_disk();
}

double StorageSample::rate(const PanelIoRow& reader, const PanelReading& reading, double least_s) const {
  const auto panel_bytes = reading.panel_bytes;
  const auto panel_count = byte_count_ / panel_bytes;
  kernels::PageBuffer<std::byte> buffers(static_cast<std::size_t>(panel_bytes * reading.depth));
  const auto readings =
      reader.make({.descriptor = file_.descriptor(), .slot_count = reading.depth, .buffers = buffers.span()});
  const auto request = [&](std::int64_t number) {
    const auto slot = static_cast<int>(number % reading.depth);
    return PanelRequest{.slot = slot,
                        .position = number % panel_count * panel_bytes,
                        .memory = buffers.span().subspan(static_cast<std::size_t>(slot * panel_bytes),
                                                         static_cast<std::size_t>(panel_bytes))};
  };
  const Stopwatch stopwatch;
  for (int number = 0; number < reading.depth; ++number) readings->start(request(number));
  std::int64_t number = 0;
  volatile std::uint32_t checksums = 0;  // somebody might read them
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

namespace {

/// All bytes of a request.
PanelResult move_all(int descriptor, const PanelRequest& request) {
  PanelResult result;
  while (result.byte_count < std::ssize(request.memory)) {
    const auto rest = request.memory.subspan(static_cast<std::size_t>(result.byte_count));
    const auto position = request.position + result.byte_count;
    const auto count = request.direction == PanelDirection::read
                           ? pread(descriptor, rest.data(), rest.size(), position)
                           : pwrite(descriptor, rest.data(), rest.size(), position);
    if (count < 0 && (errno == EINTR || errno == EAGAIN || gives_up_direct(descriptor))) continue;
    if (count < 0) result.error = errno;
    if (count <= 0) break;
    result.byte_count += count;
  }
  return result;
}

/// A thread for each request under way, which calls pread or pwrite.
class ThreadIo final : public PanelIo {
 public:
  ThreadIo(int descriptor, int slot_count) : slots_(static_cast<std::size_t>(slot_count)) {
    for (auto& slot : slots_)
      slot.thread =
          std::jthread([&slot, descriptor](const std::stop_token& stop) { serve(slot, descriptor, stop); });
  }

  void start(const PanelRequest& request) override {
    auto& slot = slots_[static_cast<std::size_t>(request.slot)];
    {
      const std::lock_guard lock(slot.mutex);
      slot.request = request;
    }
    slot.changed.notify_all();
  }
  bool has_ended(int number) override {
    auto& slot = slots_[static_cast<std::size_t>(number)];
    const std::lock_guard lock(slot.mutex);
    return !slot.request;
  }
  PanelResult wait(int number) override {
    auto& slot = slots_[static_cast<std::size_t>(number)];
    std::unique_lock lock(slot.mutex);
    slot.changed.wait(lock, [&] { return !slot.request; });
    return slot.result;
  }

 private:
  struct Slot {
    std::mutex mutex;
    std::condition_variable_any changed;
    std::optional<PanelRequest> request;  // until it has ended
    PanelResult result;
    std::jthread thread;  // ends first, after a request under way
  };

  static void serve(Slot& slot, int descriptor, const std::stop_token& stop) {
    std::unique_lock lock(slot.mutex);
    while (slot.changed.wait(lock, stop, [&] { return slot.request.has_value(); })) {
      const auto request = *slot.request;
      lock.unlock();
      const auto result = move_all(descriptor, request);
      lock.lock();
      slot.result = result;
      slot.request.reset();
      slot.changed.notify_all();
    }
  }

  std::vector<Slot> slots_;
};

}  // namespace

PanelIoRow thread_panel_io() {
  return {.name = "threads", .make = [](const PanelIoSetup& setup) -> std::unique_ptr<PanelIo> {
            return std::make_unique<ThreadIo>(setup.descriptor, setup.slot_count);
          }};
}

}  // namespace cg2d
