#pragma once

// A user's own matrix: its rows, distributed over the ranks, from which blocks are made for any grid.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cg/base/process_memory.hpp"
#include "cg/files/entry_store.hpp"
#include "cg/files/permutation.hpp"
#include "cg/matrix/matrix_facts.hpp"
#include "cg/matrix/matrix_source.hpp"
#include "comm/block_layout.hpp"
#include "comm/rank_group.hpp"
#include "kernels/csr_block.hpp"

namespace cg2d {

/// Brings entries to the ranks that store their rows. Every rank adds any entries, in any order and any number;
/// then all call finish(). Entries of the same place are summed.
class EntryCollector {
 public:
  EntryCollector(std::int64_t order, comm::RankGroup& group);
  ~EntryCollector();
  EntryCollector(const EntryCollector&) = delete;
  EntryCollector& operator=(const EntryCollector&) = delete;

  /// row, column: 0 ... order - 1. May exchange with the other ranks. Throws MpiError, std::bad_alloc.
  void add(std::int64_t row, std::int64_t column, double value);
  /// Collective, once. Throws MpiError, std::bad_alloc.
  EntryStore finish();

 private:
  struct Rounds;
  EntryStore store_;
  std::unique_ptr<Rounds> rounds_;
};

/// The sealed rows of a square matrix. Holds no reference to the group. Collective: making it, build(), take(), the
/// checks and everything that gets a group.
class StoredMatrix final : public MatrixSource {
 public:
  /// name: for people, such as that of the file. permutation: the order in which rows and columns were stored;
  /// messages name the original ones.
  StoredMatrix(EntryStore store, std::string name, std::optional<RandomPermutation> permutation,
               comm::RankGroup& group);

  [[nodiscard]] const MatrixFacts& facts() const override { return facts_; }
  [[nodiscard]] SourcePlan plan(const comm::BlockLayout& layout) const override;
  [[nodiscard]] SourcedBlock build(const comm::BlockLayout& layout, comm::RankGroup& group,
                                   int thread_count) const override;
  /// The same as build(), and the last: the rows are given back to the system while the block grows, so that
  /// both together take little more than one. Afterwards there are no rows.
  [[nodiscard]] kernels::CsrBlock take(const comm::BlockLayout& layout, comm::RankGroup& group);

  /// Throws RunError (bad_data) that names the first pair of entries that differ, and both values. Cost: nothing,
  /// since mixed sums of both triangles were compared when the matrix was made; only where they differ a search for
  /// each entry. Two different triangles pass with a probability of 2^-64.
  void require_symmetric(comm::RankGroup& group) const;
  /// Throws RunError (not_positive_definite) that names the first row without a positive diagonal entry.
  void require_positive_diagonal(comm::RankGroup& group) const;

  /// This rank's piece of the diagonal.
  [[nodiscard]] HugePageVector diagonal(const comm::BlockLayout& layout, comm::RankGroup& group) const;
  /// Borders of pieces of about equal numbers of nonzeros, as BlockLayout::weighted() cuts by the lengths of the
  /// rows; no rank holds all of these.
  [[nodiscard]] std::vector<std::int64_t> balanced_piece_starts(int piece_count,
                                                                comm::RankGroup& group) const;
  /// The cut that make_layout() takes from now on; empty: equal numbers of rows.
  void set_piece_starts(std::vector<std::int64_t> piece_starts) {
    facts_.piece_starts = std::move(piece_starts);
  }
  /// The nonzeros of each rank's block in a layout.
  [[nodiscard]] std::vector<std::int64_t> nonzeros_of_blocks(const comm::BlockLayout& layout,
                                                             comm::RankGroup& group) const;

  [[nodiscard]] std::int64_t order() const { return store_.deal().order(); }
  [[nodiscard]] std::int64_t nonzero_count() const { return nonzero_count_; }
  [[nodiscard]] const EntryStore& store() const { return store_; }
  [[nodiscard]] const std::optional<RandomPermutation>& permutation() const { return permutation_; }

 private:
  void survey();
  [[nodiscard]] MatrixFacts count_facts(comm::RankGroup& group) const;
  [[nodiscard]] std::size_t local_row(std::int64_t row) const {
    const auto& deal = store_.deal();
    const auto within = row - deal.first_row_of(deal.bucket_of(row));
    return deal.place_of(row) * static_cast<std::size_t>(deal.rows_per_bucket()) +
           static_cast<std::size_t>(within);
  }
  /// Calls visit(global row, local row) for every row of this rank.
  template <typename Visit>
  void for_each_row(const Visit& visit) const;
  [[nodiscard]] std::int64_t original(std::int64_t row) const {
    return permutation_ ? permutation_->inverse(row) : row;
  }

  EntryStore store_;
  std::string name_;
  std::optional<RandomPermutation> permutation_;
  std::vector<std::uint32_t> row_lengths_;  // of this rank's rows, by their local numbers
  std::vector<double> diagonal_;            // likewise
  std::uint64_t pattern_hash_ = 0;          // of this rank's entries
  std::uint64_t asymmetry_hash_ = 0;        // likewise; the sum over all ranks of a symmetric matrix is 0
  std::int64_t nonzero_count_ = 0;          // of all ranks
  bool is_symmetric_ = false;
  MatrixFacts facts_;
};

}  // namespace cg2d
