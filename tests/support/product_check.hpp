#pragma once

// Products by a communicator, one after the other, with data that identify their rank, element and round.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/schedule.hpp"

namespace cg2d::test {

// All data are integers below 2^53, so every order of additions gives the same sum.

inline double operand(std::int64_t index, int round) {
  return static_cast<double>(index + 10'000 * (round + 1));
}

inline double partial(std::int64_t index, int process_column, int round) {
  return static_cast<double>((process_column + 1) * (index + 3) + 7 * round);
}

inline double whole_sum(std::int64_t index, int process_columns, int round) {
  double sum = 0.0;
  for (int column = 0; column < process_columns; ++column) sum += partial(index, column, round);
  return sum;
}

template <typename ValueOf>
std::vector<double> values_of(const comm::IndexRange& range, const ValueOf& value_of) {
  std::vector<double> values;
  for (auto i = range.begin; i < range.end; ++i) values.push_back(value_of(i));
  return values;
}

inline std::vector<double> copy_of(std::span<const double> values) { return {values.begin(), values.end()}; }

/// One rank's part of one product after the other, each with data of its own. The communicator must be a
/// mirrored one.
class ProductCheck {
 public:
  ProductCheck(comm::Communicator& communicator, const comm::BlockLayout& layout, int rank)
      : communicator_(communicator),
        process_columns_(layout.grid().columns),
        process_rows_(layout.grid().rows),
        process_row_(layout.grid().row_of(rank)),
        process_column_(layout.grid().column_of(rank)),
        column_block_(layout.column_block(process_column_)),
        row_block_(layout.row_block(layout.grid().row_of(rank))),
        column_piece_(layout.piece(layout.column_piece_of(rank))),
        parts_(comm::collection_parts(layout, rank)),
        mirror_(*communicator.mirror()) {}

  void expect_collection(int round) {
    const auto piece = communicator_.piece();
    EXPECT_EQ(static_cast<std::int64_t>(piece.size()), column_piece_.size());
    std::ranges::copy(values_of(column_piece_, [&](auto i) { return operand(i, round); }), piece.begin());
    communicator_.collect();
    EXPECT_EQ(copy_of(communicator_.column_block()),
              values_of(column_block_, [&](auto i) { return operand(i, round); }));
    mirror_.collect_rows();
    EXPECT_EQ(copy_of(mirror_.row_block()), values_of(row_block_, [&](auto i) { return operand(i, round); }));
  }

  /// Checks the collection in parts; the elements of each part are compared as soon as it has arrived.
  void expect_collection_in_parts(int round) {
    const auto piece = communicator_.piece();
    std::ranges::copy(values_of(column_piece_, [&](auto i) { return operand(i, round); }), piece.begin());
    auto collection = communicator_.begin_collect();
    if (round % 2 == 0) mirror_.collect_rows();
    for (std::size_t part = 0; part < parts_.size(); ++part) {
      if (round % 3 != 0) collection.progress();
      if (round % 5 == 0) continue;  // finish() alone waits
      collection.wait_for_part(part);
      for (const auto& range : parts_[part]) {
        const comm::IndexRange global{.begin = column_block_.begin + range.begin,
                                      .end = column_block_.begin + range.end};
        EXPECT_EQ(copy_of(communicator_.column_block().subspan(static_cast<std::size_t>(range.begin),
                                                               static_cast<std::size_t>(range.size()))),
                  values_of(global, [&](auto i) { return operand(i, round); }))
            << "part " << part;
      }
    }
    if (round % 2 != 0) mirror_.collect_rows();
    collection.finish();
    EXPECT_EQ(copy_of(communicator_.column_block()),
              values_of(column_block_, [&](auto i) { return operand(i, round); }));
    EXPECT_EQ(copy_of(mirror_.row_block()), values_of(row_block_, [&](auto i) { return operand(i, round); }));
  }

  void expect_sum_and_shuffle(int round) {
    const auto mine = communicator_.partial();
    EXPECT_EQ(static_cast<std::int64_t>(mine.size()), row_block_.size());
    std::ranges::copy(values_of(row_block_, [&](auto i) { return partial(i, process_column_, round); }),
                      mine.begin());
    communicator_.sum();
    communicator_.shuffle();
    EXPECT_EQ(copy_of(communicator_.result()),
              values_of(column_piece_, [&](auto i) { return whole_sum(i, process_columns_, round); }));
    expect_mirrored_sum(round);
  }

 private:
  void expect_mirrored_sum(int round) {
    const auto mine = mirror_.column_partial();
    EXPECT_EQ(static_cast<std::int64_t>(mine.size()), column_block_.size());
    std::ranges::copy(values_of(column_block_, [&](auto i) { return partial(i, process_row_, round); }),
                      mine.begin());
    mirror_.sum_columns();
    EXPECT_EQ(copy_of(mirror_.column_result()),
              values_of(column_piece_, [&](auto i) { return whole_sum(i, process_rows_, round); }));
  }

  comm::Communicator& communicator_;
  int process_columns_;
  int process_rows_;
  int process_row_;
  int process_column_;
  comm::IndexRange column_block_;
  comm::IndexRange row_block_;
  comm::IndexRange column_piece_;
  std::vector<std::vector<comm::IndexRange>> parts_;
  comm::MirroredExchange& mirror_;
};

}  // namespace cg2d::test
