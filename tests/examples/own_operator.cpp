// Solves with an operator of one's own, without a matrix: q = (2 + c) p - its neighbours, on a line of N points that is
// cut among the ranks: mpiexec -n 4 own_operator 1000
//
// The operator derives from LinearOperator: it decides where its vectors lie, how they are exchanged, and how sums are made.
// Where that does not matter, cg2d::FunctionOperator takes a function q(p) alone.

#include <mpi.h>

#include <algorithm>
#include <cg/library/solver.hpp>
#include <cmath>
#include <comm/mpi_handles.hpp>
#include <comm/rank_group.hpp>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

class LineOperator final : public cg2d::LinearOperator {
 public:
  static constexpr double shift = 0.01;

  LineOperator(size_t point_count, MPI_Comm communicator)
      : communicator_(communicator), p_(point_count + 2), q_(point_count) {
    int rank = 0;
    int size = 0;
    MPI_Comm_rank(communicator, &rank);
    MPI_Comm_size(communicator, &size);
    left_ = rank == 0 ? MPI_PROC_NULL : rank - 1;
    right_ = rank == size - 1 ? MPI_PROC_NULL : rank + 1;
  }

  size_t local_size() const override { return q_.size(); }
  /// Between the two places where the neighbours' points arrive, which stay 0 at the ends of the line.
  [[nodiscard]] std::span<double> operand() override { return std::span(p_).subspan(1, q_.size()); }
  std::span<const double> result() const override { return q_; }

  void apply() override {
    const size_t n = q_.size();
    MPI_Sendrecv(&p_[1], 1, MPI_DOUBLE, left_, 0, &p_[n + 1], 1, MPI_DOUBLE, right_, 0, communicator_,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(&p_[n], 1, MPI_DOUBLE, right_, 1, &p_[0], 1, MPI_DOUBLE, left_, 1, communicator_,
                 MPI_STATUS_IGNORE);
    for (size_t k = 0; k < n; ++k) q_[k] = (2.0 + shift) * p_[k + 1] - p_[k] - p_[k + 2];
  }
  void sum_over_ranks(std::span<double> values) override {
    MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE, MPI_SUM,
                  communicator_);
  }

 private:
  MPI_Comm communicator_;
  std::vector<double> p_;
  std::vector<double> q_;
  int left_ = MPI_PROC_NULL;
  int right_ = MPI_PROC_NULL;
};

int solve(long long point_count) {
  cg2d::comm::RankGroup ranks(MPI_COMM_WORLD);
  if (point_count < ranks.size())
    throw cg2d::InputError("usage: own_operator POINTS, at least one for each rank");
  const long long begin = point_count * ranks.rank() / ranks.size();
  const long long end = point_count * (ranks.rank() + 1) / ranks.size();
  LineOperator line(static_cast<size_t>(end - begin), MPI_COMM_WORLD);

  cg2d::Solver solver(line, ranks, {.preconditioner = "chebyshev"});
  // b = A times ones, so that x is known.
  std::ranges::fill(line.operand(), 1.0);
  line.apply();
  const std::vector<double> b(line.result().begin(), line.result().end());
  std::vector<double> x(solver.local_size());
  const auto solution = solver.solve(b, x, {.relative = 1e-12});

  double largest_error = 0.0;
  for (const double element : x) largest_error = std::max(largest_error, std::abs(element - 1.0));
  largest_error = ranks.maximum(largest_error);
  if (ranks.rank() == 0)
    std::printf("%s\nlargest error = %.1e\n", sentence_of(solution.result).c_str(), largest_error);
  return solution.is_solved() && largest_error < 1e-8 ? 0 : 1;
}

}  // namespace

int main(int argument_count, char** arguments) {
  const cg2d::comm::MpiSession mpi(argument_count, arguments);
  try {
    return solve(argument_count > 1 ? std::atoll(arguments[1]) : 0);
  } catch (const cg2d::RunError& error) {  // on every rank alike
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) std::fprintf(stderr, "own_operator: %s\n", error.what());
    return static_cast<int>(error.code());
  }
}
