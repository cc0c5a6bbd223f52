#pragma once

// Files of checkpoints as bytes in memory: written here a second time but for the checksums, from the description in
// cg/run/checkpoint/checkpoint_folder.hpp; and what the seeds are checkpoints of.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "cg/base/storage/crc32c.hpp"
#include "cg/matrix/problem.hpp"
#include "cg/run/checkpoint/checkpoint_folder.hpp"

namespace cg2d::fuzz {

inline constexpr int64_t checkpointed_order = 12;
inline constexpr uint64_t solve_hash = 42;
/// Hash of the run below, as cg/run makes it: FNV-1a of the text "run n 12, nonzer 3, shift 5, niter 9".
inline constexpr uint64_t run_hash = 0x1fadfc4611fee980U;

inline Problem checkpointed_problem() {
  return {.class_name = "U", .n = checkpointed_order, .nonzer = 3, .niter = 9, .shift = 5.0};
}

/// The file of a header and of all that comes after it; sizes and checksums are set here.
inline std::string checkpoint_bytes(CheckpointHeader header, const std::string& state,
                                    const std::vector<std::vector<double>>& vectors) {
  auto data = state;
  header.state_bytes = std::ssize(state);
  header.vector_count = static_cast<uint32_t>(vectors.size());
  header.state_checksum = crc32c(std::as_bytes(std::span(data)));
  for (const auto& vector : vectors)
    data.append(reinterpret_cast<const char*>(vector.data()), vector.size() * sizeof(double));
  header.data_checksum = crc32c(std::as_bytes(std::span(data)));
  std::string bytes(sizeof(header), '\0');
  std::memcpy(bytes.data(), sealed(header).data(), sizeof(header));
  return bytes + data;
}

}  // namespace cg2d::fuzz
