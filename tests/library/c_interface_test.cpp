// The C interface: the same answers as the C++ one, statuses and messages instead of exceptions, nothing leaked. The examples in
// C and Fortran call it from these languages.

#include <gtest/gtest.h>
#include <mpi.h>

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "cg/base/errors.hpp"
#include "cg/library/cg2d.h"
#include "cg/library/version.hpp"
#include "support/common_folder.hpp"
#include "support/line_system.hpp"
#include "support/mpi_test.hpp"

// The test is the program that MPI's profiling interface lets see calls of MPI_Abort.
namespace {
struct Aborts {
  bool is_recorded = false;
  int code = 0;
};
Aborts aborts;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
}  // namespace

extern "C" int MPI_Abort(MPI_Comm communicator, int code) {  // NOLINT(readability-identifier-naming)
  if (!aborts.is_recorded) return PMPI_Abort(communicator, code);
  aborts.code = code;
  return MPI_SUCCESS;
}

namespace cg2d::c_interface_test {
namespace {

using test::group;

static_assert(CG2D_USAGE == static_cast<int>(ExitCode::usage));
static_assert(CG2D_BAD_DATA == static_cast<int>(ExitCode::bad_data));
static_assert(CG2D_UNAVAILABLE == static_cast<int>(ExitCode::unavailable));
static_assert(CG2D_INTERNAL == static_cast<int>(ExitCode::internal));
static_assert(CG2D_MEMORY == static_cast<int>(ExitCode::memory));
static_assert(CG2D_CANNOT_CREATE == static_cast<int>(ExitCode::cannot_create));
static_assert(CG2D_CANNOT_WRITE == static_cast<int>(ExitCode::cannot_write));
static_assert(CG2D_NOT_POSITIVE_DEFINITE == static_cast<int>(ExitCode::not_positive_definite));
static_assert(CG2D_NOT_CONVERGED == static_cast<int>(ExitCode::not_converged));
static_assert(CG2D_NOT_FINITE == static_cast<int>(ExitCode::not_finite));

constexpr int64_t order = 200;

class CInterface : public testing::Test {
 protected:
  void SetUp() override { EXPECT_EQ(cg2d_ranks_create(group().handle(), &ranks_), CG2D_SUCCESS); }
  void TearDown() override {
    cg2d_solver_free(solver_);
    cg2d_matrix_free(matrix_);
    cg2d_options_free(options_);
    cg2d_ranks_free(ranks_);
  }

  /// Rank 0 gives all entries.
  int make_line() {
    std::vector<int64_t> rows;
    std::vector<int64_t> columns;
    std::vector<double> values;
    for (const auto& triple : test::line_triples(order, 0, group().rank() == 0 ? order : 0)) {
      rows.push_back(triple.row);
      columns.push_back(triple.column);
      values.push_back(triple.value);
    }
    return cg2d_matrix_from_triples(ranks_, order, static_cast<int64_t>(rows.size()), rows.data(),
                                    columns.data(), values.data(), &matrix_);
  }
  int make_solver() { return cg2d_solver_create(ranks_, &matrix_, options_, &solver_); }
  void make_line_solver() {
    ASSERT_EQ(make_line(), CG2D_SUCCESS) << cg2d_last_error();
    ASSERT_EQ(make_solver(), CG2D_SUCCESS) << cg2d_last_error();
  }

  std::vector<double> zeros() const {
    return std::vector<double>(static_cast<size_t>(cg2d_solver_local_size(solver_)));
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
  make_line_solver();
  EXPECT_EQ(matrix_, nullptr);

  cg2d_result result;
  cg2d_solver_result(solver_, &result);
  EXPECT_EQ(result.step_count, 0);
  auto b = zeros();
  auto x = zeros();
  std::vector<int64_t> rows;
  std::vector<double> values;
  for (int64_t row = group().rank(); row < order; row += group().size()) {
    rows.push_back(row);
    values.push_back(test::line_times_ramp(order, row));
  }
  ASSERT_EQ(cg2d_vector_from_elements(solver_, static_cast<int64_t>(rows.size()), rows.data(), values.data(),
                                      b.data()),
            CG2D_SUCCESS);
  ASSERT_EQ(cg2d_solve(solver_, b.data(), x.data(), nullptr), CG2D_SUCCESS) << cg2d_last_error();
  cg2d_solver_result(solver_, &result);
  EXPECT_GT(result.step_count, 0);
  EXPECT_LE(result.true_residual_norm, result.target_norm);
  EXPECT_GT(result.largest_eigenvalue, result.smallest_eigenvalue);
  EXPECT_EQ(cg2d_solver_end(solver_), std::string("converged"));
  int64_t count = 0;
  const double* history = cg2d_solver_history(solver_, &count);
  ASSERT_EQ(count, result.step_count + 1);
  EXPECT_EQ(history[0], result.first_residual_norm);
  bool has_multiply = false;
  for (int64_t k = 0; k < cg2d_solver_phase_count(solver_); ++k) {
    cg2d_phase phase;
    ASSERT_EQ(cg2d_solver_phase(solver_, k, &phase), CG2D_SUCCESS);
    has_multiply |= phase.name == std::string("multiply") && phase.call_count > 0;
  }
  EXPECT_TRUE(has_multiply);
  std::vector<double> all(order);
  ASSERT_EQ(cg2d_elements_of(solver_, x.data(), 0, order, all.data()), CG2D_SUCCESS);
  for (size_t k = 0; k < all.size(); ++k) EXPECT_NEAR(all[k], static_cast<double>(k + 1), 1e-3);
}

TEST_F(CInterface, VectorsInFiles) {
  make_line_solver();
  const test::CommonFolder folder;
  const auto path = folder.path() + "/v.mtx";
  auto vector = zeros();
  auto again = zeros();
  for (size_t k = 0; k < vector.size(); ++k)
    vector[k] = 1.0 / static_cast<double>(cg2d_solver_first_row(solver_) + static_cast<int64_t>(k) + 1);
  ASSERT_EQ(cg2d_vector_write(solver_, path.c_str(), vector.data()), CG2D_SUCCESS) << cg2d_last_error();
  ASSERT_EQ(cg2d_vector_read(solver_, path.c_str(), again.data()), CG2D_SUCCESS) << cg2d_last_error();
  EXPECT_EQ(vector, again);
  EXPECT_EQ(cg2d_vector_read(solver_, "none.mtx", again.data()), CG2D_BAD_DATA);
}

TEST_F(CInterface, EndsAreStatuses) {
  make_line_solver();
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
  const cg2d_product multiply = [](int64_t local_size, const double* p, double* q, void* given) {
    auto& mine = *static_cast<Context*>(given);
    for (int64_t k = 0; k < local_size; ++k) q[k] = static_cast<double>(k + 1) * p[k];
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

/// One call with arguments that are good, or bad where told so.
using Call = std::function<int(bool is_bad)>;

/// Every rank in turns is the one with the bad arguments; all must get the same status, and none may wait.
void expect_refused_by_all(const std::vector<Call>& calls) {
  for (size_t k = 0; k < calls.size(); ++k) {
    for (int bad_rank = 0; bad_rank < group().size(); ++bad_rank) {
      EXPECT_EQ(calls[k](group().rank() == bad_rank), CG2D_USAGE) << "call " << k << ", rank " << bad_rank;
      EXPECT_NE(cg2d_last_error(), std::string()) << "call " << k;
    }
  }
}

TEST_F(CInterface, ABadArgumentOfOneRankIsRefusedByAll) {
  double value = 1.0;
  const std::array<int64_t, 2> falling{0, -1};
  const auto n = static_cast<int64_t>(group().size());
  const int64_t row = group().rank();
  const auto triples = [&](int64_t count, const int64_t* rows, const double* values, cg2d_matrix** matrix) {
    return cg2d_matrix_from_triples(ranks_, n, count, rows, &row, values, matrix);
  };
  const auto matrix_rows = [&](int64_t count, const int64_t* starts, const double* values,
                               cg2d_matrix** matrix) {
    return cg2d_matrix_from_rows(ranks_, n, row, count, starts, &row, values, matrix);
  };
  const std::array<int64_t, 2> starts{0, 1};
  constexpr auto most = std::numeric_limits<int64_t>::max();
  cg2d_ranks* ranks = nullptr;
  ASSERT_EQ(cg2d_options_create(&options_), CG2D_SUCCESS);
  const auto product = [](int64_t, const double*, double*, void*) { return 0; };
  const auto file = [&](const char* path, cg2d_matrix** matrix) {
    return cg2d_matrix_from_file(ranks_, path, matrix);
  };
  const auto for_product = [&](int64_t size, cg2d_product function, cg2d_solver** solver) {
    return cg2d_solver_create_for_product(ranks_, size, function, nullptr, nullptr, nullptr, solver);
  };
  // The matrix that it was given is gone in any case.
  const auto create = [&](bool lacks_matrix, bool lacks_solver) {
    EXPECT_EQ(make_line(), CG2D_SUCCESS);
    cg2d_matrix* none = nullptr;
    const int status = cg2d_solver_create(ranks_, lacks_matrix ? &none : &matrix_, nullptr,
                                          lacks_solver ? nullptr : &solver_);
    EXPECT_EQ(matrix_ == nullptr, !lacks_matrix);
    cg2d_matrix_free(matrix_);
    matrix_ = nullptr;
    return status;
  };
  expect_refused_by_all({
      [&](bool bad) { return cg2d_ranks_create(group().handle(), bad ? nullptr : &ranks); },
      [&](bool bad) {
        return cg2d_ranks_create_fortran(MPI_Comm_c2f(group().handle()), bad ? nullptr : &ranks);
      },
      [&](bool bad) { return file(bad ? nullptr : "none.mtx", &matrix_); },
      [&](bool bad) { return file("none.mtx", bad ? nullptr : &matrix_); },
      [&](bool bad) { return triples(1, bad ? nullptr : &row, &value, &matrix_); },
      [&](bool bad) { return triples(1, &row, bad ? nullptr : &value, &matrix_); },
      [&](bool bad) { return triples(bad ? -1 : 1, &row, &value, &matrix_); },
      [&](bool bad) { return triples(1, &row, &value, bad ? nullptr : &matrix_); },
      [&](bool bad) {
        return cg2d_matrix_from_triples(ranks_, bad ? -1 : n, 0, nullptr, nullptr, nullptr, &matrix_);
      },
      [&](bool bad) { return matrix_rows(1, bad ? nullptr : starts.data(), &value, &matrix_); },
      [&](bool bad) { return matrix_rows(1, bad ? falling.data() : starts.data(), &value, &matrix_); },
      [&](bool bad) { return matrix_rows(1, starts.data(), bad ? nullptr : &value, &matrix_); },
      [&](bool bad) { return matrix_rows(bad ? -1 : 1, starts.data(), &value, &matrix_); },
      [&](bool bad) { return matrix_rows(bad ? most : 1, starts.data(), &value, &matrix_); },
      [&](bool bad) { return matrix_rows(1, starts.data(), &value, bad ? nullptr : &matrix_); },
      [&](bool bad) { return cg2d_options_set_own_rows(bad ? nullptr : options_, ranks_, 1); },
      [&](bool bad) { return cg2d_options_set_own_rows(options_, ranks_, bad ? -1 : 1); },
      [&](bool bad) { return for_product(1, bad ? nullptr : +product, &solver_); },
      [&](bool bad) { return for_product(bad ? -1 : 1, product, &solver_); },
      [&](bool bad) { return for_product(1, product, bad ? nullptr : &solver_); },
      [&](bool bad) { return create(bad, false); },
      [&](bool bad) { return create(false, bad); },
  });
  EXPECT_EQ(matrix_, nullptr);
  EXPECT_EQ(solver_, nullptr);
}

TEST_F(CInterface, ABadArgumentOfOneRankInASolveIsRefusedByAll) {
  make_line_solver();
  auto b = zeros();
  auto x = zeros();
  for (auto& element : b) element = 1.0;
  int64_t row = 0;
  double value = 1.0;
  const auto elements = [&](int64_t count, const int64_t* rows, const double* values, double* piece) {
    return cg2d_vector_from_elements(solver_, count, rows, values, piece);
  };
  const auto asked = [&](const double* piece, int64_t begin, int64_t end, double* values) {
    return cg2d_elements_of(solver_, piece, begin, end, values);
  };
  const auto read = [&](const char* path, double* piece) { return cg2d_vector_read(solver_, path, piece); };
  const auto write = [&](const char* path, const double* piece) {
    return cg2d_vector_write(solver_, path, piece);
  };
  const auto solve = [&](const cg2d_tolerance& tolerance) {
    return cg2d_solve(solver_, b.data(), x.data(), &tolerance);
  };
  const cg2d_tolerance good{.relative = 1e-8, .absolute = 0.0, .most_steps = 1000, .starts_from_x = 0};
  const auto changed = [&](bool is_bad, const std::function<void(cg2d_tolerance&)>& change) {
    auto tolerance = good;
    if (is_bad) change(tolerance);
    return solve(tolerance);
  };
  constexpr auto least = std::numeric_limits<int64_t>::min();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  expect_refused_by_all({
      [&](bool bad) { return elements(1, bad ? nullptr : &row, &value, x.data()); },
      [&](bool bad) { return elements(1, &row, bad ? nullptr : &value, x.data()); },
      [&](bool bad) { return elements(bad ? -1 : 1, &row, &value, x.data()); },
      [&](bool bad) { return elements(1, &row, &value, bad ? nullptr : x.data()); },
      [&](bool bad) { return asked(bad ? nullptr : x.data(), 0, 1, &value); },
      [&](bool bad) { return asked(x.data(), 0, 1, bad ? nullptr : &value); },
      [&](bool bad) { return asked(x.data(), bad ? least : 0, 1, &value); },
      [&](bool bad) { return asked(x.data(), 0, bad ? least : 1, &value); },
      [&](bool bad) { return read(bad ? nullptr : "none.mtx", x.data()); },
      [&](bool bad) { return read("none.mtx", bad ? nullptr : x.data()); },
      [&](bool bad) { return write(bad ? nullptr : "none.mtx", x.data()); },
      [&](bool bad) { return write("none.mtx", bad ? nullptr : x.data()); },
      [&](bool bad) { return cg2d_solve(solver_, bad ? nullptr : b.data(), x.data(), &good); },
      [&](bool bad) { return cg2d_solve(solver_, b.data(), bad ? nullptr : x.data(), &good); },
      [&](bool bad) { return changed(bad, [](auto& t) { t.most_steps = -1; }); },
      [&](bool bad) { return changed(bad, [](auto& t) { t.relative = nan; }); },
      [&](bool bad) { return changed(bad, [](auto& t) { t.absolute = -1.0; }); },
  });
  EXPECT_EQ(solve({.relative = 1e-8, .absolute = 0.0, .most_steps = -1, .starts_from_x = 0}), CG2D_USAGE);
  EXPECT_EQ(cg2d_last_error(), std::string("tolerance: most_steps -1: must be 0 or more"));
  EXPECT_EQ(solve({.relative = nan, .absolute = 0.0, .most_steps = 10, .starts_from_x = 0}), CG2D_USAGE);
  EXPECT_EQ(cg2d_last_error(), std::string("tolerance: relative nan: must be 0 or more"));
  if (group().size() > 1) {
    expect_refused_by_all({
        [&](bool bad) { return changed(bad, [](auto& t) { t.relative = 1e-9; }); },
        [&](bool bad) { return changed(bad, [](auto& t) { t.absolute = 1.0; }); },
        [&](bool bad) { return changed(bad, [](auto& t) { t.most_steps = 1; }); },
        [&](bool bad) { return changed(bad, [](auto& t) { t.starts_from_x = 1; }); },
    });
  }
  EXPECT_EQ(solve(good), CG2D_SUCCESS) << cg2d_last_error();
}

/// A rank without the handle cannot tell the others, so it ends the job; alone it gets the status.
TEST_F(CInterface, ANullHandleEndsTheJob) {
  int64_t number = 0;
  double value = 0.0;
  const auto product = [](int64_t, const double*, double*, void*) { return 0; };
  aborts.is_recorded = true;
  const std::vector<std::function<int()>> calls{
      [&] { return cg2d_matrix_from_file(nullptr, "none.mtx", &matrix_); },
      [&] { return cg2d_matrix_from_triples(nullptr, 1, 1, &number, &number, &value, &matrix_); },
      [&] { return cg2d_matrix_from_rows(nullptr, 1, 0, 0, nullptr, nullptr, nullptr, &matrix_); },
      [&] { return cg2d_options_set_own_rows(nullptr, nullptr, 1); },
      [&] { return cg2d_solver_create(nullptr, &matrix_, nullptr, &solver_); },
      [&] {
        return cg2d_solver_create_for_product(nullptr, 1, product, nullptr, nullptr, nullptr, &solver_);
      },
      [&] { return cg2d_vector_from_elements(nullptr, 0, nullptr, nullptr, &value); },
      [&] { return cg2d_elements_of(nullptr, &value, 0, 1, &value); },
      [&] { return cg2d_vector_read(nullptr, "none.mtx", &value); },
      [&] { return cg2d_vector_write(nullptr, "none.mtx", &value); },
      [&] { return cg2d_solve(nullptr, &value, &value, nullptr); },
  };
  for (const auto& call : calls) {
    aborts.code = 0;
    EXPECT_EQ(call(), CG2D_USAGE);
    EXPECT_EQ(aborts.code, group().size() > 1 ? CG2D_USAGE : 0);
  }
  aborts.is_recorded = false;
}

TEST_F(CInterface, LocalFunctionsTakeANullSolver) {
  EXPECT_EQ(cg2d_solver_local_size(nullptr), 0);
  EXPECT_EQ(cg2d_solver_first_row(nullptr), 0);
  cg2d_result result;
  result.step_count = 1;
  cg2d_solver_result(nullptr, &result);
  EXPECT_EQ(result.step_count, 0);
  cg2d_solver_result(nullptr, nullptr);
  EXPECT_EQ(cg2d_solver_end(nullptr), std::string());
  EXPECT_EQ(cg2d_solver_sentence(nullptr), std::string());
  int64_t count = 1;
  EXPECT_EQ(cg2d_solver_history(nullptr, &count), nullptr);
  EXPECT_EQ(count, 0);
  EXPECT_EQ(cg2d_solver_history(nullptr, nullptr), nullptr);
  EXPECT_EQ(cg2d_solver_phase_count(nullptr), 0);
  cg2d_phase phase;
  EXPECT_EQ(cg2d_solver_phase(nullptr, 0, &phase), CG2D_USAGE);
  EXPECT_EQ(cg2d_options_create(nullptr), CG2D_USAGE);
  EXPECT_EQ(cg2d_options_set(nullptr, "grid", "auto"), CG2D_USAGE);
}

TEST_F(CInterface, AMatrixThatIsRefusedIsFreed) {
  const std::array<int64_t, 2> rows{0, 1};
  const std::array<int64_t, 2> columns{0, 1};
  const std::array<double, 2> values{1.0, -1.0};
  const int64_t count = group().rank() == 0 ? 2 : 0;
  ASSERT_EQ(cg2d_matrix_from_triples(ranks_, 2, count, rows.data(), columns.data(), values.data(), &matrix_),
            CG2D_SUCCESS);
  EXPECT_EQ(make_solver(), CG2D_NOT_POSITIVE_DEFINITE);
  EXPECT_EQ(matrix_, nullptr);
  EXPECT_EQ(solver_, nullptr);
}

TEST(CInterfaceVersion, IsThatOfTheProject) { EXPECT_EQ(cg2d_version(), std::string(version)); }

}  // namespace
}  // namespace cg2d::c_interface_test
