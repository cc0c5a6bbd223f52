#pragma once

// Times that `cg2d tune` and runs (--transport auto, --cut speed) measured on a machine, and the file that keeps them for later runs.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <tuple>

#include "cg/machine/measurement_record.hpp"
#include "cg/matrix/matrix_facts.hpp"
#include "cg/solver/configuration.hpp"
#include "comm/waiter.hpp"
#include "kernels/spmv.hpp"

namespace cg2d {

/// The critical vector length of a machine where vectors never pay.
inline constexpr int never_in_vectors = std::numeric_limits<int>::max();

/// Times of the two loops of plain CSR on rows of one length, ns per nonzero.
struct RowLengthPoint {
  int row_length = 0;
  double scalar_ns = 0.0;
  double vector_ns = 0.0;
};

/// The shortest row length from which the vector loop is never slower; never_in_vectors if there is none.
int critical_vector_length_of(const std::vector<RowLengthPoint>& curve);

/// One phrase for a curve that makes no sense, empty for a good one: a time beyond PhysicalBounds, or vectors
/// that are clearly faster on some rows and slower on much longer ones, so that the critical vector length is
/// that of a disturbed point. thread_count: of each rank. Vectors that never pay are no fault.
std::string why_unphysical(const std::vector<RowLengthPoint>& curve, int thread_count);

/// The time of a CG step with one candidate of a trial, messages included: the median, the slowest rank's.
struct TimedCandidate {
  std::string name;
  kernels::Tuning tuning{};  ///< the best settings, where cg2d tune looked for them
  double step_s = 0.0;
};

/// One phrase for the first time of a CG step that is less than the arithmetic of its product takes, empty for good ones.
std::string why_unphysical_steps(const std::vector<TimedCandidate>& timed, double nonzeros_per_thread);

/// All kernels on one matrix, grid and number of threads.
struct TunedCase {
  MatrixKey matrix{};
  Configuration configuration{};  ///< the file keeps its grid and threads only
  double nonzeros_per_rank = 0.0;
  std::vector<TimedCandidate> kernels{};  ///< the verdict's candidate first, then by time; at least one
  std::string verdict{};                  ///< how sure that is: RaceVerdict::text(); not in the file
  MeasurementRecord measured{};

  /// Every case has this: whether another is the same but for what was measured.
  bool is_like(const TunedCase& other) const;
};

/// The transports under conditions that make them comparable: all that changes what a CG step sends, or where it goes.
struct TransportCase {
  MatrixKey matrix{};
  /// With the kernel that runs; the transport is left open.
  Configuration configuration{.transport = std::string(automatic_choice)};
  int node_count = 1;
  comm::WaitMode wait_mode = comm::WaitMode::spin;  ///< tells whether ranks outnumber the cores
  std::vector<TimedCandidate> transports{};         ///< at least one
  MeasurementRecord measured{};

  bool is_like(const TransportCase& other) const {
    return matrix == other.matrix && configuration == other.configuration && node_count == other.node_count &&
           wait_mode == other.wait_mode;
  }
};

/// One of the ranks whose speeds were measured.
struct PlacedSpeed {
  std::string place;            ///< its host and the processors of its threads
  double nonzeros_per_s = 0.0;  ///< of its products, while all others multiply, too
  double share = 0.0;           ///< of the nonzeros, for the piece of its number
  int rank_here = -1;           ///< the rank that stands at the place of its number
};

/// The speeds of ranks that multiply their blocks of a matrix, and the shares that follow.
struct SpeedCase {
  MatrixKey matrix{};
  Configuration configuration{};     ///< the file keeps its grid, threads and kernel only
  std::vector<PlacedSpeed> ranks{};  ///< their places tell who the neighbours of each are
  MeasurementRecord measured{};

  bool is_like(const SpeedCase& other) const;
};

/// The place of the case that is like the wanted one; the end where there is none.
template <typename Cases>
auto find_like(Cases& cases, const typename Cases::value_type& wanted) {
  return std::ranges::find_if(cases, [&](const auto& one) { return one.is_like(wanted); });
}

/// "spin", "yield", "sleep" or "block".
std::span<const NamedValue<comm::WaitMode>> wait_mode_table();

/// All that was measured on one kind of processor.
struct ProcessorProfile {
  std::optional<int> critical_vector_length{};  ///< only where cg2d tune has measured the kernels
  std::vector<RowLengthPoint> curve{};
  std::vector<TunedCase> cases{};
  std::vector<TransportCase> transports{};
  std::vector<SpeedCase> speeds{};
  MeasurementRecord measured{};  ///< record of the curve

  /// Whether cg2d tune has measured here; else the profile has no data of kernels.
  bool knows_kernels() const { return critical_vector_length.has_value(); }
  /// The case of this very matrix, grid and number of threads, or nullptr.
  const TunedCase* find_case(const MatrixKey& matrix, const Configuration& configuration) const;
  /// The settings of a kernel in the case whose blocks are nearest in size; empty if no case has it.
  std::optional<kernels::Tuning> nearest_tuning(std::string_view kernel, double nonzeros_per_rank) const;
  /// How the figures were measured that a run of this matrix and configuration uses: those of its case, else
  /// of the curve.
  const MeasurementRecord& record_for(const MatrixKey& matrix, const Configuration& configuration) const;
  /// Replaces the case that is like it, or adds one.
  template <typename Case>
  void put(Case found) {
    auto& known = std::get<std::vector<Case>&>(std::tie(cases, transports, speeds));
    const auto same = find_like(known, found);
    if (same == known.end())
      known.push_back(std::move(found));
    else
      *same = std::move(found);
  }
  /// Puts all cases of another one, and takes its kernels over if it knows any.
  void add(const ProcessorProfile& found);
};
class Members;
void describe(Members& m, ProcessorProfile& processor);

/// Profiles by the name of the processor, see common_processor().
using TuningProfile = std::map<std::string, ProcessorProfile>;

/// Removes the processor of that name, or, where there is none, the cases of the matrix of that name on all processors. Returns the number of
/// measurements removed: curves, cases of kernels, of transports, of speeds.
int remove_measurements(TuningProfile& profile, const std::string& name);

/// Throws InputError, without the name of the file, when the text is no profile of this version. Keys that
/// later programs added (transports) may be missing.
TuningProfile parse_profile(std::string_view text);
std::string format_profile(const TuningProfile& profile);

/// The place of the profile.
struct ProfileSource {
  bool is_used = true;
  std::string path;              ///< empty: the default place
  bool keeps_disturbed = false;  ///< saves also what was measured beside other load; runs that use it say so
  bool may_be_new = false;       ///< the command may write to it: a file that is named may be missing

  /// Whether a measurement beside other load counts: nothing is saved, or the user asked for it.
  bool takes_disturbed() const { return keeps_disturbed || !is_used; }
  /// The path, or that of the default place. Throws InputError where there is none.
  std::string place() const;
};

/// The files of profiles.
inline constexpr MeasurementFile<TuningProfile> profile_file{
    .option = "--profile", .noun = "tuning profile", .parse = &parse_profile, .format = &format_profile};
/// The path of the profile, which can be written: known before anything is measured; empty where none is used. Throws InputError when
/// there is no place for it, or when the file is no profile, RunError when it cannot be created.
std::string writable_profile(const ProfileSource& source);
/// Adds to the file: other processors stay, and so do other cases of this one. Throws RunError.
void add_to_profile(const std::string& path, const std::string& processor, const ProcessorProfile& found);

}  // namespace cg2d
