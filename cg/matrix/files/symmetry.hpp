#pragma once

// The triangles of a matrix whose rows are stored: where they differ, and the matrix of their means.

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "cg/base/storage/scratch_file.hpp"
#include "cg/matrix/files/entry_store.hpp"
#include "cg/matrix/files/permutation.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// Sealed rows of a rank, and what the comparison of their mirrored entries needs beside them.
struct MirroredRows {
  const EntryStore& store;
  std::span<const double> diagonal;  ///< by EntryStore::local_row(); 0 where there is no entry
  const std::optional<RandomPermutation>& permutation;
};

/// Mirrored entries that differ; indices from 0, in the original order, row > column.
struct UnequalPair {
  static constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
  std::int64_t row = none;
  std::int64_t column = 0;
  double lower = 0.0;       ///< the entry (row, column); 0 where there is none
  double upper = 0.0;       ///< the entry (column, row)
  double difference = 0.0;  ///< |a_ij - a_ji| / sqrt(|a_ii a_jj|); infinite beside a diagonal entry of 0

  [[nodiscard]] bool is_found() const { return row != none; }
  /// "entry (2, 1) is 0.5, entry (1, 2) is 0".
  [[nodiscard]] std::string values_text() const;
  /// "by 2.2e-16 of sqrt(a_ii a_jj)".
  [[nodiscard]] std::string difference_text() const;
};

struct Asymmetry {
  UnequalPair first;       ///< in the order of rows, of those beyond the tolerance
  UnequalPair largest;     ///< largest difference of all pairs; the first of several that differ as much
  bool has_lower = false;  ///< whether triangles have entries that are not 0
  bool has_upper = false;
};
/// Compares all pairs of mirrored entries; without a tolerance every difference is beyond it. Alike on every rank, whatever their number.
/// Collective. Cost: a search for each entry. Throws the store's failure(), MpiError, std::bad_alloc.
Asymmetry find_asymmetry(const MirroredRows& rows, std::optional<double> tolerance, comm::RankGroup& group);

/// The end of a sentence for a matrix that is not symmetric: the option that helps, where rounding explains the largest
/// difference, or one triangle is empty; else empty.
std::string way_on_text(const Asymmetry& found);
/// Whether it looks like one triangle of a symmetric matrix.
bool is_one_triangle(const Asymmetry& found);

/// The rows of (A + A^T) / 2, exactly symmetric, with the same bits whatever the number of ranks; values below 4.5e-308 may lose their
/// last bit. The rows of A are given back meanwhile. scratch: as EntryStore takes it. Collective. Throws a store's failure(), MpiError,
/// std::bad_alloc.
EntryStore mean_of_triangles(EntryStore store, std::unique_ptr<ScratchChunks> scratch,
                             comm::RankGroup& group);

}  // namespace cg2d
