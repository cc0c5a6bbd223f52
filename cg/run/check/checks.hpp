#pragma once

// The checks of one kernel, of one transport, and of q = A p on the whole grid.

#include <cstdint>
#include <memory>
#include <vector>

#include "cg/matrix/problem.hpp"
#include "cg/run/check/check.hpp"
#include "cg/solver/assembled_operator.hpp"
#include "cg/solver/linear_operator.hpp"
#include "comm/block_layout.hpp"
#include "comm/communicator.hpp"
#include "comm/rank_group.hpp"
#include "kernels/csr_block.hpp"
#include "kernels/spmv.hpp"

namespace cg2d {

// ---------------------------------------------------------------- kernels

/// A symmetric block, an operand, and the product by the reference kernel for whole storage.
struct KnownProduct {
  kernels::CsrBlock block;
  std::vector<double> operand;
  std::vector<double> product;
  /// By how much two products may differ in each row, however their terms are added: (terms + 2) eps sum |a| |p|,
  /// half of it for each (Higham, Accuracy and Stability, section 3.1), with a last addition to the result.
  std::vector<double> rounding;
};
/// Blocks of awkward shapes: one row, dense, rows of 0 to 60 entries with one dense row, and several column blocks.
std::vector<KnownProduct> make_known_products();

/// The error of a kernel on every rank; at most 1 is allowed. Unavailable where no rank can make it. Collective.
CheckResult check_kernel(const kernels::KernelRow& row, const kernels::KernelOptions& options,
                         const std::vector<KnownProduct>& known, comm::RankGroup& group);

// ---------------------------------------------------------------- transports

/// Products and sums of whole numbers, whose results are exact: the wrong elements of all ranks on one grid, with every form of the sum that the transport has, on even pieces and on
/// pieces some of which are empty; none are allowed. ranks_per_node: as in CommunicatorOptions. Collective. Throws
/// MpiError.
CheckResult check_transport(const comm::TransportRow& row, const comm::ProcessGrid& grid, int ranks_per_node,
                            comm::RankGroup& group);

// ---------------------------------------------------------------- operators

/// The parts that make a product on one grid.
struct ProductParts {
  const kernels::KernelRow& kernel;
  const comm::TransportRow& transport;
  const Configuration& configuration;  ///< its grid, threads, form of the sum, overlap and nodes
  const kernels::Tuning& tuning;
};

/// The matrix of a problem, distributed. Collective in its constructor. Throws RunError (on every rank alike), MpiError,
/// std::bad_alloc.
class DistributedSystem {
 public:
  DistributedSystem(const Problem& problem, const ProductParts& parts, comm::RankGroup& group);

  [[nodiscard]] AssembledOperator& assembled() { return *assembled_; }
  [[nodiscard]] LinearOperator& matrix() { return assembled_->matrix(); }
  /// This rank's piece of every vector.
  [[nodiscard]] comm::IndexRange piece() const { return piece_; }
  [[nodiscard]] std::int64_t order() const { return order_; }
  /// The largest sum of magnitudes over a row of the matrix: ||A|| in the maximum norm, and for a symmetric matrix no less
  /// than || |A| || in the Euclidean one.
  [[nodiscard]] double norm() const { return norm_; }

 private:
  std::int64_t order_;
  comm::IndexRange piece_;
  double norm_ = 0.0;
  std::unique_ptr<AssembledOperator> assembled_;
};

/// The largest |x.Ay - y.Ax| over several pairs of vectors, in parts of n eps norm ||x|| ||y||. Each of the two numbers has
/// at most a rounding error of n eps norm ||x|| ||y||: a row of A y and the dot product add up n terms each at most, and
/// |x|.|A||y| <= norm ||x|| ||y||. So at most 2 are allowed. Collective; the same on every rank.
CheckResult check_symmetry(LinearOperator& matrix, const comm::IndexRange& piece, std::int64_t order,
                           double norm);

/// The steps of CG until ||b - A x|| <= 1e-12 ||b||, recomputed; at most 12 are allowed. For a matrix whose diagonal is
/// boosted by ten times the norm of the rest, the condition number is at most 11/9, and the theory of CG says 10 steps:
/// 2 ((sqrt(11/9) - 1) / (sqrt(11/9) + 1))^10 = 2e-13. Collective; the same on every rank.
CheckResult check_convergence(LinearOperator& matrix, const comm::IndexRange& piece);
/// The problem with the diagonal so boosted; norm: of the problem's matrix with shift 0.
Problem boosted(const Problem& problem, double norm);

/// The relative difference of zeta from the problem's reference; at most Problem::tolerance is allowed. Collective. Throws
/// as DistributedSystem.
CheckResult check_benchmark(const Problem& problem, const ProductParts& parts, comm::RankGroup& group);

}  // namespace cg2d
