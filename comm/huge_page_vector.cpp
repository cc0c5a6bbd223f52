#include "comm/huge_page_vector.hpp"

#include <sys/mman.h>

#include <new>

namespace cg2d::comm::detail {
namespace {

// The size of a huge page on x86-64, and on AArch64 with small pages of 4 kB. Elsewhere it is only an
// alignment.
constexpr std::size_t huge_page = std::size_t{1} << 21;

}  // namespace

void* allocate_advised(std::size_t byte_count) {
  if (byte_count < huge_page) return ::operator new(byte_count);
  void* address = ::operator new (byte_count, std::align_val_t{huge_page});
  // Only advice: where the system grants none, small pages serve. The rest behind the last whole huge page
  // stays on small ones: a large one there would be memory for nothing.
  madvise(address, byte_count / huge_page * huge_page, MADV_HUGEPAGE);
  return address;
}

void free_advised(void* address, std::size_t byte_count) noexcept {
  if (byte_count < huge_page) {
    ::operator delete(address);
  } else {
    ::operator delete (address, std::align_val_t{huge_page});
  }
}

}  // namespace cg2d::comm::detail
