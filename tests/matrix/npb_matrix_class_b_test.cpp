// Class B against its facts. On few ranks it is the smallest class that is made in more than one strip of
// rows.

#include <gtest/gtest.h>

#include "cg/matrix/matrix_source.hpp"
#include "support/mpi_test.hpp"
#include "support/npb_reference.hpp"

namespace cg2d::npb_matrix_class_b_test {
namespace {

using test::group;

TEST(NpbMatrixClassBTest, MeetsTheFactsOnEveryGrid) { test::expect_facts_on_every_grid("B", group()); }

TEST(NpbMatrixClassBTest, IsMadeInSeveralExchangesOnOneRank) {
  const auto& problem = *find_class("B");
  const auto layout = comm::BlockLayout::even(problem.n, {.columns = 1, .rows = 1});
  const auto source = default_source().make(problem);
  const Strips at_once{.working_bytes = int64_t{1} << 50};
  EXPECT_LT(source->working_bytes(layout, {}), source->working_bytes(layout, at_once))
      << "fewer records at a time";
}

}  // namespace
}  // namespace cg2d::npb_matrix_class_b_test
