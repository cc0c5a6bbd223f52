#pragma once

// The exchanges of products with data whose results are known: for `cg2d check`, and for the contract of all transports.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "comm/block_layout.hpp"
#include "comm/communicator.hpp"
#include "comm/schedule.hpp"

namespace cg2d::comm {

/// One exchange after the other through a mirrored communicator, in rounds with data of their own: whole numbers below 2^53, so that every
/// order of additions gives the same sum. Each function returns how many elements of this rank are wrong, or have no place in a span that is
/// too short; it is collective, and throws MpiError. The communicator must outlive this.
class ExchangeCheck {
 public:
  ExchangeCheck(Communicator& communicator, const BlockLayout& layout, int rank)
      : communicator_(communicator),
        mirror_(*communicator.mirror()),
        grid_(layout.grid()),
        rank_(rank),
        piece_(layout.own_piece(rank)),
        rows_(layout.rows_of(rank)),
        columns_(layout.columns_of(rank)),
        parts_(collection_parts(layout, rank)) {}

  [[nodiscard]] int64_t collection(int round) {
    const auto value_of = [&](int64_t index) { return operand(index, round); };
    auto wrong = write(communicator_.piece(), piece_, value_of);
    communicator_.collect();
    wrong += count_wrong(communicator_.column_block(), columns_, value_of);
    mirror_.collect_rows();
    return wrong + count_wrong(mirror_.row_block(), rows_, value_of);
  }

  /// The elements of each part are compared as soon as it has arrived, and all at the end. Rounds differ in what is called meanwhile.
  [[nodiscard]] int64_t collection_in_parts(int round) {
    const auto value_of = [&](int64_t index) { return operand(index, round); };
    auto wrong = write(communicator_.piece(), piece_, value_of);
    int64_t wrong_at_once = 0;
    Collection collection(communicator_);
    if (round % 2 == 0) mirror_.collect_rows();
    for (size_t part = 0; part < parts_.size(); ++part) {
      if (round % 3 != 0) collection.progress();
      if (round % 5 == 0) continue;  // finish() alone waits
      collection.wait_for_part(part);
      for (const auto& [begin, end] : parts_[part]) {
        if (communicator_.column_block().size() < static_cast<size_t>(end)) {
          wrong_at_once += end - begin;
          continue;
        }
        const auto arrived = communicator_.column_block().subspan(static_cast<size_t>(begin),
                                                                  static_cast<size_t>(end - begin));
        wrong_at_once += count_wrong(arrived, {columns_.begin + begin, columns_.begin + end}, value_of);
      }
    }
    if (round % 2 != 0) mirror_.collect_rows();
    collection.finish();
    wrong += std::max(wrong_at_once, count_wrong(communicator_.column_block(), columns_, value_of));
    return wrong + count_wrong(mirror_.row_block(), rows_, value_of);
  }

  [[nodiscard]] int64_t sum_and_shuffle(int round) {
    auto wrong = write(communicator_.partial(), rows_,
                       [&](auto index) { return addend(index, grid_.column_of(rank_), round); });
    communicator_.sum();
    communicator_.shuffle();
    wrong += count_wrong(communicator_.result(), piece_,
                         [&](auto index) { return total(index, grid_.columns, round); });
    wrong += write(mirror_.column_partial(), columns_,
                   [&](auto index) { return addend(index, grid_.row_of(rank_), round); });
    mirror_.sum_columns();
    return wrong + count_wrong(mirror_.column_result(), piece_,
                               [&](auto index) { return total(index, grid_.rows, round); });
  }

  /// count: one of Communicator::scalar_counts.
  [[nodiscard]] int64_t scalar_sum(size_t count, int round) {
    std::vector<double> values(count);
    const IndexRange all{.begin = 0, .end = static_cast<int64_t>(count)};
    const auto wrong = write(values, all, [&](auto index) { return addend(index, rank_, round); });
    communicator_.sum_scalars(values);
    return wrong +
           count_wrong(values, all, [&](auto index) { return total(index, grid_.rank_count(), round); });
  }

 private:
  static double operand(int64_t index, int round) {
    return static_cast<double>(index + int64_t{10'000} * (round + 1));
  }
  /// The part of a sum that comes from the rank of that place in its process row, in its process column, or among all.
  static double addend(int64_t index, int64_t place, int round) {
    return static_cast<double>((place + 1) * (index + 3) + int64_t{7} * round);
  }
  /// The sum of the parts of so many ranks.
  static double total(int64_t index, int64_t count, int round) {
    return static_cast<double>(count * ((count + 1) * (index + 3) + int64_t{14} * round)) / 2.0;
  }

  template <typename ValueOf>
  static int64_t write(std::span<double> values, const IndexRange& range, const ValueOf& value_of) {
    for (size_t k = 0; k < values.size(); ++k) values[k] = value_of(range.begin + static_cast<int64_t>(k));
    return std::ssize(values) == range.size() ? 0 : std::max<int64_t>(1, range.size());
  }
  /// A length that is not that of the range makes all of it wrong.
  template <typename ValueOf>
  static int64_t count_wrong(std::span<const double> values, const IndexRange& range,
                             const ValueOf& value_of) {
    if (std::ssize(values) != range.size()) return std::max<int64_t>(1, range.size());
    int64_t count = 0;
    for (size_t k = 0; k < values.size(); ++k) {
      if (!(values[k] == value_of(range.begin + static_cast<int64_t>(k)))) ++count;
    }
    return count;
  }

  Communicator& communicator_;
  MirroredExchange& mirror_;
  ProcessGrid grid_;
  int rank_;
  IndexRange piece_;
  IndexRange rows_;
  IndexRange columns_;
  std::vector<std::vector<IndexRange>> parts_;
};

}  // namespace cg2d::comm
