#pragma once

// Elements of a distributed vector on their way to their owners.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "cg/base/process_memory.hpp"
#include "cg/matrix/files/word_rounds.hpp"
#include "comm/block_layout.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// A cut of [0, n) into consecutive ranges, each with its owner.
class RangeOwners {
 public:
  /// The pieces of vectors in a layout.
  static RangeOwners pieces_of(const comm::BlockLayout& layout) {
    RangeOwners ranges;
    for (int piece = 0; piece < layout.grid().rank_count(); ++piece)
      ranges.append(layout.piece(piece), layout.column_owner_of(piece));
    return ranges;
  }
  /// Equal ranges in the order of the ranks, as files are read and written.
  static RangeOwners equal_shares(std::int64_t n, int rank_count) {
    RangeOwners ranges;
    for (int rank = 0; rank < rank_count; ++rank) ranges.append(comm::share_of(n, rank, rank_count), rank);
    return ranges;
  }

  [[nodiscard]] int owner_of(std::int64_t index) const {
    // Steps over empty ranges: the last one that begins at or before the index.
    const auto after = std::upper_bound(begins_.begin(), begins_.end(), index);
    return owners_[static_cast<std::size_t>(after - begins_.begin()) - 1];
  }
  [[nodiscard]] comm::IndexRange range_of(int rank) const { return by_rank_[static_cast<std::size_t>(rank)]; }

 private:
  void append(const comm::IndexRange& range, int owner) {
    begins_.push_back(range.begin);
    owners_.push_back(owner);
    by_rank_.resize(std::max(by_rank_.size(), static_cast<std::size_t>(owner) + 1));
    by_rank_[static_cast<std::size_t>(owner)] = range;
  }

  std::vector<std::int64_t> begins_;
  std::vector<int> owners_;
  std::vector<comm::IndexRange> by_rank_;
};

/// Sends elements to their owners: produce(put) calls put(index, value) for each element that this rank has.
/// Returns this rank's range; elements that nobody puts are 0, those that are put twice are summed. Collective. Throws MpiError, std::bad_alloc.
template <typename Produce>
HugePageVector scattered(const RangeOwners& owners, comm::RankGroup& group, const Produce& produce) {
  const auto mine = owners.range_of(group.rank());
  HugePageVector values(static_cast<std::size_t>(mine.size()));
  const auto receive = [&](std::span<const std::uint64_t> words, int /*rank*/) {
    for (std::size_t k = 0; k < words.size(); k += 2)
      values[static_cast<std::size_t>(words[k]) - static_cast<std::size_t>(mine.begin)] +=
          std::bit_cast<double>(words[k + 1]);
  };
  WordRounds rounds(group, receive);
  produce([&](std::int64_t index, double value) {
    if (mine.contains(index)) {
      values[static_cast<std::size_t>(index - mine.begin)] += value;
      return;
    }
    auto& buffer = rounds.to(owners.owner_of(index), 2);
    buffer.push_back(static_cast<std::uint64_t>(index));
    buffer.push_back(std::bit_cast<std::uint64_t>(value));
  });
  rounds.finish();
  return values;
}

/// values[k] := the element index_of(k), of which its owner has its range in `own`. They are sent in parts, so that what is sent stays
/// small. Collective. Throws MpiError, std::bad_alloc.
void fetch(const RangeOwners& owners, std::span<const double> own,
           const std::function<std::int64_t(std::size_t k)>& index_of, std::span<double> values,
           comm::RankGroup& group);

}  // namespace cg2d
