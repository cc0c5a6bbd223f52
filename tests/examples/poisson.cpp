// Assembles -u'' - v'' = 1 on the unit square, zero on its border, by linear finite elements on 2 N^2 triangles, and solves
// it: mpiexec -n 4 poisson 100
//
// Each rank goes through its own cells and adds the matrices of their triangles as they are: entries that several cells
// have, also those of different ranks, are summed. No rank needs to know who stores which row.

#include <algorithm>
#include <array>
#include <cg/library/matrix.hpp>
#include <cg/library/solver.hpp>
#include <cg/library/vectors.hpp>
#include <comm/mpi_handles.hpp>
#include <comm/rank_group.hpp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

using Triangle = std::array<int64_t, 3>;  // its right angle first; -1: on the border of the square

struct Assembly {
  cg2d::MatrixBuilder& matrix;
  std::vector<cg2d::VectorElement>& right_hand_side;
  double triangle_area;
};

void add(const Triangle& triangle, const Assembly& assembly) {
  // Integrals of products of the gradients of the three hat functions, the same for triangles of all sizes.
  constexpr std::array<std::array<double, 3>, 3> stiffness{
      {{1.0, -0.5, -0.5}, {-0.5, 0.5, 0.0}, {-0.5, 0.0, 0.5}}};
  for (size_t i = 0; i < 3; ++i) {
    if (triangle[i] < 0) continue;
    assembly.right_hand_side.push_back({.row = triangle[i], .value = assembly.triangle_area / 3.0});
    for (size_t j = 0; j < 3; ++j) {
      if (triangle[j] >= 0) assembly.matrix.add(triangle[i], triangle[j], stiffness[i][j]);
    }
  }
}

int solve(int64_t cells) {
  cg2d::comm::RankGroup ranks(MPI_COMM_WORLD);
  if (cells < 2) throw cg2d::InputError("usage: poisson CELLS, at least 2 along each side");
  const int64_t inner = cells - 1;  // points along a side that are not on the border
  const auto row_of = [inner](int64_t i, int64_t j) {
    return i < 1 || j < 1 || i > inner || j > inner ? -1 : (i - 1) + inner * (j - 1);
  };

  cg2d::MatrixBuilder matrix(inner * inner, ranks);
  std::vector<cg2d::VectorElement> elements;
  const double area = 0.5 / static_cast<double>(cells * cells);
  const Assembly assembly{.matrix = matrix, .right_hand_side = elements, .triangle_area = area};
  for (int64_t cell = ranks.rank(); cell < cells * cells; cell += ranks.size()) {
    const int64_t i = cell % cells;
    const int64_t j = cell / cells;
    add({row_of(i, j), row_of(i + 1, j), row_of(i, j + 1)}, assembly);
    add({row_of(i + 1, j + 1), row_of(i, j + 1), row_of(i + 1, j)}, assembly);
  }

  cg2d::Solver solver(matrix.finish(), ranks, {.preconditioner = "block-jacobi"});
  const auto b = cg2d::vector_from_elements(elements, solver.place(), ranks);
  std::vector<double> x(solver.local_size());
  const auto solution = solver.solve(b, x);

  // u in the middle of the square, which is on whatever rank, for rank 0 to print.
  const auto middle = row_of(cells / 2, cells / 2);
  const cg2d::comm::IndexRange wanted{.begin = middle, .end = ranks.rank() == 0 ? middle + 1 : middle};
  const auto values = cg2d::elements_of(x, wanted, solver.place(), ranks);
  if (ranks.rank() == 0)
    std::printf("%s\nu in the middle = %.6f\n", sentence_of(solution.result).c_str(), values[0]);
  return static_cast<int>(cg2d::exit_code_of(solution.result.end));
}

}  // namespace

int main(int argument_count, char** arguments) {
  const cg2d::comm::MpiSession mpi(argument_count, arguments);
  try {
    return solve(argument_count > 1 ? std::atoll(arguments[1]) : 0);
  } catch (const cg2d::RunError& error) {  // on every rank alike
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) std::fprintf(stderr, "poisson: %s\n", error.what());
    return static_cast<int>(error.code());
  }
}
