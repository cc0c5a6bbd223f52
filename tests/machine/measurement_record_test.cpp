// Date and quality of measurements: the file keeps them, and runs remark on old and poor ones.

#include "cg/machine/measurement_record.hpp"

#include <gtest/gtest.h>

#include "cg/base/describe_json.hpp"
#include "cg/base/errors.hpp"

namespace cg2d::measurement_record_test {
namespace {

MeasurementRecord record_of(const std::string& date, const std::string& disturbance = {}) {
  return {.date = date,
          .attempts = 2,
          .switches_per_s = 3.5,
          .steal_share = 0.01,
          .spread = 0.04,
          .disturbance = disturbance};
}

/// An object that keeps one.
struct Keeper {
  MeasurementRecord record;
};
void describe(Members& m, Keeper& keeper) { describe_measured(m, keeper.record); }

Json json_of(const MeasurementRecord& record) { return cg2d::json_of(Keeper{record}); }
MeasurementRecord record_in(const Json& json) { return from_json<Keeper>(json).record; }

TEST(MeasurementRecordTest, TheFileKeepsIt) {
  const auto record = record_of("2026-11-22T12:30:00Z", "busy");
  const auto read = record_in(json_of(record));
  EXPECT_EQ(json_of(read), json_of(record));
  EXPECT_EQ(read.disturbance, "busy");
  EXPECT_EQ(record_in(Json::object()).date, "") << "a file of an earlier program";
}

TEST(MeasurementRecordTest, WrongValuesAreRefused) {
  auto wrong_date = json_of(record_of("22 November"));
  EXPECT_THROW(static_cast<void>(record_in(wrong_date)), InputError);
  auto negative = json_of(record_of("2026-11-22T12:30:00Z"));
  negative["measured"]["spread"] = -1.0;
  EXPECT_THROW(static_cast<void>(record_in(negative)), InputError);
}

TEST(RemarkTest, IsMadeOnOldAndPoorMeasurements) {
  const std::string now = "2026-11-22T12:30:00Z";
  EXPECT_EQ(remark_on(record_of("2026-11-22T12:00:00Z"), now), "");
  EXPECT_EQ(remark_on(record_of("2026-05-27T12:30:00Z"), now), "") << "179 days";
  EXPECT_EQ(remark_on(record_of("2026-05-22T12:30:00Z"), now), "measured 2026-05-22, 184 days ago");
  EXPECT_EQ(remark_on(record_of(now, "busy"), now), "measured 2026-11-22, disturbed: busy");
  EXPECT_EQ(remark_on({}, now), "") << "nothing is known of it";
  EXPECT_EQ(remark_on(record_of(date_now()), date_now()), "");
}

}  // namespace
}  // namespace cg2d::measurement_record_test
