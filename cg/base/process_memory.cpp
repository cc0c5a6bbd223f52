#include "cg/base/process_memory.hpp"

#include <fmt/format.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/resource.h>

#include <array>
#include <cstring>
#include <optional>

#include "cg/base/system_files.hpp"
#include "cg/base/values.hpp"
#include "kernels/page_buffer.hpp"

namespace cg2d {
namespace {

std::optional<int64_t> kibibytes_in(const std::string& path, const std::string& key) {
  constexpr int64_t kibibyte = 1024;
  const auto number = number_in_file(path, key);
  return number ? std::optional(*number * kibibyte) : std::nullopt;
}

/// A size from the summary of this process's memory map.
int64_t mapped_bytes(const std::string& key) {
  return kibibytes_in("/proc/self/smaps_rollup", key).value_or(0);
}

/// Bytes; none without a limit. resource: RLIMIT_AS or RLIMIT_DATA.
std::optional<int64_t> limit_of(auto resource) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return saturated(static_cast<double>(limit.rlim_cur));
}

MemoryRoom room_within(int64_t limit, int64_t used, MemoryRoom::Bound bound) {
  return {.available_bytes = limit - used, .bound = bound, .limit_bytes = limit};
}

/// Of what a limit of a process leaves, the plans may take this share: vectors that grow have an old and a new place for a moment, and are
/// mapped to their capacity, and ranks of a node map each other's memory. Measured: see tests/program/memory_limit_test.py.
constexpr double planned_share = 15.0 / 16.0;

/// Stacks of the threads to come, which are mapped as a whole: those of OpenMP, and the watches of the program.
int64_t stack_bytes_to_come(int thread_count) {
  constexpr int own_thread_count = 2;
  pthread_attr_t attributes;
  size_t byte_count = 0;
  if (pthread_getattr_default_np(&attributes) != 0) return 0;
  pthread_attr_getstacksize(&attributes, &byte_count);
  pthread_attr_destroy(&attributes);
  return saturated(static_cast<double>(byte_count) * (thread_count - 1 + own_thread_count));
}

// The size of the largest base pages in use (64 KiB). Vector operations on less run on one thread in any
// case.
constexpr size_t smallest_mapping = size_t{1} << 16;
constexpr std::align_val_t alignment{64};

class PageMemory final : public std::pmr::memory_resource {
  void* do_allocate(size_t byte_count, size_t asked) override {
    if (asked > static_cast<size_t>(alignment)) throw std::bad_alloc();
    return allocate_pages(byte_count);
  }
  void do_deallocate(void* address, size_t byte_count, size_t /*asked*/) override {
    free_pages(address, byte_count);
  }
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }
};

}  // namespace

MemoryRoom free_room() {
  MemoryRoom room;
  if (const auto free = kibibytes_in("/proc/meminfo", "MemAvailable:"))
    room.tighten({.available_bytes = *free, .bound = MemoryRoom::Bound::free_memory});
  if (number_in_file("/proc/sys/vm/overcommit_memory", "") == 2) {
    const auto limit = kibibytes_in("/proc/meminfo", "CommitLimit:");
    const auto used = kibibytes_in("/proc/meminfo", "Committed_AS:");
    if (limit && used) room.tighten(room_within(*limit, *used, MemoryRoom::Bound::commit_limit));
  }
  return room;
}

MemoryRoom enforced_room(int process_count, int thread_count) {
  MemoryRoom room;
  const auto groups = control_group_limits();
  if (groups.available_bytes && groups.limit_bytes)
    room.tighten({.available_bytes = *groups.available_bytes,
                  .bound = MemoryRoom::Bound::control_group,
                  .limit_bytes = *groups.limit_bytes});
  const auto tighten_by = [&](auto resource, const std::string& key, MemoryRoom::Bound bound) {
    const auto limit = limit_of(resource);
    if (!limit) return;
    const auto used = kibibytes_in("/proc/self/status", key).value_or(0) + stack_bytes_to_come(thread_count);
    auto own = room_within(*limit, used, bound);
    own.available_bytes = saturated(planned_share * static_cast<double>(own.available_bytes) * process_count);
    room.tighten(own);
  };
  tighten_by(RLIMIT_AS, "VmSize:", MemoryRoom::Bound::address_space);
  tighten_by(RLIMIT_DATA, "VmData:", MemoryRoom::Bound::data_segment);
  return room;
}

MemoryRoom memory_room(int process_count) {
  auto room = free_room();
  room.tighten(enforced_room(process_count, 1));
  return room;
}

std::string enough_limit_text(const MemoryRoom& room, int64_t missing_bytes, int process_count) {
  using enum MemoryRoom::Bound;
  if (room.bound == free_memory) return {};
  constexpr std::array names{"free memory",
                             "a control group's memory limit",
                             "a limit of address space (ulimit -v)",
                             "a limit of data (ulimit -d)",
                             "a commit limit",
                             "--memory-limit"};
  const bool is_of_each = room.bound == address_space || room.bound == data_segment;
  auto missing = is_of_each
                     ? saturated(static_cast<double>(missing_bytes) / planned_share / process_count) + 1
                     : missing_bytes;
  // What a group is charged for the same program differs more: 4 to 15 MB with 2 to 4
  // ranks in groups of 60 MB, by which pages of the libraries are in memory already.
  constexpr int64_t group_slack = int64_t{8} << 20;
  // A limit of a process is for what is mapped: rows are mapped 32 MiB at a time, and earlier runs of a study leave heap and stacks behind.
  constexpr int64_t process_slack = int64_t{36} << 20;
  const auto slack = room.bound == control_group ? group_slack : process_grain_bytes;
  missing = saturated_sum(missing, is_of_each ? process_slack : slack * process_count);
  return fmt::format("{} of {} would do; or ", names.at(static_cast<size_t>(room.bound)),
                     format_bytes_above(saturated_sum(room.limit_bytes, missing)));
}

void keep_heap_small_where_limited() {
  if (!limit_of(RLIMIT_AS) && !limit_of(RLIMIT_DATA)) return;
  // By default glibc moves the border with the blocks that are freed, up to 32 MiB, and keeps what lies between (mallopt(3)).
  constexpr int mapped_bytes = 1 << 17;
  mallopt(M_MMAP_THRESHOLD, mapped_bytes);
  mallopt(M_ARENA_MAX, 1);
}

int64_t planned_process_bytes(int thread_count) {
  constexpr int64_t growth = int64_t{6} << 20;
  constexpr int64_t thread_bytes = int64_t{1} << 18;
  static const int64_t bytes_at_start = resident_bytes();
  const auto bytes = bytes_at_start + growth + thread_bytes * (thread_count - 1);
  return (bytes + process_grain_bytes - 1) / process_grain_bytes * process_grain_bytes;
}

int64_t peak_resident_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<int64_t>(usage.ru_maxrss) * 1024;
}

int64_t resident_bytes() { return mapped_bytes("Rss:"); }

int64_t huge_page_bytes() { return mapped_bytes("AnonHugePages:"); }

void* allocate_pages(size_t byte_count) {
  if (byte_count >= smallest_mapping) return kernels::map_pages(byte_count);
  void* const address = ::operator new(byte_count, alignment);
  std::memset(address, 0, byte_count);
  return address;
}

void free_pages(void* address, size_t byte_count) noexcept {
  if (byte_count >= smallest_mapping) {
    kernels::unmap_pages(address, byte_count);
  } else {
    ::operator delete(address, alignment);
  }
}

std::pmr::memory_resource& page_memory() {
  static PageMemory memory;
  return memory;
}

}  // namespace cg2d
