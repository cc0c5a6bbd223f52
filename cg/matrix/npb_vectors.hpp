#pragma once

// The random vectors of the NAS CG matrix: any part of them can be generated without the rest. Up to NpbFactor no MPI.
//
// The definition is sequential: pairs (value, position) are drawn from one stream; a pair is dropped when its
// position lies outside of [0, n) or is in the vector already; a vector is full after `nonzer` positions.
// It becomes parallel because
//
//  - pair number t is draws 2t+1 and 2t+2, whatever happened before, and the generator can jump: ranks draw
//    equal shares of the pairs. Whether a pair is in range depends on no other pair, so a prefix sum numbers
//    the pairs in range.
//  - only a repeated position makes a vector use more than `nonzer` numbers, and for that the two equal
//    positions must lie within one vector, so within a short window of the stream. Each rank lists the
//    repetitions in its share: about nonzer^2 in the whole problem, for every n. The list, the same on all
//    ranks, tells where each vector begins.

#include "cg/matrix/matrix_source.hpp"

namespace cg2d {

/// The pairs in range of one share of the stream, and some that follow it (the halo), in the order of the
/// stream.
struct StreamShare {
  int64_t own_count = 0;           // pairs in range within the share
  std::vector<int32_t> positions;  // own, then halo
  std::vector<double> values;      // own values, then halo
};

/// A number of pairs that suffices for the whole matrix in all but one of a hundred million problems.
int64_t estimated_pair_count(const Problem& problem);

/// Draws the pairs of a share and goes on until `halo_count` more are in range. Cost: one step per pair.
StreamShare draw_share(const Problem& problem, comm::IndexRange pairs, int64_t halo_count);

/// Two pairs in range with the same position; numbers count the pairs in range of the whole stream.
struct Repetition {
  int64_t earlier = 0;
  int64_t later = 0;
};

/// Finds, for every pair of the share and its halo, the nearest earlier one with the same position, if that
/// one is the share's own and less than `window` away. first_number: the number of the share's first pair in
/// range.
std::vector<Repetition> find_repetitions(const StreamShare& share, int64_t first_number, int64_t window);

/// The pairs in range that are dropped because their vector has the position already.
struct Rejections {
  std::vector<int64_t> numbers;  // rising
  int64_t longest_vector = 0;    // pairs in range that the longest vector takes, dropped ones included
};

/// `repetitions`: those of the whole stream, by rising `later`. The result is right if longest_vector <=
/// window; else repetitions with a larger window are needed.
Rejections resolve_rejections(const Problem& problem, std::span<const Repetition> repetitions);

/// Number of pairs in range that the whole matrix takes.
int64_t needed_number_count(const Problem& problem, const Rejections& rejections);

/// Consecutive vectors v_first, ...; positions rising within each, v_i(i) = 0.5 included.
struct SparseVectors {
  int64_t first = 0;
  int64_t count = 0;
  int stride = 0;                  // room per vector: nonzer + 1
  std::vector<int32_t> lengths;    // length of each vector: nonzer or nonzer + 1
  std::vector<int32_t> positions;  // count * stride
  std::vector<double> values;      // count * stride
  // Weight of each vector in the matrix, see vector_weights: not set by build_vectors.
  std::vector<double> weights;

  std::span<const int32_t> positions_of(int64_t local_vector) const {
    const auto* const first_one = positions.data() + local_vector * stride;
    return {first_one, first_one + lengths.data()[local_vector]};
  }
  std::span<const double> values_of(int64_t local_vector) const {
    const auto* const first_one = values.data() + local_vector * stride;
    return {first_one, first_one + lengths.data()[local_vector]};
  }
};

/// The vectors that begin in the share. Its halo must hold at least longest_vector pairs.
SparseVectors build_vectors(const Problem& problem, const StreamShare& share, int64_t first_number,
                            const Rejections& rejections);

/// The weights rcond^(i / n) of the vectors first, ..., first + count - 1 (numbered from 0), as the official
/// program rounds them: by repeated multiplication with rcond^(1 / n). That drifts from the exact powers, by
/// 8e-12 at the end of class C, which moves its zeta by 2e-12: more than all other rounding. Cost: one
/// multiplication for each vector up to the last.
std::vector<double> vector_weights(const Problem& problem, int64_t first, int64_t count);

/// The number of the pair (among all pairs) before which, from `first_pair` on, `count` pairs are in range. Cost: one step per pair.
int64_t pair_of_number(const Problem& problem, int64_t first_pair, int64_t count);

/// One rank's part of the sum of outer products that defines the matrix: A = V W V^T + diagonal * 1, where the columns of V are the vectors
/// and W their weights. Blocks of V and V^T at the rank's place in the layout, by whose pieces the numbers of the
/// vectors are cut like all other indices.
struct NpbFactor {
  kernels::CsrBlock factor;      ///< V: rows are positions, columns the numbers of vectors
  kernels::CsrBlock transposed;  ///< V^T
  std::vector<double> weights;   ///< weights of the vectors in this rank's column piece
  double diagonal = 0.0;         ///< rcond - shift
};

/// The layout's size must be the order of the matrix, and its grid have a place for each rank. Collective. Cost: n
/// (nonzer + 1) entries of each factor in all, of 14 bytes until they are in order. Throws MpiError, std::bad_alloc.
NpbFactor make_npb_factor(const Problem& problem, const comm::BlockLayout& layout, comm::RankGroup& group);

}  // namespace cg2d
