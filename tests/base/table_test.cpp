#include "cg/base/table.hpp"

#include <gtest/gtest.h>

namespace cg2d {
namespace {

TEST(Table, ColumnsAreAsWideAsTheirLongestCell) {
  Table table;
  table.line()
      .word("grid", "1x2")
      .number("seconds", "{:.2f}", 12.345)
      .number("spread", percent_text(0.07, 1));
  table.line()
      .word("grid", "16x16")
      .number("seconds", "{:.2f}", 7.0)
      .number("spread", percent_text({}, 1))
      .word("", "best");
  EXPECT_EQ(table.text(),
            " grid   seconds  spread\n"
            " 1x2      12.35   7.0 %\n"
            " 16x16     7.00       -  best\n");
}

TEST(Table, ACellThatWasNotPutIsADash) {
  Table table;
  table.line().word("phase", "dot").gap();
  table.line().number("bytes", "{}", 8).word("phase", "total, all ranks");
  EXPECT_EQ(table.text(""),
            "phase             bytes\n"
            "dot                   -\n"
            "\n"
            "total, all ranks      8\n");
  EXPECT_EQ(Table().text(), "\n");
}

}  // namespace
}  // namespace cg2d
