// --check: kernel, transport and grid are checked before the first iteration.

#include <array>

#include "cg/base/errors.hpp"
#include "cg/run/check/check.hpp"
#include "cg/run/feature.hpp"
#include "kernels/spmv.hpp"

namespace cg2d {
namespace {

constexpr std::string_view check_option = "--check";

/// Asked for: a type of its own among the settings.
struct CheckSettings {};

class CheckFeature final : public Feature {
 public:
  using Feature::Feature;

  void attach(const ReadyWork& /*work*/, RegionMeasurement& /*measurement*/) override {
    const auto& report = context_.report;
    if (kernels::find_kernel(report.configuration.kernel) == nullptr)
      throw InputError("--check: without a matrix there is no kernel to check; take --assembled");
    check_before_run(short_check_plan(report.configuration, report.kernel_choice.tuning), context_.group,
                     context_.progress);
  }
};

void read_check(const OptionTexts& texts, FeatureSettings& settings) {
  if (text_of(texts, check_option) != nullptr) settings.set(CheckSettings());
}

}  // namespace

FeatureRow check_feature() {
  static constexpr std::array own_options{
      FeatureOption{.name = check_option,
                    .group = "Plan",
                    .help = "first check kernel, transport and grid of the run, as cg2d check does"}};
  return {.name = "self-check",
          .options = own_options,
          .read = read_check,
          .is_used = has_settings<CheckSettings>,
          .make = make_feature<CheckFeature>};
}

}  // namespace cg2d
