#pragma once

// Personalized exchange of 64-bit words, again and again, in memory that is kept.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "comm/rank_group.hpp"

namespace cg2d::comm {

/// Buffers for exchanges between all ranks of a group, which must outlive it. Set-up only. Fresh buffers for every
/// exchange would cost as much as the messages: the system clears their pages each time.
class WordExchange {
 public:
  explicit WordExchange(RankGroup& group);

  /// outgoing[r] goes to rank r, none if it is empty; that for this rank stays where it is. Collective. Throws MpiError.
  void exchange(std::span<const std::vector<uint64_t>> outgoing);
  /// The words of another rank, valid until the next exchange().
  std::span<const uint64_t> received_from(int rank) const {
    const auto r = static_cast<size_t>(rank);
    return std::span(incoming_[r]).first(static_cast<size_t>(incoming_counts_[r]));
  }
  /// The received words, moved out of the buffers.
  [[nodiscard]] std::vector<std::vector<uint64_t>> take_received();

 private:
  RankGroup& group_;
  std::vector<int64_t> incoming_counts_;
  std::vector<std::vector<uint64_t>> incoming_;  // as long as the longest so far
};

}  // namespace cg2d::comm
