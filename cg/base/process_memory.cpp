#include "cg/base/process_memory.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

#include "cg/base/control_group.hpp"
#include "kernels/page_buffer.hpp"

namespace cg2d {
namespace {

/// A size from the summary of this process's memory map.
std::int64_t mapped_bytes(const std::string& key) {
  constexpr std::int64_t kibibyte = 1024;
  return number_in_file("/proc/self/smaps_rollup", key).value_or(0) * kibibyte;
}

// The size of the largest base pages in use (64 KiB). Vector operations on less run on one thread in any
// case.
constexpr std::size_t smallest_mapping = std::size_t{1} << 16;
constexpr std::align_val_t alignment{64};

class PageMemory final : public std::pmr::memory_resource {
  void* do_allocate(std::size_t byte_count, std::size_t asked) override {
    if (asked > static_cast<std::size_t>(alignment)) throw std::bad_alloc();
    return allocate_pages(byte_count);
  }
  void do_deallocate(void* address, std::size_t byte_count, std::size_t /*asked*/) override {
    free_pages(address, byte_count);
  }
  [[nodiscard]] bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    return this == &other;
  }
};

}  // namespace

std::int64_t available_memory_bytes() {
  constexpr std::int64_t kibibyte = 1024;
  auto available = std::numeric_limits<std::int64_t>::max();
  if (const auto free = number_in_file("/proc/meminfo", "MemAvailable:")) available = *free * kibibyte;
  if (const auto allowed = control_group_limits().available_bytes)
    available = std::min(available, std::max<std::int64_t>(0, *allowed));
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    const auto used = number_in_file("/proc/self/status", "VmSize:").value_or(0) * kibibyte;
    available =
        std::min(available, std::max<std::int64_t>(0, static_cast<std::int64_t>(limit.rlim_cur) - used));
  }
  return available;
}

std::int64_t peak_resident_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
}

std::int64_t resident_bytes() { return mapped_bytes("Rss:"); }

std::int64_t huge_page_bytes() { return mapped_bytes("AnonHugePages:"); }

void* allocate_pages(std::size_t byte_count) {
  if (byte_count >= smallest_mapping) return kernels::map_pages(byte_count);
  void* const address = ::operator new(byte_count, alignment);
  std::memset(address, 0, byte_count);
  return address;
}

void free_pages(void* address, std::size_t byte_count) noexcept {
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
