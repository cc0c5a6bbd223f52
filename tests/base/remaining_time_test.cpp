// Expected durations, with simulated works: no clock takes part.

#include "cg/base/progress.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace cg2d::remaining_time_test {
namespace {

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

/// A study of all configurations in several rounds, whose runs take their seconds times a noise of 5 %.
struct SimulatedStudy {
  std::vector<Work> configurations;
  std::function<double(const Work&)> seconds_of;
  int rounds = 1;

  /// The largest relative error of the remaining time, from a quarter of the whole time to nine tenths of it.
  double worst_error(unsigned seed) const {
    std::mt19937 random(seed);
    std::normal_distribution<double> noise(1.0, 0.05);
    std::vector<Work> works;
    std::vector<double> seconds;
    for (int round = 0; round < rounds; ++round) {
      for (const auto& work : configurations) {
        works.push_back(work);
        seconds.push_back(seconds_of(work) * noise(random));
      }
    }
    const double whole_s = std::accumulate(seconds.begin(), seconds.end(), 0.0);
    DurationModel times;
    double spent_s = 0.0;
    double worst = 0.0;
    for (size_t k = 0; k < works.size(); ++k) {
      if (spent_s >= 0.25 * whole_s && spent_s <= 0.9 * whole_s) {
        double rest_s = 0.0;
        for (size_t other = k; other < works.size(); ++other) rest_s += *times.expected(works[other]);
        worst = std::max(worst, std::abs(rest_s / (whole_s - spent_s) - 1.0));
      }
      times.add(works[k], seconds[k]);
      spent_s += seconds[k];
    }
    return worst;
  }
};

/// The bound is the requirement: within 20 % after a quarter.
constexpr double largest_error = 0.2;

TEST(DurationModelTest, ASweepOfTwoClassesIsKnownAfterAQuarter) {
  SimulatedStudy study{
      .configurations = {},
      .seconds_of = [](const Work& work) { return work.amount * (work.key.back() == '0' ? 1.0 : 1.6); },
      .rounds = 5};
  for (const double amount : {1.0, 12.0}) {
    for (const char grid : {'0', '1', '2'})
      study.configurations.push_back(
          {.key = std::to_string(amount) + grid, .kind = std::to_string(amount), .amount = amount});
  }
  for (unsigned seed = 1; seed <= 20; ++seed) EXPECT_LT(study.worst_error(seed), largest_error) << seed;
}

/// The large class comes last, and has not run after a quarter: the amounts must tell. It takes a tenth more
/// per amount than the others, as a matrix beyond the caches does.
TEST(DurationModelTest, OneRoundOfSeveralClassesIsKnownByTheirAmounts) {
  SimulatedStudy study{.configurations = {}, .seconds_of = [](const Work& work) {
                         return work.kind == "C" ? 1.1 * work.amount : work.amount;
                       }};
  for (const auto& [kind, amount] : {std::pair{"A", 10.0}, std::pair{"B", 20.0}, std::pair{"C", 20.0}}) {
    for (const char* grid : {"1x4", "2x2", "4x1"})
      study.configurations.push_back({.key = std::string(kind) + grid, .kind = kind, .amount = amount});
  }
  for (unsigned seed = 1; seed <= 20; ++seed) EXPECT_LT(study.worst_error(seed), largest_error) << seed;
}

TEST(ExpectedRestTest, CountsDownAndCorrectsItself) {
  const std::vector<Work> works{{"one", "races", 10.0}, {"two", "races", 20.0}, {"three", "messages", 3.0}};
  EXPECT_DOUBLE_EQ(expected_rest_s(works, 0, 0.0), 33.0);
  EXPECT_DOUBLE_EQ(expected_rest_s(works, 1, 10.0), 23.0);
  // Twice as slow as planned.
  EXPECT_DOUBLE_EQ(expected_rest_s(works, 1, 21.0), 46.0);
  EXPECT_DOUBLE_EQ(expected_rest_s(works, 3, 33.0), 0.0);
}

TEST(PlaceOfWorkTest, IsTheNextOneOrOneThatIsDoneAgain) {
  const std::vector<Work> works{{"one", "a", 10.0}, {"two", "b", 10.0}, {"one", "a", 10.0}};
  EXPECT_EQ(place_of(works, 0, "one"), 0U);
  EXPECT_EQ(place_of(works, 1, "one"), 2U);
  EXPECT_EQ(place_of(works, 3, "two"), 1U) << "done again with all after it";
  EXPECT_EQ(place_of(works, 1, "three"), works.size()) << "not planned";
}

TEST(ExpectedRestTest, AFirstWorkThatIsOverAtOnceLeavesTimeForTheOthers) {
  const std::vector<Work> works{{"one", "a", 0.1}, {"two", "a", 10.0}};
  EXPECT_GT(expected_rest_s(works, 1, 0.0), 8.0);
}

}  // namespace
}  // namespace cg2d::remaining_time_test
