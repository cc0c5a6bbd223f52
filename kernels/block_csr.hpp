#pragma once

// Supervariables [Duff, Reid: The multifrontal solution of indefinite sparse symmetric linear equations, ACM TOMS 9, 1983]: indices of a symmetric
// matrix with the same neighbours, as the unknowns of a finite element's node. Between two of them all entries are there, or none.
//
// Symmetric block CSR: the entries between two supervariables in one dense block, with one column number. Where others load p, and load and
// store q, for each entry, a block does so once for each of its columns, side by side in memory.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "kernels/index_sets.hpp"
#include "kernels/spmv.hpp"

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
std::optional<Supervariables> find_supervariables(const CsrBlock& half, const SharedIndices& indices,
                                                  int thread_count = 1);

// ---------------------------------------------------------------- the format

/// Doubles that a supervariable takes in a vector: whole registers of 2 or 4, zeros behind its members.
constexpr int64_t places_of(int64_t size) { return size <= 2 ? 2 : size <= 4 ? 4 : 8; }

/// Blocks of size x size entries in rows of blocks. Either of two mirrored blocks is stored, in the row of the supervariable that comes first; of one
/// on the diagonal one entry of each mirrored pair, and half of those on the diagonal.
struct BlockCsr {
  int size = 0;
  PageBuffer<int64_t> row_starts;  ///< of each supervariable and the end
  PageBuffer<uint32_t> columns;    ///< supervariables
  PageBuffer<double> values;       ///< block after block, each row by row

  int64_t row_count() const { return static_cast<int64_t>(row_starts.size()) - 1; }
  [[nodiscard]] std::vector<StoredArray> stored_arrays();
  /// Whether all columns in the rows of blocks first_row ... last_row-1 are supervariables.
  bool has_columns_in_range(int64_t first_row, int64_t last_row) const;
};

/// Empty: zeros would fill more than a quarter. Cost: four passes over the entries. Takes 16 bytes while it works for each entry that is
/// stored in another row of blocks than its row's. Throws std::bad_alloc.
std::optional<BlockCsr> make_block_csr(const CsrBlock& half, const SharedIndices& indices,
                                       const Supervariables& supervariables, int thread_count);

/// The kernel that stores a block in block CSR; nullptr, and the block is as it was: it has no supervariables, or too few, or, for several vectors,
/// rows that are no columns.
std::unique_ptr<SpmvKernel> try_block_csr(CsrBlock& half, const KernelOptions& options);

// ---------------------------------------------------------------- products

/// Numbers behind the last ones that a loop may read.
inline constexpr size_t spare_block_values = 8;

/// Rows [first_row, last_row) of blocks.
struct BlockRows {
  const BlockCsr& matrix;
  int64_t first_row;
  int64_t last_row;
  int64_t prefetch_distance;
};
/// pairs: p of each supervariable, places_of(size) doubles, and its q behind it. Adds to q.
using BlockRowLoop = void (*)(const BlockRows& rows, double* pairs);

/// Several vectors, the elements of an index side by side. members: of each supervariable as many indices as it has places.
struct BlockRowVectors {
  const uint32_t* members;
  const double* p;
  double* q;  // is added to
  int64_t count;
};
using SeveralBlockRowLoop = void (*)(const BlockRows& rows, const BlockRowVectors& vectors);

}  // namespace cg2d::kernels
