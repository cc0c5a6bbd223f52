// A user's own matrix: from triples and rows of all ranks, against each other and by its product; bad entries of one rank
// are errors on all.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cg/library/matrix.hpp"
#include "cg/library/solver.hpp"
#include "support/common_error.hpp"
#include "support/line_system.hpp"
#include "support/mpi_test.hpp"

namespace cg2d::own_matrix_test {
namespace {

using test::common_error_of;
using test::group;

/// Solves for the ramp 1, 2, 3, ..., and compares every element.
void expect_line(std::unique_ptr<SystemMatrix> matrix, int64_t order) {
  EXPECT_EQ(matrix->order(), order);
  EXPECT_EQ(matrix->nonzero_count(), 3 * order - 2);
  Solver solver(std::move(matrix), group());
  std::vector<double> b(solver.local_size());
  std::vector<double> x(solver.local_size());
  for (size_t k = 0; k < b.size(); ++k) b[k] = test::line_times_ramp(order, solver.row_of(k));
  const auto solution = solver.solve(b, x, {.relative = 1e-13});
  EXPECT_EQ(solution.result.end, SolveEnd::converged);
  // The condition number is below 17, so the error is below 17 * 1e-13 of the largest element, and some rounding.
  for (size_t k = 0; k < x.size(); ++k)
    EXPECT_NEAR(x[k], static_cast<double>(solver.row_of(k) + 1), 1e-11 * static_cast<double>(order));
}

TEST(OwnMatrix, TriplesFindTheirOwners) {
  for (const int64_t order : {1, 2, 7, 100, 9000}) {
    // Dealt out in turns, so that nearly none is where it belongs.
    const auto all = test::line_triples(order, 0, order);
    std::vector<MatrixTriple> mine;
    for (auto k = static_cast<size_t>(group().rank()); k < all.size();
         k += static_cast<size_t>(group().size()))
      mine.push_back(all[k]);
    expect_line(matrix_from_triples(order, mine, group()), order);
  }
}

TEST(OwnMatrix, TriplesOfTheSamePlaceAreSummed) {
  constexpr int64_t order = 50;
  // Every rank gives all of them, with a share of the value: the sum is exact for shares that are powers of two.
  MatrixBuilder builder(order, group());
  const int share_count = group().size() == 3 || group().size() == 6 ? 1 : group().size();
  for (auto triple : test::line_triples(order, 0, order)) {
    triple.value /= share_count;
    if (group().rank() < share_count) builder.add(triple);
  }
  expect_line(builder.finish(), order);
}

TEST(OwnMatrix, RowsOfAllRanks) {
  for (const int64_t order : {1, 5, 1000}) {
    // The last rank has the first rows; where there are few, some ranks have none.
    const int place = group().size() - 1 - group().rank();
    const int64_t begin = order * place / group().size();
    const int64_t end = order * (place + 1) / group().size();
    std::vector<int64_t> starts{0};
    std::vector<int64_t> columns;
    std::vector<double> values;
    for (int64_t row = begin; row < end; ++row) {
      for (const auto& triple : test::line_triples(order, row, row + 1)) {
        columns.push_back(triple.column);
        values.push_back(triple.value);
      }
      starts.push_back(static_cast<int64_t>(columns.size()));
    }
    if (begin == end) starts.clear();
    expect_line(
        matrix_from_rows(
            order, {.first_row = begin, .row_starts = starts, .columns = columns, .values = values}, group()),
        order);
  }
}

TEST(OwnMatrix, BadEntriesOfOneRankAreErrorsOnAll) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const int last = group().size() - 1;
  for (const auto& [bad, text] :
       {std::pair(MatrixTriple{10, 0, 1.0},
                  "matrix: entry (10, 0) of rank {}: row and column must be within 0 ... 9"),
        {MatrixTriple{0, -1, 1.0}, "matrix: entry (0, -1) of rank {}: row and column must be within 0 ... 9"},
        {MatrixTriple{2, 3, infinity}, "matrix: entry (2, 3) of rank {}: inf is no finite number"}}) {
    auto triples = test::line_triples(10, group().rank(), group().rank() + 1);
    if (group().rank() == last) triples.push_back(bad);
    EXPECT_EQ(common_error_of(ExitCode::usage,
                              [&] { static_cast<void>(matrix_from_triples(10, triples, group())); }),
              fmt::format(fmt::runtime(text), last));
  }
}

TEST(OwnMatrix, BadOrders) {
  const auto error_with = [](int64_t order) {
    return common_error_of(ExitCode::usage,
                           [&] { static_cast<void>(matrix_from_triples(order, {}, group())); });
  };
  EXPECT_EQ(error_with(0), "matrix: order 0: must be within 1 ... 2147483647");
  EXPECT_EQ(error_with(int64_t{1} << 31), "matrix: order 2147483648: must be within 1 ... 2147483647");
  if (group().size() == 1) return;
  EXPECT_EQ(error_with(group().rank() == 0 ? 11 : 10),
            "matrix: the ranks give different orders, from 10 to 11; all must give the same");
}

TEST(OwnMatrix, BadRowsOfOneRankAreErrorsOnAll) {
  const int last = group().size() - 1;
  const std::array<int64_t, 2> columns{0, 1};
  const std::array<double, 2> values{1.0, 1.0};
  using Starts = std::vector<int64_t>;
  for (const auto& [starts, value_count] : {std::pair(Starts{}, size_t{2}),
                                            {Starts{1, 2}, 2},
                                            {Starts{0, 2, 1, 2}, 2},
                                            {Starts{0, 3}, 2},
                                            {Starts{0, 2}, 1}}) {
    MatrixRows rows;
    if (group().rank() == last)
      rows = {.first_row = 3,
              .row_starts = starts,
              .columns = columns,
              .values = std::span(values).first(value_count)};
    EXPECT_EQ(
        common_error_of(ExitCode::usage, [&] { static_cast<void>(matrix_from_rows(10, rows, group())); }),
        fmt::format("matrix: the rows of rank {}: row_starts must rise from 0 to the number of columns, 2, "
                    "and of values, {}",
                    last, value_count));
  }
}

TEST(OwnMatrix, AMatrixThatIsNotSymmetricIsRefused) {
  auto triples = test::line_triples(10, 0, group().rank() == 0 ? 10 : 0);
  if (group().rank() == 0) triples.push_back({7, 2, 0.5});
  const auto error = common_error_of(
      ExitCode::bad_data, [&] { const Solver solver(matrix_from_triples(10, triples, group()), group()); });
  EXPECT_NE(error.find("not symmetric"), std::string::npos) << error;
}

}  // namespace
}  // namespace cg2d::own_matrix_test
