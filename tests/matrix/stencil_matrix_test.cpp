// Assembled Laplacians: the union of the blocks on every grid and cut, against the definition.

#include <gtest/gtest.h>
#include <string>

#include "cg/matrix/matrix_source.hpp"
#include "cg/matrix/stencil.hpp"
#include "support/error_of.hpp"
#include "support/layouts.hpp"
#include "support/mpi_test.hpp"
#include "support/npb_reference.hpp"
#include "support/stencil_reference.hpp"

namespace cg2d::stencil_matrix_test {
namespace {

using test::group;

/// On several threads.
TEST(StencilMatrixTest, TheUnionOfTheBlocksIsTheDefinition) {
  for (const auto& stencil : test::awkward_stencils()) {
    const auto reference = test::reference_rows(stencil);
    SCOPED_TRACE(stencil.name());
    test::for_every_layout(stencil.order(), group().size(), [&](const test::NamedLayout& named) {
      const auto block = source_from(stencil.name())->build(named.layout, group(), 3).block;
      test::expect_block(block, reference, named.layout.rows_of(group().rank()),
                         named.layout.columns_of(group().rank()));
    });
  }
}

// ---------------------------------------------------------------- laplacians by their texts, and the figures that are known before they are made

TEST(StencilTest, TextsGiveExtentsAndPoints) {
  EXPECT_EQ(stencil_from("laplace2d:40x30"), (Stencil{.extents = {40, 30, 1}, .point_count = 5}));
  for (const auto& stencil : test::awkward_stencils()) EXPECT_EQ(stencil_from(stencil.name()), stencil);
  EXPECT_EQ(stencil_from("laplace3d:4x3x2"), (Stencil{.extents = {4, 3, 2}, .point_count = 7}));
  EXPECT_EQ(stencil_from("laplace3d:4x3x2:27"), (Stencil{.extents = {4, 3, 2}, .point_count = 27}));
  EXPECT_EQ(stencil_from("laplace3d:1x1x1").order(), 1);
  // More points than an assembled matrix can have rows.
  EXPECT_EQ(stencil_from("laplace3d:2000x2000x2000").order(), 8'000'000'000);
}

TEST(StencilTest, BadTextsGetExactMessages) {
  const std::string three_dimensions =
      "laplace3d:NXxNYxNZ or NXxNYxNZ:27, extents from 1 on, such as laplace3d:64x64x64";
  const std::pair<std::string, std::string> messages[] = {
      {"", ": no such matrix; there are npb:CLASS, laplace2d:NXxNY, laplace3d:NXxNYxNZ[:27]"},
      {"laplace2d", "laplace2d: expected laplace2d:NXxNY, extents from 1 on, such as laplace2d:300x200"},
      {"laplace2d:3x4:5:6",
       "laplace2d:3x4:5:6: expected laplace2d:NXxNY, extents from 1 on, such as laplace2d:300x200"},
      {"laplace2d:3x4x5",
       "laplace2d:3x4x5: expected laplace2d:NXxNY, extents from 1 on, such as laplace2d:300x200"},
      {"laplace2d:4x4:9",
       "laplace2d:4x4:9: expected laplace2d:NXxNY, extents from 1 on, such as laplace2d:300x200"},
      {"laplace3d:3x4", "laplace3d:3x4: expected " + three_dimensions},
      {"laplace3d:3x0x5", "laplace3d:3x0x5: expected " + three_dimensions},
      {"laplace3d:4x4x4:9", "laplace3d:4x4x4:9: expected " + three_dimensions},
      {"laplace2d:5000000000x5000000000",
       "laplace2d:5000000000x5000000000: at most 9223372036854775807 points, got more"},
      {"laplace3d:2000x2000x2000",
       "laplace3d:2000x2000x2000: an assembled matrix has at most 2147483647 rows, got 8000000000"},
      {"npb", "npb: after the colon expected a class out of S, W, A, B, C, D, E, F, got ''"},
      {"npb:Q", "npb:Q: after the colon expected a class out of S, W, A, B, C, D, E, F, got 'Q'"},
  };
  for (const auto& pair : messages)
    EXPECT_EQ(test::error_of(ExitCode::usage, [&] { static_cast<void>(source_from(pair.first)); }),
              pair.second);
  EXPECT_THROW(static_cast<void>(stencil_from("npb:S")), InputError);
}

TEST(StencilTest, RowLengthsAreThoseOfTheDefinition) {
  for (const auto& stencil : test::awkward_stencils()) {
    std::vector<int64_t> counted(static_cast<size_t>(stencil.point_count) + 1);
    int64_t nonzero_count = 0;
    for (const auto& row : test::reference_rows(stencil)) {
      ++counted[row.size()];
      nonzero_count += static_cast<int64_t>(row.size());
    }
    EXPECT_EQ(rows_by_length(stencil), counted) << stencil.name();
    // A sum of some rounded shares of the rows.
    EXPECT_NEAR(source_from(stencil.name())->facts().nonzero_count, static_cast<double>(nonzero_count),
                1e-12 * static_cast<double>(nonzero_count))
        << stencil.name();
  }
}

TEST(StencilTest, FactsTellMatricesApart) {
  const auto key = [](std::string_view text) { return source_from(text)->facts().key; };
  EXPECT_EQ(key("laplace3d:4x3x2").name, "laplace3d:4x3x2");
  EXPECT_EQ(key("laplace3d:4x3x2").order, 24);
  EXPECT_EQ(key("laplace3d:4x3x2"), key("laplace3d:4x3x2:7"));
  EXPECT_NE(key("laplace3d:4x3x2"), key("laplace3d:4x3x2:27"));
  EXPECT_NE(key("laplace3d:4x3x2"), key("laplace3d:2x3x4"));
  EXPECT_NE(key("laplace3d:4x3x1"), key("laplace2d:4x3"));
  EXPECT_EQ(key("npb:S"), key("npb:s"));
}

}  // namespace
}  // namespace cg2d::stencil_matrix_test
