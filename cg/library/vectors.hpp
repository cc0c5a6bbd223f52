#pragma once

// Vectors of a user: cuts where the caller has its own, and vectors between the ranks that have their elements and the pieces that a Solver
// works on. A grid is comm::ProcessGrid: {.columns = 2, .rows = 3}, or grid_from("2x3"). comm::BlockLayout is the cut of a matrix and of all
// vectors on it: rank r owns the piece column_piece_of(r) of each vector. On a grid of one process column piece r belongs to rank r. For vectors in
// files, read_vector() and write_vector() of cg/matrix/files/vector_file.hpp take the same place.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cg/base/process_memory.hpp"
#include "cg/base/values.hpp"
#include "cg/matrix/files/permutation.hpp"
#include "cg/matrix/files/vector_file.hpp"
#include "comm/block_layout.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// The borders of pieces, for SolverOptions::piece_starts, where this rank is to own own_row_count elements: the
/// caller's vectors then need not move. On a grid of one process column rank 0 has the first rows, rank 1 the next
/// ones, and so on; on others the pieces stand in the order of the ranks that own them. Collective. Throws
/// InputError, on every rank alike, for a negative number or a grid of another number of ranks.
std::vector<int64_t> piece_starts_of(int64_t own_row_count, const comm::ProcessGrid& grid,
                                     comm::RankGroup& group);

/// How a Solver's vectors lie on the ranks: a VectorPlace with the cut that it follows from. Valid as long as the solver.
struct PiecePlace : VectorPlace {
  const comm::BlockLayout& layout;
  const std::optional<RandomPermutation>& permutation;

  PiecePlace(const comm::BlockLayout& pieces, const std::optional<RandomPermutation>& order, int rank)
      : VectorPlace(place_of(pieces, order, rank)), layout(pieces), permutation(order) {}
};

/// An element of a vector, numbered from 0.
struct VectorElement {
  int64_t row = 0;
  double value = 0.0;
};

/// This rank's piece of a vector of which each rank gives any elements, in any order: those of the same row are
/// summed, all others are 0. Collective. Throws InputError, on every rank alike, for a row that is not there;
/// MpiError, std::bad_alloc. Cost: 16 bytes for each element that moves.
HugePageVector vector_from_elements(std::span<const VectorElement> elements, const PiecePlace& place,
                                    comm::RankGroup& group);

/// The elements of `rows` of a distributed vector of which each rank has its piece; each rank may ask for others, or
/// for none. Collective. Throws InputError, on every rank alike, for rows that are not there and for a piece of
/// another length; MpiError, std::bad_alloc.
std::vector<double> elements_of(std::span<const double> piece, const comm::IndexRange& rows,
                                const PiecePlace& place, comm::RankGroup& group);

/// Writes a vector to a Matrix Market file, atomically. title: one line for people. Collective. Throws
/// RunError (cannot_create, cannot_write), on every rank alike; MpiError.
void save_vector(const std::string& path, std::span<const double> piece, const std::string& title,
                 const PiecePlace& place, comm::RankGroup& group);

}  // namespace cg2d
