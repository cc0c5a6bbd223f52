/*
 * The C interface of cg2d: solves A x = b, A symmetric and positive definite, on the ranks of an MPI communicator.
 *
 * Every function that returns int returns a cg2d_status; after anything but CG2D_SUCCESS, cg2d_last_error() is one
 * line on what is wrong and what would be right. No C++ exception leaves a function. All ranks of a communicator make the
 * same calls in the same order and get the same status, except for the functions marked local: a bad argument of one rank
 * (NULL, a negative count, another tolerance than the others') is a failure of all. Where a function fails, its results
 * are left as they are, but for x of cg2d_solve.
 *
 * Without ranks or a solver a rank cannot tell the others: where that handle is NULL in a function that is not local, it
 * prints a line and calls MPI_Abort with CG2D_USAGE; a process alone gets that status. For MPI_COMM_NULL MPI's own error
 * handler is called, which aborts unless the program has set another. Local functions take a NULL solver for one that
 * has no rows and has not solved. Rows, columns and elements are numbered from 0. Not thread-safe.
 *
 * The manual is cg/library/README.md; the module cg2d (cg2d.f90) has the same for Fortran.
 */
#ifndef CG2D_H
#define CG2D_H

#include <mpi.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cg2d_status {
  CG2D_SUCCESS = 0,        /* for a solve: the recomputed residual meets the tolerance, or b = 0 */
  CG2D_USAGE = 64,         /* a bad argument, or the user's product failed */
  CG2D_BAD_DATA = 65,      /* a bad input file, or a matrix that is not symmetric */
  CG2D_UNAVAILABLE = 69,   /* a kernel or transport cannot serve here */
  CG2D_INTERNAL = 70,      /* a defect of cg2d, or an error of MPI */
  CG2D_MEMORY = 71,        /* not enough memory */
  CG2D_CANNOT_CREATE = 73, /* a file cannot be created */
  CG2D_CANNOT_WRITE = 74,  /* a file cannot be written to its end */
  CG2D_NOT_POSITIVE_DEFINITE = 80, /* the matrix */
  /* The limit of steps, or stagnation; x is the best iterate that was kept, as with CG2D_NOT_POSITIVE_DEFINITE. */
  CG2D_NOT_CONVERGED = 81,
  CG2D_NOT_FINITE = 84 /* NaN or infinity in the matrix, the right-hand side or the initial guess */
} cg2d_status;

typedef struct cg2d_ranks cg2d_ranks;
typedef struct cg2d_matrix cg2d_matrix;
typedef struct cg2d_options cg2d_options;
typedef struct cg2d_solver cg2d_solver;

/* The version of the library, "0.1.0". Local. */
const char* cg2d_version(void);
/* The line that belongs to the last failure on this rank; valid until the next call of a function that returns int. Local. */
const char* cg2d_last_error(void);

/* ---- the ranks: those of a communicator, which is duplicated. To be freed last, before MPI_Finalize. */
int cg2d_ranks_create(MPI_Comm communicator, cg2d_ranks** ranks);
int cg2d_ranks_create_fortran(MPI_Fint communicator, cg2d_ranks** ranks);
void cg2d_ranks_free(cg2d_ranks* ranks);

/* ---- matrices. Entries of the same place are summed, also those of different ranks; both triangles are given. */
/* Matrix Market, plain or compressed, or the binary form of `cg2d convert`. */
int cg2d_matrix_from_file(cg2d_ranks* ranks, const char* path, cg2d_matrix** matrix);
/* Each rank gives any entry_count entries. */
int cg2d_matrix_from_triples(cg2d_ranks* ranks, int64_t order, int64_t entry_count, const int64_t* rows,
                             const int64_t* columns, const double* values, cg2d_matrix** matrix);
/* Each rank gives row_count consecutive rows from first_row on, or none: row first_row + k has the entries row_starts[k]
 * ... row_starts[k + 1] - 1. */
int cg2d_matrix_from_rows(cg2d_ranks* ranks, int64_t order, int64_t first_row, int64_t row_count,
                          const int64_t* row_starts, const int64_t* columns, const double* values,
                          cg2d_matrix** matrix);
/* For a matrix that no solver has taken over. Local. */
void cg2d_matrix_free(cg2d_matrix* matrix);

/* ---- options of a solver, all with defaults. Local, but for cg2d_options_set_own_rows. */
int cg2d_options_create(cg2d_options** options);
/* name and value as texts: grid (auto, 2x3), preconditioner (none, jacobi, block-jacobi, chebyshev, also chebyshev:DEGREE
 * and chebyshev:DEGREE:LOW:HIGH), variant (classic, chronopoulos-gear, pipelined), cut (auto, nonzeros, even, file:FILE),
 * phases (on, off), kernel, transport, threads, sum_form, overlap, ranks_per_node. The last six are those of `cg2d solve`. */
int cg2d_options_set(cg2d_options* options, const char* name, const char* value);
/* The cut where this rank owns so many elements of each vector; after the grid is set, or else 1xP is taken. Collective. */
int cg2d_options_set_own_rows(cg2d_options* options, cg2d_ranks* ranks, int64_t own_row_count);
void cg2d_options_free(cg2d_options* options);

/* ---- solvers. options: NULL for the defaults. */
/* Takes the matrix over: *matrix becomes NULL, also where this fails. */
int cg2d_solver_create(cg2d_ranks* ranks, cg2d_matrix** matrix, const cg2d_options* options,
                       cg2d_solver** solver);
/* q = A p for this rank's pieces, local_size doubles each. Returns 0, or anything else where it failed: then the solve
 * ends on every rank with CG2D_USAGE. */
typedef int (*cg2d_product)(int64_t local_size, const double* p, double* q, void* context);
/* A user's own product, called on all ranks in the same order. diagonal: this rank's piece of A's diagonal, for
 * preconditioners that need it, or NULL. */
int cg2d_solver_create_for_product(cg2d_ranks* ranks, int64_t local_size, cg2d_product product, void* context,
                                   const double* diagonal, const cg2d_options* options, cg2d_solver** solver);
void cg2d_solver_free(cg2d_solver* solver);

/* This rank's pieces: element k of every vector belongs to row first_row + k. Local. */
int64_t cg2d_solver_local_size(const cg2d_solver* solver);
int64_t cg2d_solver_first_row(const cg2d_solver* solver);

/* ---- vectors between the ranks that have elements and those that own them. */
/* piece := the elements that the ranks give; those of the same row are summed, all others are 0. */
int cg2d_vector_from_elements(cg2d_solver* solver, int64_t element_count, const int64_t* rows,
                              const double* values, double* piece);
/* values := the elements of the rows begin ... end - 1, of whatever rank. */
int cg2d_elements_of(cg2d_solver* solver, const double* piece, int64_t begin, int64_t end, double* values);
/* Matrix Market files with one column. */
int cg2d_vector_read(cg2d_solver* solver, const char* path, double* piece);
int cg2d_vector_write(cg2d_solver* solver, const char* path, const double* piece);

/* ---- solving */
typedef struct cg2d_tolerance {
  double relative; /* || b - A x || is to be at most relative * || b ||, */
  double absolute; /* or absolute: the larger of both counts */
  int most_steps;  /* at least 0, and none of them NaN */
  int starts_from_x; /* 0: from x = 0 */
} cg2d_tolerance;
/* x := about A^-1 b; this rank's pieces. tolerance, the same on all ranks: NULL for 1e-8, 0, 10000 and 0. Returns how it ended. */
int cg2d_solve(cg2d_solver* solver, const double* b, double* x, const cg2d_tolerance* tolerance);

/* The last solve; the same on every rank. Zeros before the first one. */
typedef struct cg2d_result {
  int step_count;
  double right_hand_side_norm;
  double first_residual_norm;
  double residual_norm;      /* by the recurrence, after the last step */
  double true_residual_norm; /* recomputed, of x: of a solve that fails that of an earlier step may be the best */
  double target_norm;
  double smallest_eigenvalue; /* estimates, of A with its preconditioner; 0: there are none */
  double largest_eigenvalue;
  double predicted_steps; /* at most, if the condition number is no larger than its estimate */
  double time_s; /* on the slowest rank */
} cg2d_result;
/* The time of a phase on this rank. */
typedef struct cg2d_phase {
  const char* name;
  double time_s;
  double waited_s; /* part of time_s spent waiting for other ranks */
  int64_t call_count;
} cg2d_phase;
/* Local. Pointers are valid until the next solve. */
void cg2d_solver_result(const cg2d_solver* solver, cg2d_result* result);
/* The name of the end, such as "converged" or "step_limit", and a sentence on it. */
const char* cg2d_solver_end(const cg2d_solver* solver);
const char* cg2d_solver_sentence(const cg2d_solver* solver);
/* Residual norms before the first step and after each; none (a count of 0) of a solve without a step. */
const double* cg2d_solver_history(const cg2d_solver* solver, int64_t* count);
int64_t cg2d_solver_phase_count(const cg2d_solver* solver);
/* index: 0 ... phase_count - 1. */
int cg2d_solver_phase(const cg2d_solver* solver, int64_t index, cg2d_phase* phase);

#ifdef __cplusplus
}
#endif

#endif
