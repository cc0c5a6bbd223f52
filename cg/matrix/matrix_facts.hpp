#pragma once

// Figures of a matrix that are known before it is made: plans, choices, profiles and the performance model
// ask for these, whatever source the matrix has.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cg/matrix/problem.hpp"
#include "cg/matrix/row_lengths.hpp"

namespace cg2d {

/// Identifies a matrix, also in files. Matrices with nonzeros in the same places compare equal, since their
/// products cost the same: the shift of an NPB matrix makes no difference.
struct MatrixKey {
  std::string name{};  ///< for people: "A", "U(n 1400, nonzer 7)", or a file's name
  std::int64_t order = 0;
  std::optional<int> nonzer{};     ///< the parameter of the NPB generator; empty for every other source
  std::uint64_t pattern_hash = 0;  ///< hash of the source and the parameters that place the nonzeros

  friend bool operator==(const MatrixKey& first, const MatrixKey& second) {
    return first.pattern_hash == second.pattern_hash;
  }
};

struct MatrixFacts {
  MatrixKey key{};
  double nonzero_count = 0.0;  ///< nonzeros of the whole matrix, expected or counted
  /// The expected rows of blocks of 1 / column_block_count of the columns.
  std::function<RowLengthDistribution(int column_block_count)> row_lengths{};
  /// Borders of the pieces of this matrix, for as many pieces as there are ranks; empty: pieces of equal numbers
  /// of rows.
  std::vector<std::int64_t> piece_starts{};
};

/// The key of an NPB matrix. Where class_name is no class with these numbers, the name becomes "U(n 1400,
/// nonzer 7)".
MatrixKey npb_matrix_key(std::string_view class_name, std::int64_t order, int nonzer);

/// The expected figures of an NPB matrix.
MatrixFacts facts_of(const Problem& problem);

/// The figures of any other matrix, from its counted rows: rows_by_length[l] of them have l nonzeros.
/// Narrower blocks have the rows that thinned() expects.
MatrixFacts counted_facts(const MatrixKey& key, std::span<const std::int64_t> rows_by_length);

/// FNV-1a with 64 bits (Fowler, Noll, Vo; RFC 9923). Files keep such values: they never change.
std::uint64_t hash_of_text(std::string_view text);

}  // namespace cg2d
