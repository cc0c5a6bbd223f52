#pragma once

// How much a test does. By default, a loop over a product of many things takes a choice in which each of them still
// occurs; with CG2D_TEST_EXTENT=thorough, as scripts/test --thorough sets it, it takes all.

#include <cstdlib>
#include <string_view>

namespace cg2d::test {

inline bool is_thorough() {
  const char* const extent = std::getenv("CG2D_TEST_EXTENT");
  return extent != nullptr && std::string_view(extent) == "thorough";
}

/// One of two numbers of repetitions, steps or cases.
inline int by_extent(int usual, int thorough) { return is_thorough() ? thorough : usual; }

}  // namespace cg2d::test
