#pragma once

// Features of a measurement: what can be asked for around the work that is measured, whatever this is. A new one is one file with its parts
// of the functions below, its members of FeatureSettings and FeatureResults, its calls in the course of the work (Session, BenchmarkRun,
// SolveRun), and its options in cg/commands.

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cg/base/describe.hpp"
#include "cg/base/errors.hpp"
#include "cg/base/progress.hpp"
#include "cg/run/session_options.hpp"
#include "cg/run/session_report.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

struct SystemOptions;

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
