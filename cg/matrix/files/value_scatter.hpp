#pragma once

// Elements of a distributed vector on their way to their owners.

#include <bit>
#include <cstdint>
#include <functional>
#include <span>

#include "cg/base/process_memory.hpp"
#include "cg/matrix/files/word_rounds.hpp"
#include "comm/block_layout.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// Sends elements to their owners by the layout: produce(put) calls put(index, value) for each element that this rank has.
/// Returns this rank's piece; elements that nobody puts are 0, those that are put twice are summed. Collective. Throws MpiError, std::bad_alloc.
template <typename Produce>
HugePageVector scattered(const comm::BlockLayout& layout, comm::RankGroup& group, const Produce& produce) {
  const auto mine = layout.own_piece(group.rank());
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
    auto& buffer = rounds.to(layout.owner_of(index), 2);
    buffer.push_back(static_cast<std::uint64_t>(index));
    buffer.push_back(std::bit_cast<std::uint64_t>(value));
  });
  rounds.finish();
  return values;
}

/// values[k] := the element index_of(k), of which its owner by the layout has its piece in `own`. They are sent in parts, so that what is sent stays
/// small. Collective. Throws MpiError, std::bad_alloc.
void fetch(const comm::BlockLayout& layout, std::span<const double> own,
           const std::function<std::int64_t(std::size_t k)>& index_of, std::span<double> values,
           comm::RankGroup& group);

}  // namespace cg2d
