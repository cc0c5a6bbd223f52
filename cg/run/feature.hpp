#pragma once

// Features of a measurement: what happens around the work that is measured, whatever this is. A new one is one file that defines a
// row, and its entry in feature_table().

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "cg/base/interface.hpp"
#include "cg/base/progress.hpp"
#include "cg/run/feature_settings.hpp"
#include "cg/run/region_measurement.hpp"
#include "cg/run/session_options.hpp"
#include "cg/run/session_report.hpp"
#include "cg/timing/phase_trace.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// This rank's part of a trace, with its events.
struct KeptTrace {
  std::vector<TraceEvent> events;
  std::optional<RankTrace> trace{};  ///< refers to them
};

/// The session that a feature belongs to.
struct FeatureContext {
  const SessionOptions& options;
  comm::RankGroup& group;
  const Progress& progress;
  SessionReport& report;
  RankResult& mine;  ///< of this rank
  KeptTrace& trace;
};

/// The work that is measured, when all of it is made.
struct MeasuredWork {
  MeasuredSolver& solver;
  RegionMeasurement& measurement;
  std::function<TraceRoom(int step_count)> trace_room;  ///< for so many CG steps. Collective
  std::int64_t matrix_bytes = 0;  ///< of this rank: read by a product, over and over; 0: there is no matrix
  std::int64_t vector_bytes = 0;  ///< of this rank's vectors in a step
  double storage_bytes_per_s = 0.0;  ///< MachineLimits::storage_bytes_per_s
  bool is_solve = false;             ///< of one system; else outer iterations of the benchmark
};

/// The hooks, in the order of the calls. All but outer_observer() are called on every rank, and may be collective. Each may throw RunError
/// (on every rank alike).
class Feature : public Interface {
 public:
  /// Nothing is known yet but the options.
  virtual void prepare() {}
  /// Grid and kernel are chosen, and no thread has been started.
  virtual void before_threads() {}
  /// The work begins with its untimed part.
  virtual void attach(const MeasuredWork& /*work*/) {}
  /// An observer of outer iterations, told between those of the measurement; nullptr: none.
  [[nodiscard]] virtual OuterStepObserver* outer_observer() { return nullptr; }
  /// A repetition of the benchmark, from 1, is about to begin.
  virtual void begin_repeat(int /*number*/) {}
  /// It is complete.
  virtual void end_repeat(RepeatReport& /*repeat*/) {}
  /// The last one is over, also where it is not complete. Nothing may be thrown.
  virtual void detach() {}
  /// The rank's own result is to be complete.
  virtual void finish() {}
  /// The results of all ranks are in the report of rank 0. last: the repetition to be reported; nullptr: none is complete.
  virtual void conclude(const RepeatReport* /*last*/) {}
};

/// One feature.
struct FeatureRow {
  std::string_view name;
  /// Its options beside those that SessionOptions has members for.
  std::span<const FeatureOption> options;
  /// Its settings from the texts of its options; nullptr where there are none. Throws InputError.
  void (*read)(const OptionTexts& texts, FeatureSettings& settings);
  /// Whether these options ask for it; nullptr: it is always there.
  bool (*is_used)(const SessionOptions& options);
  std::unique_ptr<Feature> (*make)(const FeatureContext& context);
};

/// FeatureRow::make of a class whose constructor takes the context.
template <typename Made>
std::unique_ptr<Feature> make_feature(const FeatureContext& context) {
  return std::make_unique<Made>(context);
}

/// All features. Each hook is called in this order.
std::span<const FeatureRow> feature_table();

/// Those of one session.
class Features {
 public:
  explicit Features(const FeatureContext& context);

  /// Calls a hook of each: call(&Feature::attach, work).
  template <typename... Parameters, typename... Values>
  void call(void (Feature::*hook)(Parameters...), Values&&... values) {
    for (const auto& feature : features_) (*feature.*hook)(values...);
  }
  [[nodiscard]] std::vector<OuterStepObserver*> outer_observers() const;

 private:
  std::vector<std::unique_ptr<Feature>> features_;
};

/// Features are attached to the work during its lifetime.
class AttachedFeatures {
 public:
  /// Both must outlive this. Throws as Feature::attach().
  AttachedFeatures(Features& features, const MeasuredWork& work) : features_(features) {
    try {
      features_.call(&Feature::attach, work);
    } catch (...) {
      features_.call(&Feature::detach);
      throw;
    }
  }
  ~AttachedFeatures() { features_.call(&Feature::detach); }
  AttachedFeatures(const AttachedFeatures&) = delete;
  AttachedFeatures& operator=(const AttachedFeatures&) = delete;

 private:
  Features& features_;
};

}  // namespace cg2d
