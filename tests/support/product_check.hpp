#pragma once

// Products by a communicator, one after the other, with data that identify their rank, element and round.

#include <gtest/gtest.h>

#include <cstddef>
#include <span>
#include <vector>

#include "comm/exchange_check.hpp"

namespace cg2d::test {

inline std::vector<double> copy_of(std::span<const double> values) { return {values.begin(), values.end()}; }

/// One rank's part of one product after the other, whose elements must all be right.
class ProductCheck {
 public:
  ProductCheck(comm::Communicator& communicator, const comm::BlockLayout& layout, int rank)
      : check_(communicator, layout, rank) {}

  void expect_collection(int round) { EXPECT_EQ(check_.collection(round), 0) << "round " << round; }
  void expect_collection_in_parts(int round) {
    EXPECT_EQ(check_.collection_in_parts(round), 0) << "round " << round;
  }
  void expect_sum_and_shuffle(int round) { EXPECT_EQ(check_.sum_and_shuffle(round), 0) << "round " << round; }
  void expect_scalar_sum(size_t count, int round) {
    EXPECT_EQ(check_.scalar_sum(count, round), 0) << "round " << round;
  }

 private:
  comm::ExchangeCheck check_;
};

}  // namespace cg2d::test
