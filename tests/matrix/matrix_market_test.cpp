// The exported matrix, read back.

#include "cg/matrix/files/vector_file.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <string>

#include "cg/base/output_file.hpp"
#include "cg/matrix/files/matrix_file.hpp"
#include "cg/matrix/matrix_source.hpp"
#include "support/common_folder.hpp"
#include "support/error_of.hpp"
#include "support/layouts.hpp"
#include "support/npb_reference.hpp"

namespace cg2d::matrix_market_test {
namespace {

using test::group;

/// Writes the matrix of the problem to `path`, which rank 0 names.
void export_to(const std::string& path, const Problem& problem, const comm::BlockLayout& layout) {
  const auto block = default_source().make(problem)->build(layout, group(), 1).block;
  std::unique_ptr<OutputFile> file;
  if (group().rank() == 0) file = std::make_unique<OutputFile>(path);
  export_matrix_market(block, layout, "a title", group(), file.get());
}

/// The file is a symmetric one, which has no entries above the diagonal, and what is read from it has every entry of the reference, to the bit.
void expect_file(const std::string& path, const test::ReferenceMatrix& reference) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  EXPECT_EQ(line, "%%MatrixMarket matrix coordinate real symmetric");
  std::getline(file, line);
  EXPECT_EQ(line, "% a title");
  const comm::ProcessGrid grid{.columns = 1, .rows = group().size()};
  const auto layout = comm::BlockLayout::even(std::ssize(reference), grid);
  test::expect_block(read_market_matrix({.path = path}, group())->build(layout, group(), 1).block, reference,
                     layout.rows_of(group().rank()), layout.columns_of(group().rank()));
}

using MatrixMarketTest = test::SharedFileTest;

TEST_F(MatrixMarketTest, HoldsTheLowerTriangleOnEveryGrid) {
  for (const auto& problem : {test::custom_problem(1, 1), test::custom_problem(97, 60), *find_class("S")}) {
    const auto reference = test::build_reference_matrix(problem, test::draw_reference_vectors(problem));
    test::for_every_layout(problem.n, group().size(), [&](const test::NamedLayout& named) {
      export_to(path_, problem, named.layout);
      group().barrier();
      expect_file(path_, reference);
      group().barrier();
    });
  }
}

TEST_F(MatrixMarketTest, AFullDiskIsEveryRanksError) {
  const auto& problem = *find_class("S");
  for (const auto& grid : comm::factorizations(group().size())) {
    SCOPED_TRACE("grid " + grid.name());
    const auto write_there = [&] {
      export_to("/dev/full", problem, comm::BlockLayout::even(problem.n, grid));
    };
    EXPECT_NE(test::error_of(ExitCode::cannot_write, write_there), "no error");
  }
}

}  // namespace
}  // namespace cg2d::matrix_market_test
