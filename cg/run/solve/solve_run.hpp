#pragma once

// One solve of a user's system, from options to a complete report.

#include <memory>
#include <optional>
#include <vector>

#include "cg/base/process_memory.hpp"
#include "cg/base/progress.hpp"
#include "cg/matrix/files/vector_file.hpp"
#include "cg/run/region_measurement.hpp"
#include "cg/run/session.hpp"
#include "cg/run/solve/solve_iterations.hpp"
#include "cg/run/solve/solve_operator.hpp"
#include "cg/run/solve/solve_options.hpp"
#include "cg/run/solve/solve_report.hpp"
#include "cg/solver/conjugate_gradient.hpp"
#include "cg/solver/distributed_vectors.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

class OutputFile;

/// Collective in every operation but the accessors; each throws RunError (on every rank alike), MpiError,
/// std::bad_alloc, and leaves the report as far as it got. Holds references: options, group and progress must
/// outlive it.
class SolveRun final : public Workload {
 public:
  /// kept: with the matrix of the options from read_system(), where more than one run uses it; nullptr: the run reads
  /// it, and gives its rows back while the blocks grow.
  SolveRun(const SystemOptions& options, comm::RankGroup& group, const Progress& progress,
           const KeptSystem& kept = {})
      : options_(options),
        group_(group),
        session_(options, group, progress, report_, WorkKind::solve),
        parts_{options, group, progress, report_, session_},
        kept_(kept) {}

  /// Inspects the machine, and checks what needs no matrix.
  void prepare();
  /// Reads, distributes and solves. After prepare().
  void perform() { session_.perform(*this); }
  /// Writes the solution, where there is to be a file of it, into that, which is null but on rank 0. After perform(). Collective.
  void write_solution(OutputFile* file) const;

  [[nodiscard]] const SolveReport& report() const { return report_; }
  /// This rank's part of the trace, where one was requested; valid as long as this.
  [[nodiscard]] const std::optional<RankTrace>& trace() const { return session_.trace(); }
  /// Notes in the report why the solve ends.
  void record_failure(const RunError& error) { report_.record_failure(error); }

 private:
  void choose() override;
  ReadyWork make() override;
  void begin(RegionMeasurement& measurement) override;
  const RepeatReport* iterate() override;

  void count_right_hand_sides();
  void check_several() const;
  void check_reproducible() const;
  [[nodiscard]] HugePageVector make_vectors(const VectorOption& option) const;
  [[nodiscard]] HugePageVector expanded(HugePageVector diagonal) const;
  [[nodiscard]] PolynomialOptions polynomial() const;
  [[nodiscard]] std::unique_ptr<Preconditioner> make_preconditioner();
  [[nodiscard]] TraceRoom trace_room(int step_count) const;
  void record_solutions(std::vector<Solution> solutions);

  const SystemOptions& options_;
  comm::RankGroup& group_;
  SolveReport report_;
  Session session_;
  SolveParts parts_;
  KeptSystem kept_;
  std::unique_ptr<SolvedOperator> operator_;
  std::optional<AssembledSystem> system_;
  VectorPlace place_;  // of all vectors
  HugePageVector b_;
  HugePageVector x_;
  std::optional<DistributedVectors> vectors_;
  std::unique_ptr<Preconditioner> preconditioner_;
  std::optional<ConjugateGradient> solver_;
  std::optional<SolveIterations> iterations_;
};

}  // namespace cg2d
