// The exported matrix, read back.

#include "cg/matrix/files/vector_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "cg/base/output_file.hpp"
#include "cg/matrix/matrix_source.hpp"
#include "support/bits.hpp"
#include "support/error_of.hpp"
#include "support/layouts.hpp"
#include "support/mpi_test.hpp"
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

/// The lower triangle in the file has every entry of the reference's once, to the bit.
void expect_file(const std::string& path, const test::ReferenceMatrix& reference) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  EXPECT_EQ(line, "%%MatrixMarket matrix coordinate real symmetric");
  std::getline(file, line);
  EXPECT_EQ(line, "% a title");
  size_t row_count = 0;
  size_t column_count = 0;
  int64_t entry_count = 0;
  file >> row_count >> column_count >> entry_count;
  EXPECT_EQ(row_count, reference.size());
  EXPECT_EQ(column_count, reference.size());

  test::ReferenceMatrix read(reference.size());
  int64_t read_count = 0;
  size_t row = 0;
  int32_t column = 0;
  for (std::string value; file >> row >> column >> value; ++read_count) {
    const bool is_new = read.at(row - 1).emplace(column - 1, std::stod(value)).second;
    EXPECT_TRUE(is_new) << row << " " << column;
  }
  EXPECT_EQ(read_count, entry_count);

  int64_t lower_count = 0;
  int64_t wrong_count = 0;
  for (size_t r = 0; r < reference.size(); ++r) {
    for (const auto& [c, value] : reference[r]) {
      if (c > static_cast<int32_t>(r)) continue;
      ++lower_count;
      const auto found = read[r].find(c);
      if (found == read[r].end() || !test::same_bits(found->second, value)) ++wrong_count;
    }
  }
  EXPECT_EQ(entry_count, lower_count);
  EXPECT_EQ(wrong_count, 0);
}

TEST(MatrixMarketTest, HoldsTheLowerTriangleOnEveryGrid) {
  const auto path =
      group().broadcast(testing::TempDir() + "cg2d_matrix_" + std::to_string(getpid()) + ".mtx");
  for (const auto& problem : {test::custom_problem(1, 1), test::custom_problem(97, 60), *find_class("S")}) {
    const auto reference = test::build_reference_matrix(problem, test::draw_reference_vectors(problem));
    test::for_every_layout(problem.n, group().size(), [&](const test::NamedLayout& named) {
      export_to(path, problem, named.layout);
      if (group().rank() != 0) return;
      expect_file(path, reference);
      std::filesystem::remove(path);
    });
  }
}

TEST(MatrixMarketTest, AFullDiskIsEveryRanksError) {
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
