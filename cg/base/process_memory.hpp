#pragma once

// Memory of this process: huge pages for vectors, what the process holds, and what it may still take.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <new>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace cg2d {

/// Peak resident memory of this process so far, bytes.
int64_t peak_resident_bytes();

/// Resident memory of this process now, and the part of it in huge pages; bytes, 0 where the system does not
/// tell.
int64_t resident_bytes();
int64_t huge_page_bytes();

/// The memory that processes may still take, and the limit that bounds it.
struct MemoryRoom {
  enum class Bound {
    free_memory,
    control_group,
    address_space,
    data_segment,
    commit_limit,
    user
  };  ///< as enough_limit_text() has their names

  int64_t available_bytes =
      std::numeric_limits<int64_t>::max();  ///< less than 0: so much too much is in use already
  Bound bound = Bound::free_memory;
  int64_t limit_bytes = 0;  ///< the value of that limit; 0 for free memory, which has none

  /// Takes a tighter bound in place of this one.
  void tighten(const MemoryRoom& other) {
    if (other.available_bytes < available_bytes) *this = other;
  }
};

/// The room on this node by what the system says of itself: free memory (the commit limit where it does not overcommit).
MemoryRoom free_room();
/// The room of `process_count` processes like this one by what the system holds them to: the least of what the control groups allow, and of
/// what this process's limits of address space and data (ulimit -v, -d) leave to it, times the number of processes. thread_count: of each
/// process, whose stacks these two count.
MemoryRoom enforced_room(int process_count, int thread_count);
/// The lesser one of both.
MemoryRoom memory_room(int process_count = 1);
/// Planned bytes of a process are multiples of it: the next start may plan so many more.
inline constexpr int64_t process_grain_bytes = int64_t{4} << 20;
/// For messages: the limit that would do where processes miss so many bytes, as "--memory-limit of 283 MB would do; or "; empty where
/// no limit but the machine itself bounds the room.
std::string enough_limit_text(const MemoryRoom& room, int64_t missing_bytes, int process_count);

/// Where address space or data of this process are limited (ulimit -v, -d): memory that is freed goes back to the system at once, and threads
/// reserve none of their own. At the start of a program, before it has threads.
void keep_heap_small_where_limited();

/// Expected memory of this process without the matrix and its vectors, bytes: what is resident at the first call, after MPI and the
/// libraries have started, and what they take until the end, with `thread_count` threads. Later calls say the same: what a matrix has
/// left to the allocator is there for the next one. Rounded up to 4 MiB, so that the number does not differ from run to run by the pages
/// that happen to be resident.
int64_t planned_process_bytes(int thread_count);

/// Zeroed memory. From 64 KiB on it has pages of its own, which no thread has touched; from 2 MiB on it
/// begins on a border of huge pages. Aligned to 64 bytes. Throws std::bad_alloc.
void* allocate_pages(size_t byte_count);
/// `byte_count`: as it was asked for.
void free_pages(void* address, size_t byte_count) noexcept;

/// Memory of allocate_pages() for the buffers of a communicator (comm::CommunicatorOptions::memory).
std::pmr::memory_resource& page_memory();

/// Memory of allocate_pages() for the standard containers. Stateless: all are equal. Making a container of a
/// size writes nothing, since the memory is zero already. So the system places each page near the thread that
/// first writes it, which may be one of many in an operation.
template <typename T>
struct HugePageAllocator {
  static_assert(std::is_arithmetic_v<T>, "memory full of zeros must be as good as T()");
  using value_type = T;

  HugePageAllocator() = default;
  template <typename U>
  HugePageAllocator(const HugePageAllocator<U>& /*other*/) noexcept {}  // NOLINT(google-explicit-constructor)

  // Containers ask for no more than max_size(), so the product does not overflow.
  [[nodiscard]] T* allocate(size_t count) { return static_cast<T*>(allocate_pages(count * sizeof(T))); }
  void deallocate(T* address, size_t count) noexcept { free_pages(address, count * sizeof(T)); }

  /// Without a value: zero in fresh memory. A container that has shrunk and grows again in place finds its
  /// former values.
  template <typename U>
  void construct(U* /*place*/) noexcept {}
  template <typename U, typename... Values>
  void construct(U* place, Values&&... values) {
    ::new (static_cast<void*>(place)) U(std::forward<Values>(values)...);
  }

  template <typename U>
  bool operator==(const HugePageAllocator<U>& /*other*/) const noexcept {
    return true;
  }
};

/// One rank's part of a vector. Zero when it is made.
using HugePageVector = std::vector<double, HugePageAllocator<double>>;

}  // namespace cg2d
