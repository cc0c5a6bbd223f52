#pragma once

// What `cg2d tune` found on a machine, and the file that keeps it for `cg2d run`.

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cg/problem.hpp"
#include "comm/block_layout.hpp"
#include "kernels/spmv.hpp"

namespace cg2d {

/// The critical vector length where vectors never pay.
inline constexpr int never_in_vectors = std::numeric_limits<int>::max();

/// The two loops of plain CSR on rows of one length, ns per nonzero.
struct RowLengthPoint {
  int row_length = 0;
  double scalar_ns = 0.0;
  double vector_ns = 0.0;
};

/// The shortest row length from which on the vector loop is never slower; never_in_vectors if there is none.
int critical_vector_length_of(const std::vector<RowLengthPoint>& curve);

/// One kernel with the settings that suited it best, and what a CG step then took, messages included.
struct TunedKernel {
  std::string name;
  kernels::Tuning tuning;
  double step_s = 0.0;
};

/// All kernels on one problem, grid and number of threads.
struct TunedCase {
  std::string class_name;
  std::int64_t n = 0;
  int nonzer = 0;
  comm::ProcessGrid grid;
  int thread_count = 1;
  double nonzeros_per_rank = 0.0;
  std::vector<TunedKernel> kernels;  ///< the fastest first, at least one

  [[nodiscard]] bool is_about(const Problem& problem, const comm::ProcessGrid& its_grid,
                              int its_threads) const;
};

/// What is known of one kind of processor.
struct ProcessorProfile {
  int critical_vector_length = 0;
  std::vector<RowLengthPoint> curve;
  std::vector<TunedCase> cases;

  /// The case of this very problem, grid and thread count, or nullptr.
  [[nodiscard]] const TunedCase* find_case(const Problem& problem, const comm::ProcessGrid& grid,
                                           int thread_count) const;
  /// The settings of a kernel in the case whose blocks are nearest in size; nothing if no case has it.
  [[nodiscard]] std::optional<kernels::Tuning> nearest_tuning(std::string_view kernel,
                                                              double nonzeros_per_rank) const;
  /// Replaces the case of the same problem, grid and thread count, or adds one.
  void put(TunedCase tuned);
};

/// By the processor's model name.
using TuningProfile = std::map<std::string, ProcessorProfile>;

/// Throws InputError, without the name of the file, when the text is no profile of this version.
TuningProfile parse_profile(std::string_view text);
std::string format_profile(const TuningProfile& profile);

/// cg2d/profile.json in $XDG_CACHE_HOME or else in $HOME/.cache; nothing where neither is set.
std::optional<std::string> default_profile_path();

/// The text of a file; nothing if there is no such file. Throws InputError, without the name of the file,
/// when it cannot be read.
std::optional<std::string> text_of_file(const std::string& path);

}  // namespace cg2d
