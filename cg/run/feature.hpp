#pragma once

// Features of a measurement: what can be asked for around the work that is measured, whatever this is. A new one is one file that defines
// a row, its entry in feature_table(), and its calls in the course of the work (Session, BenchmarkRun, SolveRun).

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "cg/base/describe.hpp"
#include "cg/base/progress.hpp"
#include "cg/run/feature_settings.hpp"
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
void refuse_if(bool is_given, std::string_view what, std::string_view reason);
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

/// The place of a repetition in a run.
struct RepeatPlace {
  int number = 1;
  int count = 1;
  int outer_step_count = 1;  ///< of each
  int earlier_count = 0;     ///< of them, before a restart
};

/// Lines with their ends; empty where the feature was not used.
using LinesOfFeature = std::string (*)(const SessionReport& report);

/// One feature.
struct FeatureRow {
  /// Its options; SessionOptions has no members for them.
  std::span<const FeatureOption> options;
  /// Whether these options ask for it.
  bool (*is_used)(const SessionOptions& options);
  /// Throws InputError where it does not go with this work, and sets options that follow from it; asked only where it is used.
  /// nullptr: it goes with all.
  void (*resolve)(const AskedWork& asked) = nullptr;
  /// The only kind of work that has its options; empty: all.
  std::optional<WorkKind> only_for{};
  /// Why it does not go with several right-hand sides; empty: it does.
  std::string_view against_several{};
  /// Why it does not go with a matrix that is streamed; empty: it does.
  std::string_view against_streaming{};
  /// Its members of a result's document; nullptr: none.
  void (*describe)(Members& m, FeatureResults& results, WorkKind kind) = nullptr;
  /// Its lines of the text, with their ends: below the summary, and at the end.
  LinesOfFeature summary_lines = nullptr;
  LinesOfFeature closing_lines = nullptr;
};

/// FeatureRow::is_used of a feature that has such settings only where it is asked for.
template <typename Settings>
bool has_settings(const SessionOptions& options) {
  return options.features.find<Settings>() != nullptr;
}
/// FeatureRow::summary_lines or closing_lines from what a feature found.
template <typename Found, std::string (*TextOf)(const Found& found)>
std::string lines_of(const SessionReport& report) {
  const auto* const found = report.features.find<Found>();
  return found == nullptr ? std::string() : TextOf(*found);
}

/// The member `name`, which is what a feature found of that type; there only where the feature was used. text: its meaning.
template <typename Found, typename Describe>
void describe_section(Members& m, std::string_view name, FeatureResults& results, std::string_view text,
                      const Describe& describe_found) {
  const auto* const known = results.find<Found>();
  bool is_there = known != nullptr;
  auto found = is_there ? *known : Found{};
  m.object_if(is_there, name, meaning(text), [&] { describe_found(found); });
  if (m.reads() && is_there) results.set(std::move(found));
}

/// All features, in the order of their sections in results and of their lines.
std::span<const FeatureRow> feature_table();

/// Throws InputError where a feature that the options ask for does not go with the work, and resolves the others.
void resolve_features(const AskedWork& asked);

/// The lines of all features: &FeatureRow::closing_lines.
std::string feature_lines(LinesOfFeature FeatureRow::*lines, const SessionReport& report);

}  // namespace cg2d
