#pragma once

// Where the matrix of a run or solve is kept, and the kernels that can multiply it there.

#include <string>
#include <string_view>
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

/// The names of the kernels that have a form for so many vectors at once (KernelOptions::vector_count), in memory or streamed.
std::vector<std::string_view> kernel_names_for(int vector_count, bool is_streamed);
/// The one with the fewest bytes of those that can be streamed: reading takes longer than multiplying.
const kernels::KernelRow& shortest_streamed_kernel(int vector_count);

}  // namespace cg2d
