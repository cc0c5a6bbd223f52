#pragma once

// The order in which an all-reduce by messages adds.

#include <cstddef>
#include <utility>
#include <vector>

#include "comm/schedule.hpp"

namespace cg2d::comm {

/// Repeats the additions of an all-reduce by messages that make rank 0's sum, in their order: so the bits are
/// the same.
class AllReduceOrder {
 public:
  explicit AllReduceOrder(int rank_count);

  /// The sum of one number of each rank, number_of(rank).
  template <typename NumberOf>
  double sum(const NumberOf& number_of) {
    for (std::size_t rank = 0; rank < schedules_.size(); ++rank) numbers_[rank] = number_of(rank);
    for (std::size_t k = 0; k < additions_.size(); ++k)
      numbers_[schedules_.size() + k] = numbers_[additions_[k].first] + numbers_[additions_[k].second];
    return numbers_[result_];
  }

 private:
  [[nodiscard]] std::size_t place_after(int rank, std::size_t step_count);
  [[nodiscard]] std::size_t step_of_message(int from, int to, std::ptrdiff_t earlier) const;
  [[nodiscard]] std::size_t place_of_sum(std::size_t left, std::size_t right);

  std::vector<Schedule> schedules_;
  std::vector<double> numbers_;  // numbers of the ranks, then the sums
  std::vector<std::pair<std::size_t, std::size_t>> additions_;
  std::size_t result_ = 0;
};

}  // namespace cg2d::comm
