#pragma once

// Figures of the distributed matrices of the NAS classes, compared with the facts.

#include <string_view>

#include "comm/rank_group.hpp"

namespace cg2d::test {

/// Expects that the matrix of a class, generated on every grid, has the figures that are known of it: counts exactly, sums to
/// relative_tolerance. The class must be in the table. Collective.
void expect_facts_on_every_grid(std::string_view class_name, comm::RankGroup& group);

}  // namespace cg2d::test
