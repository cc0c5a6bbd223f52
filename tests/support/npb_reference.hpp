#pragma once

// The NAS CG matrix straight from its definition: one stream, one vector after the other, one sum after the
// other. Slow, sequential, and independent of the program's own generator.

#include <cstdint>
#include <map>
#include <vector>

#include "cg/matrix/problem.hpp"
#include "comm/block_layout.hpp"
#include "kernels/csr_block.hpp"

namespace cg2d::test {

/// v_1 ... v_n with v_i(i) = 0.5 set; positions rising.
struct ReferenceVectors {
  std::vector<std::map<int32_t, double>> vectors;
  int64_t duplicate_pairs = 0;
  int64_t out_of_range_pairs = 0;
  uint64_t final_seed = 0;
};

ReferenceVectors draw_reference_vectors(const Problem& problem);

/// One map from column to value per row.
using ReferenceMatrix = std::vector<std::map<int32_t, double>>;

/// sum_i w_i v_i v_i^T + (rcond - shift) I: each entry adds w * (v[row] * v[column]) in the order of the
/// vectors, and the diagonal term last.
ReferenceMatrix build_reference_matrix(const Problem& problem, const ReferenceVectors& drawn);

/// Expects that a block has the entries of these rows and columns of the matrix, bit for bit, and no others.
void expect_block(const kernels::CsrBlock& block, const ReferenceMatrix& matrix, const comm::IndexRange& rows,
                  const comm::IndexRange& columns);

/// A problem that is no class.
Problem custom_problem(int64_t n, int nonzer, double shift = 10.0, int niter = 15);

/// Small problems where repetitions are frequent (nonzer close to n), where n is 1 or no power of two, and
/// class S.
std::vector<Problem> awkward_problems();

}  // namespace cg2d::test
