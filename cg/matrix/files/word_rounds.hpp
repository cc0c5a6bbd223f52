#pragma once

// Words for other ranks, collected and sent in rounds of bounded size, and elements of distributed vectors on their way to their owners.

#include <algorithm>
#include <bit>
#include <functional>

#include "cg/base/process_memory.hpp"
#include "comm/block_layout.hpp"
#include "comm/word_exchange.hpp"

namespace cg2d {

/// Two indices below 2^32 in a word.
constexpr uint64_t pair_of(int64_t high, int64_t low) {
  return (static_cast<uint64_t>(high) << 32U) | static_cast<uint32_t>(low);
}
constexpr int64_t high_of(uint64_t pair) { return static_cast<int64_t>(pair >> 32U); }
constexpr int64_t low_of(uint64_t pair) { return static_cast<int64_t>(pair & 0xffffffffU); }

/// The most words for one other rank in a round.
inline size_t round_words(size_t rank_count) {
  constexpr size_t most_words = size_t{1} << 18;  // longer rounds: ranks wait for each other less often
  constexpr size_t all_words = size_t{1} << 22;   // 32 MB to all ranks, and as many from them
  return std::max<size_t>(1, std::min(most_words, all_words / rank_count));
}

/// Bytes of the buffers of a rank at most, where each rank has so many words for others in all: buffers grow by doubling.
inline int64_t word_round_bytes(int rank_count, int64_t words_of_rank) {
  const auto words = static_cast<int64_t>(std::bit_ceil(round_words(static_cast<size_t>(rank_count))));
  constexpr int64_t sent_and_received = 2 * sizeof(uint64_t);
  return sent_and_received * std::min(words * (rank_count - 1), 2 * words_of_rank);
}

/// Every rank produces words for other ranks at its own pace. Whenever a buffer is full, or a rank has produced as many words as fill half of all
/// buffers, itself included, all ranks exchange what they have: so a rank whose words are for itself does not keep the others waiting. A rank
/// that has nothing left takes part until nobody has. Memory: 64 MB at most for what is sent and
/// received together, whatever the number of ranks, unless one message is longer than a buffer. Collective: every
/// rank calls finish(), and any number of times to().
class WordRounds {
 public:
  using Words = std::span<const uint64_t>;
  /// Takes what a rank has sent, whole messages.
  using Receive = std::function<void(Words words, int sender)>;
  WordRounds(comm::RankGroup& group, Receive receive)
      : group_(group),
        receive_(std::move(receive)),
        exchange_(group),
        outgoing_(static_cast<size_t>(group.size())),
        capacities_(outgoing_.size(), round_words(outgoing_.size())),
        most_words_(round_words(outgoing_.size()) * outgoing_.size() / 2) {
    capacities_[static_cast<size_t>(group.rank())] = own_capacity;
  }

  /// The buffer for a rank, with room for a message of that many words, which the caller appends. May exchange, and so
  /// receive, first. What a rank has for itself may go the same way: where it is not known beforehand which words these
  /// are, a branch would often be predicted wrongly, and cost more than a buffer that stays in the cache.
  [[nodiscard]] std::vector<uint64_t>& to(int rank, size_t word_count) {
    const auto r = static_cast<size_t>(rank);
    auto& buffer = outgoing_[r];
    if (words_ >= most_words_) {
      exchange(true);
    } else if (buffer.size() + word_count > capacities_[r]) {
      if (rank == group_.rank()) {
        receive_own();
      } else if (!buffer.empty()) {
        exchange(true);
      }
    }
    words_ += word_count;
    return buffer;
  }

  /// Counts words that this rank takes without a buffer: they make it exchange as often as those with one.
  void count_own(size_t word_count) {
    words_ += word_count;
    if (words_ >= most_words_) exchange(true);
  }

  /// Sends the rest, and receives until no rank has any more.
  void finish() {
    while (exchange(false)) {
    }
  }

 private:
  static constexpr size_t own_capacity = 1024;

  void receive_own() {
    auto& buffer = outgoing_[static_cast<size_t>(group_.rank())];
    if (!buffer.empty()) receive_(buffer, group_.rank());
    buffer.clear();
  }

  /// True while some rank has more.
  bool exchange(bool has_more) {
    receive_own();
    exchange_.exchange(outgoing_);
    for (auto& words : outgoing_) words.clear();
    words_ = 0;
    for (int rank = 0; rank < group_.size(); ++rank) {
      const auto words = exchange_.received_from(rank);
      if (!words.empty()) receive_(words, rank);
    }
    return group_.maximum(int64_t{has_more ? 1 : 0}) > 0;
  }

  comm::RankGroup& group_;
  Receive receive_;
  comm::WordExchange exchange_;
  std::vector<std::vector<uint64_t>> outgoing_;
  std::vector<size_t> capacities_;  // in words
  size_t most_words_;               // of a round, for all ranks
  size_t words_ = 0;                // of this round
};

/// Sends elements to their owners by the layout: produce(put) calls put(index, value) for each element that this rank has.
/// Returns this rank's piece; elements that nobody puts are 0, those that are put twice are summed. Collective. Throws MpiError, std::bad_alloc.
template <typename Produce>
HugePageVector scattered(const comm::BlockLayout& layout, comm::RankGroup& group, const Produce& produce) {
  const auto mine = layout.own_piece(group.rank());
  HugePageVector values(static_cast<size_t>(mine.size()));
  const auto add = [&](int64_t index, double value) {
    values[static_cast<size_t>(index - mine.begin)] += value;
  };
  WordRounds rounds(group, [&](WordRounds::Words words, int /*sender*/) {
    for (size_t k = 0; k < words.size(); k += 2)
      add(static_cast<int64_t>(words[k]), std::bit_cast<double>(words[k + 1]));
  });
  produce([&](int64_t index, double value) {
    if (mine.contains(index)) return add(index, value);
    auto& buffer = rounds.to(layout.owner_of(index), 2);
    buffer.push_back(static_cast<uint64_t>(index));
    buffer.push_back(std::bit_cast<uint64_t>(value));
  });
  rounds.finish();
  return values;
}

/// values[k] := the element index_of(k), of which its owner by the layout has its piece in `own`. They are sent in parts, so that what is sent stays
/// small. Collective. Throws MpiError, std::bad_alloc.
inline void fetch(const comm::BlockLayout& layout, std::span<const double> own,
                  const std::function<int64_t(size_t k)>& index_of, std::span<double> values,
                  comm::RankGroup& group) {
  const auto first = static_cast<uint64_t>(layout.own_piece(group.rank()).begin);
  const auto count = values.size();
  constexpr size_t part_size = size_t{1} << 20;
  const auto part_count = group.maximum(static_cast<int64_t>((count + part_size - 1) / part_size));
  for (int64_t part = 0; part < part_count; ++part) {
    const auto begin = std::min(count, static_cast<size_t>(part) * part_size);
    const auto end = std::min(count, begin + part_size);
    std::vector<std::vector<uint64_t>> indices(static_cast<size_t>(group.size()));
    std::vector<size_t> owners;
    for (auto k = begin; k < end; ++k) {
      const auto index = index_of(k);
      owners.push_back(static_cast<size_t>(layout.owner_of(index)));
      indices[owners.back()].push_back(static_cast<uint64_t>(index));
    }
    auto asked = group.exchange(std::move(indices));
    for (auto& words : asked) {
      for (auto& word : words) word = std::bit_cast<uint64_t>(own[word - first]);
    }
    const auto answers = group.exchange(std::move(asked));
    std::vector<size_t> taken(
        answers.size());  // of each owner's answers, which are in the order of the questions
    for (auto k = begin; k < end; ++k) {
      const auto owner = owners[k - begin];
      values[k] = std::bit_cast<double>(answers[owner][taken[owner]++]);
    }
  }
}

}  // namespace cg2d
