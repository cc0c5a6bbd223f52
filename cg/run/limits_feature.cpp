// --roofline: what this machine can read and compute, beside what the phases reach.

#include <memory>

#include "cg/run/feature.hpp"
#include "cg/run/roofline.hpp"

namespace cg2d {
namespace {

class LimitsFeature final : public Feature {
 public:
  explicit LimitsFeature(const FeatureContext& context) : context_(context) {}

  void attach(const MeasuredWork& work) override {
    matrix_bytes_ = work.ready.matrix_bytes > 0 ? work.ready.matrix_bytes : work.ready.vector_bytes;
    vector_bytes_ = work.ready.vector_bytes;
    storage_bytes_per_s_ = work.ready.storage_bytes_per_s;
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
  FeatureContext context_;
  std::int64_t matrix_bytes_ = 0;
  std::int64_t vector_bytes_ = 0;
  double storage_bytes_per_s_ = 0.0;
};

}  // namespace

FeatureRow limits_feature() {
  return {.name = "roofline",
          .options = {},
          .read = nullptr,
          .is_used = [](const SessionOptions& options) { return options.measures_limits; },
          .make = make_feature<LimitsFeature>};
}

}  // namespace cg2d
