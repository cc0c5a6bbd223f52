// Numbers formatted for people and site scripts; messages as one line.

#include "cg/base/values.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "cg/base/errors.hpp"
#include "cg/base/table.hpp"

namespace cg2d::text_format_test {
namespace {

TEST(FormatFortranTest, IsWhatTheOfficialProgramPrints) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (const auto& [value, digits, expected] : std::vector<std::tuple<double, int, std::string>>{
           {22.71274548263, 13, "0.2271274548263E+02"},
           {0.3253523206851e-13, 13, "0.3253523206851E-13"},
           {-8.5971775078648, 13, "-0.8597177507865E+01"},
           {0.1, 13, "0.1000000000000E+00"},
           {123456.0, 13, "0.1234560000000E+06"},
           {2.5, 1, "0.2E+01"},  // a tie: to even, as the C library and gfortran round
           {0.99999999999999, 13, "0.1000000000000E+01"},  // carried into the exponent
           {0.9999999999999, 13, "0.9999999999999E+00"},
           {0.099999999999999, 13, "0.1000000000000E+00"},
           {0.0, 13, "0.0000000000000E+00"},
           {-1e-20, 5, "-0.10000E-19"},
           {std::nan(""), 13, "NaN"},
           {infinity, 13, "Infinity"},
           {-infinity, 13, "-Infinity"}})
    EXPECT_EQ(format_fortran(value, digits), expected);
}

TEST(FormatBytesTest, HasThreeDigitsAndADecimalUnit) {
  for (const auto& [bytes, expected] :
       std::vector<std::pair<int64_t, std::string>>{{0, "0 B"},
                                                    {999, "999 B"},
                                                    {1000, "1 kB"},
                                                    {12'345'678, "12.3 MB"},
                                                    {8'600'000'000, "8.6 GB"},
                                                    {999'499, "999 kB"},
                                                    {999'999, "1 MB"},
                                                    {std::numeric_limits<int64_t>::max(), "9.22 EB"}})
    EXPECT_EQ(format_bytes(bytes), expected);
}

TEST(NearestNameTest, IsTheOneWithTheFewestWrongLetters) {
  const std::vector<std::string> names{"PAPI_TOT_CYC", "PAPI_TOT_INS", "perf::CYCLES", "cache"};
  EXPECT_EQ(nearest_name("PAPI_TOT_CYK", names), "PAPI_TOT_CYC");
  EXPECT_EQ(nearest_name("papi_tot_ins", names), "PAPI_TOT_INS");
  EXPECT_EQ(nearest_name("CYCLES", {"CYCLE", "CYCLES"}), "CYCLES");
  EXPECT_EQ(nearest_name("cahce", names), "cache");
  EXPECT_EQ(nearest_name("bandwidth", names), "");
  EXPECT_EQ(nearest_name("", names), "");
  EXPECT_EQ(nearest_name("x", {}), "");
}

TEST(SaturatedTest, NothingOverflows) {
  constexpr auto most = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(saturated(12.9), 12);
  EXPECT_EQ(saturated(9.3e18), most);
  EXPECT_EQ(saturated(std::nan("")), most);
  EXPECT_EQ(saturated_sum(1, 2), 3);
  EXPECT_EQ(saturated_sum(most, 0), most);
  EXPECT_EQ(saturated_sum(most, 1), most);
  EXPECT_EQ(saturated_sum(most, most), most);
}

TEST(GridTest, ItsRanksHaveNumbers) {
  EXPECT_EQ(grid_from("3x5"), (comm::ProcessGrid{.columns = 3, .rows = 5}));
  EXPECT_EQ(grid_of(65536, 32767).rank_count(), 2147418112);
  for (const auto* const text : {"65536x65536", "2147483647x2", "0x1", "-1x-1", "rule"})
    EXPECT_THROW(grid_from(text), InputError) << text;
  EXPECT_THROW(grid_of(int64_t{1} << 62, 4), InputError);
}

TEST(OneLineTest, ControlCharactersAreShownAsNumbers) {
  EXPECT_EQ(one_line("a\nb\tc\x1b[31m\x7f"), R"(a\x0ab\x09c\x1b[31m\x7f)");
  EXPECT_EQ(one_line(std::string_view("\0", 1)), R"(\x00)");
  EXPECT_EQ(one_line("\xc2\x9b"), R"(\xc2\x9b)") << "U+009B, which begins commands of terminals";
  EXPECT_EQ(one_line("Gr\xc3\xb6\xc3\x9f"
                     "e \xff \xc2"),
            "Gr\xc3\xb6\xc3\x9f"
            "e \xff \xc2")
      << "other bytes stay";
}

TEST(OneLineTest, LongMessagesKeepBothEndsAndAreCutBetweenCharacters) {
  const std::string end = "\", expected a number";
  EXPECT_EQ(one_line(std::string(most_message_bytes, 'x')).size(), most_message_bytes);
  for (size_t shift = 0; shift < 4; ++shift) {
    const auto begin = std::string(shift, 'x') + "results.json: found \"";
    auto text = begin;
    for (int k = 0; k < 2000; ++k) text += "\xf0\x9f\x98\x80";
    const auto line = one_line(text + end);
    EXPECT_LE(line.size(), most_message_bytes);
    EXPECT_GT(line.size(), most_message_bytes - 20);
    EXPECT_TRUE(line.starts_with(begin) && line.ends_with(end)) << line;
    const auto gap = line.find(" [...] ");
    EXPECT_EQ((gap - begin.size()) % 4, 0U) << shift;
    EXPECT_EQ(line[gap + 7], '\xf0') << shift;
  }
}

// ---------------------------------------------------------------- tables of text

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
}  // namespace cg2d::text_format_test
