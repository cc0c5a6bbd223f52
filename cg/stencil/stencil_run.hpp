#pragma once

// `cg2d stencil`: its options, a run of a method's steps on a domain, planned, made in passes, and verified, and its report.

#include "cg/base/errors.hpp"
#include "cg/base/progress.hpp"
#include "cg/machine/noise_monitor.hpp"
#include "cg/stencil/plane_store.hpp"

namespace cg2d {

class Members;

/// The options of a user.
struct StencilOptions {
  comm::Extents shape{1, 1, 1};  ///< points along x, y and z
  std::string method = "heat";
  int step_count = 64;
  double tolerance = 0.0;              ///< relative residual at which s-step CG ends; 0: it makes all steps
  std::vector<std::string> folders{};  ///< rank r takes number r modulo their number; empty: it is in memory
  std::optional<int> block{};          ///< temporal block, steps; empty: chosen by a trial
  int64_t memory_limit_bytes = 0;      ///< memory of a node; 0: all that is free there
  std::string format = "text";
  std::string output{};  ///< empty: standard output
  ProgressMode progress = ProgressMode::on_a_terminal;
};

/// "512x512x256" -> points along x, y and z. Throws InputError.
comm::Extents shape_from(std::string_view text);
/// "512x512x256".
std::string shape_text(const comm::Extents& shape);
/// "auto" -> nothing, "16" -> 16. Throws InputError.
std::optional<int> block_from(std::string_view text);

// ---------------------------------------------------------------- temporal block

/// The work of a rank, whatever the block.
struct StencilWork {
  int64_t plane_count = 0;                                  ///< planes of the largest slab
  int step_count = 0;                                       ///< steps of the whole run
  std::function<int64_t(int step_count)> planes_of_pass{};  ///< computed in a pass of so many steps
};

/// Measured times of a plane on the slowest rank.
struct StorageTimes {
  double plane_s = 0.0;  ///< read and written; 0 in memory
  double work_s = 0.0;   ///< the part of it that computing does not hide: checksums
};

/// One number of steps per pass, with the measured time of a plane's step, and the expected times of all passes.
struct BlockPrediction {
  int block = 1;
  double plane_step_s = 0.0;
  int pass_count = 0;
  double computing_s = 0.0;
  double storage_s = 0.0;  ///< reading and writing, were they alone
  /// All passes: the longer of computing, with the work of storing, and of storage, with a reserve.
  double total_s = 0.0;
};

/// 1, 2, 3, 4, 6, 8, 12, ...: up to `most`, which is the last one.
std::vector<int> candidate_blocks(int most);
/// plane_step_s: the measured time of a plane's step, with passes of so many.
BlockPrediction predict_block(const StencilWork& work, int block, double plane_step_s,
                              const StorageTimes& storage);
/// The smallest block whose predicted time is within 2 % of the best one's, with a device that is a quarter slower than measured: so
/// reading and writing stay hidden, and no memory is taken for nothing. At least one prediction.
const BlockPrediction& choose_block(std::span<const BlockPrediction> predictions);

/// The figures that a trial measured and predicted.
struct BlockChoice {
  std::vector<BlockPrediction> tried{};
  StorageTimes storage{};
  double duration_s = 0.0;
};

// ---------------------------------------------------------------- result

/// One rank's part of the steps, with what its store has moved. Trivially copyable: ranks send it as it is.
struct StencilRank : StoreFigures {
  int64_t plane_count = 0;
  double computing_s = 0.0;      ///< the steps, and checksums of what is read and written
  double communication_s = 0.0;  ///< waiting for planes of other ranks, and for sums over all ranks
  double barrier_s = 0.0;        ///< after a pass, until the last rank has made it
  double total_s = 0.0;          ///< seconds of all passes
  int64_t sent_bytes = 0;
  int64_t peak_bytes = 0;  ///< resident memory of the process
  bool is_direct = false;

  /// The share of the time in which it waits for the device.
  double storage_share() const { return total_s > 0.0 ? wait_s() / total_s : 0.0; }
};

/// The final domain; it depends on neither ranks nor block.
struct DomainFigures {
  double sum = 0.0;
  uint32_t checksum = 0;  ///< CRC-32C of the checksums of all planes
  double largest_error = 0.0;
  double tolerance = 0.0;

  bool is_right() const { return largest_error <= tolerance; }  // false for NaN
};

/// The end of a solve. Residuals are relative to b.
struct StencilSolve {
  int iterations = 0;
  double residual = 0.0;            ///< as the recurrences have it
  double true_residual = 0.0;       ///< residual of the x that was found
  double wanted_residual = 0.0;     ///< 0: none
  std::vector<double> residuals{};  ///< as the recurrences have it, after each iteration

  /// By the residual of x; that of the recurrences decides nothing.
  bool is_converged() const { return true_residual <= wanted_residual; }  // false for NaN
};

/// Everything that the report shows; complete on rank 0.
struct StencilReport {
  std::string machine;  ///< the processor of rank 0, with its caches
  std::string mpi;
  std::string instruction_set;
  int node_count = 1;
  StencilOptions options{};
  int step_count = 0;  ///< made
  std::string reader;  ///< empty in memory
  int block = 1;
  int pass_count = 0;
  std::optional<BlockChoice> choice{};
  int64_t needed_bytes = 0;  ///< memory of the rank that needs most
  double start_s = 0.0;      ///< start values computed and written; the slowest rank's, as all times here
  double steps_s = 0.0;
  double check_s = 0.0;  ///< result read and compared
  QuietResult quiet{};   ///< over all steps
  std::vector<StencilRank> ranks{};
  DomainFigures domain{};
  std::optional<StencilSolve> solve{};  ///< result of method s-step-cg

  int64_t point_count() const { return comm::whole_domain(options.shape).size(); }
  /// Points times steps, without those that are computed twice.
  double updates_per_second() const { return static_cast<double>(point_count()) * step_count / steps_s; }
  ExitCode code() const {
    // Converged by the residual of x is right, whatever the recurrences say.
    if (solve && solve->is_converged()) return ExitCode::success;
    if (!domain.is_right()) return ExitCode::verification_failed;
    return solve && solve->wanted_residual > 0.0 ? ExitCode::not_converged : ExitCode::success;
  }
};

void describe(Members& m, StencilReport& report);
std::string stencil_text(const StencilReport& report);
/// "verified: ..." or what is wrong, in one line.
std::string verdict_text(const StencilReport& report);

/// Makes a run on all ranks: checks of shape, memory and room, start values, the choice of a block where none was asked for, all passes, and
/// the verdict. reader: moves planes from and to files. Collective. Throws RunError on every rank alike: usage, memory (71), cannot_create
/// (73), interrupted (75), cannot_write (74) or bad_data (65) where the device fails; MpiError, std::bad_alloc.
StencilReport perform_stencil(const StencilOptions& options, comm::RankGroup& group, const Progress& progress,
                              const PanelIoRow& reader = usual_panel_io());

/// Makes a run and writes its report. Collective; the same code on every rank: verification_failed where the result is not that
/// of the closed form. Throws as perform_stencil().
ExitCode run_stencil(const StencilOptions& options, comm::RankGroup& group);

}  // namespace cg2d
