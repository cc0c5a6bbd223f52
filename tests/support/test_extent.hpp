#pragma once

// How much a test does. By default, a loop over a product of many things takes a choice in which each of them still
// occurs; with CG2D_TEST_EXTENT=thorough, as scripts/test --thorough sets it, it takes all. Tests of rare events (soft errors that are
// missed, false alarms, kills at a bad moment, bits that differ) take many more with CG2D_TEST_EXTENT=campaign, for hours by hand.

#include <cstdlib>
#include <string_view>

namespace cg2d::test {

inline bool has_extent(std::string_view asked) {
  const char* const extent = std::getenv("CG2D_TEST_EXTENT");
  return extent != nullptr && std::string_view(extent) == asked;
}
inline bool is_campaign() { return has_extent("campaign"); }
inline bool is_thorough() { return has_extent("thorough") || is_campaign(); }

/// One of several numbers of repetitions, steps or cases.
inline int by_extent(int usual, int thorough) { return is_thorough() ? thorough : usual; }
inline int by_extent(int usual, int thorough, int campaign) {
  return is_campaign() ? campaign : by_extent(usual, thorough);
}

}  // namespace cg2d::test
