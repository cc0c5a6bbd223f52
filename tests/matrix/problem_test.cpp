// The classes of the benchmark, operation counts, and verification.

#include "cg/matrix/problem.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "support/error_of.hpp"
#include "support/npb_facts.hpp"
#include "support/npb_reference.hpp"

namespace cg2d::problem_test {
namespace {

TEST(ProblemClassTest, AreThoseOfTheBenchmark) {
  // NAS-95-020 and the official 3.4 programs.
  const Problem table[] = {
      {"S", 1'400, 7, 15, 10.0, 8.5971775078648},
      {"W", 7'000, 8, 15, 12.0, 10.362595087124},
      {"A", 14'000, 11, 15, 20.0, 17.130235054029},
      {"B", 75'000, 13, 75, 60.0, 22.712745482631},
      {"C", 150'000, 15, 75, 110.0, 28.973605592845},
      {"D", 1'500'000, 21, 100, 500.0, 52.514532105794},
      {"E", 9'000'000, 26, 100, 1'500.0, 77.522164599383},
      {"F", 54'000'000, 31, 100, 5'000.0, 107.3070826433},
  };
  EXPECT_TRUE(std::ranges::equal(problem_classes(), table));
  for (const auto& problem : table) EXPECT_NO_THROW(check_problem(problem));
}

TEST(ProblemClassTest, AreFoundByTheirLetterInEitherCase) {
  EXPECT_EQ(find_class("B")->n, 75'000);
  EXPECT_EQ(find_class("b")->n, 75'000);
  EXPECT_EQ(find_class("F")->class_name, "F");
  for (const char* name : {"", "G", "U", "SS", "1", "\xff"}) EXPECT_EQ(find_class(name), nullptr) << name;
}

TEST(CheckProblemTest, RefusesWhatIsNoProblem) {
  EXPECT_NO_THROW(check_problem(test::custom_problem(1, 1)));
  EXPECT_NO_THROW(check_problem(test::custom_problem(7, 7, -3.5, 1)));
  EXPECT_NO_THROW(check_problem(test::custom_problem((int64_t{1} << 31) - 1, 1)));
  for (const auto& wrong : {test::custom_problem(0, 1), test::custom_problem(-5, 1),
                            test::custom_problem(int64_t{1} << 31, 1), test::custom_problem(5, 0),
                            test::custom_problem(5, 2, 10.0, 0), test::custom_problem(5, 2, std::nan("")),
                            test::custom_problem(5, 2, std::numeric_limits<double>::infinity())})
    EXPECT_THROW(check_problem(wrong), InputError);
  const auto text = test::error_of(ExitCode::usage, [] { check_problem(test::custom_problem(5, 6)); });
  for (const char* part : {"--nonzer", "6", "1 ... 5"}) EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(FlopCountTest, OfficialFormulaByHand) {
  // Class S: 2 * 15 * 1400 * (3 + 7*8 + 25 * (5 + 7*8) + 3) = 42 000 * (62 + 1525) = 66 654 000.
  EXPECT_EQ(official_flop_count(*find_class("S")), 66'654'000.0);
  // Class B printed 2784.92 Mop/s for 19.64 s: 54.7 Gflop. By hand: 11 250 000 * (188 + 25 * 187) = 54 708
  // 750 000.
  EXPECT_EQ(official_flop_count(*find_class("B")), 54'708'750'000.0);
  EXPECT_NEAR(official_flop_count(*find_class("B")) / 19.64e6, 2784.92, 1.0);  // the time has 4 digits
  // Class F stays below 2^53: 2 * 100 * 54e6 * (998 + 25 * 997).
  EXPECT_EQ(official_flop_count(*find_class("F")), 10.8e9 * (998.0 + 25.0 * 997.0));
}

TEST(FlopCountTest, TrueCountByHand) {
  // n 10, 15 outer steps, 40 nonzeros: 2 * 15 * (26 * 40 + 10 * (25 * 5 + 6)) = 30 * (1040 + 1310).
  EXPECT_EQ(true_flop_count(test::custom_problem(10, 3), 40), 70'500.0);
}

TEST(ExpectedNonzeroCountTest, IsNearTheFacts) {
  for (const auto& facts : test::npb_facts) {
    const auto expected = expected_nonzero_count(*find_class(facts.class_name));
    const auto true_count = static_cast<double>(facts.nonzero_count);
    // One draw of a random number: its spread is about the root of the count, 0.4 % at most for class S.
    EXPECT_NEAR(expected, true_count, 0.002 * true_count) << "class " << facts.class_name;
  }
}

TEST(VerificationTest, IsRelativeAndRefusesWhatIsNoNumber) {
  const auto& problem = *find_class("S");
  const double zeta = *problem.reference_zeta;
  EXPECT_TRUE(meets_reference(problem, zeta));
  EXPECT_TRUE(meets_reference(problem, zeta * (1.0 + 0.9e-10)));
  EXPECT_TRUE(meets_reference(problem, zeta * (1.0 - 0.9e-10)));
  EXPECT_FALSE(meets_reference(problem, zeta * (1.0 + 1.1e-10)));
  EXPECT_FALSE(meets_reference(problem, zeta * (1.0 - 1.1e-10)));
  for (const double wrong : {-zeta, std::nan(""), std::numeric_limits<double>::infinity()})
    EXPECT_FALSE(meets_reference(problem, wrong));
  EXPECT_FALSE(meets_reference(test::custom_problem(1400, 7), zeta)) << "there is no reference";
}

}  // namespace
}  // namespace cg2d::problem_test
