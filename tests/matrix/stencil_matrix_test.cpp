// Assembled Laplacians: the union of the blocks on every grid and cut, against the definition.

#include <gtest/gtest.h>

#include "cg/matrix/matrix_source.hpp"
#include "support/layouts.hpp"
#include "support/mpi_test.hpp"
#include "support/npb_reference.hpp"
#include "support/stencil_reference.hpp"

namespace cg2d::stencil_matrix_test {
namespace {

using test::group;

/// The rank's block has the entries of the definition.
void expect_assembled(const Stencil& stencil, const comm::BlockLayout& layout,
                      const test::StencilRowMaps& reference, int thread_count = 1) {
  const auto block = source_from(stencil.name())->build(layout, group(), thread_count).block;
  test::expect_block(block, reference, layout.rows_of(group().rank()), layout.columns_of(group().rank()));
}

TEST(StencilMatrixTest, TheUnionOfTheBlocksIsTheDefinition) {
  for (const auto& stencil : test::awkward_stencils()) {
    const auto reference = test::reference_rows(stencil);
    SCOPED_TRACE(stencil.name());
    test::for_every_layout(stencil.order(), group().size(), [&](const test::NamedLayout& named) {
      expect_assembled(stencil, named.layout, reference);
    });
  }
}

TEST(StencilMatrixTest, ThreadsChangeNothing) {
  const auto stencil = stencil_from("laplace3d:6x7x5:27");
  const auto reference = test::reference_rows(stencil);
  for (const auto& grid : comm::factorizations(group().size())) {
    const auto layout = comm::BlockLayout::even(stencil.order(), grid);
    for (const int thread_count : {2, 16}) expect_assembled(stencil, layout, reference, thread_count);
  }
}

}  // namespace
}  // namespace cg2d::stencil_matrix_test
