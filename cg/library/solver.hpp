#pragma once

// Solves A x = b on several ranks, for any number of right-hand sides.

#include "cg/library/solution.hpp"
#include "cg/library/vectors.hpp"
#include "cg/matrix/files/system_matrix.hpp"
#include "cg/solver/configuration.hpp"
#include "cg/solver/conjugate_gradient.hpp"

namespace cg2d {

/// A LinearOperator that calls a function for its products; sums over all ranks are its own. An operator with more
/// to say (phases, memory of its own for the operand) derives from LinearOperator itself.
class FunctionOperator final : public LinearOperator {
 public:
  /// Reads p and writes q, this rank's pieces, local_size doubles each. Called on all ranks in the same order; may
  /// send and receive, on a communicator of its own.
  using Product = std::function<void(std::span<const double> p, std::span<double> q)>;

  /// local_size: elements of this rank's piece of every vector; may be 0, and another one on each rank. The group
  /// must outlive the operator. Collective. Throws RunError, MpiError, std::bad_alloc.
  FunctionOperator(size_t local_size, Product product, comm::RankGroup& group);

  size_t local_size() const override { return p_.size(); }
  [[nodiscard]] std::span<double> operand() override { return p_; }
  void apply() override;
  std::span<const double> result() const override { return q_; }
  void sum_over_ranks(std::span<double> values) override { sums_->sum_scalars(values); }

  /// An exception of the product makes its q NaN, so that CG ends on all ranks alike; this throws it, on every rank
  /// alike, as a RunError that names the rank, and forgets it. Solver does so when made and after each solve. Collective.
  void throw_failure();

 private:
  Product product_;
  comm::RankGroup& group_;
  HugePageVector p_;
  HugePageVector q_;
  std::unique_ptr<comm::Communicator> sums_;
  std::optional<RunError> failure_;
};

/// Options of a solver; the same on every rank, but for the diagonal.
struct SolverOptions {
  /// Grid (0 x 0: the one that sends least), kernel ("auto": by a built-in rule), transport, threads, overlap, cut ("auto": nonzeros). A
  /// user's operator takes the threads only, for the vector operations.
  Configuration configuration{};
  std::string preconditioner =
      "none";  ///< "jacobi", "block-jacobi", "chebyshev:4"; preconditioner_table() has all
  std::string variant = "classic";  ///< the form of CG; cg_variant_table() has all
  /// Own borders of the pieces instead, see piece_starts_of(); empty: none.
  std::vector<int64_t> piece_starts{};
  /// This rank's piece of the diagonal of a user's operator, for preconditioners that need it; read when the
  /// solver is made.
  std::span<const double> diagonal{};
  bool times_phases = true;  ///< two readings of a clock per phase
};

/// The time of one phase of a solve on this rank.
struct PhaseTime {
  std::string_view name;  ///< as cg/timing/phase.hpp has it
  double time_s = 0.0;
  double waited_s = 0.0;  ///< part of time_s spent waiting for other ranks
  int64_t call_count = 0;
};

/// Matrix, grid, kernel, communicator and preconditioner, ready to solve. Holds a reference to the group. Making it and
/// solving is collective over the group; accessors are local. Everything throws RunError on every rank alike, MpiError,
/// std::bad_alloc. Not thread-safe.
///
///   Solver solver(matrix_from_file("A.mtx", ranks), ranks, {.preconditioner = "jacobi"});
///   std::vector<double> b(solver.local_size(), 1.0), x(solver.local_size());
///   const auto solution = solver.solve(b, x, {.relative = 1e-10});
class Solver {
 public:
  /// Takes the matrix over. Throws RunError: bad_data where A is not symmetric, with the first pair that differs;
  /// not_positive_definite where a diagonal entry is not positive; usage for a bad option; unavailable, memory.
  Solver(std::unique_ptr<SystemMatrix> matrix, comm::RankGroup& group, const SolverOptions& options = {});
  /// For a user's operator, which must outlive the solver. Preconditioners that need the matrix itself are refused. An exception of the
  /// product of a FunctionOperator ends the solve with a RunError on every rank.
  Solver(LinearOperator& matrix, comm::RankGroup& group, const SolverOptions& options = {});
  ~Solver();
  Solver(Solver&&) noexcept;
  Solver& operator=(Solver&&) noexcept;
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;

  /// Elements of this rank's piece of every vector; may be 0.
  size_t local_size() const;
  /// The rows that this rank's pieces belong to, in their order, unless the matrix was read in a random order.
  comm::IndexRange rows() const;
  /// The row that an element of this rank's pieces belongs to, in any case.
  int64_t row_of(size_t element) const;
  /// The place of vectors, for vectors.hpp and read_vector(). Valid as long as the solver.
  PiecePlace place() const;
  /// The choices that were made; for a user's operator its grid is one process column.
  const Configuration& configuration() const;

  /// x := about A^-1 b, from x = 0. b, x: this rank's pieces; they do not overlap. How it ended is in the solution;
  /// only what hinders it from being tried is an exception: a tolerance that is negative, NaN or another one than that
  /// of other ranks, a piece of another length.
  Solution solve(std::span<const double> b, std::span<double> x, const ToleranceOptions& tolerance = {});
  /// solve() from the x that is given where vectors.starts_from_x.
  Solution solve(const SystemVectors& vectors, const ToleranceOptions& tolerance = {});
  /// solve() with a stop rule of the caller's. The solution has no target_norm and no predicted_steps.
  Solution solve(const SystemVectors& vectors, const StopRule& stop);

  /// Tells the observer of every step from now on; it must outlive the solver.
  void add(StepObserver& observer);

  /// The phases of the last solve, in the order of the phase table; those without calls are left out. Empty before
  /// the first solve, and without times_phases.
  const std::vector<PhaseTime>& phases() const;
  /// Seconds that the last solve took, on the slowest rank.
  double time_s() const;

 private:
  class Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace cg2d
