#pragma once

// Checksums of the bytes of a matrix block, in the format of its kernel.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/csr_block.hpp"

namespace cg2d {

/// CRC-32C of each piece of the block's arrays, taken when it is made. Local.
class MatrixChecksum {
 public:
  /// The arrays must outlive this. Cost: one pass over them.
  MatrixChecksum(const std::vector<kernels::StoredArray>& arrays, int thread_count);

  /// Whether the pieces share, share + share_count, ... are as they were. Cost: a pass over them, on the threads.
  [[nodiscard]] bool holds(int share, int share_count) const;

 private:
  struct Piece {
    std::span<const std::byte> bytes;
    std::uint32_t checksum = 0;
  };

  std::vector<Piece> pieces_;
  int thread_count_;
};

}  // namespace cg2d
