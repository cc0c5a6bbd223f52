// A measurement records beside its times: events of the phases (--papi), a trace (--trace), the machine's quiet, and the limits of the
// machine (--roofline).

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cg/machine/noise_monitor.hpp"
#include "cg/run/feature.hpp"
#include "cg/run/roofline.hpp"
#include "cg/timing/phase_counters.hpp"

namespace cg2d {
namespace {

/// Events of each phase.
class CounterFeature final : public Feature {
 public:
  using Feature::Feature;

  /// Early, so that an event that nobody knows is found before the work.
  void prepare() override { wanted_ = wanted_events(context_.options.counters, context_.group); }
  /// Threads inherit the counters of the rank that starts them.
  void before_threads() override {
    auto& report = context_.report;
    if (!wanted_.empty() &&
        !context_.options.time_phases) {  // the option itself has been refused: the environment's
      report.warnings.emplace_back(
          "PAPI_EVENTS: nothing is counted, since --no-phases leaves no phases to count for");
    }
    auto options = context_.options.counters;
    options.has_threads = report.configuration.thread_count > 1;
    auto setup = set_up_counters(wanted_, options, context_.group);
    report.counters.asked = setup.asked;
    report.counters.refused = setup.refused;
    report.counters.multiplexed = options.multiplexed;
    if (!setup.refused.empty()) {
      report.warnings.push_back("--papi: " + refusal_text(setup.refused));
      context_.progress.warn(report.warnings.back());  // refused events are told of before the work begins
    }
    if (!setup.counters || setup.counters->event_names().empty()) return;
    report.counters.counted = setup.counters->event_names();
    report.counters.counts_all_threads = setup.counters->counts_all_threads();
    counters_ = std::move(setup.counters);
  }
  void attach(const ReadyWork& /*work*/, RegionMeasurement& measurement) override {
    if (counters_) measurement.count_events(phases_.emplace(*counters_));
  }
  void end_repeat(RepeatReport& repeat) override {
    if (counters_) repeat.counts = context_.group.gather_one(phases_->counts());
  }
  void finish() override {
    if (counters_) context_.mine.clocks_per_reading = phases_->clocks_per_reading();
  }
  /// Counts that contradict the system's own account, or that stand still, are no result: a warning for each.
  void conclude(const RepeatReport* last) override {
    if (!counters_ || last == nullptr || context_.group.rank() != 0) return;
    const auto& counted = context_.report.counters;
    for (std::size_t event = 0; event < counted.counted.size(); ++event) {
      auto doubt = doubt_about(counted, *last, event);
      if (!doubt.empty()) context_.report.warnings.push_back("--papi: " + std::move(doubt));
    }
  }

 private:
  std::vector<std::string> wanted_;  // and groups of events
  std::unique_ptr<EventCounters> counters_;
  std::optional<PhaseCounters> phases_;
};

/// A time line of the phases of the first CG steps.
class TraceFeature final : public Feature {
 public:
  using Feature::Feature;

  void attach(const ReadyWork& work, RegionMeasurement& measurement) override {
    measurement_ = &measurement;
    measurement.record_trace(work.trace_room(context_.options.trace.step_count));
  }
  void conclude(const RepeatReport* /*last*/) override {
    auto& kept = context_.trace;
    const auto rank = static_cast<std::size_t>(context_.group.rank());
    kept.trace = measurement_->rank_trace(context_.report.environment->ranks[rank].node,
                                          context_.report.ranks.front().ticks_per_second);
    kept.events.assign(kept.trace->events.begin(), kept.trace->events.end());
    kept.trace->events = kept.events;
    kept.trace->is_of_solve = context_.kind == WorkKind::solve;
    if (const auto dropped = context_.group.maximum(measurement_->dropped_count()); dropped > 0)
      context_.report.warnings.push_back(fmt::format("--trace: {} phases of a rank had no room", dropped));
  }

 private:
  RegionMeasurement* measurement_ = nullptr;
};

/// The quiet of the machine during each repetition.
class QuietFeature final : public Feature {
 public:
  using Feature::Feature;

  void attach(const ReadyWork& /*work*/, RegionMeasurement& measurement) override {
    measurement.measure_quiet(meter_.emplace(context_.group, *context_.report.environment,
                                             context_.report.configuration.thread_count));
  }
  void end_repeat(RepeatReport& repeat) override { repeat.quiet = meter_->result(); }

 private:
  std::optional<NoiseMonitor> meter_;
};

/// Measures what this machine can read and compute, beside what the phases reach.
class LimitsFeature final : public Feature {
 public:
  using Feature::Feature;

  void attach(const ReadyWork& work, RegionMeasurement& /*measurement*/) override {
    matrix_bytes_ = work.matrix_bytes > 0 ? work.matrix_bytes : work.vector_bytes;
    vector_bytes_ = work.vector_bytes;
    storage_bytes_per_s_ = work.storage_bytes_per_s;
  }
  void finish() override {
    if (auto reason = why_no_limits(*context_.report.environment); !reason.empty()) {
      context_.report.warnings.push_back(std::move(reason));
      return;
    }
    context_.progress.say("measuring what this machine can read and compute");
    auto& limits = context_.mine.limits;
    limits = measure_limits(context_.group, context_.report.configuration.thread_count, matrix_bytes_,
                            vector_bytes_);
    limits.storage_bytes_per_s = storage_bytes_per_s_;
  }

 private:
  std::int64_t matrix_bytes_ = 0;
  std::int64_t vector_bytes_ = 0;
  double storage_bytes_per_s_ = 0.0;
};

}  // namespace

FeatureRow counter_feature() { return {.name = "counters", .make = make_feature<CounterFeature>}; }

FeatureRow trace_feature() {
  return {.name = "trace",
          .is_used = [](const SessionOptions& options) { return !options.trace.path.empty(); },
          .make = make_feature<TraceFeature>};
}

FeatureRow quiet_feature() { return {.name = "quiet", .make = make_feature<QuietFeature>}; }

FeatureRow limits_feature() {
  return {.name = "roofline",
          .is_used = [](const SessionOptions& options) { return options.measures_limits; },
          .make = make_feature<LimitsFeature>};
}

}  // namespace cg2d
