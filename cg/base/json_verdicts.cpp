#include "cg/base/json_verdicts.hpp"

namespace cg2d {
namespace {

Figure<RatioInterval> bound(std::string name, double RatioInterval::*member, std::string meaning = {}) {
  return {std::move(name), or_null(positive_seconds_type()),
          [member](const auto& ratio) {
            return ratio.is_bounded() ? std::optional(ratio.*member) : std::nullopt;
          },
          std::move(meaning)};
}

}  // namespace

FigureType certainty_type() {
  return named_type(
      "certainty",
      with(word_type({"alone", "decided", "too-few-rounds", "not-distinguishable"}), "description",
           "alone: nothing to compare with; too-few-rounds: no times could decide; not-distinguishable: "
           "enough rounds, whose ratios do not separate them."));
}

const Record<std::string>& verdict_test_record() {
  static const Record<std::string> record{"verdict_test",
                                          {{"name", text_type(), std::identity()},
                                           {"wrong_verdict_probability", positive_seconds_type(),
                                            [](const auto& /*name*/) { return wrong_verdict_probability; }},
                                           {"least_claimed_gain", positive_seconds_type(),
                                            [](const auto& /*name*/) { return least_claimed_gain; }}}};
  return record;
}

Json verdict_test_json() {
  return json_of(verdict_test_record(), "sign test of the ratios of paired rounds");
}

const Record<Sample>& times_record() {
  static const Record<Sample> record{
      "times",
      {{"count", positive_count_type(), &Sample::count},
       {"median_s", positive_seconds_type(), &Sample::median},
       {"minimum_s", positive_seconds_type(), &Sample::minimum},
       {"maximum_s", positive_seconds_type(), &Sample::maximum},
       {"spread", or_null(number_type()), &Sample::spread, "(maximum - minimum) / median."}}};
  return record;
}

const Record<RatioInterval>& ratio_record() {
  static const Record<RatioInterval> record{
      "ratio",
      {{"ratio", positive_seconds_type(), &RatioInterval::median, "Median."},
       bound("low", &RatioInterval::low, "null where there are too few rounds."),
       bound("high", &RatioInterval::high),
       {"paired_rounds", positive_count_type(), &RatioInterval::round_count}}};
  return record;
}

}  // namespace cg2d
