#pragma once

// Work that studies measure in many configurations: the benchmark, or a system of the user. Nothing else in the studies knows which of
// the two it is.

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cg/base/errors.hpp"
#include "cg/base/interface.hpp"
#include "cg/base/progress.hpp"
#include "cg/matrix/problem.hpp"
#include "cg/report/result_reader.hpp"
#include "cg/run/benchmark_run.hpp"
#include "cg/run/session_options.hpp"
#include "cg/run/solve/solve_options.hpp"
#include "cg/studies/sweep_plan.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// The time of a run by its use, as parts of its timed region; means over the ranks.
struct CommunicationShares {
  double moving = 0.0;   ///< phases that communicate, without waiting
  double waiting = 0.0;  ///< in these, for other ranks
};

/// One run, as far as studies compare runs.
struct StudiedRun {
  ExitCode code = ExitCode::success;
  std::string reason{};  ///< empty on success
  std::vector<std::string> warnings{};
  /// "2x1", of a system "grid 2x1" or "domain 1x2x2"; empty if the run ended before it was known.
  std::string arrangement{};
  std::string kernel{};  ///< that ran
  std::int64_t n = 0;    ///< order of the matrix; 0: not known
  double time_s = 0.0;   ///< seconds of the timed region; this and the following members only on success
  std::optional<double> zeta{};  ///< of the benchmark
  CommunicationShares shares{};
  std::string disturbance{};  ///< disturbance of its timed region, one line; empty: it was quiet

  [[nodiscard]] bool succeeded() const { return code == ExitCode::success; }
  [[nodiscard]] bool is_disturbed() const { return !disturbance.empty(); }
};

/// The result of a run: what is compared, and the maker of its JSON, of run_document() or solve_document(), which rank 0 calls.
struct StudiedResult {
  StudiedRun run;
  std::function<nlohmann::ordered_json()> json;
};

/// One kind of work, for one command.
class StudiedWork : public Interface {
 public:
  /// The work on these configurations is going to be measured on so many ranks: reads what their runs have in common.
  /// Collective over `ranks`.
  virtual void prepare(const ConfiguredProblem& asked, comm::RankGroup& ranks, const Progress& progress) = 0;
  /// One complete run, a failed one included. Collective over `ranks`. Throws MpiError.
  virtual StudiedResult perform(const ConfiguredProblem& asked, RunPurpose purpose, comm::RankGroup& ranks,
                                const Progress& progress) = 0;
  /// The amount of computing in a run, in any unit, for the expected duration of those that have not run yet.
  [[nodiscard]] virtual double expected_work(const ConfiguredProblem& asked, int core_count) const = 0;
};

/// Complete runs of these problems. common: options of every run, except for problem and configuration. trace_file: of
/// runs with that purpose. Holds references to nothing.
std::unique_ptr<StudiedWork> benchmark_work(std::vector<Problem> problems, RunOptions common,
                                            ExtraRuns extras = {}, std::string trace_file = {});

/// Measurements of these systems, which are of measured_system(): a fixed number of iterations, with each matrix read once for each
/// number of ranks. All stay until the end, spread over their ranks: 16 bytes for each nonzero.
std::unique_ptr<StudiedWork> system_work(std::vector<SystemOptions> systems);

/// The iterations of a measurement that is not asked for another number: enough to make the first one, which warms up,
/// unimportant, and few enough that systems of some thousand rows are not solved earlier.
inline constexpr int usual_iteration_count = 50;

/// The options of a measurement: all iterations are done. In the end the residual is about what rounding leaves, or
/// larger: a smaller one would mean that the system was solved earlier.
SystemOptions measured_system(SystemOptions options, int iteration_count);

/// The options of one run of a system.
SystemOptions system_options_for(const SystemOptions& system, const ConfiguredProblem& asked);

}  // namespace cg2d
