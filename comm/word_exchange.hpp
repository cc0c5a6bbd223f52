#pragma once

// Personalized exchange of 64-bit words, again and again, in memory that is kept; and messages that are longer than MPI counts.

#include <algorithm>
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

/// Messages that are longer than MPI counts: its counts are ints, so they go in parts. Calls post(begin, count, request) for each part of a message of
/// that many elements, and appends the requests.
template <typename Post>
void post_in_parts(size_t count, std::vector<MPI_Request>& requests, const Post& post) {
  constexpr size_t largest_message = size_t{1} << 27;
  for (size_t begin = 0; begin < count; begin += largest_message) {
    MPI_Request request = MPI_REQUEST_NULL;
    post(begin, int_count(std::min(largest_message, count - begin)), &request);
    requests.push_back(request);
  }
}

}  // namespace cg2d::comm
