#pragma once

// The sources of a matrix, of which each rank gets its block: their interface and their table.

#include "cg/base/interface.hpp"
#include "cg/matrix/matrix_facts.hpp"
#include "comm/block_layout.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// Figures of a generated matrix that belong to no block; zero where a source draws no random numbers.
struct SourceFacts {
  uint64_t final_seed = 0;
  int64_t duplicate_pairs = 0;     // dropped because the vector had the position
  int64_t out_of_range_pairs = 0;  // dropped because the position was >= n
};

struct SourcedBlock {
  kernels::CsrBlock block;
  SourceFacts facts;
};

/// A cut of a block into strips of rows of about equal numbers.
struct Strips {
  int count = 1;             ///< some are empty where there are few rows
  int64_t row_multiple = 1;  ///< each begins at a multiple of it, counted from the block's first row
  /// About so much memory may be taken for the making of a strip, beside the strip itself. Less takes more time. Empty: as much as suits a
  /// whole block in memory.
  std::optional<int64_t> working_bytes{};

  /// The rows of a strip of a block with these rows.
  comm::IndexRange rows_of(int strip, const comm::IndexRange& block_rows) const;
};

/// One matrix, to be made block by block.
class MatrixSource : public Interface {
 public:
  /// Known before anything is made, and the same on every rank.
  const MatrixFacts& facts() const { return facts_; }
  /// The cut that make_layout() takes from now on; empty: equal numbers of rows.
  void set_piece_starts(std::vector<int64_t> piece_starts) { facts_.piece_starts = std::move(piece_starts); }
  /// Borders of pieces with about these shares of the nonzeros, in any unit; here of the rows, for matrices whose rows are about equally
  /// long. Collective. Throws MpiError, std::bad_alloc.
  virtual std::vector<int64_t> balanced_piece_starts(std::span<const double> shares,
                                                     comm::RankGroup& /*group*/) const {
    return comm::piece_starts_of_shares(facts_.key.order, shares);
  }
  /// Memory that build_strips() takes at most beside the strip, of which there is one at a time, per rank; strips {}: of build(), beside the block.
  virtual int64_t working_bytes(const comm::BlockLayout& layout, const Strips& strips) const = 0;
  /// Nonzeros of the longest strip of a rank's block, at most, where some may be much longer than others; 0: all are about as long. Local.
  /// Throws RunError, on this rank alone.
  virtual int64_t longest_strip(const comm::BlockLayout& /*layout*/, int /*rank*/,
                                const Strips& /*strips*/) const {
    return 0;
  }
  /// Makes this rank's own block. The layout's size must be the order of the matrix, and its grid have a
  /// place for each rank. Collective. Throws MpiError, std::bad_alloc.
  SourcedBlock build(const comm::BlockLayout& layout, comm::RankGroup& group, int thread_count) const;

  /// Takes the next rows of this rank's block, with the columns of the block.
  using StripSink = std::function<void(kernels::CsrBlock strip)>;
  /// Makes this rank's block in strips, one after the other and only one at a time in memory, or the whole
  /// block as one, from a source that cannot make parts of it. Collective. A sink that fails on one rank
  /// alone keeps that to itself until the end (Agreement::attempt). Throws what build() throws, and what the
  /// sink throws on all ranks.
  virtual SourceFacts build_strips(const comm::BlockLayout& layout, comm::RankGroup& group, int thread_count,
                                   const Strips& strips, const StripSink& sink) const = 0;

 protected:
  explicit MatrixSource(MatrixFacts facts = {}) : facts_(std::move(facts)) {}

  MatrixFacts facts_;
};

/// One kind of matrix. A new one is one file that defines a row, and its entry in the table.
struct SourceRow {
  std::string_view name;
  std::string_view arguments;  ///< as texts have them after "name:"
  /// The matrix of a text "name:arguments". Local. Throws InputError: the text, what it must be, what it is.
  std::unique_ptr<MatrixSource> (*parse)(std::string_view text);
  /// The matrix of a problem of NAS CG; nullptr in the rows of all other matrices. Local.
  std::unique_ptr<MatrixSource> (*make)(const Problem& problem) = nullptr;
  bool is_negative_definite = false;  ///< then -A is positive definite, which solves of a system take
};

std::span<const SourceRow> source_table();
/// The first row of the table: the generator of the NAS CG matrices.
const SourceRow& default_source();
/// The row of a text "name:arguments". Local. Throws InputError that names the known matrices.
const SourceRow& source_row_of(std::string_view text);
/// The matrix of a text: "npb:S", "laplace3d:64x64x64". Local. Throws InputError that names the known
/// matrices, or what the row says of the arguments.
std::unique_ptr<MatrixSource> source_from(std::string_view text);

}  // namespace cg2d
