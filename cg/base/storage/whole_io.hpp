#pragma once

// Writing and reading of all that is given, which one call of the system need not do. No MPI.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace cg2d {

/// Writes all of the bytes from a position of the file on. False: not all could be written, and errno says why.
bool write_whole(int descriptor, std::int64_t position, std::span<const std::byte> bytes);
/// Fills the bytes from a position of the file on. Returns how many it had: fewer only at its end. Empty: errno says why.
std::optional<std::size_t> read_whole(int descriptor, std::int64_t position, std::span<std::byte> bytes);

}  // namespace cg2d
