#pragma once

// Memory of this process: resident bytes, and bytes that it may still allocate.

#include <cstdint>

namespace cg2d {

/// Peak resident memory of this process so far, bytes.
std::int64_t peak_resident_bytes();

/// Resident memory of this process now, and the part of it in huge pages; bytes, 0 where the system does not
/// tell.
std::int64_t resident_bytes();
std::int64_t huge_page_bytes();

/// The least of free memory, cgroup limit and address space limit of this process, bytes.
std::int64_t available_memory_bytes();

}  // namespace cg2d
