#pragma once

// The operator of a solve: a matrix in blocks, or a product without one.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "cg/base/interface.hpp"
#include "cg/base/process_memory.hpp"
#include "cg/base/progress.hpp"
#include "cg/matrix/files/stored_matrix.hpp"
#include "cg/matrix/files/system_matrix.hpp"
#include "cg/matrix/files/vector_file.hpp"
#include "cg/run/guard/guard.hpp"
#include "cg/run/session.hpp"
#include "cg/run/solve/solve_options.hpp"
#include "cg/run/solve/solve_report.hpp"
#include "cg/tuning/trial.hpp"
#include "comm/rank_group.hpp"
#include "kernels/csr_block.hpp"

namespace cg2d {

/// The parts of a solve that its own parts need.
struct SolveParts {
  const SystemOptions& options;
  comm::RankGroup& group;
  const Progress& progress;
  SolveReport& report;
  Session& session;

  [[nodiscard]] const Configuration& configuration() const { return report.configuration; }
  [[nodiscard]] bool has_several() const { return report.right_hand_side_count > 1; }
  /// The vectors that the product takes at once: at least as many as there are right-hand sides.
  [[nodiscard]] int vector_count() const { return kernels::vector_count_for(report.right_hand_side_count); }
};

/// A system that is ready to be solved, however its product is made. Holds references.
struct AssembledSystem {
  LinearOperator& matrix;
  PhaseTimer& timer;
  VectorPlace place;
  std::function<comm::Traffic(comm::Operation)> sent;  ///< by this rank so far
  std::int64_t first_row = 0;                          ///< the number of this rank's first element
  std::int64_t matrix_bytes =
      0;  ///< over which products of this rank read the matrix; 0: they read vectors only
  double storage_bytes_per_s = 0.0;    ///< MachineLimits::storage_bytes_per_s
  HugePageVector diagonal{};           ///< this rank's piece, where the preconditioner needs it
  kernels::CsrBlock diagonal_block{};  ///< A in the rows and columns of this rank's piece, where it is needed
  std::uint64_t value_hash = 0;        ///< of the matrix, for checkpoints
  Guard* guard = nullptr;              ///< of this solve
};

/// Collective. Throws RunError (on every rank alike), MpiError, std::bad_alloc.
class SolvedOperator : public Interface {
 public:
  /// Reads or sizes it, and chooses all that it depends on, but the transport.
  virtual void choose() = 0;
  /// It is over its transport. The result refers to this.
  virtual AssembledSystem make() = 0;
};

/// Parts of a system that several runs use.
struct KeptSystem {
  SystemMatrix* matrix = nullptr;
  /// The trial of kernels: the first run with --kernel auto makes it, the others take it.
  std::optional<KernelTrial>* kernel_trial = nullptr;
};

std::unique_ptr<SolvedOperator> operator_with_matrix(const SolveParts& parts, const KeptSystem& kept);
std::unique_ptr<SolvedOperator> operator_without_matrix(const SolveParts& parts);

/// Reads or generates the matrix of the options, and checks that it is symmetric with a positive diagonal. Collective.
/// Throws RunError (on every rank alike), MpiError, std::bad_alloc.
std::unique_ptr<SystemMatrix> read_system(const SystemOptions& options, comm::RankGroup& group,
                                          const Progress& progress, const MemoryCheck& check_memory);

}  // namespace cg2d
