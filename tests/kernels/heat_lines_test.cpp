// Steps of the heat equation on lines: the same bits from the loops of all instruction sets, and the line that moves up.

#include "kernels/heat_lines.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <random>
#include <stdexcept>
#include <vector>

namespace cg2d::kernels::heat_lines_test {
namespace {

constexpr HeatWeights weights{.centre = 0.25, .side = 0.125};

/// Five lines with a point before and after them, of numbers whose sums are rounded.
struct FiveLines {
  explicit FiveLines(size_t count) : values(5, std::vector<double>(count + 2)) {
    std::minstd_rand random(static_cast<unsigned>(count + 1));
    for (auto& line : values) {
      for (auto& value : line) value = static_cast<double>(random()) / 3e8 - 3.0;
    }
  }
  [[nodiscard]] HeatLines lines() {
    return {.previous = values[0].data() + 1,
            .lower = values[1].data() + 1,
            .middle = values[2].data() + 1,
            .upper = values[3].data() + 1,
            .next = values[4].data() + 1};
  }
  /// Not inlined into arithmetic that fuses: volatile keeps each rounding.
  double expected(size_t x) const {
    const auto at = [&](size_t line, size_t place) { return values[line][place]; };
    volatile double sides = at(2, x) + at(2, x + 2);
    volatile double planes_around = at(1, x + 1) + at(3, x + 1);
    volatile double lines_around = at(0, x + 1) + at(4, x + 1);
    volatile double first = sides + planes_around;
    volatile double sum = first + lines_around;
    volatile double centre = weights.centre * at(2, x + 1);
    volatile double around = weights.side * sum;
    return centre + around;
  }
  std::vector<std::vector<double>> values;
};

TEST(HeatLinesTest, EveryLoopHasTheBitsOfTheDefinition) {
  for (const auto set : of_this_processor(sets_without_gathers)) {
    for (const size_t count : std::initializer_list<size_t>{1, 2, 7, 8, 9, 31, 64, 1000}) {
      FiveLines points(count);
      std::vector<double> expected;
      for (size_t x = 0; x < count; ++x) expected.push_back(points.expected(x));
      const auto before = points.values;
      std::vector<double> target(count + 1, -1.0);
      heat_loop(set)(points.lines(), weights, static_cast<int64_t>(count), target.data());
      for (size_t x = 0; x < count; ++x)
        EXPECT_EQ(target[x], expected[x]) << name_of(set) << ", " << count << " points, at " << x;
      EXPECT_EQ(target[count], -1.0) << "written after the line";
      // The line before has become the one after; nothing else has changed, nor the points around the line.
      for (size_t line = 1; line < before.size(); ++line) EXPECT_EQ(points.values[line], before[line]);
      for (size_t x = 1; x <= count; ++x) EXPECT_EQ(points.values[0][x], before[4][x]);
      EXPECT_EQ(points.values[0].front(), before[0].front());
      EXPECT_EQ(points.values[0].back(), before[0].back());
    }
  }
}

TEST(HeatLinesTest, AnInstructionSetWithoutALoopIsRefused) {
  EXPECT_THROW(heat_loop(InstructionSet::fma), std::invalid_argument);
}

}  // namespace
}  // namespace cg2d::kernels::heat_lines_test
