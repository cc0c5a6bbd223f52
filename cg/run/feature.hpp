#pragma once

// Features of a measurement: what happens around the work that is measured, whatever this is. A new one is one file that defines a
// row, and its entry in feature_table().

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cg/base/describe.hpp"
#include "cg/base/interface.hpp"
#include "cg/base/progress.hpp"
#include "cg/run/feature_settings.hpp"
#include "cg/run/region_measurement.hpp"
#include "cg/run/session_options.hpp"
#include "cg/run/session_report.hpp"
#include "cg/solver/assembled_operator.hpp"
#include "cg/solver/cg_recurrence.hpp"
#include "cg/solver/npb_iteration.hpp"
#include "cg/solver/preconditioners/preconditioner_table.hpp"
#include "cg/timing/phase_trace.hpp"
#include "comm/block_layout.hpp"
#include "comm/rank_group.hpp"
#include "kernels/csr_block.hpp"

namespace cg2d {

/// This rank's part of a trace, with its events.
struct KeptTrace {
  std::vector<TraceEvent> events;
  std::optional<RankTrace> trace{};  ///< refers to them
};

/// Work that is measured: outer iterations of the benchmark, or the solve of a system.
enum class WorkKind { outer_iterations, solve };

/// The work that is asked for, as features may have something against it.
struct AskedWork {
  SessionOptions& options;
  WorkKind kind = WorkKind::outer_iterations;
  bool has_matrix = true;
  bool repeats = false;                  ///< it is done more than once
  std::string_view against_streaming{};  ///< why its matrix must be in memory; empty: it need not
  std::string_view variant{cg_variant_table().front().name};  ///< form of CG
  std::string_view preconditioner{preconditioner_table().front().name};
};
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
  KeptTrace& trace;
  WorkKind kind = WorkKind::outer_iterations;
};

/// Work whose matrix can be repartitioned between its iterations.
struct MovableWork {
  /// Seconds that the making of block and communicator took on this rank: about the cost of a move.
  double set_up_s = 0.0;
  /// To pieces of these shares of the nonzeros: [piece]. Collective; throws RunError (on every rank alike).
  std::function<void(std::span<const double> shares)> move;
};

/// Work with its solver, when all of it is made.
struct ReadyWork {
  MeasuredSolver solver;
  std::function<TraceRoom(int step_count)> trace_room;  ///< for so many CG steps. Collective
  std::int64_t matrix_bytes = 0;  ///< of this rank: read by a product, over and over; 0: there is no matrix
  std::int64_t vector_bytes = 0;  ///< of this rank's vectors in a step
  double storage_bytes_per_s = 0.0;      ///< MachineLimits::storage_bytes_per_s
  std::optional<MovableWork> movable{};  ///< outer iterations with a matrix in memory
};

/// The place of a repetition in a run.
struct RepeatPlace {
  int number = 1;
  int count = 1;
  int outer_step_count = 1;  ///< of each
  int earlier_count = 0;     ///< of them, before a restart
};

/// The hooks, in the order of the calls. All but outer_observer() are called on every rank, and may be collective. Each may throw RunError
/// (on every rank alike).
class Feature : public Interface {
 public:
  explicit Feature(const FeatureContext& context) : context_(context) {}

  /// Nothing is known yet but the options.
  virtual void prepare() {}
  /// The work is going to be done, and its matrix is not yet made: time to claim what it needs.
  virtual void before_matrix() {}
  /// Grid and kernel are chosen, and no thread has been started.
  virtual void before_threads() {}
  /// A rank's block that is in memory as a whole, before the kernel takes it.
  virtual void with_block(const kernels::CsrBlock& /*block*/, const comm::BlockLayout& /*layout*/) {}
  /// How many times as long products of this rank take, on purpose.
  [[nodiscard]] virtual double slowness() const { return 1.0; }
  /// The product on the grid is ready, and no solver yet.
  virtual void with_operator(AssembledOperator& /*assembled*/) {}
  /// The work begins with its untimed part.
  virtual void attach(const ReadyWork& /*work*/, RegionMeasurement& /*measurement*/) {}
  /// An observer of outer iterations, told between those of the measurement; nullptr: none.
  [[nodiscard]] virtual OuterStepObserver* outer_observer() { return nullptr; }
  /// A repetition of the benchmark is about to begin.
  virtual void begin_repeat(const RepeatPlace& /*place*/) {}
  /// It is complete, or the solve is.
  virtual void end_repeat(RepeatReport& /*repeat*/) {}
  /// A region has come to its end, or not; throws where its numbers are spoiled.
  virtual void check_region() {}
  /// The last one is over, also where it is not complete. Nothing may be thrown.
  virtual void detach() {}
  /// The rank's own result is to be complete.
  virtual void finish() {}
  /// The end of the sentence about a signal that has ended the work, on ranks that report.
  [[nodiscard]] virtual std::string last_words() const { return {}; }
  /// The results of all ranks are in the report of rank 0. last: the repetition to be reported; nullptr: none is complete.
  virtual void conclude(const RepeatReport* /*last*/) {}

 protected:
  FeatureContext context_;
};

/// Lines with their ends; empty where the feature was not used.
using LinesOfFeature = std::string (*)(const SessionReport& report);

/// One feature.
struct FeatureRow {
  std::string_view name;
  /// Its options beside those that SessionOptions has members for.
  std::span<const FeatureOption> options{};
  /// Its settings from the texts of its options; nullptr where there are none. Throws InputError.
  void (*read)(const OptionTexts& texts, FeatureSettings& settings) = nullptr;
  /// Whether these options ask for it; nullptr: it is always there.
  bool (*is_used)(const SessionOptions& options) = nullptr;
  std::unique_ptr<Feature> (*make)(const FeatureContext& context);
  /// Throws InputError where it does not go with this work, and sets options that follow from it; asked only where it is used.
  /// nullptr: it goes with all.
  void (*resolve)(const AskedWork& asked) = nullptr;
  /// The only kind of work that has its options; empty: all.
  std::optional<WorkKind> only_for{};
  /// Why it does not go with several right-hand sides; empty: it does.
  std::string_view against_several{};
  /// Why it does not go with a matrix that is streamed; empty: it does.
  std::string_view against_streaming{};
  /// Why it does not go with a matrix that is repartitioned; empty: it does.
  std::string_view against_moves{};
  /// Its members of a result's document; nullptr: none.
  void (*describe)(Members& m, FeatureResults& results, WorkKind kind) = nullptr;
  /// Its lines of the text, with their ends: below the summary, and at the end.
  LinesOfFeature summary_lines = nullptr;
  LinesOfFeature closing_lines = nullptr;

  [[nodiscard]] bool is_used_by(const SessionOptions& session) const {
    return is_used == nullptr || is_used(session);
  }
};

/// FeatureRow::make of a class whose constructor takes the context.
template <typename Made>
std::unique_ptr<Feature> make_feature(const FeatureContext& context) {
  return std::make_unique<Made>(context);
}
/// FeatureRow::is_used of a feature that has such settings only where it is asked for.
template <typename Settings>
bool has_settings(const SessionOptions& options) {
  return options.features.find<Settings>() != nullptr;
}
/// FeatureRow::summary_lines or closing_lines from what a feature found.
template <typename Found, std::string (*text_of_found)(const Found& found)>
std::string lines_of(const SessionReport& report) {
  const auto* const found = report.features.find<Found>();
  return found == nullptr ? std::string() : text_of_found(*found);
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

/// All features. Each hook is called in this order.
std::span<const FeatureRow> feature_table();

/// Throws InputError where a feature that the options ask for does not go with the work, and resolves the others.
void resolve_features(const AskedWork& asked);

/// The lines of all features: &FeatureRow::closing_lines.
std::string feature_lines(LinesOfFeature FeatureRow::*lines, const SessionReport& report);

/// Those of one session.
class Features {
 public:
  explicit Features(const FeatureContext& context);

  /// Calls a hook of each: call(&Feature::end_repeat, repeat).
  template <typename... Parameters, typename... Values>
  void call(void (Feature::*hook)(Parameters...), Values&&... values) {
    for (const auto& feature : features_) (*feature.*hook)(values...);
  }
  /// The feature of that class; nullptr: it is not used.
  template <typename Made>
  [[nodiscard]] Made* find() const {
    for (const auto& feature : features_) {
      if (auto* const found = dynamic_cast<Made*>(feature.get())) return found;
    }
    return nullptr;
  }
  [[nodiscard]] std::vector<OuterStepObserver*> outer_observers() const;
  [[nodiscard]] std::string last_words() const;
  /// Feature::slowness() of all together.
  [[nodiscard]] double slowness() const;

 private:
  std::vector<std::unique_ptr<Feature>> features_;
};

}  // namespace cg2d
