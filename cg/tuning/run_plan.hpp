#pragma once

// A run before anything large is allocated: its kernel with its settings, by name, by the tuning profile, or by a built-in rule; and its
// memory.

#include "cg/library/built_in_choice.hpp"
#include "cg/machine/environment.hpp"
#include "cg/matrix/matrix_source.hpp"
#include "cg/solver/assembled_operator.hpp"
#include "cg/solver/preconditioners/preconditioner_table.hpp"
#include "cg/tuning/tuning_profile.hpp"

namespace cg2d {

// ---------------------------------------------------------------- kernel

/// The profile of the machine's processor, or why it knows no kernels.
struct LoadedProfile {
  /// Its speeds are of the processor of the first node, whatever the others have.
  ProcessorProfile processor{};
  std::string path;     ///< path of the file that was read; empty if none was
  std::string absence;  ///< one phrase; empty where the kernels are known
};

/// The processor, with its caches, that all nodes have; empty if they differ. It is the key of profiles.
std::optional<std::string> common_processor(const Environment& environment);

/// Reads the profile on rank 0. Collective. Throws InputError for a file that was named and is no profile, or, where nothing
/// will be written to it, is missing or does not know this processor. Any other file that is missing, or does not know it, is an
/// absence.
LoadedProfile load_profile(const ProfileSource& source, const Environment& environment,
                           comm::RankGroup& group);

enum class ChoiceOrigin { asked_for, profile, trial, built_in_rule };
std::span<const NamedValue<ChoiceOrigin>> words_of(ChoiceOrigin origin);

struct ChosenKernel {
  const kernels::KernelRow* kernel = &kernels::default_kernel();
  kernels::Tuning tuning{};  ///< the settings in force; empty where the kernel has no such setting
  int vector_count = 1;      ///< vectors of one product; with 2 or more, empty settings are the kernel's own
  /// In force for the kernels that have one; for the others the value that it would have.
  int critical_vector_length = 0;
  ChoiceOrigin kernel_origin = ChoiceOrigin::built_in_rule;
  /// Origin of the settings but those from the command line, which override all others.
  ChoiceOrigin tuning_origin = ChoiceOrigin::built_in_rule;
};

/// How a block is multiplied with that kernel. Local. Holds references: all but the choice must outlive it.
AssemblyPlan assembly_plan(comm::RankGroup& group, const comm::BlockLayout& layout,
                           const Configuration& configuration, const ChosenKernel& chosen);

/// The grounds of a choice, beside matrix and configuration.
struct KernelChoiceConfig {
  kernels::Tuning asked{};            ///< settings from the command line; empty ones were not asked for
  int vector_count = 1;               ///< vectors of one product; profiles know products of one alone
  bool ranks_oversubscribed = false;  ///< more ranks than cores
  const LoadedProfile& profile;
};

/// The kernel for the configuration, whose grid must be known: the one that it names, or, where that is open,
/// the fastest in the profile's case of this matrix, grid and number of threads, or that of
/// built_in_kernel(). For products with several vectors the one that it names must take several; else it is
/// kernels::default_kernel_for_several(). Local.
ChosenKernel choose_kernel(const MatrixFacts& matrix, const Configuration& configuration,
                           const KernelChoiceConfig& config);

// ---------------------------------------------------------------- memory

/// Memory of one rank, bytes.
struct MemoryPlan {
  int64_t process_bytes = 0;  ///< Environment::process_bytes, where the plan is of a whole process
  int64_t block_bytes = 0;    ///< the expected block, and the format made from it
  int64_t format_bytes = 0;   ///< part of block_bytes that stays when the format is made
  int64_t vector_bytes = 0;   ///< pieces, column block, row block, buffers for messages
  int64_t working_bytes = 0;  ///< beside the block while it is made
  int64_t total_bytes() const {
    return saturated_sum(process_bytes,
                         saturated_sum(saturated_sum(block_bytes, vector_bytes), working_bytes));
  }
  /// A solver that is ready takes so much, beside the process.
  int64_t kept_bytes() const { return saturated_sum(format_bytes, vector_bytes); }
};

/// Without the process. leaving_bytes: the part of MatrixSource::working_bytes() that is gone before the format is made.
MemoryPlan plan_memory(const MatrixSource& source, const Configuration& configuration,
                       const comm::BlockLayout& layout, int rank, int64_t leaving_bytes = 0);
/// The plan of a matrix of which no more is known than its order and number of nonzeros. working_bytes:
/// MatrixSource::working_bytes().
MemoryPlan plan_memory(const MatrixFacts& matrix, int64_t working_bytes, const Configuration& configuration,
                       const comm::BlockLayout& layout, int rank, int64_t leaving_bytes = 0);
/// Bytes of such parts on a rank. The rows of a piece are taken to be of mean length, and all of their nonzeros to lie in
/// its columns, as those of a banded matrix do.
int64_t piece_bytes(const MatrixFacts& matrix, const comm::BlockLayout& layout, int rank,
                    const PieceMemory& memory);

/// Throws RunError (memory) when some node's ranks need more than the node has: what they need with their processes, what the
/// node has for them, the limit that would do, and the advice. bytes_of_rank: without the process. Local: every rank comes to the same
/// answer.
void check_memory(const Environment& environment, const std::function<int64_t(int rank)>& bytes_of_rank,
                  std::string_view advice = "take a smaller matrix or more nodes");
/// check_memory() for a matrix and plain CG.
void check_memory(const MatrixSource& source, const Configuration& configuration,
                  const comm::BlockLayout& layout, const Environment& environment);

}  // namespace cg2d
