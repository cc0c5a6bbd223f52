// The reader "threads": one thread for each slot, which calls pread or pwrite. Serves on every system.

#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "cg/base/storage/open_file.hpp"
#include "cg/panels/panel_io.hpp"

namespace cg2d {
namespace {

ssize_t move_bytes(int descriptor, PanelDirection direction, std::span<std::byte> bytes,
                   std::int64_t position) {
  return direction == PanelDirection::read ? pread(descriptor, bytes.data(), bytes.size(), position)
                                           : pwrite(descriptor, bytes.data(), bytes.size(), position);
}

/// All bytes of a request.
PanelResult move_all(int descriptor, const PanelRequest& request) {
  PanelResult result;
  while (result.byte_count < std::ssize(request.memory)) {
    const auto rest = request.memory.subspan(static_cast<std::size_t>(result.byte_count));
    const auto count = move_bytes(descriptor, request.direction, rest, request.position + result.byte_count);
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
      slot.thread = std::thread([this, &slot, descriptor] { serve(slot, descriptor); });
  }
  ~ThreadIo() override {
    for (auto& slot : slots_) {
      {
        const std::lock_guard lock(slot.mutex);
        slot.state = State::ends;  // a request under way comes to its end
      }
      slot.changed.notify_all();
      slot.thread.join();
    }
  }
  ThreadIo(const ThreadIo&) = delete;
  ThreadIo& operator=(const ThreadIo&) = delete;

  void start(const PanelRequest& request) override {
    auto& slot = slots_[static_cast<std::size_t>(request.slot)];
    {
      const std::lock_guard lock(slot.mutex);
      slot.request = request;
      slot.state = State::asked;
    }
    slot.changed.notify_all();
  }
  bool has_ended(int number) override {
    auto& slot = slots_[static_cast<std::size_t>(number)];
    const std::lock_guard lock(slot.mutex);
    return slot.state != State::asked;
  }
  PanelResult wait(int number) override {
    auto& slot = slots_[static_cast<std::size_t>(number)];
    std::unique_lock lock(slot.mutex);
    slot.changed.wait(lock, [&] { return slot.state != State::asked; });
    return slot.result;
  }

 private:
  enum class State { idle, asked, ends };
  struct Slot {
    std::mutex mutex;
    std::condition_variable changed;
    State state = State::idle;
    PanelRequest request;
    PanelResult result;
    std::thread thread;
  };

  static void serve_one(Slot& slot, std::unique_lock<std::mutex>& lock, int descriptor) {
    const auto request = slot.request;
    lock.unlock();
    const auto result = move_all(descriptor, request);
    lock.lock();
    slot.result = result;
    if (slot.state == State::asked) slot.state = State::idle;
    slot.changed.notify_all();
  }
  void serve(Slot& slot, int descriptor) {
    std::unique_lock lock(slot.mutex);
    while (true) {
      slot.changed.wait(lock, [&] { return slot.state != State::idle; });
      if (slot.state == State::ends) return;
      serve_one(slot, lock, descriptor);
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
