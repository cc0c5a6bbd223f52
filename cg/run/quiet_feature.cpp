// The quiet of the machine during each repetition.

#include <memory>
#include <optional>

#include "cg/machine/noise_monitor.hpp"
#include "cg/run/feature.hpp"

namespace cg2d {
namespace {

class QuietFeature final : public Feature {
 public:
  explicit QuietFeature(const FeatureContext& context) : context_(context) {}

  void attach(const MeasuredWork& work) override {
    work.measurement.measure_quiet(meter_.emplace(context_.group, *context_.report.environment,
                                                  context_.report.configuration.thread_count));
  }
  void end_repeat(RepeatReport& repeat) override { repeat.quiet = meter_->result(); }

 private:
  FeatureContext context_;
  std::optional<NoiseMonitor> meter_;
};

}  // namespace

FeatureRow quiet_feature() {
  return {.name = "quiet",
          .options = {},
          .read = nullptr,
          .is_used = nullptr,
          .make = make_feature<QuietFeature>};
}

}  // namespace cg2d
