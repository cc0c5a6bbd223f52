// --stall-limit: the end of a run in which nothing goes on.

#include <array>
#include <optional>

#include "cg/base/values.hpp"
#include "cg/run/feature.hpp"
#include "cg/run/watch/exit_watch.hpp"
#include "cg/run/watch/stall_watch.hpp"

namespace cg2d {
namespace {

constexpr std::string_view stall_limit_option = "--stall-limit";

class StallFeature final : public Feature {
 public:
  using Feature::Feature;

  void attach(const ReadyWork& work, RegionMeasurement& /*measurement*/) override {
    watch_.emplace(context_.options.features.of<StallOptions>(), context_.group, work.solver.timer,
                   work.solver.observers);
  }
  [[nodiscard]] OuterStepObserver* outer_observer() override { return watch_ ? &*watch_ : nullptr; }
  void begin_repeat(const RepeatPlace& place) override { watch_->begin_repeat(place.number); }
  void detach() override { watch_.reset(); }

 private:
  std::optional<StallWatch> watch_;
};

/// With the end of all ranks; with "none" nothing is watched.
void read_stall_limit(const OptionTexts& texts, FeatureSettings& settings) {
  const auto* const text = text_of(texts, stall_limit_option);
  if (text == nullptr || *text == "none") return;
  settings.set(StallOptions{.limit_s = limit_seconds_from(stall_limit_option, *text), .end = end_all_ranks});
}

}  // namespace

FeatureRow stall_feature() {
  static constexpr std::array own_options{FeatureOption{
      .name = stall_limit_option,
      .value = "TIME",
      .default_text = "none",
      .group = "Output",
      .help = "end with code 85 when no iteration goes on for that long, and say what each rank waits for"}};
  return {.name = "stall limit",
          .options = own_options,
          .read = read_stall_limit,
          .is_used = has_settings<StallOptions>,
          .make = make_feature<StallFeature>};
}

}  // namespace cg2d
