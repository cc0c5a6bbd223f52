// The numbers of lines with entries: the fast path gives the doubles of strtod to the bit. The fuzz target market_text holds both paths
// against each other.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <clocale>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "cg/matrix/files/market_file.hpp"
#include "support/temporary_folder.hpp"

namespace cg2d::entry_numbers_test {
namespace {

MarketHeader header_of(MarketField field) {
  return {.form = MarketForm::coordinate,
          .field = field,
          .symmetry = MarketSymmetry::general,
          .row_count = largest_order,
          .column_count = largest_order,
          .line_count = 1};
}

/// The entries of lines, parsed as those of a file are.
std::vector<MatrixEntry> entries_of(const std::string& lines, MarketField field = MarketField::real) {
  std::vector<MatrixEntry> entries;
  parse_entries(lines, header_of(field), [&](const MatrixEntry& entry) { entries.push_back(entry); });
  return entries;
}

uint64_t bits_of(double value) { return std::bit_cast<uint64_t>(value); }

/// Expects the doubles of strtod, whose results glibc rounds correctly. All values stand in one text, so that each has
/// the next line after it.
void expect_nearest(const std::vector<std::string>& words) {
  std::string lines;
  for (const auto& word : words) lines += "1 1 " + word + "\n";
  const auto entries = entries_of(lines);
  ASSERT_EQ(entries.size(), words.size());
  for (size_t k = 0; k < words.size(); ++k)
    ASSERT_EQ(bits_of(entries[k].value), bits_of(std::strtod(words[k].c_str(), nullptr))) << words[k];
}

/// A host program may have set a locale with a decimal comma, for which "1.5e-400" is 1 and a tail. The locale is made
/// of its source here, since few systems have it.
TEST(EntryNumbersTest, ADecimalCommaOfTheHostProgramChangesNothing) {
  const test::TemporaryFolder folder;
  const auto make = "localedef -i de_DE -f ISO-8859-1 '" + folder.path("de_DE.ISO-8859-1") + "' > '" +
                    folder.path("log") + "' 2>&1";
  static_cast<void>(std::system(make.c_str()));
  setenv("LOCPATH", folder.path("").c_str(), 1);
  if (std::setlocale(LC_ALL, "de_DE.ISO-8859-1") == nullptr) GTEST_SKIP() << "no locale with a decimal comma";
  const auto header = header_of(MarketField::real);
  const auto tiny = parse_value_line("1.5e-400", header);
  const auto least = parse_value_line("-4.9e-324", header);
  const bool refuses_comma = [&] {
    try {
      static_cast<void>(parse_value_line("1,5", header));
    } catch (const TextFault&) {
      return true;
    }
    return false;
  }();
  const auto has_comma = std::strtod("1,5", nullptr) == 1.5;
  const auto letters = quoted("\xc3\xa4");
  std::setlocale(LC_ALL, "C");
  unsetenv("LOCPATH");
  EXPECT_TRUE(has_comma);
  EXPECT_EQ(tiny, 0.0);
  EXPECT_EQ(least, -std::numeric_limits<double>::denorm_min());
  EXPECT_TRUE(refuses_comma);
  EXPECT_EQ(letters, "\"\\xc3\\xa4\"");
}

TEST(EntryNumbersTest, AwkwardValuesAreTheNearestDoubles) {
  std::vector<std::string> words{
      "0", "-0", "0.0", "-0.0", "00000001", "0000000", "1234567", "12345678", "-1234567", "-12345678",
      "123456789012345678901234567890", "1.", "-1.", ".5", "-.5", "+1", "+.5", "1e+05", "1E5", "1e-05",
      "1e22", "1e23", "-1e-22", "0.1", "0.10000000000000000555", "1e-400", "-1e-400", "5e-324", "2e-324",
      "2.4703282292062327e-324", "2.4703282292062328e-324", "4.9406564584124654e-324",
      "2.2250738585072011e-308", "2.2250738585072014e-308", "1.7976931348623157e308",
      "1.7976931348623158e308", "0e999", "0.0000e-999",
      // Halves between two doubles, and just beside them.
      "9007199254740993", "9007199254740993.0", "9007199254740992.99999999999999999999999999",
      "9007199254740993.00000000000000000000000000001",
      "1.00000000000000011102230246251565404236316680908203125",
      "1.00000000000000011102230246251565404236316680908203124",
      "1.00000000000000011102230246251565404236316680908203126",
      "0.500000000000000166533453693773481063544750213623046875"};
  words.push_back("0." + std::string(400, '0') + "1e401");
  words.push_back("1" + std::string(300, '0') + "." + std::string(2000, '3') + "e-290");
  words.push_back("0." + std::string(5000, '9'));
  expect_nearest(words);
}

TEST(EntryNumbersTest, RandomValuesInEverySpellingAreTheNearestDoubles) {
  // 20,000 values of four kinds, each in six spellings. With 2000 batches, 4.8 million numbers, it passed by hand.
  std::mt19937_64 random(2026);
  for (int batch = 0; batch < 50; ++batch) {
    std::vector<std::string> words;
    for (int k = 0; k < 100; ++k) {
      const auto any = std::bit_cast<double>(random());
      const double unit = static_cast<double>(static_cast<int64_t>(random())) * 0x1p-63;
      const double scaled = unit * std::pow(10.0, static_cast<double>(random() % 60) - 30.0);
      const auto whole = static_cast<double>(static_cast<int64_t>(random()) >> (random() % 64));
      for (const double value : {std::isfinite(any) ? any : 1.0, unit, scaled, whole}) {
        words.push_back(fmt::format("{:.17g}", value));
        words.push_back(fmt::format("{:.16e}", value));
        words.push_back(fmt::format("{}", value));  // the shortest that gives the same double
        words.push_back(fmt::format("{:g}", value));
        words.push_back(fmt::format("{:.{}g}", value, 1 + random() % 40));
        words.push_back(fmt::format("{:.{}f}", std::fmod(value, 1e15), random() % 30));
      }
    }
    // fmt's rounding of a few digits may leave the range of doubles: such a text is refused, as it should be.
    std::erase_if(words,
                  [](const std::string& word) { return !std::isfinite(std::strtod(word.c_str(), nullptr)); });
    expect_nearest(words);
  }
}

TEST(EntryNumbersTest, NumbersBeyondTheDoublesAndExponentsOfFortranAreRefused) {
  for (const std::string word : {"1e400", "-1e400", "1.8e308", "1d5", "1.0D+05", "1e", "e5", ".", "-", "--1",
                                 "nan", "inf", "0x10", "1,5", "1e+", "12345678x", "1234567x"})
    EXPECT_THROW(entries_of("1 1 " + word + "\n"), TextFault) << word;
}

TEST(EntryNumbersTest, IndicesOfAllLengthsAreThoseOfTheText) {
  for (int64_t index = 1; index < largest_order; index = index * 7 + 3) {
    for (const std::string zeros : {"", "0", "000000000"}) {
      const auto line = fmt::format("{}{} {}\t-2\r\n", zeros, index, index - index / 2);
      const auto entries = entries_of(line);
      ASSERT_EQ(entries.size(), 1U) << line;
      EXPECT_EQ(entries[0].row, index - 1);
      EXPECT_EQ(entries[0].column, index - index / 2 - 1);
      EXPECT_EQ(entries[0].value, -2.0);
    }
  }
  EXPECT_EQ(entries_of("2147483647 1\n", MarketField::pattern).at(0).row, largest_order - 1);
  for (const std::string line :
       {"2147483648 1", "99999999999 1", "18446744073709551617 1", "1 0", "123456789a 1"})
    EXPECT_THROW(entries_of(line + "\n", MarketField::pattern), TextFault) << line;
}

}  // namespace
}  // namespace cg2d::entry_numbers_test
