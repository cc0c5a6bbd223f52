// The C interface: handles hold the objects of the C++ interface, and exceptions become statuses.

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <new>
#include <tuple>

#include "cg/base/agreement.hpp"
#include "cg/library/cg2d.h"
#include "cg/library/matrix.hpp"
#include "cg/library/solver.hpp"
#include "cg/library/version.hpp"

// Names of C, a last error for each thread, as errno, and objects that the caller frees.
// NOLINTBEGIN(readability-identifier-naming, cppcoreguidelines-avoid-non-const-global-variables, clang-analyzer-cplusplus.NewDeleteLeaks)

struct cg2d_ranks {
  explicit cg2d_ranks(MPI_Comm communicator) : group(communicator) {}
  cg2d::comm::RankGroup group;
};
struct cg2d_matrix {
  std::unique_ptr<cg2d::SystemMatrix> matrix;
};
struct cg2d_options : cg2d::SolverOptions {};
struct cg2d_solver {
  cg2d::comm::RankGroup& group;
  std::unique_ptr<cg2d::FunctionOperator> product{};  // the user's product, where there is one
  cg2d::Solver solver;
  cg2d::Solution solution{};
  const char* end = "";  // a literal
  std::string sentence{};
};

namespace {

// Before a collective step each rank checks its arguments, and makes room for them, under agreement: where that fails on
// any rank, all get its status, and none takes the step.
using cg2d::agree_on;
using cg2d::ExitCode;
using cg2d::InputError;
using cg2d::RunError;

thread_local std::string last_error;
thread_local const char* function = "";  // that is running, for messages

int failed(ExitCode code, const char* reason) noexcept {
  try {
    last_error = reason;
  } catch (const std::bad_alloc&) {
    last_error.clear();
  }
  return static_cast<int>(code);
}

/// Runs the step of a function; its exception becomes the status.
template <typename Step>
int status_of(const char* name, const Step& step) noexcept {
  try {
    last_error.clear();
    function = name;
    step();
    return CG2D_SUCCESS;
  } catch (const RunError& error) {
    return failed(error.code(), error.what());
  } catch (const std::bad_alloc&) {
    return failed(ExitCode::memory, "out of memory");
  } catch (const std::exception& error) {
    return failed(ExitCode::internal, error.what());
  } catch (...) {
    return failed(ExitCode::internal, "an unknown exception");
  }
}

template <typename... Pointers>
void require_pointers(Pointers... pointers) {
  if (!(static_cast<bool>(pointers) && ...)) throw InputError("{}: an argument is NULL", function);
}

/// Without its handle a rank cannot tell the ranks of that communicator, which may wait for it: the job ends. A process
/// alone gets an exception.
template <typename Handle>
Handle& handle_of(Handle* handle) {
  if (handle != nullptr) return *handle;
  int is_started = 0;
  int rank_count = 1;
  MPI_Initialized(&is_started);
  if (is_started != 0) MPI_Comm_size(MPI_COMM_WORLD, &rank_count);
  const auto reason = fmt::format("{}: the handle is NULL", function);
  if (rank_count > 1) {
    std::fprintf(stderr, "cg2d: %s; other ranks may wait for this one, so the job ends\n", reason.c_str());
    MPI_Abort(MPI_COMM_WORLD, CG2D_USAGE);
  }
  throw InputError(reason);
}

/// An array of C, which may be NULL where it has no elements.
template <typename Element>
std::span<Element> array_of(Element* elements, int64_t count) {
  if (count < 0) throw InputError("{}: a count is negative: {}", function, count);
  if (elements == nullptr && count > 0) throw InputError("{}: an array is NULL", function);
  return {elements, static_cast<size_t>(count)};
}

void set_option(cg2d::SolverOptions& options, const std::string& name, const std::string& value) {
  if (name == "preconditioner") {
    options.preconditioner = value;
  } else if (name == "variant") {
    options.variant = value;
  } else if (name == "phases") {
    cg2d::require_known(name, value, {"off", "on"});
    options.times_phases = value == "on";
  } else if (name == "grid") {
    options.configuration.grid = cg2d::grid_from(value, "auto").value_or(cg2d::comm::ProcessGrid{0, 0});
  } else {
    std::vector<std::string> known{"grid", "preconditioner", "variant", "phases"};
    const auto axes = cg2d::names_of(cg2d::configuration_axes());
    known.insert(known.end(), axes.begin(), axes.end());
    cg2d::require_known("option", name, known);
    cg2d::configuration_axis(name).parse(options.configuration, value);
  }
}

/// Makes a collective step on the group of ranks or of a solver: check() on every rank, then step(group).
template <typename Handle, typename Check, typename Step>
int collective_status(const char* name, Handle* handle, const Check& check, const Step& step) noexcept {
  return status_of(name, [&] {
    auto& group = handle_of(handle).group;
    agree_on(group, check);
    step(group);
  });
}

/// Gives what make(group) makes to the caller, after check() on every rank.
template <typename Made, typename Check, typename Make>
int create(const char* name, cg2d_ranks* ranks, Made** target, const Check& check, const Make& make) {
  const auto check_all = [&] {
    require_pointers(target);
    check();
  };
  return collective_status(name, ranks, check_all,
                           [&](auto& group) { *target = std::make_unique<Made>(make(group)).release(); });
}

template <typename Element>
std::span<Element> piece_of(const cg2d_solver& solver, Element* piece) {
  return array_of(piece, static_cast<int64_t>(solver.solver.local_size()));
}

/// step(piece, place, group) with this rank's piece of a vector, after check() on every rank.
template <typename Element, typename Check, typename Step>
int with_piece(const char* name, cg2d_solver* solver, Element* piece, const Check& check, const Step& step) {
  std::span<Element> own;
  const auto check_all = [&] {
    own = piece_of(*solver, piece);
    check();
  };
  return collective_status(name, solver, check_all,
                           [&](auto& group) { step(own, solver->solver.place(), group); });
}

}  // namespace

const char* cg2d_version() { return cg2d::version.data(); }
const char* cg2d_last_error() { return last_error.c_str(); }

// ---------------------------------------------------------------- ranks

int cg2d_ranks_create(MPI_Comm communicator, cg2d_ranks** ranks) {
  return status_of(__func__, [&] {
    auto made = std::make_unique<cg2d_ranks>(communicator);
    agree_on(made->group, [&] { require_pointers(ranks); });
    *ranks = made.release();
  });
}
int cg2d_ranks_create_fortran(MPI_Fint communicator, cg2d_ranks** ranks) {
  return cg2d_ranks_create(MPI_Comm_f2c(communicator), ranks);
}
void cg2d_ranks_free(cg2d_ranks* ranks) { const std::unique_ptr<cg2d_ranks> owned(ranks); }

// ---------------------------------------------------------------- matrices

int cg2d_matrix_from_file(cg2d_ranks* ranks, const char* path, cg2d_matrix** matrix) {
  return create(
      __func__, ranks, matrix, [&] { require_pointers(path); },
      [&](auto& group) { return cg2d_matrix{cg2d::matrix_from_file(path, group)}; });
}

int cg2d_matrix_from_triples(cg2d_ranks* ranks, int64_t order, int64_t entry_count, const int64_t* rows,
                             const int64_t* columns, const double* values, cg2d_matrix** matrix) {
  const auto check = [&] {
    std::ignore = array_of(rows, entry_count);
    std::ignore = array_of(columns, entry_count);
    std::ignore = array_of(values, entry_count);
  };
  return create(__func__, ranks, matrix, check, [&](auto& group) {
    cg2d::MatrixBuilder builder(order, group);
    for (int64_t k = 0; k < entry_count; ++k) builder.add(rows[k], columns[k], values[k]);
    return cg2d_matrix{builder.finish()};
  });
}

int cg2d_matrix_from_rows(cg2d_ranks* ranks, int64_t order, int64_t first_row, int64_t row_count,
                          const int64_t* row_starts, const int64_t* columns, const double* values,
                          cg2d_matrix** matrix) {
  cg2d::MatrixRows own{.first_row = first_row};
  const auto check = [&] {
    if (row_count == 0) return;
    constexpr auto most = std::numeric_limits<int64_t>::max();
    own.row_starts = array_of(row_starts, row_count < 0 || row_count == most ? -1 : row_count + 1);
    own.columns = array_of(columns, own.row_starts.back());
    own.values = array_of(values, own.row_starts.back());
  };
  return create(__func__, ranks, matrix, check,
                [&](auto& group) { return cg2d_matrix{cg2d::matrix_from_rows(order, own, group)}; });
}

void cg2d_matrix_free(cg2d_matrix* matrix) { const std::unique_ptr<cg2d_matrix> owned(matrix); }

// ---------------------------------------------------------------- options

int cg2d_options_create(cg2d_options** options) {
  return status_of(__func__, [&] {
    require_pointers(options);
    *options = std::make_unique<cg2d_options>().release();
  });
}

int cg2d_options_set(cg2d_options* options, const char* name, const char* value) {
  return status_of(__func__, [&] {
    require_pointers(options, name, value);
    set_option(*options, name, value);
  });
}

int cg2d_options_set_own_rows(cg2d_options* options, cg2d_ranks* ranks, int64_t own_row_count) {
  return collective_status(
      __func__, ranks, [&] { require_pointers(options); },
      [&](auto& group) {
        auto& configuration = options->configuration;
        const auto grid = configuration.has_grid()
                              ? configuration.grid
                              : cg2d::comm::ProcessGrid{.columns = 1, .rows = group.size()};
        options->piece_starts = cg2d::piece_starts_of(own_row_count, grid, group);
        configuration.grid = grid;
      });
}

void cg2d_options_free(cg2d_options* options) { const std::unique_ptr<cg2d_options> owned(options); }

// ---------------------------------------------------------------- solvers

int cg2d_solver_create(cg2d_ranks* ranks, cg2d_matrix** matrix, const cg2d_options* options,
                       cg2d_solver** solver) {
  const std::unique_ptr<cg2d_matrix> taken(matrix == nullptr ? nullptr : std::exchange(*matrix, nullptr));
  cg2d::SolverOptions own_options;
  const auto check = [&] {
    require_pointers(taken.get());
    if (options != nullptr) own_options = *options;
  };
  return create(__func__, ranks, solver, check, [&](auto& group) {
    return cg2d_solver{.group = group, .solver = cg2d::Solver(std::move(taken->matrix), group, own_options)};
  });
}

int cg2d_solver_create_for_product(cg2d_ranks* ranks, int64_t local_size, cg2d_product product, void* context,
                                   const double* diagonal, const cg2d_options* options,
                                   cg2d_solver** solver) {
  cg2d::SolverOptions own_options;
  const auto check = [&] {
    require_pointers(product);
    if (local_size < 0) throw InputError("{}: local_size is negative: {}", function, local_size);
    if (options != nullptr) own_options = *options;
    if (diagonal != nullptr) own_options.diagonal = array_of(diagonal, local_size);
  };
  return create(__func__, ranks, solver, check, [&](auto& group) {
    const auto multiply = [=](std::span<const double> p, std::span<double> q) {
      if (const int status = product(local_size, p.data(), q.data(), context); status != 0)
        throw InputError("it returned {}", status);
    };
    auto own_product =
        std::make_unique<cg2d::FunctionOperator>(static_cast<size_t>(local_size), multiply, group);
    cg2d::Solver solver_of_it(*own_product, group, own_options);
    return cg2d_solver{.group = group, .product = std::move(own_product), .solver = std::move(solver_of_it)};
  });
}

void cg2d_solver_free(cg2d_solver* solver) { const std::unique_ptr<cg2d_solver> owned(solver); }

int64_t cg2d_solver_local_size(const cg2d_solver* solver) {
  return solver == nullptr ? 0 : static_cast<int64_t>(solver->solver.local_size());
}
int64_t cg2d_solver_first_row(const cg2d_solver* solver) {
  return solver == nullptr ? 0 : solver->solver.rows().begin;
}

// ---------------------------------------------------------------- vectors

int cg2d_vector_from_elements(cg2d_solver* solver, int64_t element_count, const int64_t* rows,
                              const double* values, double* piece) {
  std::vector<cg2d::VectorElement> elements;
  const auto check = [&] {
    const auto own_rows = array_of(rows, element_count);
    const auto own_values = array_of(values, element_count);
    elements.resize(own_rows.size());
    for (size_t k = 0; k < own_rows.size(); ++k) elements[k] = {.row = own_rows[k], .value = own_values[k]};
  };
  return with_piece(__func__, solver, piece, check, [&](auto own, const auto& place, auto& group) {
    std::ranges::copy(cg2d::vector_from_elements(elements, place, group), own.begin());
  });
}

int cg2d_elements_of(cg2d_solver* solver, const double* piece, int64_t begin, int64_t end, double* values) {
  const auto check = [&] {
    if (values == nullptr && begin < end) throw InputError("{}: an array is NULL", function);
  };
  return with_piece(__func__, solver, piece, check, [&](auto own, const auto& place, auto& group) {
    std::ranges::copy(cg2d::elements_of(own, {.begin = begin, .end = end}, place, group), values);
  });
}

int cg2d_vector_read(cg2d_solver* solver, const char* path, double* piece) {
  const auto check = [&] { require_pointers(path); };
  return with_piece(__func__, solver, piece, check, [&](auto own, const auto& place, auto& group) {
    std::ranges::copy(cg2d::read_vector(path, place, group), own.begin());
  });
}

int cg2d_vector_write(cg2d_solver* solver, const char* path, const double* piece) {
  const auto check = [&] { require_pointers(path); };
  return with_piece(__func__, solver, piece, check, [&](auto own, const auto& place, auto& group) {
    cg2d::save_vector(path, own, "vector", place, group);
  });
}

// ---------------------------------------------------------------- solving

int cg2d_solve(cg2d_solver* solver, const double* b, double* x, const cg2d_tolerance* tolerance) {
  auto end = ExitCode::success;
  cg2d::SystemVectors vectors{
      .b = {}, .x = {}, .starts_from_x = tolerance != nullptr && tolerance->starts_from_x != 0};
  const auto check = [&] {
    vectors.b = piece_of(*solver, b);
    vectors.x = piece_of(*solver, x);
  };
  const int status = collective_status(__func__, solver, check, [&](auto& /*group*/) {
    cg2d::ToleranceOptions stop;
    if (tolerance != nullptr)
      stop = {.relative = tolerance->relative,
              .absolute = tolerance->absolute,
              .most_steps = tolerance->most_steps};
    solver->solution = solver->solver.solve(vectors, stop);
    solver->end = cg2d::name_of(solver->solution.result.end).data();
    solver->sentence = cg2d::sentence_of(solver->solution.result);
    end = cg2d::exit_code_of(solver->solution.result.end);
  });
  if (status != CG2D_SUCCESS || end == ExitCode::success) return status;
  return failed(end, solver->sentence.c_str());
}

void cg2d_solver_result(const cg2d_solver* solver, cg2d_result* result) {
  if (result == nullptr) return;
  *result = {};
  if (solver == nullptr) return;
  const auto& solution = solver->solution;
  *result = {.step_count = solution.result.step_count,
             .right_hand_side_norm = solution.result.right_hand_side_norm,
             .first_residual_norm = solution.result.first_residual_norm,
             .residual_norm = solution.result.residual_norm,
             .true_residual_norm = solution.result.true_residual_norm,
             .target_norm = solution.target_norm,
             .smallest_eigenvalue = solution.spectrum.smallest,
             .largest_eigenvalue = solution.spectrum.largest,
             .predicted_steps = solution.predicted_steps,
             .time_s = solver->solver.time_s()};
}

const char* cg2d_solver_end(const cg2d_solver* solver) { return solver == nullptr ? "" : solver->end; }
const char* cg2d_solver_sentence(const cg2d_solver* solver) {
  return solver == nullptr ? "" : solver->sentence.c_str();
}

const double* cg2d_solver_history(const cg2d_solver* solver, int64_t* count) {
  const bool is_there = solver != nullptr && count != nullptr;
  if (count != nullptr) *count = is_there ? static_cast<int64_t>(solver->solution.history.size()) : 0;
  return is_there ? solver->solution.history.data() : nullptr;
}

int64_t cg2d_solver_phase_count(const cg2d_solver* solver) {
  return solver == nullptr ? 0 : static_cast<int64_t>(solver->solver.phases().size());
}

int cg2d_solver_phase(const cg2d_solver* solver, int64_t index, cg2d_phase* phase) {
  return status_of(__func__, [&] {
    require_pointers(solver, phase);
    const auto count = cg2d_solver_phase_count(solver);
    if (index < 0 || index >= count) throw InputError("{}: {}: there are {} phases", function, index, count);
    const auto& found = solver->solver.phases()[static_cast<size_t>(index)];
    *phase = {.name = found.name.data(),
              .time_s = found.time_s,
              .waited_s = found.waited_s,
              .call_count = found.call_count};
  });
}

// NOLINTEND(readability-identifier-naming, cppcoreguidelines-avoid-non-const-global-variables, clang-analyzer-cplusplus.NewDeleteLeaks)
