#include "cg/run/feature.hpp"

#include <fmt/format.h>

#include <array>

#include "cg/base/errors.hpp"

namespace cg2d {

FeatureRow checkpoint_feature();
FeatureRow streaming_feature();
FeatureRow guard_feature();
FeatureRow check_feature();
FeatureRow counter_feature();
FeatureRow trace_feature();
FeatureRow quiet_feature();
FeatureRow limits_feature();
FeatureRow slow_rank_feature();
FeatureRow rebalance_feature();
FeatureRow stall_feature();

/// The checks before are neither counted nor traced; the counters are read last where a phase ends, and a watch begins when all else is ready.
std::span<const FeatureRow> feature_table() {
  static const std::array table{checkpoint_feature(), streaming_feature(), guard_feature(), check_feature(),
                                counter_feature(),    trace_feature(),     quiet_feature(), limits_feature(),
                                slow_rank_feature(),  rebalance_feature(), stall_feature()};
  return table;
}

void require_classic_form(const AskedWork& asked, std::string_view option) {
  const auto classic = cg_variant_table().front().name;
  if (asked.variant != classic)
    throw InputError(fmt::format("{}: not for --variant {}; take {}", option, asked.variant, classic));
}

void require_matrix(const AskedWork& asked, std::string_view option) {
  if (!asked.has_matrix)
    throw InputError(fmt::format("{}: needs a matrix: FILE, or --operator with --assembled", option));
}

void resolve_features(const AskedWork& asked) {
  for (const auto& row : feature_table()) {
    if (row.resolve != nullptr && row.is_used_by(asked.options)) row.resolve(asked);
  }
}

std::string feature_lines(LinesOfFeature FeatureRow::*lines, const SessionReport& report) {
  std::string text;
  for (const auto& row : feature_table()) {
    if (row.*lines != nullptr) text += (row.*lines)(report);
  }
  return text;
}

Features::Features(const FeatureContext& context) {
  for (const auto& row : feature_table()) {
    if (row.is_used_by(context.options)) features_.push_back(row.make(context));
  }
}

std::string Features::last_words() const {
  std::string text;
  for (const auto& feature : features_) text += feature->last_words();
  return text;
}

double Features::slowness() const {
  double slowness = 1.0;
  for (const auto& feature : features_) slowness *= feature->slowness();
  return slowness;
}

std::vector<OuterStepObserver*> Features::outer_observers() const {
  std::vector<OuterStepObserver*> observers;
  for (const auto& feature : features_) {
    if (auto* const observer = feature->outer_observer()) observers.push_back(observer);
  }
  return observers;
}

}  // namespace cg2d
