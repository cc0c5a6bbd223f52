#pragma once

// A small matrix, given whole, as a user's own operator: each rank has some of its rows.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "cg/solver/linear_operator.hpp"
#include "comm/shared_counter.hpp"
#include "comm/shared_segment.hpp"
#include "comm/waiter.hpp"
#include "kernels/csr_block.hpp"
#include "support/mpi_test.hpp"

namespace cg2d::test {

/// Numbers of every rank for every rank, by memory that they share: tests exchange them some million times, also where ranks outnumber the cores. A
/// message of MPI is then noticed after a nap; here a rank sleeps until the last one wakes it.
class SharedExchange {
 public:
  /// Collective, as every operation.
  SharedExchange() : segment_(group(), all_ranks(), sizeof(Part)) {
    if (!segment_.is_there()) throw std::runtime_error("the ranks of a test share no memory");
  }

  /// The numbers of every rank, at most 4096, one after another by rank.
  [[nodiscard]] std::vector<double> all_gather(std::span<const double> mine) {
    if (mine.size() > largest_count) throw std::logic_error("more numbers than a part has room for");
    const size_t turn = count_ % turns;
    auto& my_slot = part(group().rank()).slots[turn];
    my_slot.count = mine.size();
    std::ranges::copy(mine, my_slot.numbers.begin());
    const auto rank_count = static_cast<uint64_t>(group().size());
    auto& arrivals = part(0).arrivals;
    arrivals.add_one(rank_count);
    arrivals.wait_for(++count_ * rank_count, waiter_);
    std::vector<double> all;
    for (int rank = 0; rank < group().size(); ++rank) {
      const auto& slot = part(rank).slots[turn];
      all.insert(all.end(), slot.numbers.begin(), slot.numbers.begin() + slot.count);
    }
    return all;
  }

 private:
  static constexpr size_t largest_count = 4096;
  /// A rank writes its next numbers while slower ones read these; not those after, for which all must have arrived.
  static constexpr size_t turns = 2;
  struct Slot {
    size_t count;
    std::array<double, largest_count> numbers;
  };
  struct Part {
    comm::SharedCounter arrivals;  // rank 0's is used
    std::array<Slot, turns> slots;
  };

  static std::vector<int> all_ranks() {
    std::vector<int> ranks(static_cast<size_t>(group().size()));
    std::iota(ranks.begin(), ranks.end(), 0);
    return ranks;
  }
  Part& part(int rank) const { return *reinterpret_cast<Part*>(segment_.part(static_cast<size_t>(rank))); }

  comm::SharedSegment segment_;
  comm::Waiter waiter_{comm::WaitMode::yield};
  uint64_t count_ = 0;  // number of operations
};

using DenseRows = std::vector<std::vector<double>>;

/// Rows of a whole matrix, a part of them on each rank of the test. Every operation is collective but the
/// accessors. Slow, and independent of cg2d's own communication.
class DenseOperator : public LinearOperator {
 public:
  /// The rows are cut evenly, but rank 1, if there is one, gets none.
  explicit DenseOperator(DenseRows rows) : rows_(std::move(rows)) {
    const auto rank_count = static_cast<size_t>(group().size());
    const auto rank = static_cast<size_t>(group().rank());
    const size_t sharing = rank_count > 1 ? rank_count - 1 : 1;
    const size_t share = rank > 1 ? rank - 1 : rank;  // rank 1 begins where rank 2 does
    begin_ = rows_.size() * share / sharing;
    const size_t end = rank == 1 ? begin_ : rows_.size() * (share + 1) / sharing;
    p_.resize(end - begin_);
    q_.resize(end - begin_);
  }

  size_t local_size() const override { return p_.size(); }
  [[nodiscard]] std::span<double> operand() override { return p_; }
  void apply() override {
    ++product_count;
    const auto p = whole(p_);
    for (size_t k = 0; k < q_.size(); ++k) {
      const auto& row = rows_[begin_ + k];
      q_[k] = 0.0;
      for (size_t column = 0; column < row.size(); ++column) q_[k] += row[column] * p[column];
    }
  }
  std::span<const double> result() const override { return q_; }
  void sum_over_ranks(std::span<double> values) override {
    ++sum_count;
    const auto all = exchange().all_gather(values);
    std::ranges::fill(values, 0.0);
    for (size_t k = 0; k < all.size(); ++k) values[k % values.size()] += all[k];
  }

  /// This rank's piece of a vector that is given whole, and the other way round.
  std::vector<double> piece_of(std::span<const double> vector) const {
    const auto piece = vector.subspan(begin_, p_.size());
    return {piece.begin(), piece.end()};
  }
  static std::vector<double> whole(std::span<const double> piece) { return exchange().all_gather(piece); }
  std::vector<double> diagonal() const {
    std::vector<double> entries;
    for (size_t k = 0; k < p_.size(); ++k) entries.push_back(rows_[begin_ + k][begin_ + k]);
    return entries;
  }
  /// A in the rows and columns of this rank's piece; zeros are not stored.
  kernels::CsrBlock diagonal_block() const {
    std::vector<std::vector<kernels::CsrBlock::Entry>> rows(p_.size());
    for (size_t row = 0; row < p_.size(); ++row) {
      for (size_t column = 0; column < p_.size(); ++column) {
        const double value = rows_[begin_ + row][begin_ + column];
        if (value != 0.0) rows[row].push_back({.column = static_cast<int32_t>(column), .value = value});
      }
    }
    return kernels::CsrBlock::from_rows(static_cast<int64_t>(p_.size()), rows);
  }
  /// The global number of this rank's first row.
  int64_t first_row() const { return static_cast<int64_t>(begin_); }
  /// This rank's piece of A x, x given whole.
  [[nodiscard]] std::vector<double> times(std::span<const double> x) {
    std::ranges::copy(piece_of(x), p_.begin());
    apply();
    return q_;
  }

  int product_count = 0;
  int sum_count = 0;

 private:
  /// One for all operators on so many ranks. The first operation makes it, and every operation is collective.
  static SharedExchange& exchange() {
    static std::map<int, SharedExchange> by_rank_count;
    return by_rank_count[group().size()];
  }

  DenseRows rows_;
  size_t begin_ = 0;
  std::vector<double> p_;

 protected:
  std::vector<double> q_;  ///< the result
};

}  // namespace cg2d::test
