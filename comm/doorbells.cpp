#include "comm/doorbells.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <ctime>

#include "comm/node_map.hpp"

namespace cg2d::comm {
namespace {

// Both sides must see a ring and the announcement of a sleeper in one order, and the kernel compares the word
// itself.
static_assert(std::atomic<uint32_t>::is_always_lock_free && sizeof(std::atomic<uint32_t>) == 4);

constexpr std::chrono::nanoseconds longest_sleep = std::chrono::milliseconds(1);

uint32_t* futex_word(std::atomic<uint32_t>& word) { return reinterpret_cast<uint32_t*>(&word); }

std::vector<int> ranks_of_my_host(RankGroup& group) {
  const auto hosts = make_node_map(group, 0);
  return hosts.ranks_of(hosts.node_of(group.rank()));
}

}  // namespace

Doorbells::Doorbells(RankGroup& group)
    : node_ranks_(ranks_of_my_host(group)),
      segment_(group, node_ranks_, sizeof(Bells)),
      bells_(static_cast<size_t>(group.size()), nullptr) {
  if (!segment_.is_there()) return;
  for (size_t index = 0; index < node_ranks_.size(); ++index) {
    // Zero bytes are bells that have not rung.
    bells_[static_cast<size_t>(node_ranks_[index])] = reinterpret_cast<Bells*>(segment_.part(index));
  }
  my_rank_ = group.rank();
}

void Doorbells::ring(Bell bell, int rank) {
  if (!reaches(rank)) return;
  Counter& theirs = counter(bell, rank);
  theirs.rung.fetch_add(1);
  if (theirs.asleep.load() != 0) {
    syscall(SYS_futex, futex_word(theirs.rung), FUTEX_WAKE, 1, nullptr, nullptr, 0);
  }
}

uint32_t Doorbells::rung(Bell bell) const { return counter(bell, my_rank_).rung.load(); }

void Doorbells::sleep_unless_rung(Bell bell, uint32_t seen) {
  Counter& mine = counter(bell, my_rank_);
  timespec timeout{};
  timeout.tv_nsec = longest_sleep.count();
  mine.asleep.store(1);
  // If it was rung in between, the kernel sees another number than `seen` and returns at once.
  syscall(SYS_futex, futex_word(mine.rung), FUTEX_WAIT, seen, &timeout, nullptr, 0);
  mine.asleep.store(0);
}

}  // namespace cg2d::comm
