#pragma once

// The choice of one of a few kernels for a user's matrix, by a short measurement before the solve. Of the benchmark's
// matrix a rule knows enough (built_in_kernel()); another one may have any pattern.

#include <string>

#include "cg/tuning/grid_trial.hpp"
#include "cg/tuning/kernel_choice.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

class Members;

/// The result of a trial of kernels, in the order of the table. The usual one is best, unless the verdict's candidate is clearly
/// faster.
struct KernelTrial : Trial {};

/// One line for people: the kernels with their times, or why none was tried.
std::string describe_trial(const KernelTrial& trial);

/// The longest conversion of a block that is worth a trial; the larger one counts.
struct ConversionLimit {
  /// Steps of the usual kernel. On 2 ranks (Zen 5, 2026-11) sell and symmetric-distinct take 245 and 150 of them on random rows of
  /// 5 entries, where they are 3 and 10 times slower than it, but 20 to 40 on class A and on meshes.
  double steps = 80.0;
  double seconds = 0.25;
};

/// A solve whose kernel is to be found.
struct KernelTrialConfig {
  const MatrixSource& source;
  const Configuration& configuration;  ///< grid and transport must be known
  const Environment& environment;
  const kernels::Tuning& asked;  ///< settings from the command line
  int vector_count = 1;          ///< vectors of one product
  ConversionLimit limit{};
};

/// Runs a few CG steps with each kernel that the table says to try, in turns, and takes one. With half storage
/// only where each rank has a core of its own. All formats are in memory at once: where these are too large,
/// the usual one is taken without a trial: kernels::kernel_for_any_pattern(), or default_kernel_for_several(). Cost: the
/// block is made once for each kernel, and converted; a kernel whose conversion, by that of the first rows, would take
/// longer than the limit is left out.
/// Collective; the same answer on every rank. Throws RunError, MpiError.
KernelTrial try_kernels(comm::RankGroup& group, const KernelTrialConfig& config);

void describe(Members& m, KernelTrial& trial);

}  // namespace cg2d
