! The C interface from Fortran: a line of N points with 2 + c on the diagonal and -1 beside it, from triples, solved with
! Jacobi: mpiexec -n 4 line_fortran 1000
program line_fortran
  use, intrinsic :: iso_c_binding
  use mpi
  use cg2d
  implicit none

  real(c_double), parameter :: shift = 0.01_c_double
  integer(c_int64_t) :: n, first, last, row, filled, own, k, history_count
  integer(c_int64_t), allocatable :: rows(:), columns(:)
  real(c_double), allocatable :: values(:), b(:), x(:)
  real(c_double), pointer :: history(:)
  type(c_ptr) :: ranks, matrix, options, solver
  type(cg2d_tolerance) :: tolerance
  type(cg2d_result) :: result
  type(cg2d_phase) :: phase
  character(len=32) :: argument
  integer :: rank, rank_count, status

  call MPI_Init(status)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, status)
  call MPI_Comm_size(MPI_COMM_WORLD, rank_count, status)
  n = 1000
  if (command_argument_count() > 0) then
    call get_command_argument(1, argument)
    read (argument, *) n
  end if

  ! This rank's rows, numbered from 0; each with what is on its diagonal and beside it.
  first = n * rank / rank_count
  last = n * (rank + 1) / rank_count - 1
  allocate (rows(3 * (last - first + 1)), columns(3 * (last - first + 1)), values(3 * (last - first + 1)))
  filled = 0
  do row = first, last
    call add(row, row, 2 + shift)
    if (row > 0) call add(row, row - 1, -1.0_c_double)
    if (row < n - 1) call add(row, row + 1, -1.0_c_double)
  end do

  call require(cg2d_ranks_create_fortran(MPI_COMM_WORLD, ranks))
  call require(cg2d_matrix_from_triples(ranks, n, filled, rows, columns, values, matrix))
  call require(cg2d_options_create(options))
  call require(cg2d_options_set(options, "preconditioner" // c_null_char, "jacobi" // c_null_char))
  call require(cg2d_solver_create(ranks, matrix, options, solver))

  own = cg2d_solver_local_size(solver)
  allocate (b(own), x(own))
  b = 1
  tolerance%relative = 1.0e-12_c_double
  call require(cg2d_solve(solver, b, x, tolerance))

  if (rank == 0) then
    call cg2d_solver_result(solver, result)
    call c_f_pointer(cg2d_solver_history(solver, history_count), history, [history_count])
    print '(a, ": ", a)', cg2d_text(cg2d_solver_end(solver)), cg2d_text(cg2d_solver_sentence(solver))
    print '(i0, a, es10.3, a, es10.3)', result%step_count, " steps, first residual ", history(1), ", last ", &
      history(history_count)
    do k = 0, cg2d_solver_phase_count(solver) - 1
      call require(cg2d_solver_phase(solver, k, phase))
      print '(a15, f12.6, " s")', cg2d_text(phase%name), phase%time_s
    end do
  end if

  call cg2d_solver_free(solver)
  call cg2d_options_free(options)
  call cg2d_ranks_free(ranks)
  call MPI_Finalize(status)

contains

  subroutine add(entry_row, entry_column, value)
    integer(c_int64_t), intent(in) :: entry_row, entry_column
    real(c_double), intent(in) :: value
    filled = filled + 1
    rows(filled) = entry_row
    columns(filled) = entry_column
    values(filled) = value
  end subroutine add

  ! Ends all ranks where one call fails: all have the same status.
  subroutine require(code)
    integer(c_int), intent(in) :: code
    if (code == cg2d_success) return
    print '(2a)', "line_fortran: ", cg2d_text(cg2d_last_error())
    call MPI_Finalize(status)
    stop 1
  end subroutine require
end program line_fortran
