#pragma once

// --out-of-core: the matrix stays on local storage, and is streamed. Where a rank's block is kept, and what is known of it there.

#include <algorithm>

#include "cg/matrix/matrix_source.hpp"
#include "cg/panels/streamed_kernel.hpp"

namespace cg2d {

/// --out-of-core
struct OutOfCoreOptions {
  std::vector<std::string> folders{};  ///< by rank, see folder_of_rank(); empty: the matrix is in memory
  bool chooses_kernel = false;  ///< none was asked for: the configuration names the one with the fewest bytes

  bool is_used() const { return !folders.empty(); }
};

/// The names of the kernels that have a form for so many vectors at once (KernelOptions::vector_count), in memory or streamed.
std::vector<std::string> kernel_names_for(int vector_count, bool is_streamed);
/// The one with the fewest bytes of those that can be streamed: reading takes longer than multiplying.
const kernels::KernelRow& shortest_streamed_kernel(int vector_count);

/// Panels under way, and the one that is multiplied. No other number made products faster, and no other length of panels (README).
inline constexpr int streamed_panels = 8;

/// One rank's part. Trivially copyable: ranks send it as it is.
struct RankStream {
  int64_t file_bytes = 0;  ///< bytes of all panels
  int64_t panel_count = 0;
  int64_t most_panel_bytes = 0;
  StreamMemory memory;
  StreamFigures figures;
  bool was_there = false;  ///< from an earlier run
  bool is_direct = false;
  double storage_bytes_per_s = 0.0;  ///< reading alone, while all ranks do so; 0: nothing is streamed
  int64_t beside_bytes =
      0;  ///< memory of this rank beside its panels: vectors, and the process as it was before
  int node_rank_count = 1;  ///< ranks that share the memory of its node
};

/// For the report; on rank 0.
struct OutOfCoreFacts {
  std::vector<std::string> folders;
  std::string reader;
  int64_t memory_limit_bytes = 0;  ///< the user's, of a node; 0: none was given
  double write_s = 0.0;            ///< generated, converted and put on the disk; 0 where the files were there
  double device_write_s = 0.0;     ///< part of write_s: the slowest rank's writing, and waiting for the disk
  std::vector<RankStream> ranks;
};

/// Memory that the program takes in the course of a streamed run beside panels, bytes of a rank.
inline constexpr int64_t stream_program_bytes = int64_t{2} << 20;

/// The matrix that a rank streams, as its work knows it.
struct StreamedMatrix {
  const MatrixSource& source;  ///< that makes strips
  uint64_t hash = 0;           ///< of all that its values depend on
  int64_t vector_bytes = 0;    ///< of this rank, beside the matrix
  bool sums_values = false;    ///< PanelFileFigures::value_sum
};

/// Values of --memory-limit, rounded up.
struct StreamLimits {
  int64_t unbound_bytes = 0;  ///< from here on reading takes no longer than multiplying
  int64_t in_core_bytes = 0;  ///< from here on nothing is streamed
};
/// By the rates of the run. Both 0 where no product has been timed, or nothing was streamed.
StreamLimits limits_of(std::span<const RankStream> ranks);

/// The facts that are known of a run before its matrix is made.
struct StreamPlan {
  int64_t file_bytes = 0;            ///< bytes of the files of all ranks
  int64_t largest_file_bytes = 0;    ///< bytes of the largest rank's file
  int64_t free_bytes = 0;            ///< in the folder that has least
  int64_t streamed_bytes = 0;        ///< by a product, all ranks
  double storage_bytes_per_s = 0.0;  ///< measured, all ranks at once
  double reading_s = 0.0;            ///< reading of a product, seconds of the slowest rank
  double multiply_s = 0.0;           ///< seconds of a product; 0: not known
  StreamLimits limits{};             ///< where multiply_s is known

  /// 0 where it is not known.
  double product_s() const { return multiply_s > 0.0 ? std::max(multiply_s, reading_s) : 0.0; }
};

}  // namespace cg2d
