#pragma once

// Entries of Matrix Market texts as the fuzz targets compare them.

#include <fmt/format.h>

#include <algorithm>
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
  return std::ranges::equal(left, right,
                            [](const auto& one, const auto& other) { return is_same(one, other); });
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
