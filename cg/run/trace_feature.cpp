// --trace: a time line of the phases of the first CG steps.

#include <fmt/format.h>

#include <memory>

#include "cg/run/feature.hpp"

namespace cg2d {
namespace {

class TraceFeature final : public Feature {
 public:
  explicit TraceFeature(const FeatureContext& context) : context_(context) {}

  void attach(const MeasuredWork& work) override {
    measurement_ = &work.measurement;
    measurement_->record_trace(work.ready.trace_room(context_.options.trace.step_count));
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
  FeatureContext context_;
  RegionMeasurement* measurement_ = nullptr;
};

}  // namespace

FeatureRow trace_feature() {
  return {.name = "trace",
          .options = {},
          .read = nullptr,
          .is_used = [](const SessionOptions& options) { return !options.trace.path.empty(); },
          .make = make_feature<TraceFeature>};
}

}  // namespace cg2d
