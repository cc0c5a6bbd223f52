#pragma once

// Features of a measurement: what can be asked for around the work that is measured, whatever this is. A new one is one file that defines
// a row, its entry in feature_table(), its members of FeatureSettings and FeatureResults, its calls in the course of the work (Session,
// BenchmarkRun, SolveRun), and its options in cg/commands.

#include <fmt/format.h>

#include <span>
#include <string>
#include <string_view>
#include <utility>

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

/// One feature.
struct FeatureRow {
  /// Whether the options ask for it.
  bool (*is_used)(const FeatureSettings& settings);
  /// Throws InputError where it does not go with this work, and sets options that follow from it; asked only where it is used.
  /// nullptr: it goes with all.
  void (*resolve)(const AskedWork& asked) = nullptr;
  /// Why it does not go with several right-hand sides; empty: it does.
  std::string_view against_several{};
  /// Why it does not go with a matrix that is streamed; empty: it does.
  std::string_view against_streaming{};
  /// Its members of a result's document; nullptr: none.
  void (*describe)(Members& m, FeatureResults& results, WorkKind kind) = nullptr;
  /// Its lines of the text below the summary, with their ends; empty where it was not used.
  std::string (*lines)(const FeatureResults& results) = nullptr;
};

/// The features that do not go with all work, or have a section of the result or a line, in the order of these.
std::span<const FeatureRow> feature_table();

/// Throws InputError where a feature that the options ask for does not go with the work, and resolves the others.
void resolve_features(const AskedWork& asked);

/// The lines of all features below the summary.
std::string feature_lines(const FeatureResults& results);

}  // namespace cg2d
