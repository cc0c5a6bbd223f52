// Assembled Laplacians: the union of the blocks on every grid and cut, against the definition.

#include <gtest/gtest.h>

#include <vector>

#include "cg/matrix/matrix_source.hpp"
#include "support/layouts.hpp"
#include "support/mpi_test.hpp"
#include "support/stencil_reference.hpp"

namespace cg2d::stencil_matrix_test {
namespace {

using test::group;

struct Entry {
  int64_t row;
  int64_t column;
  double value;
};

/// The whole matrix from the blocks of all ranks; an entry that two blocks have counts twice. Collective.
test::StencilRowMaps gather_rows(const kernels::CsrBlock& block, const comm::BlockLayout& layout) {
  const auto rows = layout.row_block(layout.grid().row_of(group().rank()));
  const auto columns = layout.column_block(layout.grid().column_of(group().rank()));
  EXPECT_EQ(block.row_count, rows.size());
  EXPECT_EQ(block.column_count, columns.size());
  std::vector<Entry> mine;
  for (int64_t row = 0; row < block.row_count; ++row) {
    int32_t column_before = -1;
    for (auto k = block.row_starts[static_cast<size_t>(row)];
         k < block.row_starts[static_cast<size_t>(row) + 1]; ++k) {
      const auto column = block.columns[static_cast<size_t>(k)];
      EXPECT_GT(column, column_before);
      EXPECT_LT(column, block.column_count);
      column_before = column;
      mine.push_back({.row = rows.begin + row,
                      .column = columns.begin + column,
                      .value = block.values[static_cast<size_t>(k)]});
    }
  }
  test::StencilRowMaps matrix(static_cast<size_t>(layout.size()));
  for (const auto& entries : group().gather_all(std::span<const Entry>(mine))) {
    for (const auto& [row, column, value] : entries) matrix[static_cast<size_t>(row)][column] += value;
  }
  return matrix;
}

test::StencilRowMaps assembled(const Stencil& stencil, const comm::BlockLayout& layout,
                               int thread_count = 1) {
  return gather_rows(source_from(stencil.name())->build(layout, group(), thread_count).block, layout);
}

TEST(StencilMatrixTest, TheUnionOfTheBlocksIsTheDefinition) {
  for (const auto& stencil : test::awkward_stencils()) {
    const auto reference = test::reference_rows(stencil);
    SCOPED_TRACE(stencil.name());
    test::for_every_layout(stencil.order(), group().size(), [&](const test::NamedLayout& named) {
      EXPECT_EQ(assembled(stencil, named.layout), reference);
    });
  }
}

TEST(StencilMatrixTest, ThreadsChangeNothing) {
  const auto stencil = stencil_from("laplace3d:6x7x5:27");
  const auto reference = test::reference_rows(stencil);
  for (const auto& grid : comm::factorizations(group().size())) {
    const auto layout = comm::BlockLayout::even(stencil.order(), grid);
    for (const int thread_count : {2, 3, 16}) EXPECT_EQ(assembled(stencil, layout, thread_count), reference);
  }
}

TEST(StencilMatrixTest, MatricesAreSymmetricWithRowSumsOfMissingNeighbours) {
  for (const auto& stencil : test::awkward_stencils()) {
    SCOPED_TRACE(stencil.name());
    const comm::ProcessGrid grid{.columns = 1, .rows = group().size()};
    const auto matrix = assembled(stencil, comm::BlockLayout::even(stencil.order(), grid));
    for (size_t row = 0; row < matrix.size(); ++row) {
      double sum = 0.0;
      for (const auto& [column, value] : matrix[row]) {
        const auto& mirrored = matrix[static_cast<size_t>(column)];
        const auto found = mirrored.find(static_cast<int64_t>(row));
        EXPECT_TRUE(found != mirrored.end() && found->second == value);
        sum += value;
      }
      // Each neighbour outside of the box is a -1 that is missing.
      EXPECT_EQ(sum, stencil.point_count - static_cast<double>(matrix[row].size()));
    }
  }
}

TEST(StencilMatrixTest, ProductsOfSinesAreEigenvectors) {
  for (const auto& stencil : test::awkward_stencils()) {
    SCOPED_TRACE(stencil.name());
    const comm::ProcessGrid grid{.columns = group().size(), .rows = 1};
    const auto matrix = assembled(stencil, comm::BlockLayout::even(stencil.order(), grid));
    const auto most_waves = [&](size_t k) { return static_cast<int>(stencil.extents[k]); };
    const std::array<int, 3> smallest{1, 1, 1};
    const std::array<int, 3> largest{most_waves(0), most_waves(1), most_waves(2)};
    for (const auto& waves : {smallest, largest}) {
      const double lambda = test::eigenvalue(stencil, waves);
      EXPECT_GT(lambda, 0.0);
      for (int64_t row = 0; row < stencil.order(); ++row) {
        double product = 0.0;
        for (const auto& [column, value] : matrix[static_cast<size_t>(row)])
          product += value * test::eigenvector_element(stencil, waves, column);
        // Elements are at most 1, with three rounded sines each, and a row's entries add up to 52 at most.
        EXPECT_NEAR(product, lambda * test::eigenvector_element(stencil, waves, row), 1e-13);
      }
    }
  }
}

}  // namespace
}  // namespace cg2d::stencil_matrix_test
