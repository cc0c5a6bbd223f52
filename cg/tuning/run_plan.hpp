#pragma once

// Resources of a run (blocks, memory, messages), computed before anything large is allocated.

#include <cstdint>
#include <functional>
#include <string_view>

#include "cg/base/values.hpp"
#include "cg/library/built_in_choice.hpp"
#include "cg/machine/environment.hpp"
#include "cg/matrix/matrix_facts.hpp"
#include "cg/matrix/matrix_source.hpp"
#include "cg/solver/configuration.hpp"
#include "cg/solver/preconditioners/preconditioner_table.hpp"
#include "comm/block_layout.hpp"

namespace cg2d {

/// Memory of one rank, bytes.
struct MemoryPlan {
  std::int64_t process_bytes = 0;  ///< Environment::process_bytes, where the plan is of a whole process
  std::int64_t block_bytes = 0;    ///< the expected block, and the format made from it
  std::int64_t format_bytes = 0;   ///< part of block_bytes that stays when the format is made
  std::int64_t vector_bytes = 0;   ///< pieces, column block, row block, buffers for messages
  std::int64_t working_bytes = 0;  ///< beside the block while it is made
  [[nodiscard]] std::int64_t total_bytes() const {
    return saturated_sum(process_bytes,
                         saturated_sum(saturated_sum(block_bytes, vector_bytes), working_bytes));
  }
  /// A solver that is ready takes so much, beside the process.
  [[nodiscard]] std::int64_t kept_bytes() const { return saturated_sum(format_bytes, vector_bytes); }
};

/// Without the process.
MemoryPlan plan_memory(const MatrixSource& source, const Configuration& configuration,
                       const comm::BlockLayout& layout, int rank);
/// The plan of a matrix of which no more is known than its order and number of nonzeros. working_bytes:
/// MatrixSource::working_bytes().
MemoryPlan plan_memory(const MatrixFacts& matrix, std::int64_t working_bytes,
                       const Configuration& configuration, const comm::BlockLayout& layout, int rank);
/// Bytes of such parts on a rank. The rows of a piece are taken to be of mean length, and all of their nonzeros to lie in
/// its columns, as those of a banded matrix do.
std::int64_t piece_bytes(const MatrixFacts& matrix, const comm::BlockLayout& layout, int rank,
                         const PieceMemory& memory);

/// Throws RunError (memory) when some node's ranks need more than the node has: what they need with their processes, what the
/// node has for them, the limit that would do, and the advice. bytes_of_rank: without the process. Local: every rank comes to the same
/// answer.
void check_memory(const Environment& environment, const std::function<std::int64_t(int rank)>& bytes_of_rank,
                  std::string_view advice = "take a smaller matrix or more nodes");
/// check_memory() for a matrix and plain CG.
void check_memory(const MatrixSource& source, const Configuration& configuration,
                  const comm::BlockLayout& layout, const Environment& environment);

}  // namespace cg2d
