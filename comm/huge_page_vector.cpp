#include "comm/huge_page_vector.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <new>

namespace cg2d::comm::detail {
namespace {

// The size of a huge page on x86-64, and on AArch64 with small pages of 4 kB. Elsewhere it is only an
// alignment.
constexpr std::size_t huge_page = std::size_t{1} << 21;

// As large as the largest pages that systems take for small ones. Vector operations on less run on one thread
// in any case.
constexpr std::size_t smallest_mapping = std::size_t{1} << 16;

std::size_t mapped_length(std::size_t byte_count) {
  return (byte_count + smallest_mapping - 1) / smallest_mapping * smallest_mapping;
}

}  // namespace

void* allocate_advised(std::size_t byte_count) {
  if (byte_count < smallest_mapping) {
    void* const address = std::calloc(byte_count, 1);
    if (address == nullptr && byte_count > 0) throw std::bad_alloc();
    return address;
  }
  const std::size_t length = mapped_length(byte_count);
  const std::size_t slack = byte_count >= huge_page ? huge_page : 0;
  void* const raw = mmap(nullptr, length + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) throw std::bad_alloc();
  if (slack == 0) return raw;
  const std::size_t before = (huge_page - reinterpret_cast<std::uintptr_t>(raw) % huge_page) % huge_page;
  auto* const address = static_cast<char*>(raw) + before;
  if (before > 0) munmap(raw, before);
  if (before < slack) munmap(address + length, slack - before);
  // Only advice: where the system grants none, small pages serve. The rest behind the last whole huge page
  // stays on small ones: a large one there would be memory for nothing.
  madvise(address, byte_count / huge_page * huge_page, MADV_HUGEPAGE);
  return address;
}

void free_advised(void* address, std::size_t byte_count) noexcept {
  if (byte_count < smallest_mapping) {
    std::free(address);
  } else {
    munmap(address, mapped_length(byte_count));
  }
}

}  // namespace cg2d::comm::detail
