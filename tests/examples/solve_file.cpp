// Solves A x = b for a matrix in a file, b of ones:
//   mpiexec -n 4 solve_file A.mtx [x.mtx]

#include <cg/library/matrix.hpp>
#include <cg/library/solver.hpp>
#include <cg/library/vectors.hpp>
#include <comm/mpi_handles.hpp>
#include <comm/rank_group.hpp>
#include <cstdio>
#include <vector>

namespace {

void print(const cg2d::Solver& solver, const cg2d::Solution& solution) {
  std::printf("%s\n", cg2d::sentence_of(solution.result).c_str());
  std::printf("grid %s, kernel %s, %.6f s\n", solver.configuration().grid.name().c_str(),
              solver.configuration().kernel.c_str(), solver.time_s());
  for (size_t step = 0; step < solution.history.size(); step += 10)
    std::printf("step %4zu: residual %.3e\n", step, solution.history[step]);
  for (const auto& phase : solver.phases())
    std::printf("%-15.*s %.6f s\n", static_cast<int>(phase.name.size()), phase.name.data(), phase.time_s);
}

int solve(int argument_count, char** arguments) {
  cg2d::comm::RankGroup ranks(MPI_COMM_WORLD);
  if (argument_count < 2) throw cg2d::InputError("usage: solve_file A.mtx [x.mtx]");

  cg2d::Solver solver(cg2d::matrix_from_file(arguments[1], ranks), ranks, {.preconditioner = "jacobi"});
  const std::vector<double> b(solver.local_size(), 1.0);
  std::vector<double> x(solver.local_size());
  const auto solution = solver.solve(b, x, {.relative = 1e-10});

  if (ranks.rank() == 0) print(solver, solution);
  if (argument_count > 2) cg2d::save_vector(arguments[2], x, "x of A x = b", solver.place(), ranks);
  return static_cast<int>(cg2d::exit_code_of(solution.result.end));
}

}  // namespace

int main(int argument_count, char** arguments) {
  const cg2d::comm::MpiSession mpi(argument_count, arguments);
  try {
    return solve(argument_count, arguments);
  } catch (const cg2d::RunError& error) {  // on every rank alike, so every rank comes to the end of main
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) std::fprintf(stderr, "solve_file: %s\n", error.what());
    return static_cast<int>(error.code());
  }
}
