#pragma once

// Measurements of a user's own system: a fixed number of CG iterations, with the matrix read once for many of them.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "cg/base/progress.hpp"
#include "cg/matrix/files/system_matrix.hpp"
#include "cg/run/solve/solve_options.hpp"
#include "cg/run/solve/solve_report.hpp"
#include "cg/run/solve/solve_run.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// The options of a measurement: all iterations are done. In the end the residual is about what rounding leaves, or
/// larger: a smaller one would mean that the system was solved earlier.
SystemOptions measured_system(SystemOptions options, int iteration_count);

/// The name of a measured system: see system_name().
std::string system_name_of(const SystemOptions& options);

/// The matrices of measurements, one for each text, number of ranks and random order, and the trials of their kernels, one for
/// each grid and cut. All stay until the end, matrices spread over their ranks: 16 bytes for each nonzero.
class KeptSystems {
 public:
  /// Reads or generates the matrix of these options unless it is there; none for a system without one.
  /// Collective over the group, by which rank count it is known. Throws as read_system().
  KeptSystem of(const SystemOptions& options, comm::RankGroup& group, const Progress& progress);

 private:
  struct Key {
    std::string text;
    int rank_count = 1;
    std::optional<std::uint64_t> seed;
    // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 takes the comparison's zero for a pointer
    auto operator<=>(const Key&) const = default;
  };
  std::map<Key, std::unique_ptr<SystemMatrix>> matrices_;
  std::map<std::string, std::optional<KernelTrial>>
      kernel_trials_;  // by all that a block and its steps depend on
};

/// One measurement; a failed one has its code and reason in the report. Collective. Throws MpiError, std::bad_alloc.
SolveReport measure_system(const SystemOptions& options, comm::RankGroup& group, const KeptSystem& kept,
                           const Progress& progress);

}  // namespace cg2d
