#pragma once

// What `cg2d tune` and `cg2d run --transport auto` found on a machine, and the file that keeps it for `cg2d
// run`.

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cg/matrix/problem.hpp"
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

/// What transports are compared for. Whatever changes what a CG step sends, or where it goes, is part of it.
struct TransportTask {
  std::string class_name;
  std::int64_t n = 0;
  int nonzer = 0;
  comm::ProcessGrid grid;
  int thread_count = 1;
  int node_count = 1;
  std::string sum_form;
  std::string kernel;
  std::string wait_mode;  ///< spin or yield: whether ranks outnumber the cores
  bool overlaps = false;
  int ranks_per_node = 0;  ///< --ranks-per-node

  friend bool operator==(const TransportTask&, const TransportTask&) = default;
};

/// What a CG step takes with one transport.
struct TimedTransport {
  std::string name;
  double step_s = 0.0;
};

/// The transports on one task.
struct TransportCase {
  TransportTask task;
  std::vector<TimedTransport> transports;  ///< at least one
};

/// What is known of one kind of processor.
struct ProcessorProfile {
  std::optional<int> critical_vector_length{};  ///< only where cg2d tune has measured the kernels
  std::vector<RowLengthPoint> curve;
  std::vector<TunedCase> cases;
  std::vector<TransportCase> transports;

  /// Whether cg2d tune has been here; else there is nothing about kernels.
  [[nodiscard]] bool knows_kernels() const { return critical_vector_length.has_value(); }
  /// The case of this very problem, grid and thread count, or nullptr.
  [[nodiscard]] const TunedCase* find_case(const Problem& problem, const comm::ProcessGrid& grid,
                                           int thread_count) const;
  /// The settings of a kernel in the case whose blocks are nearest in size; nothing if no case has it.
  [[nodiscard]] std::optional<kernels::Tuning> nearest_tuning(std::string_view kernel,
                                                              double nonzeros_per_rank) const;
  /// Replaces the case of the same problem, grid and thread count, or adds one.
  void put(TunedCase tuned);
  /// Replaces the case of the same task, or adds one.
  void put(TransportCase timed);
};

/// By the processor's model name.
using TuningProfile = std::map<std::string, ProcessorProfile>;

/// Throws InputError, without the name of the file, when the text is no profile of this version. What later
/// programs added (transports) may be missing.
TuningProfile parse_profile(std::string_view text);
std::string format_profile(const TuningProfile& profile);

}  // namespace cg2d
