#pragma once

// Figures of a distributed matrix, for comparison with the facts of the NAS classes.

#include <cstdint>

#include "comm/block_layout.hpp"
#include "comm/rank_group.hpp"
#include "kernels/csr_block.hpp"
#include "support/npb_facts.hpp"

namespace cg2d::test {

struct MatrixFigures {
  std::int64_t nonzero_count = 0;
  std::int64_t shortest_row = 0;
  std::int64_t longest_row = 0;
  double trace = 0.0;
  double frobenius_norm = 0.0;
  double sum_of_entries = 0.0;
  double first_entry = 0.0;
};

/// Figures of the union of all blocks. Collective.
MatrixFigures figures_of(const kernels::CsrBlock& block, const comm::BlockLayout& layout,
                         comm::RankGroup& group);

/// Counts exactly, sums to relative_tolerance.
void expect_facts(const MatrixFigures& figures, const NpbFacts& facts);

/// The facts of one class. Its name must be in the table.
const NpbFacts& facts_of(std::string_view class_name);

}  // namespace cg2d::test
