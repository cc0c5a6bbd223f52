#include "cg/run/feature.hpp"

#include <array>

namespace cg2d {

FeatureRow check_feature();
FeatureRow counter_feature();
FeatureRow trace_feature();
FeatureRow quiet_feature();
FeatureRow limits_feature();
FeatureRow stall_feature();

/// The checks before are neither counted nor traced; the counters are read last where a phase ends, and a watch begins when all else is ready.
std::span<const FeatureRow> feature_table() {
  static const std::array table{check_feature(), counter_feature(), trace_feature(),
                                quiet_feature(), limits_feature(),  stall_feature()};
  return table;
}

Features::Features(const FeatureContext& context) {
  for (const auto& row : feature_table()) {
    if (row.is_used == nullptr || row.is_used(context.options)) features_.push_back(row.make(context));
  }
}

std::vector<OuterStepObserver*> Features::outer_observers() const {
  std::vector<OuterStepObserver*> observers;
  for (const auto& feature : features_) {
    if (auto* const observer = feature->outer_observer()) observers.push_back(observer);
  }
  return observers;
}

}  // namespace cg2d
