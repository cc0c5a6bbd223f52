// The loops on lines: of stencils, of the heat equation and of s-step CG, for every instruction set; and writing past the caches.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

#include "kernels/stencil_lines.hpp"
#include "kernels/unfused_lines.hpp"

namespace cg2d::kernels::line_loops_test {
namespace {

/// Nine lines of integers, so that every order of additions is exact.
struct NineLines {
  explicit NineLines(size_t length) : values(9, std::vector<double>(length)) {
    std::minstd_rand random(static_cast<unsigned>(length));
    for (auto& line : values) {
      for (auto& value : line) value = static_cast<double>(random() % 1000) - 500.0;
    }
    for (size_t k = 0; k < lines.size(); ++k) lines[k] = values[k].data();
  }
  /// The point x from the definition: all points next to it but itself, across faces only or all.
  double expected(int point_count, int64_t x) const {
    double sum = 0.0;
    for (int z = -1; z <= 1; ++z) {
      for (int y = -1; y <= 1; ++y) {
        for (int step = -1; step <= 1; ++step) {
          const int distance = z * z + y * y + step * step;
          const bool is_read = point_count == 27 || (distance <= 1 && (point_count == 7 || z == 0));
          if (distance > 0 && is_read) sum += values[stencil_line(y, z)][static_cast<size_t>(x + step)];
        }
      }
    }
    return (point_count - 1.0) * values[middle_line][static_cast<size_t>(x)] - sum;
  }

  std::vector<std::vector<double>> values;
  StencilLines lines{};
};

TEST(StencilLinesTest, EveryLoopComputesTheDefinition) {
  for (const int point_count : {5, 7, 27}) {
    for (const auto set : of_this_processor(sets_without_gathers)) {
      const auto kernel = stencil_kernel(point_count, set);
      for (const int64_t length : {3, 4, 10, 17, 64, 515, 1300}) {
        const NineLines points(static_cast<size_t>(length));
        for (const int64_t begin : {1, 2}) {
          SCOPED_TRACE(testing::Message() << point_count << " points, " << name_of(set) << ", " << length);
          std::vector<double> q(static_cast<size_t>(length), -1.0);
          kernel.loop(points.lines, begin, length - 1, q.data());
          const auto count = std::max<int64_t>(length - 1 - begin, 0);
          for (int64_t k = 0; k < count; ++k)
            EXPECT_EQ(q[static_cast<size_t>(k)], points.expected(point_count, begin + k));
          for (auto k = count; k < length; ++k) EXPECT_EQ(q[static_cast<size_t>(k)], -1.0);
        }
      }
    }
  }
}

TEST(StencilLinesTest, SinglePointsTakeTheNeighboursThatTheyAreGivenAndAreThoseOfThePortableSet) {
  const NineLines points(10);
  for (const int point_count : {5, 7, 27}) {
    const auto portable = stencil_kernel(point_count, InstructionSet::portable);
    constexpr int64_t x = 4;
    EXPECT_EQ(portable.point(points.lines, x, portable.side(points.lines, x - 1),
                             portable.side(points.lines, x + 1)),
              points.expected(point_count, x));
    // A fused multiply-add in them would give the results of each set other bits.
    for (const auto set : of_this_processor(sets_without_gathers)) {
      SCOPED_TRACE(testing::Message() << point_count << " points, " << name_of(set));
      const auto kernel = stencil_kernel(point_count, set);
      EXPECT_EQ(kernel.ends, portable.ends);
      EXPECT_EQ(kernel.outer, portable.outer);
      EXPECT_EQ(kernel.side, portable.side);
    }
  }
  EXPECT_THROW(stencil_kernel(9), std::invalid_argument);
}

TEST(StreamWriterTest, NumbersArriveWhereTheyBelongAndNowhereElse) {
  std::minstd_rand random(20261122);
  for (int round = 0; round < 200; ++round) {
    constexpr size_t size = 6000;
    std::vector<double> written(size, -1.0);
    std::vector<double> expected(size, -1.0);
    {
      StreamWriter writer;
      size_t place = random() % 9;
      for (double next = 1.0;;) {
        const auto count = 1 + random() % (round % 2 == 0 ? 7 : StreamWriter::largest_room);
        if (place + count > size) break;
        auto* const room = writer.room(written.data() + place, static_cast<int64_t>(count));
        for (size_t k = 0; k < count; ++k) expected[place + k] = room[k] = next++;
        place += count + (random() % 4 == 0 ? random() % 20 : 0);
      }
    }
    ASSERT_EQ(written, expected) << "round " << round;
  }
}

// ---------------------------------------------------------------- loops without fused operations

using Lines = std::vector<std::vector<double>>;

/// Lines with a point before and after them, of numbers whose sums are rounded.
Lines random_lines(size_t line_count, size_t count) {
  std::minstd_rand random(static_cast<unsigned>(count));
  Lines lines(line_count, std::vector<double>(count + 2));
  for (auto& line : lines) {
    for (auto& value : line) value = static_cast<double>(random()) / 3e8 - 3.0;
  }
  return lines;
}

/// The neighbours of a point of line 2: along x in it, along z in lines 1 and 3, along y in 0 and 4. volatile keeps each rounding.
double sum_around(const Lines& lines, size_t x) {
  volatile double along_x = lines[2][x - 1] + lines[2][x + 1];
  volatile double along_z = lines[1][x] + lines[3][x];
  volatile double along_y = lines[0][x] + lines[4][x];
  volatile double first = along_x + along_z;
  volatile double sum = first + along_y;
  return sum;
}

/// visit(set, count): every loop, lines of every length.
template <typename Visit>
void for_every_case(const Visit& visit) {
  for (const auto count : {1, 2, 7, 8, 9, 31, 64, 1000}) {
    for (const auto set : of_this_processor(sets_without_gathers)) {
      SCOPED_TRACE(testing::Message() << name_of(set) << ", " << count << " points");
      visit(set, static_cast<size_t>(count));
    }
  }
}

TEST(HeatLinesTest, AStepHasTheBitsOfTheDefinitionAndMovesALineUp) {
  constexpr HeatWeights weights{.centre = 0.25, .side = 0.125};
  for_every_case([&](InstructionSet set, size_t count) {
    const auto before = random_lines(5, count);
    auto lines = before;
    std::vector<double> target(count + 1, -1.0);
    heat_loop(set)({.previous = &lines[0][1],
                    .lower = &lines[1][1],
                    .middle = &lines[2][1],
                    .upper = &lines[3][1],
                    .next = &lines[4][1]},
                   weights, std::ssize(target) - 1, target.data());
    for (size_t x = 1; x <= count; ++x) {
      volatile double centre = weights.centre * before[2][x];
      volatile double around = weights.side * sum_around(before, x);
      EXPECT_EQ(target[x - 1], centre + around) << x;
      EXPECT_EQ(lines[0][x], before[4][x]) << "the line before has become the one after";
    }
    EXPECT_EQ(target.back(), -1.0) << "written after the line";
    // Nothing else has changed, nor the points around the line.
    EXPECT_TRUE(std::equal(lines.begin() + 1, lines.end(), before.begin() + 1));
    EXPECT_EQ(lines[0].front(), before[0].front());
    EXPECT_EQ(lines[0].back(), before[0].back());
  });
}

TEST(PowerLinesTest, AStepHasTheBitsOfTheDefinition) {
  constexpr double weight = 1.0 / 3.0;
  for_every_case([&](InstructionSet set, size_t count) {
    const auto lines = random_lines(6, count);
    std::vector<double> target(count);
    power_loops(set).step({.previous = &lines[0][1],
                           .lower = &lines[1][1],
                           .middle = &lines[2][1],
                           .upper = &lines[3][1],
                           .next = &lines[4][1],
                           .before = &lines[5][1]},
                          weight, std::ssize(target), target.data());
    for (size_t x = 1; x <= count; ++x) {
      volatile double product = -weight * sum_around(lines, x);
      ASSERT_EQ(target[x - 1], product - lines[5][x]) << x;
    }
  });
}

/// Point x in part x modulo 8; the parts are added in pairs.
double sum_in_parts(const std::vector<double>& x, const std::vector<double>& y, size_t count) {
  std::array<double, 8> parts{};
  for (size_t k = 0; k < count; ++k) {
    volatile double product = x[k] * y[k];
    parts[k % 8] += product;
  }
  return ((parts[0] + parts[1]) + (parts[2] + parts[3])) + ((parts[4] + parts[5]) + (parts[6] + parts[7]));
}

TEST(PowerLinesTest, SumsHaveOneOrder) {
  for_every_case([](InstructionSet set, size_t count) {
    const auto lines = random_lines(4, count);
    PowerSums sums{.pp = 1.0};  // they are added to
    power_loops(set).add_sums({.p = lines[0].data(), .r = lines[1].data()},
                              {.p = lines[2].data(), .r = lines[3].data()}, static_cast<int64_t>(count),
                              sums);
    EXPECT_EQ(sums.pp, 1.0 + sum_in_parts(lines[0], lines[0], count));
    EXPECT_EQ(sums.rr, sum_in_parts(lines[1], lines[1], count));
    EXPECT_EQ(sums.pr, sum_in_parts(lines[0], lines[1], count));
    EXPECT_EQ(sums.pp_before, sum_in_parts(lines[0], lines[2], count));
    EXPECT_EQ(sums.rr_before, sum_in_parts(lines[1], lines[3], count));
    EXPECT_EQ(sums.pr_before, sum_in_parts(lines[0], lines[3], count));
  });
}

TEST(PowerLinesTest, PolynomialsAreAddedToThreeLines) {
  constexpr PowerWeights weights{.p = {0.1, 0.2}, .r = {-0.3, 0.7}, .x = {1.1, -1.3}};
  for_every_case([&](InstructionSet set, size_t count) {
    const auto start = random_lines(5, count);
    auto lines = start;
    power_loops(set).combine({.p = lines[0].data(), .r = lines[1].data()}, weights,
                             static_cast<int64_t>(count),
                             {.p = lines[2].data(), .r = lines[3].data(), .x = lines[4].data()});
    for (size_t k = 0; k < start.front().size(); ++k) {
      for (const auto& [line, of] : {std::pair{size_t{2}, weights.p}, std::pair{size_t{3}, weights.r},
                                     std::pair{size_t{4}, weights.x}}) {
        volatile double from_p = of[0] * start[0][k];
        volatile double from_r = of[1] * start[1][k];
        volatile double both = from_p + from_r;
        ASSERT_EQ(lines[line][k], k < count ? start[line][k] + both : start[line][k]) << k;
      }
    }
  });
}

TEST(UnfusedLinesTest, AnInstructionSetWithoutALoopIsRefused) {
  EXPECT_THROW(heat_loop(InstructionSet::fma), std::invalid_argument);
  EXPECT_THROW((void)power_loops(InstructionSet::fma), std::invalid_argument);
}

}  // namespace
}  // namespace cg2d::kernels::line_loops_test
