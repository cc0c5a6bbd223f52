#pragma once

// Supervariables [Duff, Reid: The multifrontal solution of indefinite sparse symmetric linear equations, ACM TOMS 9, 1983]: indices of a symmetric
// matrix with the same neighbours, as the unknowns of a finite element's node. Between two of them all entries are there, or none.

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "kernels/csr_block.hpp"
#include "kernels/index_sets.hpp"

namespace cg2d::kernels {

/// Members of a supervariable, as block CSR takes them; larger ones are cut.
inline constexpr int least_supervariable = 2;
inline constexpr int largest_supervariable = 8;

/// All indices of a block in supervariables, those that have no equal, too.
struct Supervariables {
  static constexpr uint32_t no_member = std::numeric_limits<uint32_t>::max();

  int size = 0;  ///< places for members
  /// `size` of each supervariable; the last ones may be no_member.
  std::vector<uint32_t> members;

  size_t count() const { return members.size() / static_cast<size_t>(size); }
};

/// Whether a sample of the rows of a block that stores every entry shows supervariables. Cost: 32 rows, and some of those that they have entries with.
bool shows_supervariables(const CsrBlock& whole, const SharedIndices& shared);

/// Finds supervariables in a block that stores one entry of each mirrored pair (Storage::half), from its pattern alone. Empty: a sample of
/// the rows shows none, or most of their places would have no member. They are in the order of their first members; where neighbours lie far from each
/// other, and more than a cache apart, in that of Cuthill and McKee. Cost: one pass over the entries, and the sorting of a number for
/// each index; 8 bytes for each index and thread. Throws std::bad_alloc.
std::optional<Supervariables> find_supervariables(const CsrBlock& half, const SharedIndices& shared,
                                                  int thread_count = 1);

}  // namespace cg2d::kernels
