#pragma once

// The phase table of a report: clocks per CG step, waiting, messages, as text.

#include <span>
#include <string>
#include <vector>

#include "cg/base/values.hpp"
#include "cg/timing/phase.hpp"

namespace cg2d {

struct Configuration;
struct CounterResult;
struct Prediction;
struct RankResult;
struct RepeatReport;
struct RunReport;
struct SolveReport;

/// Holds references: what it is made of must outlive it.
struct PhaseFigures {
  const Configuration& configuration;
  const RepeatReport& repeat;         ///< the region whose phases were timed
  std::span<const RankResult> ranks;  ///< with the clocks' frequency and the costs of timing
  bool are_timed = true;
  double step_count = 0.0;  ///< CG steps of the region
  const Prediction* prediction = nullptr;
  /// Phases of a step; the JSON has those of the benchmark in any case.
  std::span<const Phase> phases = benchmark_phases;

  const CounterResult* counters = nullptr;  ///< counts of the events in the region
  double nonzeros_multiplied = 0.0;  ///< by all products of the region, all ranks; 0: there is no matrix

  /// The phases of the benchmark, then the others of a step, as the JSON has them.
  [[nodiscard]] std::vector<Phase> reported_phases() const;
  /// Whether communication is under way during other phases.
  [[nodiscard]] bool hides() const;
};
/// The phases of a repetition, or of the one that a run reports.
PhaseFigures phases_of(const RunReport& report, const RepeatReport& repeat);
PhaseFigures phases_of(const RunReport& report);
/// The phases of a solve: those of the benchmark, unless there is no matrix.
PhaseFigures phases_of(const SolveReport& report);

/// Time per CG step with the rates of the work done, or reference clocks with their spread over the ranks.
std::string phase_table_text(const PhaseFigures& figures, const TextDetail& detail);

}  // namespace cg2d
