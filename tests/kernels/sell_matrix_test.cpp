// The format SELL: every entry once, lanes that must be distinct, and the positions of the rows' sums.

#include "kernels/sell_matrix.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/random_blocks.hpp"

namespace cg2d::kernels::sell_matrix_test {
namespace {

using test::BlockMaker;
using test::Rows;
using Entries = std::map<std::pair<int64_t, int64_t>, double>;  // by row and column

constexpr SellShape small_shape{.lanes = 8, .block_width = 64, .window_rows = 16, .has_positions = true};

SellShape shape_with(DistinctLanes distinct) {
  auto shape = small_shape;
  shape.distinct = distinct;
  return shape;
}

bool must_differ(DistinctLanes distinct, int64_t lane, int64_t other) {
  return distinct == DistinctLanes::all || (distinct == DistinctLanes::pairs && (lane ^ other) == 2);
}

/// Walks through a part as the kernels do, and checks what it meets.
class PartReader {
 public:
  explicit PartReader(const SellPart& part) : part_(part), shape_(part.shape) {}

  Entries read() {
    for (int64_t block = 0; block < part_.block_count; ++block) {
      EXPECT_EQ(part_.first_step[static_cast<size_t>(block)], step_);
      EXPECT_EQ(part_.first_position[static_cast<size_t>(block)], position_);
      for (int64_t window = 0; window < part_.window_count; ++window) read_window(block, window);
    }
    EXPECT_EQ(part_.first_step.span().back(), step_);
    EXPECT_EQ(part_.first_position.span().back(), position_);
    EXPECT_EQ(static_cast<size_t>(step_ * shape_.lanes), part_.values.size());
    return std::move(entries_);
  }

  int64_t steps() const { return step_; }

 private:
  void read_window(int64_t block, int64_t window) {
    const auto cell = static_cast<size_t>(block * part_.window_count + window);
    const auto first = part_.first_chunk[cell];
    const auto last = part_.first_chunk[cell + 1];
    if (first == last) return;
    std::map<int64_t, int64_t> position_of_row;
    for (auto chunk = first; chunk < last; ++chunk) {
      for (int64_t lane = 0; lane < shape_.lanes; ++lane)
        position_of_row.try_emplace(row_of(chunk, lane), (chunk - first) * shape_.lanes + lane);
      read_chunk(chunk, block, window);
    }
    for (int64_t row = 0; row < shape_.window_rows; ++row) {
      const auto known = position_of_row.find(row);
      EXPECT_EQ(part_.positions[static_cast<size_t>(position_ + row)],
                known == position_of_row.end() ? shape_.spare_position() : known->second);
    }
    position_ += shape_.window_rows;
  }

  void read_chunk(int64_t chunk, int64_t block, int64_t window) {
    for (uint32_t k = 0; k < part_.steps[static_cast<size_t>(chunk)]; ++k, ++step_) {
      for (int64_t lane = 0; lane < shape_.lanes; ++lane) {
        const auto column = column_at(lane);
        for (int64_t other = 0; other < lane; ++other) {
          if (!must_differ(shape_.distinct, lane, other)) continue;
          EXPECT_NE(column, column_at(other));
        }
        const double value = part_.values[static_cast<size_t>(step_ * shape_.lanes + lane)];
        if (value == 0.0) continue;  // an empty lane
        EXPECT_LT(column, shape_.block_width);
        const auto row = part_.first_row + window * shape_.window_rows + row_of(chunk, lane);
        EXPECT_TRUE(entries_.try_emplace({row, block * shape_.block_width + column}, value).second)
            << "row " << row << " has the column twice";
      }
    }
  }

  int64_t row_of(int64_t chunk, int64_t lane) const {
    return part_.rows[static_cast<size_t>(chunk * shape_.lanes + lane)];
  }
  int64_t column_at(int64_t lane) const {
    return part_.columns[static_cast<size_t>(step_ * shape_.lanes + lane)];
  }

  const SellPart& part_;
  const SellShape& shape_;
  int64_t step_ = 0;
  int64_t position_ = 0;
  Entries entries_;
};

Entries entries_of(const Rows& rows) {
  Entries entries;
  for (size_t row = 0; row < rows.size(); ++row) {
    for (const auto& entry : rows[row])
      entries.emplace(std::pair(static_cast<int64_t>(row), static_cast<int64_t>(entry.column)), entry.value);
  }
  return entries;
}

class SellMatrixTest : public testing::TestWithParam<DistinctLanes> {};

TEST_P(SellMatrixTest, HoldsEveryEntryOnceInLanesThatAreDistinct) {
  constexpr int block_count = 64;
  for (int number = 0; number < block_count; ++number) {
    SCOPED_TRACE("block " + std::to_string(number));
    const auto block = BlockMaker(number).make();
    for (const int thread_count : {1, 3}) {
      Entries found;
      for (const auto& part : sell_parts(block.csr(), thread_count, shape_with(GetParam())))
        found.merge(PartReader(part).read());
      EXPECT_EQ(found, entries_of(block.rows));
    }
  }
}

TEST_P(SellMatrixTest, BandsAreWholeWindowsAndHoldEveryEntryOnce) {
  const auto shape = shape_with(GetParam());
  const auto window = shape.window_rows;
  test::TestBlock block{.column_count = 300, .rows = {}, .operand = {}};
  for (int number = 0; std::ssize(block.rows) <= 5 * window; ++number) {
    for (auto& row : BlockMaker(number).make().rows) block.rows.push_back(std::move(row));
  }
  const auto row_count = std::ssize(block.rows);
  for (const int thread_count : {1, 3}) {
    for (const int64_t longest : {window, 2 * window, row_count}) {
      Entries found;
      int64_t next_row = 0;
      for (const auto& [bands] :
           sell_bands(block.csr(), thread_count, shape, {.most_rows_of_one = longest, .rows = longest})) {
        ASSERT_FALSE(bands.empty());
        for (const auto& band : bands) {
          EXPECT_EQ(band.first_row, next_row);
          next_row += band.row_count;
          EXPECT_LE(band.row_count, longest);
          if (&band != &bands.back()) {
            EXPECT_EQ(band.row_count % window, 0);
          }
          found.merge(PartReader(band).read());
        }
      }
      EXPECT_EQ(next_row, row_count);
      EXPECT_EQ(found, entries_of(block.rows));
    }
  }
}

// All rows have the same columns: lanes can only be distinct in another order, and with fewer columns than
// lanes only in more steps.
TEST_P(SellMatrixTest, EqualRowsArePutInAnotherOrder) {
  for (const int32_t column_count : {1, 3, 8, 40}) {
    SCOPED_TRACE(std::to_string(column_count) + " columns");
    Rows rows(16);
    for (auto& row : rows) {
      for (int32_t column = 0; column < column_count; ++column)
        row.push_back({.column = column, .value = 1.0 + column});
    }
    const auto parts = sell_parts(CsrBlock::from_rows(column_count, rows), 1, shape_with(GetParam()));
    PartReader reader(parts.front());
    EXPECT_EQ(reader.read(), entries_of(rows));
    const int64_t chunks = 2;
    const int64_t lanes_apart = GetParam() == DistinctLanes::all     ? small_shape.lanes
                                : GetParam() == DistinctLanes::pairs ? 2
                                                                     : 1;
    EXPECT_GE(reader.steps(), chunks * std::max<int64_t>(column_count, lanes_apart));
    EXPECT_LE(reader.steps(), chunks * (column_count + lanes_apart));
  }
}

TEST(SellPartElsewhereTest, TakesTheSizesOfAPartOnly) {
  const auto block = BlockMaker(6).make();
  auto part = std::move(sell_parts(block.csr(), 1, small_shape).front());
  std::vector<size_t> sizes;
  for (const auto& array : part.stored_arrays()) sizes.push_back(array.bytes.size());
  const auto elsewhere = [&](std::span<const size_t> array_bytes) {
    return std::move(
        external_sell_parts(
            {.row_count = part.row_count, .column_count = part.column_count, .array_bytes = array_bytes},
            small_shape)
            .front());
  };
  auto unfilled = elsewhere(sizes);
  const auto arrays = unfilled.stored_arrays();
  ASSERT_EQ(arrays.size(), sizes.size());
  for (size_t index = 0; index < sizes.size(); ++index) EXPECT_EQ(arrays[index].bytes.size(), sizes[index]);
  EXPECT_THROW(elsewhere(std::span(sizes).first(sizes.size() - 1)), std::invalid_argument);
  // All but that of positions, which other shapes do without.
  for (const size_t index : {0U, 1U, 2U, 3U, 5U, 6U, 7U}) {
    auto other = sizes;
    other[index] += 64;
    EXPECT_THROW(elsewhere(other), std::invalid_argument) << index;
  }
}

INSTANTIATE_TEST_SUITE_P(Lanes, SellMatrixTest,
                         testing::Values(DistinctLanes::none, DistinctLanes::pairs, DistinctLanes::all));

}  // namespace
}  // namespace cg2d::kernels::sell_matrix_test
