// --papi: events of each phase.

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cg/run/feature.hpp"
#include "cg/timing/phase_counters.hpp"

namespace cg2d {
namespace {

class CounterFeature final : public Feature {
 public:
  explicit CounterFeature(const FeatureContext& context) : context_(context) {}

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
  void attach(const MeasuredWork& work) override {
    if (counters_) work.measurement.count_events(phases_.emplace(*counters_));
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
  FeatureContext context_;
  std::vector<std::string> wanted_;  // and groups of events
  std::unique_ptr<EventCounters> counters_;
  std::optional<PhaseCounters> phases_;
};

}  // namespace

FeatureRow counter_feature() {
  return {.name = "counters",
          .options = {},
          .read = nullptr,
          .is_used = nullptr,
          .make = make_feature<CounterFeature>};
}

}  // namespace cg2d
