! The C interface of cg2d for Fortran (iso_c_binding): one interface per function of cg2d.h, which says what they do,
! but cg2d_ranks_create(), in whose place cg2d_ranks_create_fortran() stands.
! Compile this file with your program. Texts that are given end with c_null_char; cg2d_text() makes those that are
! returned into Fortran's. Rows, columns and elements are numbered from 0, as in C.
module cg2d
  use, intrinsic :: iso_c_binding
  implicit none

  integer(c_int), parameter :: cg2d_success = 0, cg2d_usage = 64, cg2d_bad_data = 65, cg2d_unavailable = 69, &
                               cg2d_internal = 70, cg2d_memory = 71, cg2d_cannot_create = 73, cg2d_cannot_write = 74, &
                               cg2d_not_positive_definite = 80, cg2d_not_converged = 81, cg2d_not_finite = 84

  type, bind(C) :: cg2d_tolerance
    real(c_double) :: relative = 1.0e-8_c_double
    real(c_double) :: absolute = 0.0_c_double
    integer(c_int) :: most_steps = 10000
    integer(c_int) :: starts_from_x = 0
  end type cg2d_tolerance

  type, bind(C) :: cg2d_result
    integer(c_int) :: step_count
    real(c_double) :: right_hand_side_norm
    real(c_double) :: first_residual_norm
    real(c_double) :: residual_norm
    real(c_double) :: true_residual_norm
    real(c_double) :: target_norm
    real(c_double) :: smallest_eigenvalue
    real(c_double) :: largest_eigenvalue
    real(c_double) :: predicted_steps
    real(c_double) :: time_s
  end type cg2d_result

  type, bind(C) :: cg2d_phase
    type(c_ptr) :: name
    real(c_double) :: time_s
    real(c_double) :: waited_s
    integer(c_int64_t) :: call_count
  end type cg2d_phase

  abstract interface
    ! The user's product q = A p; returns 0, or anything else where it failed.
    function cg2d_product(local_size, p, q, context) bind(C) result(status)
      import :: c_int, c_int64_t, c_double, c_ptr
      integer(c_int64_t), value :: local_size
      real(c_double), intent(in) :: p(local_size)
      real(c_double), intent(out) :: q(local_size)
      type(c_ptr), value :: context
      integer(c_int) :: status
    end function cg2d_product
  end interface

  interface
    type(c_ptr) function cg2d_version() bind(C)
      import :: c_ptr
    end function
    type(c_ptr) function cg2d_last_error() bind(C)
      import :: c_ptr
    end function

    ! communicator: Fortran's handle, such as MPI_COMM_WORLD of the module mpi (mpi_f08: %MPI_VAL).
    integer(c_int) function cg2d_ranks_create_fortran(communicator, ranks) bind(C)
      import :: c_int, c_ptr
      integer, value :: communicator
      type(c_ptr), intent(out) :: ranks
    end function
    subroutine cg2d_ranks_free(ranks) bind(C)
      import :: c_ptr
      type(c_ptr), value :: ranks
    end subroutine

    integer(c_int) function cg2d_matrix_from_file(ranks, path, matrix) bind(C)
      import :: c_int, c_ptr, c_char
      type(c_ptr), value :: ranks
      character(kind=c_char), intent(in) :: path(*)
      type(c_ptr), intent(out) :: matrix
    end function
    integer(c_int) function cg2d_matrix_from_triples(ranks, order, entry_count, rows, columns, values, matrix) bind(C)
      import :: c_int, c_ptr, c_int64_t, c_double
      type(c_ptr), value :: ranks
      integer(c_int64_t), value :: order, entry_count
      integer(c_int64_t), intent(in) :: rows(*), columns(*)
      real(c_double), intent(in) :: values(*)
      type(c_ptr), intent(out) :: matrix
    end function
    integer(c_int) function cg2d_matrix_from_rows(ranks, order, first_row, row_count, row_starts, columns, values, &
                                                  matrix) bind(C)
      import :: c_int, c_ptr, c_int64_t, c_double
      type(c_ptr), value :: ranks
      integer(c_int64_t), value :: order, first_row, row_count
      integer(c_int64_t), intent(in) :: row_starts(*), columns(*)
      real(c_double), intent(in) :: values(*)
      type(c_ptr), intent(out) :: matrix
    end function
    subroutine cg2d_matrix_free(matrix) bind(C)
      import :: c_ptr
      type(c_ptr), value :: matrix
    end subroutine

    integer(c_int) function cg2d_options_create(options) bind(C)
      import :: c_int, c_ptr
      type(c_ptr), intent(out) :: options
    end function
    integer(c_int) function cg2d_options_set(options, name, value) bind(C)
      import :: c_int, c_ptr, c_char
      type(c_ptr), value :: options
      character(kind=c_char), intent(in) :: name(*), value(*)
    end function
    integer(c_int) function cg2d_options_set_own_rows(options, ranks, own_row_count) bind(C)
      import :: c_int, c_ptr, c_int64_t
      type(c_ptr), value :: options, ranks
      integer(c_int64_t), value :: own_row_count
    end function
    subroutine cg2d_options_free(options) bind(C)
      import :: c_ptr
      type(c_ptr), value :: options
    end subroutine

    ! options: c_null_ptr for the defaults.
    integer(c_int) function cg2d_solver_create(ranks, matrix, options, solver) bind(C)
      import :: c_int, c_ptr
      type(c_ptr), value :: ranks, options
      type(c_ptr), intent(inout) :: matrix
      type(c_ptr), intent(out) :: solver
    end function
    ! product: c_funloc() of a cg2d_product. diagonal: c_loc() of an array, or c_null_ptr.
    integer(c_int) function cg2d_solver_create_for_product(ranks, local_size, product, context, diagonal, options, &
                                                           solver) bind(C)
      import :: c_int, c_ptr, c_funptr, c_int64_t
      type(c_ptr), value :: ranks, context, diagonal, options
      integer(c_int64_t), value :: local_size
      type(c_funptr), value :: product
      type(c_ptr), intent(out) :: solver
    end function
    subroutine cg2d_solver_free(solver) bind(C)
      import :: c_ptr
      type(c_ptr), value :: solver
    end subroutine
    integer(c_int64_t) function cg2d_solver_local_size(solver) bind(C)
      import :: c_int64_t, c_ptr
      type(c_ptr), value :: solver
    end function
    integer(c_int64_t) function cg2d_solver_first_row(solver) bind(C)
      import :: c_int64_t, c_ptr
      type(c_ptr), value :: solver
    end function

    integer(c_int) function cg2d_vector_from_elements(solver, element_count, rows, values, piece) bind(C)
      import :: c_int, c_ptr, c_int64_t, c_double
      type(c_ptr), value :: solver
      integer(c_int64_t), value :: element_count
      integer(c_int64_t), intent(in) :: rows(*)
      real(c_double), intent(in) :: values(*)
      real(c_double), intent(inout) :: piece(*)
    end function
    ! begin, end: as begin_row, end_row here.
    integer(c_int) function cg2d_elements_of(solver, piece, begin_row, end_row, values) bind(C)
      import :: c_int, c_ptr, c_int64_t, c_double
      type(c_ptr), value :: solver
      real(c_double), intent(in) :: piece(*)
      integer(c_int64_t), value :: begin_row, end_row
      real(c_double), intent(inout) :: values(*)
    end function
    integer(c_int) function cg2d_vector_read(solver, path, piece) bind(C)
      import :: c_int, c_ptr, c_char, c_double
      type(c_ptr), value :: solver
      character(kind=c_char), intent(in) :: path(*)
      real(c_double), intent(inout) :: piece(*)
    end function
    integer(c_int) function cg2d_vector_write(solver, path, piece) bind(C)
      import :: c_int, c_ptr, c_char, c_double
      type(c_ptr), value :: solver
      character(kind=c_char), intent(in) :: path(*)
      real(c_double), intent(in) :: piece(*)
    end function

    integer(c_int) function cg2d_solve(solver, b, x, tolerance) bind(C)
      import :: c_int, c_ptr, c_double, cg2d_tolerance
      type(c_ptr), value :: solver
      real(c_double), intent(in) :: b(*)
      real(c_double), intent(inout) :: x(*)
      type(cg2d_tolerance), intent(in) :: tolerance
    end function
    subroutine cg2d_solver_result(solver, result) bind(C)
      import :: c_ptr, cg2d_result
      type(c_ptr), value :: solver
      type(cg2d_result), intent(out) :: result
    end subroutine
    type(c_ptr) function cg2d_solver_end(solver) bind(C)
      import :: c_ptr
      type(c_ptr), value :: solver
    end function
    type(c_ptr) function cg2d_solver_sentence(solver) bind(C)
      import :: c_ptr
      type(c_ptr), value :: solver
    end function
    ! c_f_pointer() makes an array of it.
    type(c_ptr) function cg2d_solver_history(solver, count) bind(C)
      import :: c_ptr, c_int64_t
      type(c_ptr), value :: solver
      integer(c_int64_t), intent(out) :: count
    end function
    integer(c_int64_t) function cg2d_solver_phase_count(solver) bind(C)
      import :: c_int64_t, c_ptr
      type(c_ptr), value :: solver
    end function
    integer(c_int) function cg2d_solver_phase(solver, index, phase) bind(C)
      import :: c_int, c_ptr, c_int64_t, cg2d_phase
      type(c_ptr), value :: solver
      integer(c_int64_t), value :: index
      type(cg2d_phase), intent(out) :: phase
    end function
  end interface

  interface
    integer(c_size_t) function cg2d_length_of_text(text) bind(C, name="strlen")
      import :: c_size_t, c_ptr
      type(c_ptr), value :: text
    end function
  end interface
  private :: cg2d_length_of_text

contains

  ! A text of C as one of Fortran.
  function cg2d_text(text) result(copy)
    type(c_ptr), intent(in) :: text
    character(len=:), allocatable :: copy
    character(kind=c_char), pointer :: characters(:)
    integer :: length, k
    length = int(cg2d_length_of_text(text))
    call c_f_pointer(text, characters, [length])
    allocate (character(len=length) :: copy)
    do k = 1, length
      copy(k:k) = characters(k)
    end do
  end function cg2d_text
end module cg2d
