#pragma once

// Features of a measurement: what can be asked for around the work that is measured, whatever this is; among them the product of a matrix on
// local storage, in the place of one in memory. A new one is one file with its parts of the functions below, its members of FeatureSettings and
// FeatureResults, its calls in the course of the work (Session, BenchmarkRun, SolveRun), and its options in cg/commands.

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cg/base/describe.hpp"
#include "cg/base/errors.hpp"
#include "cg/base/progress.hpp"
#include "cg/run/run_report.hpp"
#include "cg/run/session_options.hpp"
#include "cg/run/streaming/out_of_core.hpp"
#include "cg/solver/assembled_operator.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// Work that is measured: outer iterations of the benchmark, or the solve of a system.
enum class WorkKind { outer_iterations, solve };

/// The work that is asked for, as features may have something against it.
struct AskedWork {
  SessionOptions& options;
  const SystemOptions* system = nullptr;  ///< the same ones, of a solve; nullptr: outer iterations
  bool repeats = false;                   ///< it is done more than once
  std::string_view against_streaming{};   ///< why its matrix must be in memory; empty: it need not
};
/// Throws InputError "what: reason" where it is given.
template <typename... Parts>
void refuse_if(bool is_given, std::string_view what, fmt::format_string<Parts...> reason, Parts&&... parts) {
  if (is_given) throw InputError("{}: {}", what, fmt::format(reason, std::forward<Parts>(parts)...));
}
/// Throws InputError for a form of CG other than the classic one: "--option: not for --variant ...".
void require_classic_form(const AskedWork& asked, std::string_view option);
/// Throws InputError where there is no matrix.
void require_matrix(const AskedWork& asked, std::string_view option);

/// The session that a feature belongs to.
struct FeatureContext {
  const SessionOptions& options;
  comm::RankGroup& group;
  const Progress& progress;
  SessionReport& report;
  RankResult& mine;  ///< of this rank
};

/// Makes the product of a rank's block on local storage in place of one of a block in memory. Collective in everything but the accessors;
/// throws RunError: memory where not even two panels fit, cannot_create, cannot_write, folder_in_use (PanelFolder), MpiError, std::bad_alloc.
class StreamingFeature {
 public:
  explicit StreamingFeature(const FeatureContext& context) : context_(context) {}

  /// Measures the storage with unlinked temporary files. multiply_s: of a product in memory, 0 if it is not known. Cost: about a second.
  StreamPlan plan(const StreamedMatrix& matrix, const comm::BlockLayout& layout, double multiply_s) const;
  /// Takes the files of all ranks, where all are there and fit, and have no short panels where all will stay in memory; else writes all.
  /// Once.
  [[nodiscard]] std::unique_ptr<BlockProduct> make_product(const StreamedMatrix& matrix,
                                                           const comm::BlockLayout& layout);
  /// Throws what reading has failed with: numbers are NaN for that reason.
  void check_region();
  /// What is known of it goes to the report.
  void finish();

  const PanelFileFigures& figures() const { return kernel_->file().header.figures; }
  /// With writing; the slowest rank's. 0 where the files were there.
  double generation_s() const { return facts_.write_s; }
  double storage_bytes_per_s() const { return stream_.storage_bytes_per_s; }
  /// Bytes of a panel, from a few of which products multiply; 0: nothing is read.
  int64_t panel_bytes() const;

 private:
  FeatureContext context_;
  std::unique_ptr<PanelFolder> folder_;     // locked as long as this lives
  OutOfCoreFacts facts_;                    // its times, until finish()
  RankStream stream_;                       // without the figures of products
  const StreamedKernel* kernel_ = nullptr;  // of the product
};

/// Throws InputError where a feature that the options ask for does not go with the work, and sets options that follow from the others.
void resolve_features(const AskedWork& asked);
/// The members of features in a result's document.
void describe_features(Members& m, FeatureResults& results, WorkKind kind);
/// The lines of all features below the summary, with their ends.
std::string feature_lines(const FeatureResults& results);

// The parts of features in these, each in the file of its feature: resolve_ of one that is used; nothing is described or said of others.
void resolve_checkpoint(const AskedWork& asked);
void resolve_streaming(const AskedWork& asked);
void resolve_guard(const AskedWork& asked);
void resolve_rebalance(const AskedWork& asked);
void describe_checkpoints(Members& m, CheckpointFacts& facts);
void describe_out_of_core(Members& m, OutOfCoreFacts& facts);
void describe_guard(Members& m, GuardReport& guard, WorkKind kind);
void describe_rebalance(Members& m, std::optional<std::vector<Move>>& moves);
std::string checkpoint_lines(const CheckpointFacts& facts);
std::string stream_lines(const OutOfCoreFacts& facts);
std::string rebalance_lines(const std::optional<std::vector<Move>>& moves);

}  // namespace cg2d
