// The loops of stencils for every instruction set, and writing past the caches.

#include "kernels/stencil_lines.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <stdexcept>
#include <vector>

namespace cg2d::kernels::stencil_lines_test {
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

}  // namespace
}  // namespace cg2d::kernels::stencil_lines_test
