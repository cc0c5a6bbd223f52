#include "comm/shared_counter.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bit>
#include <climits>
#include <ctime>

namespace cg2d::comm {
namespace {

static_assert(std::atomic<uint64_t>::is_always_lock_free);

/// The lower 32 bits of the number: the system compares and sleeps on 32 bits.
uint32_t* futex_word(std::atomic<uint64_t>& number) {
  static_assert(std::endian::native == std::endian::little);
  return reinterpret_cast<uint32_t*>(&number);
}

}  // namespace

void SharedCounter::add_one(uint64_t goal) {
  // Sequentially consistent, as is the announcement of a sleeper: invariant 3.
  const uint64_t reached = count_.fetch_add(1, std::memory_order_seq_cst) + 1;
  if (reached % goal != 0 || sleeper_count_.load(std::memory_order_seq_cst) == 0) return;
  syscall(SYS_futex, futex_word(count_), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void SharedCounter::wait_for(uint64_t number, Waiter& waiter) {
  // Each sleep has an end: a rank that is killed between the count and the wake leaves no rank asleep forever.
  constexpr std::chrono::milliseconds longest{10};
  if (has_reached(number)) return;
  waiter.wait_until([&] { return has_reached(number); }, [&] { sleep_before(number, longest); });
}

void SharedCounter::sleep_before(uint64_t number, std::chrono::nanoseconds longest) {
  sleeper_count_.fetch_add(1, std::memory_order_seq_cst);
  const uint64_t seen = count();
  if (seen < number) {
    // If it was counted up in between, the system sees another number than `seen` and returns at once.
    timespec timeout{};
    timeout.tv_nsec = longest.count();
    syscall(SYS_futex, futex_word(count_), FUTEX_WAIT, static_cast<uint32_t>(seen), &timeout, nullptr, 0);
  }
  sleeper_count_.fetch_sub(1, std::memory_order_seq_cst);
}

}  // namespace cg2d::comm
