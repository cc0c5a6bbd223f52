#pragma once

// A user's own matrix, wherever its rows are: a source of blocks with all that a solve needs; and one whose rows are distributed over the ranks.

#include "cg/base/agreement.hpp"
#include "cg/matrix/files/entry_store.hpp"
#include "cg/matrix/files/permutation.hpp"
#include "cg/matrix/files/word_rounds.hpp"
#include "cg/matrix/matrix_source.hpp"

namespace cg2d {

/// The distance between the triangles of a matrix before each pair of mirrored entries became their mean.
struct Symmetrization {
  double tolerance = 0.0;
  double largest_difference = 0.0;  ///< largest |a_ij - a_ji| / sqrt(|a_ii a_jj|); 0: A was symmetric
  int64_t row = 0;  ///< row of the first pair with it, from 0, in the original order; row > column
  int64_t column = 0;

  /// "the largest difference was 2.2e-16 of sqrt(a_ii a_jj), at (2, 1)".
  std::string text() const;
};

/// Square. Everything that gets a group is collective, and throws RunError alike on every rank, MpiError and
/// std::bad_alloc.
class SystemMatrix : public MatrixSource {
 public:
  int64_t order() const { return facts_.key.order; }
  int64_t nonzero_count() const { return nonzero_count_; }
  /// The order of rows and columns in the blocks, where it is not the original one.
  const std::optional<RandomPermutation>& permutation() const { return permutation_; }
  /// Makes this rank's block as build() does, and is the last call: afterwards no more blocks can be made.
  /// Rows that are stored leave meanwhile (working_bytes()).
  [[nodiscard]] virtual kernels::CsrBlock take(const comm::BlockLayout& layout, comm::RankGroup& group) {
    return build(layout, group, 1).block;
  }
  /// The part of working_bytes() that take() gives back.
  virtual int64_t leaving_bytes() const { return 0; }
  /// Throws RunError (bad_data) that names the first pair of entries that differ, and both values. Nothing where all such matrices are symmetric.
  virtual void require_symmetric(comm::RankGroup& /*group*/) const {}
  /// Throws RunError (not_positive_definite) that names the first row without a positive diagonal entry.
  void require_positive_diagonal(comm::RankGroup& group) const;
  /// This rank's piece of the diagonal.
  HugePageVector diagonal(const comm::BlockLayout& layout, comm::RankGroup& group) const;
  /// As a weighted layout cuts by the lengths of the rows. No rank holds those of all rows.
  std::vector<int64_t> balanced_piece_starts(std::span<const double> shares,
                                             comm::RankGroup& group) const override;
  /// The nonzeros of each rank's block in a layout.
  std::vector<int64_t> nonzeros_of_blocks(const comm::BlockLayout& layout, comm::RankGroup& group) const;
  /// A hash of all that the values depend on, where that is known without them: of a matrix that is not in memory, and whose strips can
  /// be made again.
  virtual std::optional<uint64_t> content_hash() const { return std::nullopt; }
  /// Where StoredMatrix::symmetrize() has made the matrix symmetric.
  const std::optional<Symmetrization>& symmetrization() const { return symmetrization_; }

 protected:
  /// The entries of a row, or of a part of it.
  using EntryVisit = std::function<void(const RowPart& part)>;
  /// Calls visit() for all entries of this rank's rows, rows rising, columns rising in each. Without values where no survey() is to come. Collective, but for
  /// the visits.
  virtual void visit_entries(comm::RankGroup& group, const EntryVisit& visit) const = 0;

  /// Visits the entries of this rank's rows, which follow those of the rank before, and sets what follows from them. name: for people. Collective.
  /// Throws RunError (not_finite) that names the first entry that is no number.
  void survey(std::string name, const comm::IndexRange& own_rows, comm::RankGroup& group);
  /// Sets the facts by the lengths of the rows and the sum over the pattern. Collective.
  void set_facts(std::string name, int64_t order, comm::RankGroup& group);
  /// Memory of row_lengths_ and diagonal_ that a rank has beside its block; none where strips are made: then the memory for them is what the process
  /// leaves.
  int64_t kept_bytes(const comm::BlockLayout& layout, const Strips& strips) const {
    constexpr int64_t bytes_per_row = 12;
    return strips.working_bytes ? 0 : bytes_per_row * (order() / layout.grid().rank_count() + 1);
  }
  /// The number of a row among this rank's, and the row of a number.
  size_t local_row(int64_t row) const { return static_cast<size_t>(row - own_rows_.begin); }
  int64_t row_at(size_t local) const { return own_rows_.begin + static_cast<int64_t>(local); }
  int64_t original(int64_t row) const { return permutation_ ? permutation_->inverse(row) : row; }

  int64_t nonzero_count_ = 0;                     // nonzeros of all ranks
  std::optional<RandomPermutation> permutation_;  // empty: the original order
  std::optional<Symmetrization> symmetrization_;
  comm::IndexRange own_rows_;  // this rank's rows
  // Set by survey(), or as the binary form has it:
  int64_t nonzeros_before_ = 0;        // nonzeros in all rows before them
  std::vector<uint32_t> row_lengths_;  // their lengths
  std::vector<double> diagonal_;       // their diagonal
  uint64_t pattern_sum_ = 0;           // over the entries of all ranks
  uint64_t asymmetry_sum_ = 0;         // over the entries of all ranks; 0 for a symmetric matrix
};

/// The sum of a number of 64 bits over all ranks, modulo 2^64. Collective.
uint64_t sum_of_words(comm::RankGroup& group, uint64_t word);

// ---------------------------------------------------------------- stored rows

/// Brings entries to the ranks that store their rows. Every rank adds any entries, in any order and any number;
/// then all call finish(). Entries of the same place are summed.
class EntryCollector {
 public:
  /// scratch: as EntryStore takes it.
  EntryCollector(int64_t order, comm::RankGroup& group, std::unique_ptr<ScratchChunks> scratch = nullptr);
  EntryCollector(const EntryCollector&) = delete;
  EntryCollector& operator=(const EntryCollector&) = delete;

  /// row, column: 0 ... order - 1. May exchange with the other ranks. Throws MpiError, std::bad_alloc.
  void add(int64_t row, int64_t column, double value);
  /// Runs a step that adds entries. Where it fails by a RunError or std::bad_alloc, finish() throws a RunError on every rank.
  template <typename Step>
  void attempt(const Step& step) {
    agreement_.attempt(step);
  }
  /// Collective, once. Throws the RunError of a rank whose store or step has failed on every rank; MpiError, std::bad_alloc.
  EntryStore finish();

 private:
  Agreement agreement_;
  EntryStore store_;
  WordRounds rounds_;
};

/// Facts about a matrix that are known before its entries are read or made, and the memory that this takes.
struct ExpectedMatrix {
  int64_t order = 0;
  int64_t entry_count = 0;  ///< at most
  /// Memory of a rank, beside its block, while the stored rows become blocks.
  int64_t working_bytes = 0;
  int64_t leaving_bytes = 0;  ///< part of it, of the rows, which are gone when the block is there
  int64_t making_bytes = 0;   ///< memory of all ranks together, until the rows are stored
};
ExpectedMatrix expected_matrix(int64_t order, int64_t entry_count, int rank_count);
/// Refuses a matrix that the memory will not hold, before the system ends a rank, which says nothing. Collective: throws RunError
/// (memory) on every rank alike.
using MemoryCheck = std::function<void(const ExpectedMatrix& matrix)>;

/// Bytes that a matrix takes on all ranks together while it is stored, without the buffers of messages.
int64_t stored_bytes(int64_t order, int64_t entry_count);
/// Asks `check`; empty: throws where a node has less room (memory_room()) than its share of making_bytes, and than what the processes will
/// take. Collective.
void require_memory(const MemoryCheck& check, const std::string& name, const ExpectedMatrix& matrix,
                    comm::RankGroup& group);

/// This rank's block of a layout, from the sealed rows of all ranks. visited: called with each bucket that is in a block or on its way. Collective. Throws what a store throws, on every rank; MpiError,
/// std::bad_alloc.
kernels::CsrBlock block_of_rows(const EntryStore& store, const comm::BlockLayout& layout,
                                comm::RankGroup& group, const std::function<void(size_t bucket)>& visited);

/// A matrix whose sealed rows the ranks hold. Holds no reference to the group. Making it is collective.
class StoredMatrix final : public SystemMatrix {
 public:
  /// name: for people, such as that of the file. permutation: the order in which rows and columns were stored;
  /// messages name the original ones.
  StoredMatrix(EntryStore store, std::string name, std::optional<RandomPermutation> permutation,
               comm::RankGroup& group);

  int64_t working_bytes(const comm::BlockLayout& layout, const Strips& strips) const override;
  int64_t leaving_bytes() const override { return stored_entry_bytes * most_own_nonzeros_; }
  /// The whole block as one.
  SourceFacts build_strips(const comm::BlockLayout& layout, comm::RankGroup& group, int thread_count,
                           const Strips& strips, const StripSink& sink) const override;
  /// The rows are gone when the block is there.
  [[nodiscard]] kernels::CsrBlock take(const comm::BlockLayout& layout, comm::RankGroup& group) override;
  /// Puts the mean of both in place of each pair of mirrored entries, where their difference is at most so large a part of
  /// sqrt(|a_ii a_jj|); a missing one is 0. To be called before blocks are made. scratch: as EntryStore takes it. Collective. Cost: nothing
  /// where A is symmetric; else a search for each entry, and the rows are stored once more, with twice their bytes until
  /// they are in order. Throws RunError (bad_data) that names the first pair beyond the tolerance, MpiError, std::bad_alloc.
  void symmetrize(double tolerance, std::unique_ptr<ScratchChunks> scratch, comm::RankGroup& group);
  /// Cost: nothing, since mixed sums of both triangles were compared when the matrix was made; only where they differ
  /// a search for each entry. Two different triangles pass with a probability of 2^-64.
  void require_symmetric(comm::RankGroup& group) const override;

  const EntryStore& store() const { return store_; }
  friend void write_cache(const StoredMatrix& matrix, const std::string& path, comm::RankGroup& group);

 private:
  struct Asymmetry;

  /// Compares all pairs of mirrored entries; every difference is beyond a negative tolerance. Collective. Cost: a search for each entry.
  Asymmetry find_asymmetry(double tolerance, comm::RankGroup& group) const;
  void visit_entries(comm::RankGroup& group, const EntryVisit& visit) const override;
  void survey_store(std::string name, comm::RankGroup& group);

  EntryStore store_;
  int64_t most_own_nonzeros_ = 0;  // of any rank's stored rows
};

}  // namespace cg2d
