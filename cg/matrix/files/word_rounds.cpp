#include "cg/matrix/files/word_rounds.hpp"

#include <algorithm>
#include <vector>

namespace cg2d {

void fetch(const comm::BlockLayout& layout, std::span<const double> own,
           const std::function<std::int64_t(std::size_t k)>& index_of, std::span<double> values,
           comm::RankGroup& group) {
  const auto first = static_cast<std::uint64_t>(layout.own_piece(group.rank()).begin);
  const auto count = values.size();
  constexpr std::size_t part_size = std::size_t{1} << 20;
  const auto part_count = group.maximum(static_cast<std::int64_t>((count + part_size - 1) / part_size));
  for (std::int64_t part = 0; part < part_count; ++part) {
    const auto begin = std::min(count, static_cast<std::size_t>(part) * part_size);
    const auto end = std::min(count, begin + part_size);
    std::vector<std::vector<std::uint64_t>> indices(static_cast<std::size_t>(group.size()));
    std::vector<std::vector<std::size_t>> elements(indices.size());
    for (auto k = begin; k < end; ++k) {
      const auto index = index_of(k);
      const auto owner = static_cast<std::size_t>(layout.owner_of(index));
      indices[owner].push_back(static_cast<std::uint64_t>(index));
      elements[owner].push_back(k);
    }
    auto asked = group.exchange(std::move(indices));
    for (auto& words : asked) {
      for (auto& word : words) word = std::bit_cast<std::uint64_t>(own[word - first]);
    }
    const auto answers = group.exchange(std::move(asked));
    for (std::size_t rank = 0; rank < answers.size(); ++rank) {
      for (std::size_t k = 0; k < answers[rank].size(); ++k)
        values[elements[rank][k]] = std::bit_cast<double>(answers[rank][k]);
    }
  }
}

}  // namespace cg2d
