#pragma once

// A matrix in binary form: written once, and read directly for any grid.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cg/matrix/files/cache_file.hpp"
#include "cg/matrix/files/stored_matrix.hpp"
#include "cg/matrix/files/system_matrix.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// Writes a matrix without a permutation, which must have passed its checks: every rank writes its own rows. The
/// file gets its name when it is complete; a kill before leaves a temporary file beside it. Collective. Throws
/// RunError (cannot_create, cannot_write) on every rank alike.
void write_cache(const StoredMatrix& matrix, const std::string& path, comm::RankGroup& group);

/// The matrix of such a file. Blocks are read as often as they are asked for: nothing of the matrix is kept. A rank
/// reads the rows of its block, all columns of them. Every byte that it takes is checked.
class CachedMatrix final : public SystemMatrix {
 public:
  CachedMatrix(const std::string& path, std::string name, comm::RankGroup& group);

  [[nodiscard]] std::int64_t working_bytes(const comm::BlockLayout& layout,
                                           const Strips& strips) const override;
  /// Counts all columns. Cost: 64 KiB of the file for each strip.
  [[nodiscard]] std::int64_t longest_strip(const comm::BlockLayout& layout, int rank,
                                           const Strips& strips) const override;
  SourceFacts build_strips(const comm::BlockLayout& layout, comm::RankGroup& group, int thread_count,
                           const Strips& strips, const StripSink& sink) const override;
  [[nodiscard]] std::vector<std::int64_t> nonzeros_of_blocks(const comm::BlockLayout& layout,
                                                             comm::RankGroup& group) const override;
  /// A hash of all checksums of the file.
  [[nodiscard]] std::optional<std::uint64_t> content_hash() const override;

  /// Adds this rank's share of the entries to a collector, rows and columns in another order: for the cut that
  /// needs one.
  void add_share(EntryCollector& collector, const RandomPermutation& permutation, int rank,
                 int rank_count) const;

 private:
  void visit_own_rows(comm::RankGroup& group, const RowVisit& visit) const override;
  void visit_entries(comm::RankGroup& group, const EntryVisit& visit) const override;

  std::unique_ptr<CacheReader> reader_;
};

}  // namespace cg2d
