#pragma once

// Entries of Matrix Market texts as the fuzz targets compare them.

#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "cg/matrix/files/market_file.hpp"

namespace cg2d::fuzz {

/// The entries before the first fault, and where that is.
struct ParsedEntries {
  std::vector<MatrixEntry> entries;
  int64_t fault_offset = -1;  ///< none
  std::string fault;
};

inline bool is_same(const MatrixEntry& left, const MatrixEntry& right) {
  return left.row == right.row && left.column == right.column &&
         std::bit_cast<uint64_t>(left.value) == std::bit_cast<uint64_t>(right.value);
}

inline bool is_same(const std::vector<MatrixEntry>& left, const std::vector<MatrixEntry>& right) {
  if (left.size() != right.size()) return false;
  for (size_t k = 0; k < left.size(); ++k) {
    if (!is_same(left[k], right[k])) return false;
  }
  return true;
}

/// The lines of entries in the plainest form that is possible. `is_pattern`: without values.
inline std::string canonical_lines(const std::vector<MatrixEntry>& entries, bool is_pattern) {
  std::string text;
  for (const auto& [row, column, value] : entries) {
    text += is_pattern ? fmt::format("{} {}\n", row + 1, column + 1)
                       : fmt::format("{} {} {}\n", row + 1, column + 1, value);
  }
  return text;
}

}  // namespace cg2d::fuzz
