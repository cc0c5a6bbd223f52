#pragma once

// Entries of Matrix Market texts as the fuzz targets compare them.

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "cg/matrix/files/market_file.hpp"
#include "fuzz/promise.hpp"
#include "support/bits.hpp"

namespace cg2d::fuzz {

/// The entries before the first fault, and where that is.
struct ParsedEntries {
  std::vector<MatrixEntry> entries;
  int64_t fault_offset = -1;  ///< none
  std::string fault;
};

/// parse(take): calls take with each entry, and may throw TextFault.
template <typename Parse>
ParsedEntries parsed_by(const Parse& parse) {
  ParsedEntries parsed;
  try {
    parse([&](const MatrixEntry& entry) { parsed.entries.push_back(entry); });
  } catch (const TextFault& fault) {
    promise_one_line(fault.what());
    parsed.fault = fault.what();
    parsed.fault_offset = fault.offset();
  }
  return parsed;
}

inline bool is_same(const std::vector<MatrixEntry>& left, const std::vector<MatrixEntry>& right) {
  return std::ranges::equal(left, right, [](const MatrixEntry& one, const MatrixEntry& other) {
    return one.row == other.row && one.column == other.column && test::same_bits(one.value, other.value);
  });
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
