#pragma once

// Vectors of a user: read from files, made from a seed, written to files.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "cg/base/process_memory.hpp"
#include "cg/files/permutation.hpp"
#include "comm/block_layout.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

class OutputFile;

/// How a vector lies on the ranks. Files have the original order of the rows.
struct VectorPlace {
  std::int64_t size = 0;                                    ///< of the whole vector
  std::size_t local_size = 0;                               ///< of this rank's piece
  std::function<std::int64_t(std::size_t element)> row_of;  ///< the original row of an element of this rank
};
/// The pieces of a layout; the permutation is that of the matrix. Both must outlive the place.
VectorPlace place_of(const comm::BlockLayout& layout, const std::optional<RandomPermutation>& permutation,
                     int rank);

/// Reads a vector: Matrix Market, one column, in array or coordinate form, plain or compressed. Every rank goes
/// through the lines and parses an equal share of them. Returns this rank's piece. Collective. Throws RunError (bad_data), alike on every rank; MpiError, std::bad_alloc.
HugePageVector read_vector(const std::string& path, const VectorPlace& place, comm::RankGroup& group);

/// This rank's piece of a random vector: element i follows from the seed and i alone, evenly spread over (-1, 1).
HugePageVector random_vector(std::uint64_t seed, const VectorPlace& place);

/// Writes a vector in array form, rank after rank; rank 0 writes, the others send it their lines. Numbers have as
/// many digits as it takes to read the same bits. Collective; `file` is used on rank 0 only and nullptr elsewhere.
/// Throws RunError (cannot_write) on every rank where rank 0 cannot write.
void write_vector(std::span<const double> piece, const VectorPlace& place, const std::string& title,
                  comm::RankGroup& group, OutputFile* file);

}  // namespace cg2d
