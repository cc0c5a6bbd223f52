#pragma once

// Words for other ranks, collected and sent in rounds of bounded size.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "comm/rank_group.hpp"
#include "comm/word_exchange.hpp"

namespace cg2d {

/// Every rank produces words for other ranks at its own pace. Whenever a buffer is full, all ranks exchange what
/// they have: a rank that has nothing left takes part until nobody has. Memory: 64 MB at most for what is sent and
/// received together, whatever the number of ranks, unless one message is longer than a buffer. Collective: every
/// rank calls finish(), and any number of times to().
template <typename Receive>
class WordRounds {
 public:
  /// receive(words, rank): takes what another rank has sent, whole messages.
  WordRounds(comm::RankGroup& group, Receive receive)
      : group_(group),
        receive_(std::move(receive)),
        exchange_(group),
        outgoing_(static_cast<std::size_t>(group.size())) {}

  /// The buffer for another rank, with room for a message of that many words, which the caller appends. May
  /// exchange, and so receive, first.
  [[nodiscard]] std::vector<std::uint64_t>& to(int rank, std::size_t word_count) {
    auto& buffer = outgoing_[static_cast<std::size_t>(rank)];
    if (!buffer.empty() && buffer.size() + word_count > capacity()) exchange(true);
    if (buffer.capacity() < capacity()) buffer.reserve(capacity());
    return buffer;
  }

  /// Sends the rest, and receives until no rank has any more.
  void finish() {
    while (exchange(false)) {
    }
  }

 private:
  [[nodiscard]] std::size_t capacity() const {
    constexpr std::size_t most_words = std::size_t{1}
                                       << 18;  // longer rounds: ranks wait for each other less often
    constexpr std::size_t all_words = std::size_t{1} << 22;  // 32 MB to all ranks, and as many from them
    return std::max<std::size_t>(1, std::min(most_words, all_words / outgoing_.size()));
  }

  /// True while some rank has more.
  bool exchange(bool has_more) {
    exchange_.exchange(outgoing_);
    for (auto& words : outgoing_) words.clear();
    for (int rank = 0; rank < group_.size(); ++rank) {
      const auto words = exchange_.received_from(rank);
      if (!words.empty()) receive_(words, rank);
    }
    return group_.maximum(std::int64_t{has_more ? 1 : 0}) > 0;
  }

  comm::RankGroup& group_;
  Receive receive_;
  comm::WordExchange exchange_;
  std::vector<std::vector<std::uint64_t>> outgoing_;
};

}  // namespace cg2d
