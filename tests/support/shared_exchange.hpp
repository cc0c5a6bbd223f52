#pragma once

// Numbers of every rank for every rank, by memory that they share: tests exchange them some million times, also where ranks
// outnumber the cores. A message of MPI is then noticed after a nap; here a rank sleeps until the last one wakes it.

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <span>
#include <stdexcept>
#include <vector>

#include "comm/shared_counter.hpp"
#include "comm/shared_segment.hpp"
#include "comm/waiter.hpp"
#include "support/mpi_test.hpp"

namespace cg2d::test {

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

}  // namespace cg2d::test
