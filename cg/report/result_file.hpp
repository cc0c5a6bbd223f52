#pragma once

// Results of runs as files hold them: one object (cg2d run --format json), or JSON Lines (cg2d sweep).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cg/machine/performance_model.hpp"
#include "cg/report/result_configuration.hpp"

namespace cg2d {

/// What the performance model said of a run: seconds of the whole timed region.
struct PredictedTimes {
  double total_s = 0.0;
  PhaseSeconds phases_s{};
};

/// What a result says about one run, as far as tables need it.
struct ResultRecord {
  SweepConfiguration configuration;
  int round = 1;
  std::string status;  ///< as status_name() has it
  std::string reason;  ///< empty on success
  int exit_code = 0;
  std::string kernel_used;      ///< what "auto" became; empty if the run did not come so far
  std::int64_t n = 0;           ///< order of the matrix
  std::vector<double> times_s;  ///< of the timed repetitions; empty if the run failed
  double time_s = 0.0;          ///< of the repetition that the run reports, the median one
  /// Of that repetition: mean over the ranks, seconds; nothing where phases were not timed.
  std::optional<PhaseSeconds> phases_s;
  std::optional<PredictedTimes> prediction;
  std::optional<double> duration_s;  ///< of the whole run with its set-up, in a sweep
  std::string maker;  ///< program and machine, see maker_of(); empty where the result does not say

  [[nodiscard]] bool succeeded() const { return status == "success" && !times_s.empty(); }
};

/// The records of a text; anything else throws InputError, without the name of the file. A text that ends
/// within a line of JSON Lines is no error here: see complete_lines().
std::vector<ResultRecord> parse_results(std::string_view text);
/// The same of a file; the error names it.
std::vector<ResultRecord> read_results(const std::string& path);

/// The records of the whole lines of a sweep's file. A part of a line at its end is passed over. Throws
/// InputError, without the name of the file, for any text that no sweep has written: the result of a single
/// run, too.
std::vector<ResultRecord> parse_sweep(std::string_view text);

/// How many bytes of a file of JSON Lines are whole lines: a writer that was killed leaves a part of one.
std::size_t complete_lines(std::string_view text);

/// What made a result: version of the program, how it was compiled, MPI, and kind of processor. Results of
/// different makers are not compared in one table.
std::string maker_of(std::string_view run_json);

}  // namespace cg2d
