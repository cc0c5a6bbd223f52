// The reader "threads": one thread for each slot, which calls pread or pwrite. Serves on every system.

#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "cg/base/storage/open_file.hpp"
#include "cg/panels/panel_io.hpp"

namespace cg2d {
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
  return {.name = "threads",
          .description = "a thread for each panel under way, which calls pread or pwrite",
          .make = [](const PanelIoSetup& setup) -> std::unique_ptr<PanelIo> {
            return std::make_unique<ThreadIo>(setup.descriptor, setup.slot_count);
          }};
}

}  // namespace cg2d
