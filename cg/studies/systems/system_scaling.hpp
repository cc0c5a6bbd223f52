#pragma once

// `cg2d scaling` for a user's own system: the same iterations on more and more ranks, with a matrix and without one.

#include <optional>
#include <string>
#include <vector>

#include "cg/base/errors.hpp"
#include "cg/base/paired_comparison.hpp"
#include "cg/base/progress.hpp"
#include "cg/base/sample.hpp"
#include "cg/run/solve/solve_options.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// The options of `cg2d scaling` for a system.
struct SystemScalingOptions {
  SystemOptions system;  ///< on one rank, with measured_system(); assembles: also the matrix of the operator
  bool weak = false;     ///< the box of a Laplacian grows with the ranks
  std::vector<int> rank_counts;  ///< empty: the usual ones, up to the ranks started; 1 is always among them
  std::vector<std::string> transports;  ///< empty: the default one
  std::optional<int> round_count;       ///< empty: as many as a verdict on the forms and transports needs
  std::string format = "text";
  std::string output;  ///< empty: standard output
  ProgressMode progress = ProgressMode::on_a_terminal;
};

/// The operator for so many ranks. Weak scaling: every extent is multiplied by the parts along it of the cut with the
/// smallest faces of as many equal boxes, so each rank has the box of one rank. Throws InputError for an operator that
/// is no Laplacian.
std::string scaled_operator(const std::string& text, int rank_count, bool weak);

/// One way to iterate on a number of ranks.
struct SystemWay {
  int rank_count = 1;
  bool is_assembled = true;  ///< assembled, or read from a file
  std::string transport;
  friend bool operator==(const SystemWay&, const SystemWay&) = default;

  [[nodiscard]] std::string_view form() const { return is_assembled ? "matrix" : "matrix-free"; }
  /// "4 ranks, matrix-free, shared"
  [[nodiscard]] std::string label() const;
};

/// One run of one way.
struct SystemScalingRun {
  int round = 1;
  ExitCode code = ExitCode::success;
  std::string reason;       ///< empty on success
  double time_s = 0.0;      ///< seconds of all iterations
  std::string disturbance;  ///< disturbance of its timed region; empty: it was quiet
};

/// A way with its runs and figures.
struct SystemScalingRow {
  SystemWay way;
  std::string matrix;      ///< the file, or the operator as this number of ranks has it
  std::int64_t order = 0;  ///< 0 where every run failed
  std::string cut;         ///< "grid 2x2" or "domain 1x2x2"
  std::vector<SystemScalingRun> runs;
  std::optional<Sample> time_s;      ///< where all runs succeeded; also for the following members
  std::optional<double> speed_up;    ///< rows per second by those of the same form on one rank
  std::optional<double> efficiency;  ///< speed-up by ranks
  double ratio_to_best = 1.0;        ///< median of paired rounds by those of the candidate on as many ranks
  bool may_be_best = false;          ///< the candidate, or not known to be worse than it
  Certainty certainty = Certainty::alone;  ///< certainty of the verdict on as many ranks
};

/// Sets the figures of all rows from their runs. Pure.
void set_figures(std::vector<SystemScalingRow>& rows);

/// Runs every way in every round, in turns, and writes the table. Collective. The exit code is that of the first failed
/// run, or `interrupted`. Throws RunError on every rank alike.
ExitCode scale_system(const SystemScalingOptions& options, comm::RankGroup& group);

}  // namespace cg2d
