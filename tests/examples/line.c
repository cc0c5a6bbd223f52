/*
 * The C interface: a line of N points with 2 + c on the diagonal and -1 beside it, once from rows, once by a product of one's
 * own: mpiexec -n 4 line 1000
 */

#include <cg2d.h>
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static const double shift = 0.01;

/* Ends all ranks where one call fails: all have the same status. */
static void require(int status, const char* call) {
  if (status == CG2D_SUCCESS) return;
  fprintf(stderr, "line: %s: %s\n", call, cg2d_last_error());
  MPI_Finalize();
  exit(status);
}

static cg2d_matrix* matrix_of_line(cg2d_ranks* ranks, int64_t n, int64_t begin, int64_t end) {
  const int64_t count = end - begin;
  int64_t* starts = calloc((size_t)count + 1, sizeof *starts);
  int64_t* columns = calloc((size_t)(3 * count) + 1, sizeof *columns);
  double* values = calloc((size_t)(3 * count) + 1, sizeof *values);
  int64_t filled = 0;
  for (int64_t row = begin; row < end; ++row) {
    for (int64_t column = row - 1; column <= row + 1; ++column) {
      if (column < 0 || column >= n) continue;
      columns[filled] = column;
      values[filled++] = column == row ? 2.0 + shift : -1.0;
    }
    starts[row - begin + 1] = filled;
  }
  cg2d_matrix* matrix = NULL;
  require(cg2d_matrix_from_rows(ranks, n, begin, count, starts, columns, values, &matrix),
          "cg2d_matrix_from_rows");
  free(starts);
  free(columns);
  free(values);
  return matrix;
}

/* q = A p; the neighbours' points come by messages. */
static int multiply(int64_t local_size, const double* p, double* q, void* context) {
  const int64_t n = local_size;
  double before = 0.0;
  double after = 0.0;
  int rank = 0;
  int size = 0;
  (void)context;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int left = rank == 0 ? MPI_PROC_NULL : rank - 1;
  const int right = rank == size - 1 ? MPI_PROC_NULL : rank + 1;
  MPI_Sendrecv(&p[0], 1, MPI_DOUBLE, left, 0, &after, 1, MPI_DOUBLE, right, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  MPI_Sendrecv(&p[n - 1], 1, MPI_DOUBLE, right, 1, &before, 1, MPI_DOUBLE, left, 1, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  for (int64_t k = 0; k < n; ++k)
    q[k] = (2.0 + shift) * p[k] - (k > 0 ? p[k - 1] : before) - (k < n - 1 ? p[k + 1] : after);
  return 0;
}

static void print(const cg2d_solver* solver) {
  cg2d_result result;
  int64_t count = 0;
  cg2d_solver_result(solver, &result);
  const double* history = cg2d_solver_history(solver, &count);
  printf("%s: %s\n", cg2d_solver_end(solver), cg2d_solver_sentence(solver));
  printf("%d steps, first residual %.3e, last %.3e, condition number about %.0f\n", result.step_count,
         history[0], history[count - 1], result.largest_eigenvalue / result.smallest_eigenvalue);
  for (int64_t k = 0; k < cg2d_solver_phase_count(solver); ++k) {
    cg2d_phase phase;
    if (cg2d_solver_phase(solver, k, &phase) == CG2D_SUCCESS)
      printf("%-15s %.6f s\n", phase.name, phase.time_s);
  }
}

int main(int argument_count, char** arguments) {
  MPI_Init(&argument_count, &arguments);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int64_t n = argument_count > 1 ? atoll(arguments[1]) : 1000;
  const int64_t begin = n * rank / size;
  const int64_t end = n * (rank + 1) / size;

  cg2d_ranks* ranks = NULL;
  cg2d_options* options = NULL;
  cg2d_solver* assembled = NULL;
  cg2d_solver* matrix_free = NULL;
  require(cg2d_ranks_create(MPI_COMM_WORLD, &ranks), "cg2d_ranks_create");
  require(cg2d_options_create(&options), "cg2d_options_create");
  require(cg2d_options_set(options, "variant", "chronopoulos-gear"), "cg2d_options_set");
  /* Vectors stay where this program has them. */
  require(cg2d_options_set_own_rows(options, ranks, end - begin), "cg2d_options_set_own_rows");
  cg2d_matrix* matrix = matrix_of_line(ranks, n, begin, end);
  require(cg2d_solver_create(ranks, &matrix, options, &assembled), "cg2d_solver_create");
  require(cg2d_solver_create_for_product(ranks, end - begin, multiply, NULL, NULL, NULL, &matrix_free),
          "cg2d_solver_create_for_product");

  const size_t own = (size_t)(end - begin);
  double* b = calloc(own + 1, sizeof *b);
  double* x = calloc(own + 1, sizeof *x);
  double* y = calloc(own + 1, sizeof *y);
  for (size_t k = 0; k < own; ++k) b[k] = 1.0;
  const cg2d_tolerance tolerance = {.relative = 1e-12, .most_steps = 10000};
  require(cg2d_solve(assembled, b, x, &tolerance), "cg2d_solve");
  require(cg2d_solve(matrix_free, b, y, &tolerance), "cg2d_solve");
  double difference = 0.0;
  for (size_t k = 0; k < own; ++k) difference = fmax(difference, fabs(x[k] - y[k]) / fabs(x[k]));
  MPI_Allreduce(MPI_IN_PLACE, &difference, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0) {
    print(assembled);
    printf("largest difference = %.1e\n", difference);
  }
  free(b);
  free(x);
  free(y);
  cg2d_solver_free(assembled);
  cg2d_solver_free(matrix_free);
  cg2d_options_free(options);
  cg2d_ranks_free(ranks);
  MPI_Finalize();
  return difference < 1e-8 ? 0 : 1;
}
