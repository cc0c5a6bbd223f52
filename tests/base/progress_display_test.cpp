// The text of the progress line.

#include "cg/base/progress.hpp"

#include <gtest/gtest.h>

namespace cg2d::progress_display_test {
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

}  // namespace
}  // namespace cg2d::progress_display_test
