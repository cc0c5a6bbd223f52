#pragma once

// Resources of a run (blocks, memory, messages), computed before anything large is allocated.

#include <cstdint>
#include <functional>
#include <vector>

#include "cg/base/values.hpp"
#include "cg/machine/environment.hpp"
#include "cg/matrix/matrix_facts.hpp"
#include "cg/matrix/matrix_source.hpp"
#include "cg/preconditioners/preconditioner_table.hpp"
#include "cg/solver/configuration.hpp"
#include "comm/block_layout.hpp"
#include "comm/communicator.hpp"
#include "comm/schedule.hpp"
#include "kernels/spmv.hpp"

namespace cg2d {

/// Memory of one rank, bytes.
struct MemoryPlan {
  std::int64_t block_bytes = 0;    ///< the expected block, and the format made from it
  std::int64_t vector_bytes = 0;   ///< pieces, column block, row block, buffers for messages
  std::int64_t working_bytes = 0;  ///< beside the block while it is made
  [[nodiscard]] std::int64_t total_bytes() const {
    return saturated_sum(saturated_sum(block_bytes, vector_bytes), working_bytes);
  }
};

/// The kernel that a plan counts with: the one named, or the default one where it is still to be chosen.
const kernels::KernelRow& planned_kernel(const Configuration& configuration);

MemoryPlan plan_memory(const MatrixSource& source, const Configuration& configuration,
                       const comm::BlockLayout& layout, int rank);

/// Messages and bytes that one rank sends in one CG step: one product, two dot products.
struct StepTraffic {
  comm::Traffic collection;
  comm::Traffic summation;
  comm::Traffic shuffle;
  comm::Traffic dot;
  [[nodiscard]] comm::Traffic total() const { return collection + summation + shuffle + dot; }
};

/// mirrored: for symmetric storage.
StepTraffic plan_traffic(const comm::BlockLayout& layout, int rank, comm::SumForm form, bool mirrored);

/// The grid for "auto": the factorization whose busiest rank sends least in one CG step, a
/// message counted as start_up_bytes of data; the smallest Px of equals.
comm::ProcessGrid choose_grid(const MatrixFacts& matrix, const Configuration& configuration, int rank_count);
inline constexpr std::int64_t start_up_bytes = 4096;
/// The first `most` factorizations by the same rule, the best first.
std::vector<comm::ProcessGrid> shortlist_by_rule(const MatrixFacts& matrix,
                                                 const Configuration& configuration, int rank_count,
                                                 std::size_t most);

/// Throws RunError (memory) with the two numbers when some node's ranks need more than the node has. Local: every
/// rank comes to the same answer.
void check_memory(const Environment& environment, const std::function<std::int64_t(int rank)>& bytes_of_rank);
/// The same for a matrix and plain CG; `beside`: what
/// the ranks need beside these.
void check_memory(const MatrixSource& source, const Configuration& configuration,
                  const comm::BlockLayout& layout, const Environment& environment,
                  const PieceMemory& beside = {});

}  // namespace cg2d
