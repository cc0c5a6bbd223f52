#pragma once

// The files of a room's test program, and on how many ranks each runs: the table that CMake makes of tests/CMakeLists.txt.

#include <span>
#include <string_view>

namespace cg2d::test {

struct TestRow {
  std::string_view launch;  ///< the test of ctest that it is a part of: cg2d_add_room_tests
  std::string_view set;     ///< quick, usual or thorough
  std::string_view file;    ///< without folder and ending; its tests are told by TestInfo::file()
  int rank_count;
};

/// The tests of this program.
std::span<const TestRow> test_rows();

}  // namespace cg2d::test
