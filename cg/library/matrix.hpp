#pragma once

// A user's own matrix on several ranks: from entries, from rows, or from a file.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "cg/matrix/files/system_matrix.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// An entry of a matrix, numbered from 0.
struct MatrixTriple {
  int64_t row = 0;
  int64_t column = 0;
  double value = 0.0;
};

/// Some consecutive rows of a matrix in compressed form (CSR). Row first_row + k has the entries row_starts[k] ...
/// row_starts[k + 1] - 1 of columns and values. No rows: all spans are empty.
struct MatrixRows {
  int64_t first_row = 0;
  std::span<const int64_t> row_starts{};  ///< one more than there are rows
  std::span<const int64_t> columns{};     ///< numbered from 0, over the whole matrix
  std::span<const double> values{};
};

/// Makes a square matrix of entries. Each rank adds any entries, of any rows, in any order; entries of the same
/// place are summed, also those of different ranks. A symmetric matrix is given whole: both triangles. Entries go to
/// the ranks that store their rows, 64 MB at a time.
class MatrixBuilder {
 public:
  /// order: 1 ... 2^31 - 1. The group must outlive the builder. Collective. Throws InputError, on every rank alike,
  /// also where the ranks give different orders; MpiError, std::bad_alloc.
  MatrixBuilder(int64_t order, comm::RankGroup& group);

  /// May exchange with the other ranks, so all of them must come to finish(). A bad entry is told there. Throws
  /// MpiError.
  void add(int64_t row, int64_t column, double value);
  void add(const MatrixTriple& triple) { add(triple.row, triple.column, triple.value); }
  /// The matrix; once. Collective. Throws InputError, on every rank alike, that names the first bad entry: a row or
  /// column outside of the matrix, NaN, infinity. Throws RunError (memory), MpiError.
  [[nodiscard]] std::unique_ptr<SystemMatrix> finish();

 private:
  int64_t order_;
  comm::RankGroup& group_;
  std::optional<EntryCollector> collector_;
};

/// The matrix of the triples of all ranks. The rest as for MatrixBuilder.
std::unique_ptr<SystemMatrix> matrix_from_triples(int64_t order, std::span<const MatrixTriple> triples,
                                                  comm::RankGroup& group);

/// The matrix of the rows of all ranks: each gives some, or none; a row that several give is summed. Throws InputError,
/// on every rank alike, also for row_starts that fall, or do not fit columns and values. The rest as for
/// MatrixBuilder.
std::unique_ptr<SystemMatrix> matrix_from_rows(int64_t order, const MatrixRows& rows, comm::RankGroup& group);

/// The matrix of a file: Matrix Market, plain or compressed, or the binary form that `cg2d convert` writes. Collective.
/// Throws RunError (bad_data), on every rank alike: file, line, what was found and what was expected. open_matrix()
/// (cg/matrix/files/matrix_file.hpp) has more options.
std::unique_ptr<SystemMatrix> matrix_from_file(const std::string& path, comm::RankGroup& group);

}  // namespace cg2d
