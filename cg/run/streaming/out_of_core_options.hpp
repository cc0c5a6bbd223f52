#pragma once

// Where the matrix of a run or solve is kept, and the kernels that can multiply it there.

#include <string>
#include <vector>

#include "cg/base/storage/folders.hpp"
#include "kernels/spmv.hpp"

namespace cg2d {

/// --out-of-core
struct OutOfCoreOptions {
  std::vector<std::string> folders{};  ///< by rank, see folder_of_rank(); empty: the matrix is in memory
  bool chooses_kernel = false;  ///< none was asked for: the configuration names the one with the fewest bytes

  [[nodiscard]] bool is_used() const { return !folders.empty(); }
  [[nodiscard]] const std::string& folder_of(int rank) const { return folder_of_rank(folders, rank); }
};

/// The kernels whose blocks can be streamed for products with so many vectors at once, KernelOptions::vector_count.
std::vector<const kernels::KernelRow*> streamed_kernels(int vector_count);
/// The one with the fewest bytes: reading takes longer than multiplying.
const kernels::KernelRow& shortest_streamed_kernel(int vector_count);
/// Their names, for messages.
std::string streamed_kernel_names(int vector_count);

}  // namespace cg2d
