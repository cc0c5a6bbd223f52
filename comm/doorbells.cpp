#include "comm/doorbells.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <ctime>

namespace cg2d::comm {
namespace {

// A ring and the word before sleeping must be seen in one order by both sides, and the kernel compares the
// word itself.
static_assert(std::atomic<std::uint32_t>::is_always_lock_free && sizeof(std::atomic<std::uint32_t>) == 4);

std::string host_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

std::uint32_t* futex_word(std::atomic<std::uint32_t>& word) {
  return reinterpret_cast<std::uint32_t*>(&word);
}

/// A shared memory object of this process, zeroed, under a name that is not in use; an empty name when that
/// fails.
std::string create_segment(std::size_t byte_count) {
  for (int attempt = 0; attempt < 16; ++attempt) {
    std::string name = "/cg2d-bells-" + std::to_string(getpid()) + "-" + std::to_string(attempt);
    const int descriptor = shm_open(name.c_str(), O_CREAT | O_EXCL | O_RDWR, 0600);
    if (descriptor < 0) continue;
    // posix_fallocate, not ftruncate alone: a full /dev/shm must fail here, not at the first ring.
    const bool is_sized = posix_fallocate(descriptor, 0, static_cast<off_t>(byte_count)) == 0;
    close(descriptor);
    if (is_sized) return name;
    shm_unlink(name.c_str());
  }
  return {};
}

void* map_segment(const std::string& name, std::size_t byte_count) {
  if (name.empty()) return nullptr;
  const int descriptor = shm_open(name.c_str(), O_RDWR, 0600);
  if (descriptor < 0) return nullptr;
  void* address = mmap(nullptr, byte_count, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  close(descriptor);
  return address == MAP_FAILED ? nullptr : address;
}

}  // namespace

Doorbells::Doorbells(RankGroup& group) : places_(static_cast<std::size_t>(group.size()), -1) {
  const auto hosts = group.gather_all(host_name());
  const auto& my_host = hosts[static_cast<std::size_t>(group.rank())];
  int leader = -1;
  for (int rank = 0; rank < group.size(); ++rank) {
    if (hosts[static_cast<std::size_t>(rank)] != my_host) continue;
    if (leader < 0) leader = rank;
    places_[static_cast<std::size_t>(rank)] = bell_count_++;
  }
  my_place_ = place_of(group.rank());

  const std::size_t byte_count = static_cast<std::size_t>(bell_count_) * sizeof(Bells);
  const std::string mine = group.rank() == leader ? create_segment(byte_count) : std::string();
  const auto names = group.gather_all(mine);
  const auto& name = names[static_cast<std::size_t>(leader)];
  void* const memory = map_segment(name, byte_count);
  // All or none on a node: whoever could not map it could not be woken. The name goes as soon as all have
  // mapped it, so that nothing is left behind however the program ends.
  bool all_mapped = true;
  const std::int64_t mapped = memory != nullptr ? 1 : 0;
  const auto answers = group.gather_all(std::span<const std::int64_t>(&mapped, 1));
  for (int rank = 0; rank < group.size(); ++rank) {
    if (place_of(rank) >= 0 && answers[static_cast<std::size_t>(rank)].front() == 0) all_mapped = false;
  }
  if (group.rank() == leader && !name.empty()) shm_unlink(name.c_str());
  if (all_mapped) {
    bells_ = static_cast<Bells*>(memory);  // zero bytes are bells that have not rung
  } else if (memory != nullptr) {
    munmap(memory, byte_count);
  }
}

Doorbells::~Doorbells() {
  if (bells_ != nullptr) munmap(bells_, static_cast<std::size_t>(bell_count_) * sizeof(Bells));
}

void Doorbells::ring(Bell bell, int rank) {
  if (!reaches(rank)) return;
  Counter& theirs = counter(bell, place_of(rank));
  theirs.rung.fetch_add(1);
  if (theirs.asleep.load() != 0) {
    syscall(SYS_futex, futex_word(theirs.rung), FUTEX_WAKE, 1, nullptr, nullptr, 0);
  }
}

std::uint32_t Doorbells::rung(Bell bell) const { return counter(bell, my_place_).rung.load(); }

void Doorbells::sleep_unless_rung(Bell bell, std::uint32_t seen, std::chrono::microseconds longest) {
  Counter& mine = counter(bell, my_place_);
  timespec timeout{};
  timeout.tv_nsec = std::chrono::nanoseconds(longest).count();
  mine.asleep.store(1);
  // Rung in between: the kernel sees another number than `seen` and returns at once.
  syscall(SYS_futex, futex_word(mine.rung), FUTEX_WAIT, seen, &timeout, nullptr, 0);
  mine.asleep.store(0);
}

}  // namespace cg2d::comm
