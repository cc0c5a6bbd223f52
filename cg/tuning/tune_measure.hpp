#pragma once

// The measurements of `cg2d tune` and of `cg2d model --calibrate`. All ranks measure at the same time, as they compute in a run, and a time
// is that of the slowest rank. Candidates run in turns, so that a change of the machine hits all alike.

#include <memory>

#include "cg/base/progress.hpp"
#include "cg/machine/machine_description.hpp"
#include "cg/timing/race.hpp"
#include "cg/tuning/run_plan.hpp"
#include "kernels/csr_block.hpp"

namespace cg2d {

/// Each call multiplies that block, which is as the kernel stores it, with vectors of its own. Throws std::bad_alloc.
std::function<void()> local_product(const kernels::KernelRow& kernel, kernels::CsrBlock block,
                                    int thread_count, const kernels::Tuning& tuning);

/// A block whose rows have row_length entries each, in columns spread evenly over the block, at random within
/// their share.
kernels::CsrBlock constant_rows_block(int64_t row_length, int64_t row_count, int64_t column_count);

/// A profile that has the curve of ns per nonzero over row length, and the critical vector length by it; of the record only the spread. Collective.
ProcessorProfile measure_row_lengths(comm::RankGroup& group, int thread_count);

/// The curve of one kernel, by the length of the whole rows, even where half of them is stored. Collective.
/// Throws RunError, std::bad_alloc.
std::vector<RowLengthCost> measure_row_lengths_of(comm::RankGroup& group, const kernels::KernelRow& kernel,
                                                  const kernels::Tuning& tuning, int thread_count);

/// Memory of a rank for either curve, bytes, beside its process.
int64_t row_length_bytes();

/// A matrix on a grid, whose kernels are measured.
struct CaseConfig {
  std::shared_ptr<MatrixSource> source;
  Configuration configuration;     ///< grid and transport must be known; the kernel is each one's own
  double shift = 0.0;              ///< shift of the outer iterations, whose zeta is compared
  int critical_vector_length = 0;  ///< the search for a kernel's own one begins there

  /// "class S, grid 1x2"
  std::string name() const;
};

/// The stages of measure_case(), by the texts that `say` gets, with the seconds that they take on a common machine.
std::vector<Work> works_of_case(const CaseConfig& config);

/// The most memory of a rank in measure_case(), bytes, beside its process.
int64_t case_bytes(const CaseConfig& config, int rank);

/// All kernels on one matrix and grid: first the settings of each on a sample of the block, then CG steps of
/// all in turns; of their record only the spread. `say` gets a line per stage. Callers check the memory before. Collective. Throws RunError
/// when the kernels disagree.
TunedCase measure_case(comm::RankGroup& group, const CaseConfig& config,
                       const std::function<void(const std::string&)>& say);

// ---------------------------------------------------------------- cg2d model --calibrate

/// The cases of a calibration.
struct CalibrationConfig {
  /// Sources of the matrices whose blocks are measured.
  std::span<const std::unique_ptr<MatrixSource>> sources;
  const Configuration& configuration;  ///< its grid and transport are each case's own
  const Environment& environment;
  const LoadedProfile& profile;  ///< for the kernel and its settings
};

/// Measures products, vector operations and long messages in outer steps of the benchmark itself, on all
/// grids in turns, timed by phase, with the kernel that choose_kernel() takes. Measures short messages and
/// additions in collections and sums by themselves. Both for each transport that can serve, the default one
/// on all grids, the others on one. Of the record only the spread of the outer steps. Collective, at least 2 ranks. Throws
/// InputError, RunError, MpiError, std::bad_alloc.
MachineDescription calibrate(comm::RankGroup& group, const CalibrationConfig& config,
                             const Progress& progress);

}  // namespace cg2d
