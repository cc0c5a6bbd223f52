#include "cg/base/page_memory.hpp"

#include <cstring>

#include "kernels/page_buffer.hpp"

namespace cg2d {
namespace {

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
