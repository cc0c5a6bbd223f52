#pragma once

// Writes the distributed matrix in the Matrix Market exchange format (Boisvert, Pozo, Remington: NISTIR
// 5935).

#include <functional>
#include <string>

#include "comm/block_layout.hpp"
#include "comm/rank_group.hpp"
#include "kernels/csr_block.hpp"

namespace cg2d {

class OutputFile;

/// Writes a text of which rank 0 has the head, and each rank parts, rank after rank; rank 0 writes, the others send it their parts.
/// next_part: the next one of this rank's, empty at the end. Collective; `file` is used on rank 0 only and nullptr elsewhere. Every rank
/// throws RunError (cannot_write) when rank 0 cannot write.
void write_in_turns(OutputFile* file, comm::RankGroup& group, const std::string& head,
                    const std::function<std::string()>& next_part);

/// Writes the lower triangle as "coordinate real symmetric", numbers with 17 significant digits, as write_in_turns(). Cost: all entries
/// pass through rank 0.
void export_matrix_market(const kernels::CsrBlock& block, const comm::BlockLayout& layout,
                          const std::string& title, comm::RankGroup& group, OutputFile* file);

}  // namespace cg2d
