// The C interface: the same answers as the C++ one, statuses and messages instead of exceptions, nothing leaked. The examples in
// C and Fortran call it from these languages.

#include <gtest/gtest.h>
#include <mpi.h>

#include <array>
#include <string>
#include <vector>

#include "cg/library/cg2d.h"
#include "cg/library/version.hpp"
#include "support/line_system.hpp"
#include "support/mpi_test.hpp"
#include "support/temporary_folder.hpp"

namespace cg2d {
namespace {

using test::group;

constexpr std::int64_t order = 200;

class CInterface : public testing::Test {
 protected:
  void SetUp() override { EXPECT_EQ(cg2d_ranks_create(MPI_COMM_WORLD, &ranks_), CG2D_SUCCESS); }
  void TearDown() override {
    cg2d_solver_free(solver_);
    cg2d_matrix_free(matrix_);
    cg2d_options_free(options_);
    cg2d_ranks_free(ranks_);
  }

  /// Rank 0 gives all entries.
  int make_line() {
    std::vector<std::int64_t> rows;
    std::vector<std::int64_t> columns;
    std::vector<double> values;
    for (const auto& triple : test::line_triples(order, 0, group().rank() == 0 ? order : 0)) {
      rows.push_back(triple.row);
      columns.push_back(triple.column);
      values.push_back(triple.value);
    }
    return cg2d_matrix_from_triples(ranks_, order, static_cast<std::int64_t>(rows.size()), rows.data(),
                                    columns.data(), values.data(), &matrix_);
  }
  int make_solver() { return cg2d_solver_create(ranks_, &matrix_, options_, &solver_); }

  [[nodiscard]] std::vector<double> zeros() const {
    return std::vector<double>(static_cast<std::size_t>(cg2d_solver_local_size(solver_)));
  }

  cg2d_ranks* ranks_ = nullptr;
  cg2d_matrix* matrix_ = nullptr;
  cg2d_options* options_ = nullptr;
  cg2d_solver* solver_ = nullptr;
};

TEST_F(CInterface, SolvesAndTells) {
  ASSERT_EQ(cg2d_options_create(&options_), CG2D_SUCCESS);
  for (const auto& [name, value] : {std::array{"preconditioner", "jacobi"},
                                    {"variant", "pipelined"},
                                    {"cut", "even"},
                                    {"kernel", "scalar"},
                                    {"threads", "1"},
                                    {"grid", "auto"},
                                    {"phases", "on"}})
    EXPECT_EQ(cg2d_options_set(options_, name, value), CG2D_SUCCESS) << cg2d_last_error();
  ASSERT_EQ(make_line(), CG2D_SUCCESS) << cg2d_last_error();
  ASSERT_EQ(make_solver(), CG2D_SUCCESS) << cg2d_last_error();
  EXPECT_EQ(matrix_, nullptr);

  cg2d_result result;
  cg2d_solver_result(solver_, &result);
  EXPECT_EQ(result.step_count, 0);
  auto b = zeros();
  auto x = zeros();
  std::vector<std::int64_t> rows;
  std::vector<double> values;
  for (std::int64_t row = group().rank(); row < order; row += group().size()) {
    rows.push_back(row);
    values.push_back(test::line_times_ramp(order, row));
  }
  ASSERT_EQ(cg2d_vector_from_elements(solver_, static_cast<std::int64_t>(rows.size()), rows.data(),
                                      values.data(), b.data()),
            CG2D_SUCCESS);
  ASSERT_EQ(cg2d_solve(solver_, b.data(), x.data(), nullptr), CG2D_SUCCESS) << cg2d_last_error();
  cg2d_solver_result(solver_, &result);
  EXPECT_GT(result.step_count, 0);
  EXPECT_LE(result.true_residual_norm, result.target_norm);
  EXPECT_GT(result.largest_eigenvalue, result.smallest_eigenvalue);
  EXPECT_EQ(cg2d_solver_end(solver_), std::string("converged"));
  std::int64_t count = 0;
  const double* history = cg2d_solver_history(solver_, &count);
  ASSERT_EQ(count, result.step_count + 1);
  EXPECT_EQ(history[0], result.first_residual_norm);
  bool has_multiply = false;
  for (std::int64_t k = 0; k < cg2d_solver_phase_count(solver_); ++k) {
    cg2d_phase phase;
    ASSERT_EQ(cg2d_solver_phase(solver_, k, &phase), CG2D_SUCCESS);
    has_multiply |= phase.name == std::string("multiply") && phase.call_count > 0;
  }
  EXPECT_TRUE(has_multiply);
  std::vector<double> all(order);
  ASSERT_EQ(cg2d_elements_of(solver_, x.data(), 0, order, all.data()), CG2D_SUCCESS);
  for (std::size_t k = 0; k < all.size(); ++k) EXPECT_NEAR(all[k], static_cast<double>(k + 1), 1e-3);
}

TEST_F(CInterface, VectorsInFiles) {
  ASSERT_EQ(make_line(), CG2D_SUCCESS);
  ASSERT_EQ(make_solver(), CG2D_SUCCESS);
  const test::TemporaryFolder folder;
  const auto path = group().broadcast(folder.path("v.mtx"));
  auto vector = zeros();
  auto again = zeros();
  for (std::size_t k = 0; k < vector.size(); ++k)
    vector[k] = 1.0 / static_cast<double>(cg2d_solver_first_row(solver_) + static_cast<std::int64_t>(k) + 1);
  ASSERT_EQ(cg2d_vector_write(solver_, path.c_str(), vector.data()), CG2D_SUCCESS) << cg2d_last_error();
  ASSERT_EQ(cg2d_vector_read(solver_, path.c_str(), again.data()), CG2D_SUCCESS) << cg2d_last_error();
  EXPECT_EQ(vector, again);
  EXPECT_EQ(cg2d_vector_read(solver_, "none.mtx", again.data()), CG2D_BAD_DATA);
  group().barrier();  // rank 0's folder goes
}

TEST_F(CInterface, EndsAreStatuses) {
  ASSERT_EQ(make_line(), CG2D_SUCCESS);
  ASSERT_EQ(make_solver(), CG2D_SUCCESS);
  auto b = zeros();
  auto x = zeros();
  for (auto& element : b) element = 1.0;
  const cg2d_tolerance tolerance{.relative = 1e-12, .absolute = 0.0, .most_steps = 2, .starts_from_x = 0};
  EXPECT_EQ(cg2d_solve(solver_, b.data(), x.data(), &tolerance), CG2D_NOT_CONVERGED);
  EXPECT_EQ(cg2d_solver_end(solver_), std::string("step_limit"));
  EXPECT_EQ(cg2d_last_error(), std::string(cg2d_solver_sentence(solver_)));
  EXPECT_NE(std::string(cg2d_last_error()), "");
}

TEST_F(CInterface, OwnProducts) {
  struct Context {
    int calls = 0;
    int fails_at = 0;
  } context;
  const cg2d_product multiply = [](std::int64_t local_size, const double* p, double* q, void* given) {
    auto& mine = *static_cast<Context*>(given);
    for (std::int64_t k = 0; k < local_size; ++k) q[k] = static_cast<double>(k + 1) * p[k];
    return ++mine.calls == mine.fails_at ? 7 : 0;
  };
  const std::vector<double> diagonal{1.0, 2.0, 3.0, 4.0};
  ASSERT_EQ(cg2d_options_create(&options_), CG2D_SUCCESS);
  ASSERT_EQ(cg2d_options_set(options_, "preconditioner", "jacobi"), CG2D_SUCCESS);
  ASSERT_EQ(
      cg2d_solver_create_for_product(ranks_, 4, multiply, &context, diagonal.data(), options_, &solver_),
      CG2D_SUCCESS)
      << cg2d_last_error();
  EXPECT_EQ(cg2d_solver_first_row(solver_), 4 * group().rank());
  const std::vector<double> b(4, 1.0);
  std::vector<double> x(4);
  EXPECT_EQ(cg2d_solve(solver_, b.data(), x.data(), nullptr), CG2D_SUCCESS) << cg2d_last_error();
  EXPECT_NEAR(x[3], 0.25, 1e-7);
  context = {.calls = 0, .fails_at = group().rank() + 1 == group().size() ? 1 : 0};
  EXPECT_EQ(cg2d_solve(solver_, b.data(), x.data(), nullptr), CG2D_USAGE);
  EXPECT_EQ(cg2d_last_error(),
            "the user's product failed on rank " + std::to_string(group().size() - 1) + ": it returned 7");
}

TEST_F(CInterface, BadArgumentsHaveMessages) {
  EXPECT_EQ(cg2d_matrix_from_file(ranks_, "none.mtx", &matrix_), CG2D_BAD_DATA);
  EXPECT_EQ(cg2d_last_error(), std::string("none.mtx: no such file"));
  EXPECT_EQ(cg2d_matrix_from_file(ranks_, nullptr, &matrix_), CG2D_USAGE);
  EXPECT_EQ(cg2d_last_error(), std::string("cg2d_matrix_from_file: an argument is NULL"));
  EXPECT_EQ(cg2d_matrix_from_triples(ranks_, order, -1, nullptr, nullptr, nullptr, &matrix_), CG2D_USAGE);
  EXPECT_EQ(cg2d_last_error(), std::string("cg2d_matrix_from_triples: a count is negative: -1"));
  EXPECT_EQ(cg2d_matrix_from_triples(ranks_, order, 1, nullptr, nullptr, nullptr, &matrix_), CG2D_USAGE);
  EXPECT_EQ(cg2d_matrix_from_rows(ranks_, order, 0, -1, nullptr, nullptr, nullptr, &matrix_), CG2D_USAGE);
  EXPECT_EQ(matrix_, nullptr);
  EXPECT_EQ(make_solver(), CG2D_USAGE);
  ASSERT_EQ(cg2d_options_create(&options_), CG2D_SUCCESS);
  EXPECT_EQ(cg2d_last_error(), std::string());
  for (const auto& [name, value] : {std::array{"colour", "red"},
                                    {"grid", "2by3"},
                                    {"threads", "many"},
                                    {"cut", "odd"},
                                    {"phases", "perhaps"},
                                    {"kernel", "cell"}}) {
    EXPECT_EQ(cg2d_options_set(options_, name, value), CG2D_USAGE) << name;
    EXPECT_NE(std::string(cg2d_last_error()).find(name), std::string::npos) << cg2d_last_error();
  }
}

TEST_F(CInterface, AMatrixThatIsRefusedIsFreed) {
  const std::array<std::int64_t, 2> rows{0, 1};
  const std::array<std::int64_t, 2> columns{0, 1};
  const std::array<double, 2> values{1.0, -1.0};
  const std::int64_t count = group().rank() == 0 ? 2 : 0;
  ASSERT_EQ(cg2d_matrix_from_triples(ranks_, 2, count, rows.data(), columns.data(), values.data(), &matrix_),
            CG2D_SUCCESS);
  EXPECT_EQ(make_solver(), CG2D_NOT_POSITIVE_DEFINITE);
  EXPECT_EQ(matrix_, nullptr);
  EXPECT_EQ(solver_, nullptr);
}

TEST(CInterfaceVersion, IsThatOfTheProject) { EXPECT_EQ(cg2d_version(), std::string(version)); }

}  // namespace
}  // namespace cg2d
