#pragma once

// The random vectors of the NAS CG matrix, drawn by all ranks together: no rank walks the whole stream.

#include <cstdint>
#include <functional>
#include <vector>

#include "cg/matrix/matrix_source.hpp"
#include "cg/matrix/npb_vectors.hpp"
#include "cg/matrix/problem.hpp"
#include "comm/block_layout.hpp"
#include "comm/rank_group.hpp"
#include "kernels/csr_block.hpp"

namespace cg2d {

/// Whether the vectors stay in memory, 12 bytes per number, or are drawn again by each visit, which takes less memory and more time.
enum class VectorStore { kept, drawn_again };

/// The vectors that begin in this rank's share of the stream.
class DrawnVectors {
 public:
  /// Every rank draws an equal share of the random numbers. Collective. Throws MpiError, std::bad_alloc.
  DrawnVectors(const Problem& problem, comm::RankGroup& group, VectorStore store = VectorStore::kept);

  /// The facts of the whole stream.
  [[nodiscard]] const SourceFacts& facts() const { return facts_; }
  /// Visits all of them in their order, some consecutive ones at a time. Throws std::bad_alloc.
  void visit(const std::function<void(const SparseVectors&)>& visitor) const;

 private:
  /// Consecutive pairs of the stream, and the number of the first one in range.
  struct Part {
    comm::IndexRange pairs;
    std::int64_t first_number = 0;
    std::int64_t number_count = 0;
  };
  void draw_parts(const comm::IndexRange& mine, comm::RankGroup& group);
  void record_facts(comm::RankGroup& group);
  void take_weights();
  [[nodiscard]] SparseVectors vectors_of(const Part& part) const;

  Problem problem_;
  std::vector<Part> parts_;
  std::int64_t own_count_ = 0;  // pairs in range of all parts
  std::int64_t window_ = 0;
  Rejections rejections_;
  SourceFacts facts_;
  std::int64_t first_ = 0;
  std::vector<double> weights_;  // from vector first_ on
  std::vector<SparseVectors> kept_;
};

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
