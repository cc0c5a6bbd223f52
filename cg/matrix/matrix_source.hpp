#pragma once

// Where a rank's block of the matrix comes from: the interface of all sources, and their table.

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "cg/matrix/problem.hpp"
#include "comm/block_layout.hpp"
#include "comm/rank_group.hpp"
#include "kernels/csr_block.hpp"

namespace cg2d {

/// Facts of a generated matrix that belong to no block.
struct SourceFacts {
  std::uint64_t final_seed = 0;
  std::int64_t duplicate_pairs = 0;     // dropped because the vector had the position
  std::int64_t out_of_range_pairs = 0;  // dropped because the position was >= n
};

struct SourcedBlock {
  kernels::CsrBlock block;
  SourceFacts facts;
};

/// Bytes that a source holds beside the finished block while it makes it, per rank, at most; and in how many
/// strips of rows it works.
struct SourcePlan {
  std::int64_t working_bytes = 0;
  int strip_count = 1;
};

/// One source of matrices. A new one is one file that defines a row, and its entry in the table.
struct SourceRow {
  std::string_view name;
  std::string_view description;
  SourcePlan (*plan)(const Problem& problem, const comm::BlockLayout& layout);
  /// Each rank's own block. Collective. Throws MpiError, std::bad_alloc.
  SourcedBlock (*build)(const Problem& problem, const comm::BlockLayout& layout, comm::RankGroup& group,
                        int thread_count);
};

std::span<const SourceRow> source_table();

/// The generator of the NAS CG matrices, the first row of the table.
SourceRow npb_source();

}  // namespace cg2d
