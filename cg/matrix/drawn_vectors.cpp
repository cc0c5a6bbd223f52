#include "cg/matrix/drawn_vectors.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "cg/matrix/random_stream.hpp"

namespace cg2d {
namespace {

/// The repetitions of all ranks, in the order of the stream.
std::vector<Repetition> gathered(const std::vector<Repetition>& mine, comm::RankGroup& group) {
  std::vector<Repetition> all;
  for (const auto& part : group.gather_all(std::span<const Repetition>(mine)))
    all.insert(all.end(), part.begin(), part.end());
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.later < b.later; });
  return all;
}

/// Entries of a distributed matrix on their way to the owners of their blocks.
class OutgoingEntries {
 public:
  explicit OutgoingEntries(const comm::BlockLayout& layout)
      : layout_(layout), words_(static_cast<std::size_t>(layout.grid().rank_count())) {}

  void add(std::int64_t row, std::int64_t column, double value) {
    const int process_row = layout_.row_block_of(row);
    const int process_column = layout_.column_block_of(column);
    auto& words = words_[static_cast<std::size_t>(layout_.grid().rank_at(process_row, process_column))];
    const auto local_row = static_cast<std::uint64_t>(row - layout_.row_block(process_row).begin);
    const auto local_column = static_cast<std::uint64_t>(column - layout_.column_block(process_column).begin);
    words.push_back(local_row << 32 | local_column);
    words.push_back(std::bit_cast<std::uint64_t>(value));
  }
  /// This rank's block. Collective; takes the outgoing entries.
  [[nodiscard]] kernels::CsrBlock exchange(comm::RankGroup& group) {
    struct Entry {
      std::uint64_t place = 0;  // row * 2^32 + column, so that entries are sorted as in compressed rows
      double value = 0.0;
    };
    std::vector<Entry> entries;
    for (const auto& words : group.exchange(std::move(words_))) {
      for (std::size_t k = 0; k < words.size(); k += 2)
        entries.push_back({.place = words[k], .value = std::bit_cast<double>(words[k + 1])});
    }
    std::ranges::sort(entries, {}, &Entry::place);
    auto block = kernels::CsrBlock::with_room(layout_.rows_of(group.rank()).size(),
                                              layout_.columns_of(group.rank()).size(), entries.size());
    for (std::size_t k = 0; k < entries.size(); ++k) {
      ++block.row_starts[static_cast<std::size_t>(entries[k].place >> 32) + 1];
      block.columns[k] = static_cast<std::int32_t>(entries[k].place & 0xffffffffU);
      block.values[k] = entries[k].value;
    }
    block.make_room_by_lengths();
    return block;
  }

 private:
  const comm::BlockLayout& layout_;
  std::vector<std::vector<std::uint64_t>> words_;  // by owner
};

}  // namespace

SparseVectors DrawnVectors::vectors_of(const Part& part) const {
  auto vectors =
      build_vectors(problem_, draw_share(problem_, part.pairs, window_), part.first_number, rejections_);
  const auto first_weight = weights_.begin() + (vectors.first - first_);
  vectors.weights.assign(first_weight, first_weight + vectors.count);
  return vectors;
}

void DrawnVectors::visit(const std::function<void(const SparseVectors&)>& visitor) const {
  for (const auto& vectors : kept_) visitor(vectors);
  if (!kept_.empty()) return;
  for (const auto& part : parts_) visitor(vectors_of(part));
}

/// The stream is drawn in parts that take little memory: numbers of pairs, and where they are repeated.
DrawnVectors::DrawnVectors(const Problem& problem, comm::RankGroup& group, VectorStore store)
    : problem_(problem), window_(problem.nonzer + 8) {
  std::int64_t pair_count = estimated_pair_count(problem_);
  for (;;) {
    draw_parts(comm::share_of(pair_count, group.rank(), group.size()), group);
    // Both estimates hold but once in a lifetime, or for tiny dense problems; every rank sees the same
    // numbers.
    if (rejections_.longest_vector > window_) {
      window_ *= 2;
    } else if (group.sum(own_count_) < needed_number_count(problem_, rejections_)) {
      pair_count += pair_count / 4;
    } else {
      break;
    }
  }
  record_facts(group);
  take_weights();
  if (store == VectorStore::drawn_again) return;
  for (const auto& part : parts_) kept_.push_back(vectors_of(part));
}

void DrawnVectors::draw_parts(const comm::IndexRange& mine, comm::RankGroup& group) {
  constexpr std::int64_t most_pairs = 65536;
  const auto part_count = static_cast<int>((mine.size() + most_pairs - 1) / most_pairs);
  parts_.clear();
  own_count_ = 0;
  std::vector<Repetition> repetitions;
  for (int part = 0; part < part_count; ++part) {
    const auto pairs = comm::share_of(mine, part, part_count);
    const auto share = draw_share(problem_, pairs, window_);
    parts_.push_back({.pairs = pairs, .first_number = own_count_, .number_count = share.own_count});
    const auto found = find_repetitions(share, own_count_, window_);
    repetitions.insert(repetitions.end(), found.begin(), found.end());
    own_count_ += share.own_count;
  }
  const auto first_number = group.sum_of_lower_ranks(own_count_);
  for (auto& part : parts_) part.first_number += first_number;
  for (auto& repetition : repetitions) {
    repetition.earlier += first_number;
    repetition.later += first_number;
  }
  rejections_ = resolve_rejections(problem_, gathered(repetitions, group));
}

void DrawnVectors::record_facts(comm::RankGroup& group) {
  const auto needed = needed_number_count(problem_, rejections_);
  std::int64_t last_pair = -1;
  for (const auto& part : parts_) {
    const auto local = needed - 1 - part.first_number;
    if (0 <= local && local < part.number_count)
      last_pair = pair_of_number(problem_, part.pairs.begin, local);
  }
  const std::int64_t pair_count = group.maximum(last_pair + 1);
  RandomStream stream;
  stream.jump(1 + 2 * static_cast<std::uint64_t>(pair_count));
  facts_ = {.final_seed = stream.state(),
            .duplicate_pairs = static_cast<std::int64_t>(rejections_.numbers.size()),
            .out_of_range_pairs = pair_count - needed};
}

void DrawnVectors::take_weights() {
  if (parts_.empty()) return;
  const auto first_number = parts_.front().first_number;
  first_ = first_vector_from(problem_, rejections_, first_number);
  const auto end = first_vector_from(problem_, rejections_, first_number + own_count_);
  weights_ = vector_weights(problem_, first_, end - first_);
}

NpbFactor make_npb_factor(const Problem& problem, const comm::BlockLayout& layout, comm::RankGroup& group) {
  OutgoingEntries of_factor(layout);
  OutgoingEntries of_transposed(layout);
  DrawnVectors(problem, group).visit([&](const SparseVectors& vectors) {
    for (std::int64_t v = 0; v < vectors.count; ++v) {
      const auto positions = vectors.positions_of(v);
      const auto values = vectors.values_of(v);
      const auto number = vectors.first + v;
      for (std::size_t k = 0; k < positions.size(); ++k) {
        of_factor.add(positions[k], number, values[k]);
        of_transposed.add(number, positions[k], values[k]);
      }
    }
  });
  const auto piece = layout.own_piece(group.rank());
  return {.factor = of_factor.exchange(group),
          .transposed = of_transposed.exchange(group),
          .weights = vector_weights(problem, piece.begin, piece.size()),
          .diagonal = Problem::rcond - problem.shift};
}

}  // namespace cg2d
