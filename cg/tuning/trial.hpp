#pragma once

// Measurements that files keep for later runs, taken again where they were disturbed or make no sense, then refused; and trials: short
// measurements of a few candidates in turns before a run, which choose its grid, its kernel (of a user's matrix, which may have any pattern; of
// the benchmark's matrix a rule knows enough, built_in_kernel()) or its transport (by the tuning profile where it knows, else kept there).
// `cg2d tune` and `cg2d model --calibrate`, whose measurements are at the end of this file, end at a refusal; a run goes on without keeping the result.

#include <memory>

#include "cg/base/describe.hpp"
#include "cg/base/output_file.hpp"
#include "cg/base/progress.hpp"
#include "cg/machine/performance_model.hpp"
#include "cg/machine/thread_binding.hpp"
#include "cg/timing/race.hpp"
#include "cg/tuning/run_plan.hpp"
#include "comm/speed_shares.hpp"

namespace cg2d {

// ---------------------------------------------------------------- measurements that files keep

/// A measurement, and its conditions. Collective.
struct RetriedMeasurement {
  std::string name;  ///< in messages
  const Environment& environment;
  bool keeps_disturbed = false;                   ///< the user wants the result whatever other processes do
  std::function<void(const std::string&)> say{};  ///< gets a line per repetition
  int most_attempts = 3;
  /// The record of the result, which measure() sets anew: there it says how far the repeats spread on this rank (see MeasurementRecord::spread).
  MeasurementRecord& record;
  /// Measures once. Returns one phrase for a value of the result that makes no sense; empty for a good one. Rank 0's counts.
  std::function<std::string()> measure;
};

/// Measures until the result is good, or it has been tried often enough; completes the record of the last attempt. Returns why it is not to be
/// kept, with what to do: "measured 3 times, and refused: ..."; empty where it is good, or kept as asked. Collective; the same answer on every
/// rank. Throws what measure() throws.
std::string measure_with_retries(comm::RankGroup& group, const RetriedMeasurement& measurement);

/// The origin of a result, and whether later runs find it.
struct KeptResult {
  bool from_profile = false;       ///< nothing was measured now
  MeasurementRecord measured{};    ///< whenever it was measured
  double duration_s = 0.0;         ///< seconds of all of it now, with the making of what is measured
  std::string kept_in{};           ///< the profile that has the result; empty: none
  std::string not_kept_because{};  ///< one phrase; empty where kept
};

/// One line each for a result that is not kept in the profile in use, and for one that is old or was disturbed. measurement: "the trial of
/// transports".
std::vector<std::string> warnings_of(const KeptResult& kept, std::string_view measurement,
                                     const ProfileSource& source, const MatrixFacts& matrix);

/// Adds what was found to the profile's file unless it is known why not, and notes where, or why not: a file that cannot be written is no
/// error. processor: whose results the file has it among; empty where the nodes have different ones. Collective; rank 0 writes.
void keep_result(comm::RankGroup& group, const ProfileSource& source,
                 const std::optional<std::string>& processor, const ProcessorProfile& found,
                 KeptResult& kept);

void describe_kept(Members& m, KeptResult& kept);

// ---------------------------------------------------------------- trials

/// The result of a trial. The spread of its record is that of its turns.
struct Trial : KeptResult {
  std::string best;                     ///< the one to take
  std::vector<TimedCandidate> tried{};  ///< empty without a trial
  Named<std::string> skipped{};         ///< those that were not tried, with the reason
  std::string skipped_because{};        ///< why there was no trial, one phrase; empty with one
  RaceVerdict verdict{};  ///< how sure the choice is; no candidate where nothing was measured in turns now
  std::optional<double> zeta{};  ///< of the first that was raced
};

/// Work that a trial times; what it needs lives as long. Collective. Returns zeta, which is the same with every candidate; NaN where none is
/// compared.
using TrialWork = std::function<double()>;

/// A candidate in a trial.
struct TrialCandidate {
  std::string name;
  TrialWork work;
};

/// The setting of a race of candidates.
struct TrialRace {
  std::string_view thing;  ///< for messages: "transport"
  int step_count = 1;      ///< CG steps of a candidate's work
  RaceLimits limits;
};

/// Times all of these in turns, and adds their times, in their order, and the verdict to the trial. Collective. Throws RunError (on every
/// rank alike) for a zeta that differs from that of the trial's first candidate: a candidate may be fast because it is wrong.
void race_candidates(comm::RankGroup& group, const std::vector<TrialCandidate>& candidates,
                     const TrialRace& race, Trial& trial);

/// The verdict's candidate first, the others by time.
void rank_by_time(Trial& trial);

/// CG steps of a trial_work() without a shift.
inline constexpr int few_trial_steps = 3;

/// The benchmark's iteration on an assembled operator. shift: of the outer iterations from x = (1, ..., 1) whose zeta is compared. Without one
/// it does few_trial_steps: after 25 steps a system may be solved to rounding, and its zeta be anything. Collective.
TrialWork trial_work(std::shared_ptr<AssembledOperator> assembled, std::optional<double> shift);

/// This rank's block over its transport.
struct TriedBlock {
  std::shared_ptr<AssembledOperator> assembled;
  int64_t nonzero_count = 0;  ///< of the whole block, also where half of it is stored
};
/// Makes and converts this rank's block, on the grid and with the transport of the configuration, with the chosen kernel. A product with
/// several vectors is for the steps that of one vector with all their elements. Holds a reference to the group. Collective. Throws RunError (on
/// every rank alike), MpiError.
TriedBlock make_tried_block(comm::RankGroup& group, const MatrixSource& source,
                            const Configuration& configuration, const ChosenKernel& chosen,
                            bool times_phases = false);

/// Members of trials, whatever they try: those that were timed, with the verdict, and those that were not. thing: "kernel", "grid".
void describe_race(Members& m, std::string_view thing, Trial& trial);
void describe_skipped(Members& m, std::string_view thing, Trial& trial);

// ---------------------------------------------------------------- --grid auto

/// The speed of all ranks together with the shares that suit a grid best, by the sum of their own speeds.
struct ReachedSpeed {
  comm::ProcessGrid grid;
  double share = 1.0;
};

/// The most promising first; at least one.
struct GridShortlist {
  std::vector<comm::ProcessGrid> grids{};
  std::string made_by{};                ///< "model" or "rule"
  std::vector<ReachedSpeed> reached{};  ///< by growing Px, of all grids; empty: no speeds are known

  double share_of(const comm::ProcessGrid& grid) const;
};

/// A run whose grid is to be found.
struct OpenGridConfig {
  const MatrixFacts& matrix;
  /// Grid and kernel are each candidate's: the shortlist counts with the kernel, where it is by the rule; the trial takes the transport.
  const Configuration& configuration;
  /// The description of this machine, on rank 0; the others need none.
  const std::optional<MachineDescription>& machine;
  /// The kernel that a grid would get.
  std::function<ChosenKernel(const comm::ProcessGrid&)> kernel_for;
  /// [rank], nonzeros per second: pieces and places of ranks follow them on each grid. Empty: the matrix's own cut
  std::vector<double> speeds{};
  UnevenRanks ranks{};  ///< for the model; those that are slow on purpose are so in the trial, too
};

/// The four best grids of the group's ranks. By the model where the machine's description has all their
/// kernels, without grids that are predicted to take more than 1.25 times the best one's time; else by the
/// rule of choose_grid(), with the time of the products where speeds are known. Collective: the same answer on every rank.
GridShortlist make_grid_shortlist(comm::RankGroup& group, const OpenGridConfig& config);

/// The result of a trial of grids, in the order of the shortlist. Its best is the verdict's candidate, or without a trial the first of
/// the shortlist.
struct GridTrial : Trial {
  comm::ProcessGrid best_grid;
  GridShortlist shortlist;
};

/// Runs some CG steps on every grid of the shortlist, in turns, and takes the verdict's candidate. The blocks of all of
/// them are in memory at once: where these are too large, or there is nothing to choose from, the first of
/// the shortlist is taken without a trial. Cost: all blocks are generated, and each grid does three to eleven
/// outer iterations, more where one is short. The source's cut is that of each candidate meanwhile. Collective; the same answer on every rank. Throws RunError,
/// MpiError.
GridTrial try_grids(comm::RankGroup& group, MatrixSource& source, const Environment& environment,
                    const OpenGridConfig& config, const GridShortlist& shortlist);

void describe(Members& m, GridTrial& trial);

// ---------------------------------------------------------------- --kernel auto

/// The result of a trial of kernels, in the order of the table. The usual one is best, unless the verdict's candidate is clearly
/// faster.
struct KernelTrial : Trial {};

/// The longest conversion of a block that is worth a trial; the larger one counts.
struct ConversionLimit {
  /// Steps of the usual kernel. On 2 ranks (Zen 5, 2026-11) sell and symmetric-distinct take 245 and 150 of them on random rows of
  /// 5 entries, where they are 3 and 10 times slower than it, but 20 to 40 on class A and on meshes.
  double steps = 80.0;
  double seconds = 0.25;
};

/// A solve whose kernel is to be found.
struct KernelTrialConfig {
  const MatrixSource& source;
  const Configuration& configuration;  ///< grid and transport must be known
  const Environment& environment;
  const kernels::Tuning& asked;  ///< settings from the command line
  int vector_count = 1;          ///< vectors of one product
  ConversionLimit limit{};
};

/// Runs a few CG steps with each kernel that the table says to try, in turns, and takes one. With half storage
/// only where each rank has a core of its own. All formats are in memory at once: where these are too large,
/// the usual one is taken without a trial: kernels::kernel_for_any_pattern(), or default_kernel_for_several(). Cost: the
/// block is made once for each kernel, and converted; a kernel whose conversion, by that of the first rows, would take
/// longer than the limit is left out.
/// Collective; the same answer on every rank. Throws RunError, MpiError.
KernelTrial try_kernels(comm::RankGroup& group, const KernelTrialConfig& config);

void describe(Members& m, KernelTrial& trial);

// ---------------------------------------------------------------- --transport auto

/// The result of --transport auto: the one to take is the first of those tried, which are by time, the verdict's candidate first where
/// there is one. Its duration is that of all attempts.
struct TransportTrial : Trial {};

/// A solver that lacks its transport.
struct TransportTrialConfig {
  const Configuration& configuration;  ///< its transport is that of each candidate
  /// The solver with that transport. Collective. Throws RunError (memory), on all ranks alike, where the ranks cannot
  /// share as much memory as the transport needs: the others may serve.
  std::function<TrialWork(const comm::TransportRow& transport)> make;
  int step_count = cg_steps_per_solve;  ///< CG steps of a candidate's work
  /// Whether the vectors of all transports may be in memory at once. If not, the transports are measured one
  /// after the other, not in turns.
  bool has_room_for_all = true;
};

/// This rank's block of an assembled matrix, the same for all transports. shift: of the benchmark's outer iterations, whose zeta is compared;
/// empty for any other system, see trial_work(). Holds the references.
TransportTrialConfig block_trial(comm::RankGroup& group, const comm::BlockLayout& layout,
                                 const Configuration& configuration,
                                 const std::shared_ptr<BlockProduct>& product, std::optional<double> shift);

/// Runs outer iterations with every transport that is available, in turns. Cost: three to eleven with each, more where one is
/// short. Collective; the same answer on every rank. Throws RunError (on every rank alike)
/// when two transports disagree about the result, and MpiError.
TransportTrial try_transports(comm::RankGroup& group, const TransportTrialConfig& config);

/// The times in the profile's case of these very conditions, if it has one for every transport that is
/// available now; else empty. Collective.
std::optional<TransportTrial> known_transports(comm::RankGroup& group, const LoadedProfile& profile,
                                               const TransportCase& wanted);

/// A run that leaves its transport open, after its block has been made.
struct TransportChoiceConfig {
  const MatrixSource& source;
  TransportTrialConfig trial;  ///< block_trial(), its configuration with the kernel that runs
  const Environment& environment;
  const LoadedProfile& profile;
  const ProfileSource& profile_source;
  std::function<void(const std::string&)> say;  ///< gets a line per repetition of the measurement
};

/// From the profile if it has all times, else measured and kept there. A measurement that was disturbed or makes
/// no sense is taken again, up to three times in all, and then not kept; it makes the choice all the same. Collective; the same answer on every rank. Throws as try_transports().
TransportTrial choose_transport(comm::RankGroup& group, const TransportChoiceConfig& config);

void describe(Members& m, TransportTrial& trial);

// ---------------------------------------------------------------- --cut speed

/// Speeds in nonzeros per second. Three of all ranks together: the sum of their own, what shares reach on the grid, and even pieces.
struct SpeedTrial : KeptResult {
  comm::ProcessGrid grid;      ///< with the places of the ranks
  std::vector<double> speeds;  ///< [rank], while all others compute, too
  std::vector<double> shares;  ///< [piece], of the nonzeros; their sum is 1
  double ideal = 0.0;
  double reachable = 0.0;
  double even = 0.0;
  int round_count = 0;  ///< of measuring and cutting; 0 from the profile
};

/// A matrix on a grid, with its kernel.
struct SpeedTrialConfig {
  const MatrixFacts& matrix;
  const Configuration& configuration;
  const ChosenKernel& chosen;
  double slowness = 1.0;  ///< how many times as long products of this rank take, on purpose
};

/// Times products of that kernel on every rank at once, with blocks of the matrix's shape and mean length of rows, or the first
/// part of them; cuts, and measures again with blocks of these shares at these places, until less than 2 % are to be gained or
/// these blocks are within 5 % of those that were timed, three times at most. Collective; the same answer on every rank. Cost: about
/// 0.1 s a round, and the making of blocks of a million nonzeros.
SpeedTrial measure_speeds(comm::RankGroup& group, const SpeedTrialConfig& config);

/// A work whose ranks may differ in speed, with its machine.
struct SpeedChoiceConfig {
  SpeedTrialConfig trial;
  const Environment& environment;
  const BindingResult& binding;
  const LoadedProfile& profile;
  const ProfileSource& profile_source;
};

/// The hosts and processors of the ranks: [rank], "host 0-1", or "host 0 1" where each of its threads has its own.
std::vector<std::string> places_of(const Environment& environment, const BindingResult& binding);

/// From the profile where it knows these places, matrix, grid, kernel and threads, else measured once and kept there, unless
/// that was disturbed. Where ranks are slowed on purpose, they are measured and not kept. Collective; the same answer on every rank.
SpeedTrial choose_speeds(comm::RankGroup& group, const SpeedChoiceConfig& config);

/// comm::shares_in_place(), as rank 0 finds them. Collective.
std::vector<double> agreed_shares(comm::RankGroup& group, std::span<const double> speeds,
                                  const comm::ProcessGrid& grid);
/// comm::shares_on_grid(), as rank 0 finds them. Collective.
comm::SpeedShares agreed_shares_and_places(comm::RankGroup& group, std::span<const double> speeds,
                                           const comm::ProcessGrid& grid);

/// How many times as long as their mean products of each rank take, by speeds that were measured while each was slowed by its factor, which is
/// not counted.
std::vector<double> own_slowness(std::span<const double> speeds, std::span<const double> factors);

void describe(Members& m, SpeedTrial& trial);

// ---------------------------------------------------------------- cg2d tune
// All ranks measure at the same time, as they compute in a run, and a time is that of the slowest rank. Candidates run in turns, so that a
// change of the machine hits all alike.

/// Each call multiplies that block, which is as the kernel stores it, with vectors of its own. Throws std::bad_alloc.
std::function<void()> local_product(const kernels::KernelRow& kernel, kernels::CsrBlock block,
                                    int thread_count, const kernels::Tuning& tuning);

/// A block whose rows have row_length entries each, in columns spread evenly over the block, at random within
/// their share.
kernels::CsrBlock constant_rows_block(int64_t row_length, int64_t row_count, int64_t column_count);

/// A profile that has the curve of ns per nonzero over row length, and the critical vector length by it; of the record only the spread. Collective.
ProcessorProfile measure_row_lengths(comm::RankGroup& group, int thread_count);

/// The curve of one kernel, by the length of the whole rows, even where half of them is stored. Collective.
/// Throws RunError, std::bad_alloc.
std::vector<RowLengthCost> measure_row_lengths_of(comm::RankGroup& group, const kernels::KernelRow& kernel,
                                                  const kernels::Tuning& tuning, int thread_count);

/// Memory of a rank for either curve, bytes, beside its process.
int64_t row_length_bytes();

/// A matrix on a grid, whose kernels are measured.
struct CaseConfig {
  std::shared_ptr<MatrixSource> source;
  Configuration configuration;     ///< grid and transport must be known; the kernel is each one's own
  double shift = 0.0;              ///< shift of the outer iterations, whose zeta is compared
  int critical_vector_length = 0;  ///< the search for a kernel's own one begins there

  /// "class S, grid 1x2"
  std::string name() const;
};

/// The stages of measure_case(), by the texts that `say` gets, with the seconds that they take on a common machine.
std::vector<Work> works_of_case(const CaseConfig& config);

/// The most memory of a rank in measure_case(), bytes, beside its process.
int64_t case_bytes(const CaseConfig& config, int rank);

/// All kernels on one matrix and grid: first the settings of each on a sample of the block, then CG steps of
/// all in turns; of their record only the spread. `say` gets a line per stage. Callers check the memory before. Collective. Throws RunError
/// when the kernels disagree.
TunedCase measure_case(comm::RankGroup& group, const CaseConfig& config,
                       const std::function<void(const std::string&)>& say);

// ---------------------------------------------------------------- cg2d model --calibrate

/// The cases of a calibration.
struct CalibrationConfig {
  /// Sources of the matrices whose blocks are measured.
  std::span<const std::unique_ptr<MatrixSource>> sources;
  const Configuration& configuration;  ///< its grid and transport are each case's own
  const Environment& environment;
  const LoadedProfile& profile;  ///< for the kernel and its settings
};

/// Measures products, vector operations and long messages in outer steps of the benchmark itself, on all
/// grids in turns, timed by phase, with the kernel that choose_kernel() takes. Measures short messages and
/// additions in collections and sums by themselves. Both for each transport that can serve, the default one
/// on all grids, the others on one. Of the record only the spread of the outer steps. Collective, at least 2 ranks. Throws
/// InputError, RunError, MpiError, std::bad_alloc.
MachineDescription calibrate(comm::RankGroup& group, const CalibrationConfig& config,
                             const Progress& progress);

}  // namespace cg2d
