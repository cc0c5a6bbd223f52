#pragma once

// The environment that mpi_test_main.cpp sets up for tests with MPI.
//
// Every rank of group() runs every test. An assertion that fails on one rank only must not end the test there, for the
// others would wait: EXPECT_, never ASSERT_, before collective calls.

#include "comm/rank_group.hpp"

namespace cg2d::test {

/// The ranks that run the test: as many as its row says, the first of MPI_COMM_WORLD.
comm::RankGroup& group();

}  // namespace cg2d::test
