// Solver: every grid, preconditioner and form of CG, cuts, operators; a user's own matrix, from triples and rows of all ranks; errors alike on all
// ranks. (Entries that are summed: tests/run/hard_systems_test.cpp.)

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cg/library/matrix.hpp"
#include "cg/library/solver.hpp"
#include "cg/library/vectors.hpp"
#include "cg/matrix/files/matrix_file.hpp"
#include "cg/solver/preconditioners/preconditioner_table.hpp"
#include "support/common_folder.hpp"
#include "support/line_system.hpp"
#include "support/mpi_test.hpp"

namespace cg2d::library_solver_test {
namespace {

using test::common_error_of;
using test::group;

constexpr int64_t line_order = 601;

/// All entries come from rank 0.
std::unique_ptr<SystemMatrix> line() {
  return matrix_from_triples(
      line_order, test::line_triples(line_order, 0, group().rank() == 0 ? line_order : 0), group());
}

std::vector<double> right_hand_side(const Solver& solver, int64_t order = line_order) {
  std::vector<double> b(solver.local_size());
  for (size_t k = 0; k < b.size(); ++k) b[k] = test::line_times_ramp(order, solver.row_of(k));
  return b;
}

/// The condition number is below 17: errors stay below 17 * 1e-12 of the norm, which is below 601^1.5.
constexpr double ramp_error = 17e-12 * 15000.0;

void expect_ramp(const Solver& solver, const std::vector<double>& x, double most_error = ramp_error) {
  for (size_t k = 0; k < x.size(); ++k)
    EXPECT_NEAR(x[k], static_cast<double>(solver.row_of(k) + 1), most_error);
}

/// Solves for the ramp 1, 2, 3, ..., and compares every element.
Solution expect_solved(Solver& solver, int64_t order = line_order, double tolerance = 1e-12,
                       double most_error = ramp_error) {
  std::vector<double> x(solver.local_size());
  auto solution = solver.solve(right_hand_side(solver, order), x, {.relative = tolerance});
  EXPECT_EQ(solution.result.end, SolveEnd::converged);
  const auto times_s = group().gather_one(solver.time_s());
  EXPECT_EQ(std::ranges::count(times_s, times_s.front()), group().size())
      << "the slowest rank's, on all ranks";
  expect_ramp(solver, x, most_error);
  return solution;
}

Solution expect_solved(const SolverOptions& options) {
  Solver solver(line(), group(), options);
  auto solution = expect_solved(solver);
  EXPECT_LE(solution.result.true_residual_norm, solution.target_norm);
  return solution;
}

/// part: of the message.
template <typename Step>
void expect_error_on_all(const std::string& part, const Step& step) {
  const auto message = test::common_error_of(ExitCode::usage, step);
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

TEST(LibrarySolver, EveryGrid) {
  for (const auto& grid : comm::factorizations(group().size())) {
    for (const auto* kernel : {"scalar", "symmetric"})
      expect_solved({.configuration = {.grid = grid, .kernel = kernel, .overlaps = grid.columns % 2 == 0}});
  }
}

TEST(LibrarySolver, EveryCut) {
  expect_solved({.configuration = {.cut = "even"}});
  const comm::ProcessGrid grid{.columns = group().size() % 2 == 0 ? 2 : 1,
                               .rows = group().size() % 2 == 0 ? group().size() / 2 : group().size()};
  // A few rows each, and all that are left over on the last rank.
  const bool is_last = group().rank() + 1 == group().size();
  const int64_t few = is_last ? 0 : 10 + group().rank();
  const int64_t left_over = line_order - group().sum(few);
  const int64_t own = is_last ? left_over : few;
  const SolverOptions options{.configuration = {.grid = grid},
                              .piece_starts = piece_starts_of(own, grid, group())};
  Solver solver(line(), group(), options);
  EXPECT_EQ(static_cast<int64_t>(solver.local_size()), own);
  expect_solved(options);
}

TEST(LibrarySolver, HistoryAndPhases) {
  Solver solver(line(), group());
  EXPECT_TRUE(solver.phases().empty());
  const auto b = right_hand_side(solver);
  std::vector<double> x(solver.local_size());
  for (int repeat = 0; repeat < 2; ++repeat) {
    const auto solution = solver.solve(b, x);
    // Each solve has a history of its own: the first residual is b, since x begins with zeros.
    ASSERT_EQ(solution.history.size(), static_cast<size_t>(solution.result.step_count) + 1);
    EXPECT_DOUBLE_EQ(solution.history.front(), solution.result.right_hand_side_norm);
    EXPECT_LE(solution.history.back(), solution.target_norm);
    EXPECT_GT(solution.spectrum.smallest, 0.0);
    EXPECT_GT(solution.predicted_steps, 0.0);
    EXPECT_GT(solver.time_s(), 0.0);
    const auto multiply = std::ranges::find(solver.phases(), "multiply", &PhaseTime::name);
    ASSERT_NE(multiply, solver.phases().end());
    // One product per step, and one for the recomputed residual.
    EXPECT_EQ(multiply->call_count, solution.result.step_count + 1);
    for (const auto& phase : solver.phases()) {
      EXPECT_GE(phase.time_s, phase.waited_s);
      EXPECT_LE(phase.time_s, solver.time_s());
    }
  }
  Solver untimed(line(), group(), {.times_phases = false});
  static_cast<void>(untimed.solve(b, x));
  EXPECT_TRUE(untimed.phases().empty());
}

TEST(LibrarySolver, EveryPreconditionerAndForm) {
  for (const auto& preconditioner : preconditioner_table()) {
    for (const auto& variant : cg_variant_table()) {
      const auto solution = expect_solved(
          {.preconditioner = std::string(preconditioner.name), .variant = std::string(variant.name)});
      EXPECT_GT(solution.spectrum.smallest, 0.0);
      EXPECT_GT(solution.predicted_steps, 0.0);
    }
  }
}

/// Stops after three steps.
class Impatient final : public StepObserver {
 public:
  bool after_step(const CgState& state) override { return state.number >= 3; }
};

TEST(LibrarySolver, StartsFromAGuessTakesAnyRuleAndIsStoppedByObservers) {
  Solver solver(line(), group());
  const auto b = right_hand_side(solver);
  std::vector<double> x(solver.local_size());
  const auto first = solver.solve({.b = b, .x = x}, FixedSteps(7));
  EXPECT_EQ(first.result.end, SolveEnd::step_limit);
  EXPECT_EQ(first.result.step_count, 7);
  EXPECT_EQ(first.target_norm, 0.0);
  const auto second =
      solver.solve({.b = b, .x = x, .starts_from_x = true}, ToleranceOptions{.relative = 1e-12});
  EXPECT_EQ(second.result.end, SolveEnd::converged);
  EXPECT_LT(second.history.front(), first.history.front());
  expect_ramp(solver, x);
  Impatient impatient;
  solver.add(impatient);
  const auto stopped = solver.solve(b, x);
  EXPECT_EQ(stopped.result.end, SolveEnd::stopped);
  EXPECT_EQ(stopped.history.size(), 4U);
}

TEST(LibrarySolver, VectorsGoToTheirOwnersAndBack) {
  for (const bool is_random : {false, true}) {
    const test::CommonFolder folder;
    // A file, since only files are read in a random order.
    folder.write("A.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 3\n1 1 1\n2 2 2\n3 3 4\n");
    const auto path = folder.path() + "/A.mtx";
    auto matrix = open_matrix(
        {.path = path, .permutation_seed = is_random ? std::optional<uint64_t>(5) : std::nullopt}, group());
    Solver solver(std::move(matrix), group());
    // Each rank gives element 1; rank 0 the others.
    std::vector<VectorElement> elements{{.row = 1, .value = 2.0}};
    if (group().rank() == 0)
      elements.insert(elements.end(), {{.row = 2, .value = 8.0}, {.row = 0, .value = 3.0}});
    const auto b = vector_from_elements(elements, solver.place(), group());
    std::vector<double> x(solver.local_size());
    EXPECT_TRUE(solver.solve(b, x).is_solved());
    // Each rank asks for another range; the last one for all.
    const int64_t begin = group().rank() + 1 == group().size() ? 0 : group().rank() % 3;
    const auto found = elements_of(x, {.begin = begin, .end = 3}, solver.place(), group());
    const std::vector<double> expected{3.0, static_cast<double>(group().size()), 2.0};
    ASSERT_EQ(static_cast<int64_t>(found.size()), 3 - begin);
    for (size_t k = 0; k < found.size(); ++k)
      EXPECT_NEAR(found[k], expected[k + static_cast<size_t>(begin)], 1e-7);
    const auto x_path = folder.path() + "/x.mtx";
    save_vector(x_path, x, "x", solver.place(), group());
    const auto again = read_vector(x_path, solver.place(), group());
    EXPECT_TRUE(std::ranges::equal(again, x));
  }
}

/// The neighbours of a line that is cut into consecutive parts, by messages.
FunctionOperator line_operator(size_t local_size) {
  return {local_size,
          [](std::span<const double> p, std::span<double> q) {
            const int left = group().rank() == 0 ? MPI_PROC_NULL : group().rank() - 1;
            const int right = group().rank() + 1 == group().size() ? MPI_PROC_NULL : group().rank() + 1;
            double before = 0.0;
            double after = 0.0;
            MPI_Sendrecv(&p.front(), 1, MPI_DOUBLE, left, 0, &after, 1, MPI_DOUBLE, right, 0,
                         group().handle(), MPI_STATUS_IGNORE);
            MPI_Sendrecv(&p.back(), 1, MPI_DOUBLE, right, 1, &before, 1, MPI_DOUBLE, left, 1,
                         group().handle(), MPI_STATUS_IGNORE);
            for (size_t k = 0; k < p.size(); ++k) {
              q[k] = (2.0 + test::line_shift) * p[k] - (k > 0 ? p[k - 1] : before) -
                     (k + 1 < p.size() ? p[k + 1] : after);
            }
          },
          group()};
}

TEST(LibrarySolver, OwnOperatorsWithEveryPreconditionerThatNeedsNoEntries) {
  const int64_t begin = line_order * group().rank() / group().size();
  const int64_t end = line_order * (group().rank() + 1) / group().size();
  auto matrix = line_operator(static_cast<size_t>(end - begin));
  const std::vector<double> diagonal(matrix.local_size(), 2.0 + test::line_shift);
  for (const auto& row : preconditioner_table()) {
    const SolverOptions options{.preconditioner = std::string(row.name), .diagonal = diagonal};
    if (row.needs_diagonal_block) {
      expect_error_on_all("needs the entries of the matrix",
                          [&] { const Solver solver(matrix, group(), options); });
      continue;
    }
    Solver solver(matrix, group(), options);
    EXPECT_EQ(solver.rows(), (comm::IndexRange{.begin = begin, .end = end}));
    expect_solved(solver);
    const auto multiply = std::ranges::find(solver.phases(), "multiply", &PhaseTime::name);
    EXPECT_NE(multiply, solver.phases().end());
  }
}

TEST(LibrarySolver, AProductThatThrowsOnOneRankIsAnErrorOnAll) {
  int product_count = 0;
  const auto text = "the user's product failed on rank " + std::to_string(group().size() - 1) + ": no coffee";
  FunctionOperator matrix(
      5,
      [&](std::span<const double> p, std::span<double> q) {
        if (++product_count == 3 && group().rank() + 1 == group().size())
          throw std::runtime_error("no coffee");
        for (size_t k = 0; k < p.size(); ++k) q[k] = static_cast<double>(k + 1) * p[k];
      },
      group());
  Solver solver(matrix, group());
  const std::vector<double> b(5, 1.0);
  std::vector<double> x(5);
  expect_error_on_all(text, [&] { static_cast<void>(solver.solve(b, x)); });
  // The failure is forgotten.
  EXPECT_TRUE(solver.solve(b, x).is_solved());
  product_count = 0;  // while bounds are estimated
  expect_error_on_all(text, [&] { const Solver other(matrix, group(), {.preconditioner = "chebyshev"}); });
}

TEST(LibrarySolver, BadOptionsAreErrorsOnAllRanks) {
  const auto refuse = [](const std::string& part, const SolverOptions& options) {
    expect_error_on_all(part, [&] { const Solver solver(line(), group(), options); });
  };
  refuse("preconditioner", {.preconditioner = "jakobi"});
  refuse("variant", {.variant = "modern"});
  refuse("piece_starts must be", {.piece_starts = {0, 1, 2, 3, 4, 5, 6, 7, 8, line_order}});
  refuse("kernel", {.configuration = {.kernel = "cell"}});
  refuse("grid", {.configuration = {.grid = {.columns = 5, .rows = 7}}});
  refuse("threads", {.configuration = {.thread_count = 0}});
  if (group().size() > 1)
    refuse("different options", {.variant = group().rank() == 0 ? "classic" : "pipelined"});
}

TEST(LibrarySolver, PiecesOfAnotherLengthAreErrorsOnAllRanks) {
  Solver solver(line(), group());
  const bool is_wrong = group().rank() + 1 == group().size();
  const std::vector<double> b(solver.local_size() + (is_wrong ? 1 : 0), 1.0);
  std::vector<double> x(solver.local_size());
  expect_error_on_all("solver: b and x have", [&] { static_cast<void>(solver.solve(b, x)); });
  const auto place = solver.place();
  expect_error_on_all("vector: the piece of rank",
                      [&] { static_cast<void>(elements_of(b, {}, place, group())); });
  expect_error_on_all("must be within 0 ... 600", [&] {
    static_cast<void>(elements_of(x, {.begin = 0, .end = is_wrong ? line_order + 1 : 1}, place, group()));
  });
  expect_error_on_all("vector: element 601", [&] {
    const std::vector<VectorElement> elements{{.row = is_wrong ? line_order : 0, .value = 1.0}};
    static_cast<void>(vector_from_elements(elements, place, group()));
  });
}

// ---------------------------------------------------------------- a user's own matrix

void expect_line(std::unique_ptr<SystemMatrix> matrix, int64_t order) {
  EXPECT_EQ(matrix->order(), order);
  EXPECT_EQ(matrix->nonzero_count(), 3 * order - 2);
  Solver solver(std::move(matrix), group());
  // The condition number is below 17, so the error is below 17 * 1e-13 of the largest element, and some rounding.
  expect_solved(solver, order, 1e-13, 1e-11 * static_cast<double>(order));
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
}  // namespace cg2d::library_solver_test
