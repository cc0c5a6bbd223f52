// Vectors that go over from one layout of a grid to another.

#include <gtest/gtest.h>

#include <cstddef>

#include "cg/solver/matrix_cut.hpp"
#include "support/layouts.hpp"
#include "support/mpi_test.hpp"

namespace cg2d::moved_piece_test {
namespace {

using test::group;

double element_at(int64_t index) { return 1.0 + 1.0 / static_cast<double>(index + 3); }

HugePageVector piece_of(const comm::BlockLayout& layout) {
  const auto range = layout.piece(layout.column_piece_of(group().rank()));
  HugePageVector piece;
  for (auto index = range.begin; index < range.end; ++index) piece.push_back(element_at(index));
  return piece;
}

TEST(MovedPieceTest, EveryElementArrivesAtItsNewPlace) {
  for (const auto& grid : comm::factorizations(group().size())) {
    for (const int64_t n : {int64_t{0}, int64_t{1}, int64_t{7}, int64_t{1009}}) {
      for (const auto& from : test::layouts_of(n, grid)) {
        for (const auto& to : test::layouts_of(n, grid)) {
          EXPECT_EQ(moved_piece(piece_of(from.layout), from.layout, to.layout, group()), piece_of(to.layout))
              << describe(from) << " to " << to.name;
        }
      }
    }
  }
}

}  // namespace
}  // namespace cg2d::moved_piece_test
