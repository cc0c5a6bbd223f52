#pragma once

// A user's own matrix: its rows, distributed over the ranks, from which blocks are made for any grid.

#include "cg/base/agreement.hpp"
#include "cg/matrix/files/system_matrix.hpp"
#include "cg/matrix/files/word_rounds.hpp"

namespace cg2d {

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
  int64_t making_bytes = 0;  ///< memory of all ranks together, until the rows are stored
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

/// This rank's block of a layout, from the sealed rows of all ranks. Collective. Throws what a store throws, on every rank; MpiError,
/// std::bad_alloc.
kernels::CsrBlock block_of_rows(const EntryStore& store, const comm::BlockLayout& layout,
                                comm::RankGroup& group);

/// A matrix whose sealed rows the ranks hold. Holds no reference to the group. Making it is collective.
class StoredMatrix final : public SystemMatrix {
 public:
  /// name: for people, such as that of the file. permutation: the order in which rows and columns were stored;
  /// messages name the original ones.
  StoredMatrix(EntryStore store, std::string name, std::optional<RandomPermutation> permutation,
               comm::RankGroup& group);

  int64_t working_bytes(const comm::BlockLayout& layout, const Strips& strips) const override;
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

  /// Compares all pairs of mirrored entries; without a tolerance every difference is beyond it. Collective. Cost: a search for each entry.
  Asymmetry find_asymmetry(std::optional<double> tolerance, comm::RankGroup& group) const;
  void visit_entries(comm::RankGroup& group, const EntryVisit& visit) const override;
  void count_own_nonzeros(comm::RankGroup& group);

  EntryStore store_;
  int64_t most_own_nonzeros_ = 0;  // of any rank's stored rows
};

}  // namespace cg2d
