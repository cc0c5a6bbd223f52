#pragma once

// The options that every measured workload has, those of a run of the benchmark, and those of a solve.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cg/base/progress.hpp"
#include "cg/base/values.hpp"
#include "cg/machine/thread_binding.hpp"
#include "cg/matrix/problem.hpp"
#include "cg/run/checkpoint/checkpoint_folder.hpp"
#include "cg/run/guard/guard_report.hpp"
#include "cg/run/streaming/out_of_core.hpp"
#include "cg/solver/cg_recurrence.hpp"
#include "cg/solver/configuration.hpp"
#include "cg/solver/preconditioners/preconditioner_table.hpp"
#include "cg/solver/slow_ranks.hpp"
#include "cg/timing/events.hpp"
#include "cg/timing/phase_trace.hpp"
#include "cg/tuning/run_plan.hpp"
#include "comm/block_layout.hpp"
#include "comm/domain_layout.hpp"
#include "kernels/spmv.hpp"

namespace cg2d {

struct MatrixFacts;

/// Options for the choice of a grid that the configuration leaves open.
struct OpenGridOptions {
  std::optional<int> columns;  ///< --px: the rows follow from the number of ranks
  bool is_official = false;    ///< --grid official: that of the official program
  bool tries_grids = true;     ///< without these: measure the best few; else the rule chooses

  /// Whether these options alone say which grid it is.
  bool name_a_grid() const { return columns || is_official; }
};

/// The grid that the official program would use on that many ranks; empty if that is not a power of two.
/// It takes as many process columns as rows, or twice as many (its npcols, which are the column blocks of the
/// matrix: our Px).
std::optional<comm::ProcessGrid> official_grid(int rank_count);

/// The grid that these options name; empty where they leave it open. Throws InputError where it does not exist for
/// that many ranks.
std::optional<comm::ProcessGrid> grid_named_by(const OpenGridOptions& options, int rank_count);

/// The options of features; without its options each is as it is made here.
struct FeatureSettings {
  CheckpointOptions checkpoint;
  OutOfCoreOptions out_of_core;
  GuardOptions guard;
  bool checks_parts = false;  ///< --check
  SlowRanks slow_ranks;
  bool rebalances = false;     ///< --rebalance on
  double stall_limit_s = 0.0;  ///< --stall-limit; 0: none
};

/// The options that do not depend on what is measured.
struct SessionOptions {
  Configuration configuration;        ///< as asked for: grid, kernel and transport may be open
  bool transport_is_default = false;  ///< nobody has named one: with_default_transport()
  ChoiceOrigin transport_origin = ChoiceOrigin::asked_for;  ///< of one that the configuration has
  OpenGridOptions open_grid;
  kernels::Tuning tuning;  ///< settings of the kernel; the empty ones were not asked for
  ProfileSource profile;
  BindMode bind = BindMode::automatic;
  int64_t memory_limit_bytes = 0;  ///< of a node; 0: all that is free there
  std::string format = "text";
  std::string output;       ///< of the report; empty: standard output
  bool is_verbose = false;  ///< the text shows every labelled figure of the result, too
  CounterOptions counters;
  TraceOptions trace;
  bool measures_limits = false;  ///< --roofline
  bool time_phases = true;
  FeatureSettings features;
  bool names_hosts = false;      ///< --hostname
  bool stops_when_asked = true;  ///< by a signal, at the next iteration; else the caller sees to it
  ProgressMode progress = ProgressMode::on_a_terminal;
};

/// The options of `cg2d run`.
struct RunOptions : SessionOptions {
  Problem problem;
  int planned_ranks = 0;  ///< --ranks, with --dry-run: plan for that many; 0: those that run
  int repeat_count = 1;
  double least_time_s = 0.0;  ///< --min-time: repetitions are added until they have taken that long together
  bool dry_run = false;
  std::string export_mtx;  ///< empty: no export
};

/// The grid that these options say; empty where they leave it open. Throws InputError, which lists the valid ones, for a grid that
/// does not match the number of ranks.
std::optional<comm::ProcessGrid> named_grid(const SessionOptions& options, int rank_count);
/// That grid, or before any trial the one of the rule, for that matrix. configuration: as choose_grid(). Throws as named_grid().
comm::ProcessGrid resolve_grid(const SessionOptions& options, const MatrixFacts& matrix,
                               const Configuration& configuration, int rank_count);

// ---------------------------------------------------------------- a solve

/// A vector that is read or made.
struct VectorOption {
  enum class Kind { zeros, ones, random, file };
  Kind kind = Kind::zeros;
  uint64_t seed = 0;
  std::string text = "zeros";  ///< as the command line takes it: the name of a file
};
/// "ones", "zeros", "random:SEED" or the name of a file. Throws InputError, which names the option.
VectorOption vector_option_from(const std::string& option, const std::string& text);

/// "1x2x4". Throws InputError, which names --domain.
comm::DomainGrid domain_grid_from(std::string_view text);

/// The options of `cg2d solve`.
struct SystemOptions : SessionOptions {
  std::string matrix_path;                        ///< empty with operator_text
  std::string operator_text;                      ///< "laplace3d:64x64x64", "npb-factored:S"
  bool assembles = false;                         ///< the matrix of operator_text
  std::optional<double> symmetrize_tolerance{};   ///< --symmetrize, of a file
  bool mirrors = false;                           ///< MatrixFileOptions::mirrors
  std::optional<comm::DomainGrid> domain_grid{};  ///< of stencils without a matrix; empty: the best
  /// Ones are an eigenvector of many systems (graphs, elasticity), which CG solves in one iteration, whatever the others are.
  VectorOption right_hand_side{.kind = VectorOption::Kind::random, .seed = 1, .text = "random:1"};
  VectorOption initial_guess{};
  std::optional<int> right_hand_side_count{};  ///< empty: the columns of a file, else 1
  double relative_tolerance = 1e-8;            ///< of || b ||
  double absolute_tolerance = 0.0;             ///< the larger of both counts
  int most_iterations = 10'000;
  /// For measurements: all of most_iterations are done, and a system that is solved earlier is refused.
  bool measures_iterations = false;
  std::string preconditioner{preconditioner_table().front().name};
  std::string variant{cg_variant_table().front().name};  ///< the form of CG
  std::string solution_path;                             ///< empty: not written
  bool monitors = false;                                 ///< a line on stderr per iteration

  /// The file or the operator, as it was given.
  const std::string& matrix_text() const { return operator_text.empty() ? matrix_path : operator_text; }
  bool is_matrix_free() const { return !operator_text.empty() && !assembles; }
};

/// With --cut random:SEED, the seed.
std::optional<uint64_t> permutation_seed_of(const SystemOptions& options);

}  // namespace cg2d
