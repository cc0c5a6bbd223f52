#pragma once

// What a test with MPI finds set up for it by mpi_test_main.cpp.
//
// Every rank runs every test. An assertion that fails on one rank only must not end the test there, for the
// others would wait: EXPECT_, never ASSERT_, in front of collective calls.

#include "comm/rank_group.hpp"

namespace cg2d::test {

/// All ranks of the test program, while tests run.
comm::RankGroup& group();

}  // namespace cg2d::test
