#pragma once

// Vectors of a user: read from files, made from a seed, written to files; and distributed matrices written to files, in the Matrix Market
// exchange format (Boisvert, Pozo, Remington: NISTIR 5935).

#include <functional>
#include <optional>

#include "cg/base/process_memory.hpp"
#include "cg/matrix/files/permutation.hpp"
#include "comm/block_layout.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

class OutputFile;

/// How a vector, or several, lie on the ranks. Files have the original order of the rows, column after column.
struct VectorPlace {
  int64_t size = 0;       ///< elements of the whole vector; of several vectors: of all together
  size_t local_size = 0;  ///< elements of this rank's piece
  /// The original row of an element of this rank; of column c of several: c times the number of rows later.
  std::function<int64_t(size_t element)> row_of;
  int column_count = 1;  ///< the number of vectors

  int64_t row_count() const { return size / column_count; }
};
/// The place of several vectors where a single one has `place`: the elements of one row are neighbours.
VectorPlace place_of_several(const VectorPlace& place, int column_count);
/// The number of columns that a file of vectors announces. Collective. Throws RunError (bad_data), alike on every rank.
int64_t column_count_of(const std::string& path, comm::RankGroup& group);
/// The pieces of a layout; the permutation is that of the matrix. Both must outlive the place.
VectorPlace place_of(const comm::BlockLayout& layout, const std::optional<RandomPermutation>& permutation,
                     int rank);

/// Reads vectors: Matrix Market, as many columns as the place has, in array or coordinate form, plain or compressed. Every rank goes
/// through the lines and parses an equal share of them. Returns this rank's piece. Collective. Throws RunError (bad_data), alike on every rank; MpiError, std::bad_alloc.
HugePageVector read_vector(const std::string& path, const VectorPlace& place, comm::RankGroup& group);

/// This rank's piece of a random vector: element i follows from the seed and i alone, evenly spread over (-1, 1).
HugePageVector random_vector(uint64_t seed, const VectorPlace& place);

/// Writes a vector in array form, rank after rank; rank 0 writes, the others send it their lines. Numbers have as
/// many digits as it takes to read the same bits. Collective; `file` is used on rank 0 only and nullptr elsewhere.
/// Throws RunError (cannot_write) on every rank where rank 0 cannot write.
void write_vector(std::span<const double> piece, const VectorPlace& place, const std::string& title,
                  comm::RankGroup& group, OutputFile* file);

/// Writes the lower triangle as "coordinate real symmetric", numbers with 17 significant digits, as write_vector() writes. Cost: all entries
/// pass through rank 0.
void export_matrix_market(const kernels::CsrBlock& block, const comm::BlockLayout& layout,
                          const std::string& title, comm::RankGroup& group, OutputFile* file);

}  // namespace cg2d
