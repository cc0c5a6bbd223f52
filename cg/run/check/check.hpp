#pragma once

// Checks of an installation on the machine at hand: their results, their table, and how they are run.

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cg/base/errors.hpp"
#include "cg/base/progress.hpp"
#include "cg/base/values.hpp"
#include "cg/matrix/problem.hpp"
#include "cg/solver/assembled_operator.hpp"
#include "cg/solver/configuration.hpp"
#include "cg/tuning/run_plan.hpp"
#include "comm/block_layout.hpp"
#include "comm/communicator.hpp"
#include "comm/rank_group.hpp"
#include "kernels/product_check.hpp"

namespace cg2d {

enum class CheckStatus { ok, failed, unavailable };
inline constexpr std::array check_statuses{NamedValue<CheckStatus>{"ok", CheckStatus::ok},
                                           NamedValue<CheckStatus>{"failed", CheckStatus::failed},
                                           NamedValue<CheckStatus>{"unavailable", CheckStatus::unavailable}};
inline std::span<const NamedValue<CheckStatus>> words_of(CheckStatus /*status*/) { return check_statuses; }
inline std::string_view name_of(CheckStatus status) { return name_in(words_of(status), status); }

/// The result of one check of one thing; the same on every rank.
struct CheckResult {
  std::string check{};    ///< the name of its row in check_table()
  std::string subject{};  ///< the object of the check, such as "sell, avx512"
  CheckStatus status = CheckStatus::ok;
  double figure = 0.0;     ///< ok: figure <= tolerance
  double tolerance = 0.0;  ///< nothing where it is unavailable
  std::string reason{};    ///< why it is unavailable, or more about a failure; may be empty
  double seconds = 0.0;
};

/// The status that follows from a figure: a NaN fails, too.
CheckResult judged(double figure, double tolerance, std::string reason = {});
CheckResult unavailable(std::string reason);

/// The worst figure of all ranks, judged, with the reason of the first rank that has one. mine: figure and reason of this rank. Collective.
CheckResult judged_over_ranks(const CheckResult& mine, double tolerance, comm::RankGroup& group);

/// The configuration, kernels, transports and grids to be checked.
struct CheckPlan {
  /// Threads, form of the sum, overlap and nodes of all checks; kernel and transport of those that take one.
  Configuration configuration;
  kernels::Tuning tuning{};
  int vector_count = 1;  ///< of a product of the kernels
  std::vector<const kernels::KernelRow*> kernels{};
  /// Checks each instruction set of the kernels, threads and several vectors, too.
  bool takes_all_loops = false;
  std::vector<const comm::TransportRow*> transports{};
  std::vector<comm::ProcessGrid> some_grids{};  ///< for transports
  std::vector<comm::ProcessGrid> grids{};       ///< for the benchmark
  double time_limit_s = 20.0;                   ///< checks that would begin later are not made
};
/// Every kernel, transport and grid of so many ranks.
CheckPlan full_check_plan(int rank_count);
/// The parts of one run: its configuration has a grid and a transport. Throws InputError, which names --check, where it has no kernel.
CheckPlan short_check_plan(const Configuration& configuration, const ChosenKernel& choice);

/// Makes all checks of the plan, in the order of the table. Collective; the same results on every rank. Throws RunError (on every rank alike),
/// MpiError, std::bad_alloc.
std::vector<CheckResult> make_checks(const CheckPlan& plan, comm::RankGroup& group, const Progress& progress);

/// One kind of check.
struct CheckRow {
  std::string_view name;
  std::string_view what;    ///< is held against what
  std::string_view figure;  ///< that is compared with the tolerance
};
std::span<const CheckRow> check_table();

/// How many have that status.
int count_of(std::span<const CheckResult> results, CheckStatus status);
/// One line on a check that failed: "kernel sell, avx512: 7.1e+11, at most 1 allowed".
std::string sentence_of(const CheckResult& failure);

/// `--check` of a run or a solve: makes the checks of a plan, the short one, before a run. Collective. Throws RunError
/// (verification_failed), on every rank alike, which names the first check that failed.
void check_before_run(const CheckPlan& plan, comm::RankGroup& group, const Progress& progress);

// ---------------------------------------------------------------- kernels

/// The error of a kernel on every rank; at most 1 is allowed. Unavailable where no rank can make it. Collective.
CheckResult check_kernel(const kernels::KernelRow& row, const kernels::KernelOptions& options,
                         const std::vector<kernels::KnownProduct>& known, comm::RankGroup& group);

// ---------------------------------------------------------------- transports

/// Products and sums of whole numbers, whose results are exact: the wrong elements of all ranks on one grid, with every form of the sum that the transport has, on even pieces and on
/// pieces some of which are empty; none are allowed. ranks_per_node: as in CommunicatorOptions. Collective. Throws
/// MpiError.
CheckResult check_transport(const comm::TransportRow& row, const comm::ProcessGrid& grid, int ranks_per_node,
                            comm::RankGroup& group);

// ---------------------------------------------------------------- the benchmark

/// The relative difference of zeta from the problem's reference, by the plan's first kernel and transport, on the grid of its configuration; at
/// most Problem::tolerance is allowed. Collective. Throws RunError (on every rank alike), MpiError, std::bad_alloc.
CheckResult check_benchmark(const Problem& problem, const CheckPlan& plan, comm::RankGroup& group);

// ---------------------------------------------------------------- cg2d check

/// The options of `cg2d check`.
struct CheckOptions {
  std::string format = "text";
  std::string output;              ///< empty: standard output
  int64_t memory_limit_bytes = 0;  ///< of a node; 0: all that is free there
  ProgressMode progress = ProgressMode::on_a_terminal;
};

/// Makes all checks on the ranks that were started, and writes the table of their results. Collective; the same code on
/// every rank: verification_failed where a check fails. Throws RunError (on every rank alike), MpiError, std::bad_alloc.
ExitCode check_installation(const CheckOptions& options, comm::RankGroup& group);

/// Where the checks were made, and how they ended.
struct CheckReport {
  std::string machine;  ///< the processor of rank 0, with its caches
  std::string mpi;
  std::string blas;
  int rank_count = 1;
  int node_count = 1;
  std::vector<std::string> instruction_sets{};  ///< instruction sets of rank 0's processor
  std::vector<CheckResult> results{};
  double seconds = 0.0;

  bool has_failures() const { return count_of(results, CheckStatus::failed) > 0; }
};

class Members;
void describe(Members& m, CheckResult& result);
void describe(Members& m, CheckReport& report);
/// format: "text" or "json".
std::string write_check_report(const CheckReport& report, const std::string& format);

}  // namespace cg2d
