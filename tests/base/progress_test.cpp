// The text of the progress line.

#include "cg/base/progress.hpp"

#include <gtest/gtest.h>
#include <vector>

namespace cg2d::progress_test {
namespace {

TEST(ProgressTextTest, TaskAndTimes) {
  ProgressText text{.task = "run 3 of 12", .elapsed_s = 65.0, .remaining_s = 12.3};
  EXPECT_EQ(text.line(100), "cg2d: run 3 of 12 (84 %, 1 min 05 s, about 12 s left)");
  text.remaining_s.reset();
  EXPECT_EQ(text.line(100), "cg2d: run 3 of 12 (1 min 05 s)");
}

TEST(ProgressTextTest, TimesStayOnNarrowTerminals) {
  const ProgressText text{.task = "run 3 of 12 (class C, a long name)", .elapsed_s = 5.0};
  EXPECT_EQ(text.line(text.line(100).size()), text.line(100));
  EXPECT_EQ(text.line(24), "cg2d: run 3 of ... (5 s)");
  for (size_t columns = 0; columns < 60; ++columns) EXPECT_LE(text.line(columns).size(), columns);
}

/// A name with umlauts has fewer columns than bytes, and none of its characters is cut into.
TEST(ProgressTextTest, ColumnsAreCharactersAndTheLineIsOneLine) {
  const ProgressText text{.task = "reading Gr\xC3\xBC\xC3\x9F\x65.mtx", .elapsed_s = 5.0};
  EXPECT_EQ(text.line(26), "cg2d: reading Gr\xC3\xBC... (5 s)");
  EXPECT_EQ(text.line(29), "cg2d: reading Gr\xC3\xBC\xC3\x9F\x65.mtx (5 s)");
  const ProgressText hostile{.task = "reading a\nb\033[2J\r.mtx", .elapsed_s = 5.0};
  EXPECT_EQ(hostile.line(80), "cg2d: reading a\\x0ab\\x1b[2J\\x0d.mtx (5 s)");
}

// ---------------------------------------------------------------- expected durations: no clock takes part

TEST(FormatDurationTest, TheTwoLargestUnits) {
  EXPECT_EQ(format_duration(0.4), "0 s");
  EXPECT_EQ(format_duration(59.4), "59 s");
  EXPECT_EQ(format_duration(59.6), "1 min 00 s");
  EXPECT_EQ(format_duration(185.0), "3 min 05 s");
  EXPECT_EQ(format_duration(3720.0), "1 h 02 min");
}

TEST(DurationModelTest, SameThenAlikeThenAll) {
  DurationModel times;
  const Work known{.key = "B 2x1", .kind = "B", .amount = 10.0};
  EXPECT_FALSE(times.expected(known).has_value());
  for (const double seconds : {5.0, 100.0, 6.0}) times.add(known, seconds);
  times.add({.key = "S 2x1", .kind = "S", .amount = 1.0}, 2.0);
  EXPECT_DOUBLE_EQ(*times.expected(known), 6.0) << "the median: one disturbed run changes nothing";
  EXPECT_DOUBLE_EQ(*times.expected({.key = "B 1x2", .kind = "B", .amount = 20.0}), 20.0 * 111.0 / 30.0);
  EXPECT_DOUBLE_EQ(*times.expected({.key = "C 1x2", .kind = "C", .amount = 31.0}), 113.0);
}

TEST(ExpectedRestTest, CountsDownAndCorrectsItself) {
  const std::vector<Work> works{{"one", "races", 10.0}, {"two", "races", 20.0}, {"three", "messages", 3.0}};
  EXPECT_DOUBLE_EQ(expected_rest_s(works, 0, 0.0), 33.0);
  EXPECT_DOUBLE_EQ(expected_rest_s(works, 1, 10.0), 23.0);
  // Twice as slow as planned.
  EXPECT_DOUBLE_EQ(expected_rest_s(works, 1, 21.0), 46.0);
  EXPECT_DOUBLE_EQ(expected_rest_s(works, 3, 33.0), 0.0);
}

TEST(ExpectedRestTest, AFirstWorkThatIsOverAtOnceLeavesTimeForTheOthers) {
  const std::vector<Work> works{{"one", "a", 0.1}, {"two", "a", 10.0}};
  EXPECT_GT(expected_rest_s(works, 1, 0.0), 8.0);
}

}  // namespace
}  // namespace cg2d::progress_test
