#include "cg/matrix/drawn_vectors.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "cg/matrix/files/stored_matrix.hpp"
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

namespace {

/// V or its transposed. Collective.
kernels::CsrBlock factor_block(const DrawnVectors& drawn, bool is_transposed, const comm::BlockLayout& layout,
                               comm::RankGroup& group) {
  EntryCollector collector(layout.size(), group);
  drawn.visit([&](const SparseVectors& vectors) {
    for (std::int64_t v = 0; v < vectors.count; ++v) {
      const auto positions = vectors.positions_of(v);
      const auto values = vectors.values_of(v);
      const auto number = vectors.first + v;
      for (std::size_t k = 0; k < positions.size(); ++k) {
        if (is_transposed) {
          collector.add(number, positions[k], values[k]);
        } else {
          collector.add(positions[k], number, values[k]);
        }
      }
    }
  });
  return block_of_rows(collector.finish(), layout, group);
}

}  // namespace

NpbFactor make_npb_factor(const Problem& problem, const comm::BlockLayout& layout, comm::RankGroup& group) {
  const DrawnVectors drawn(problem, group);
  const auto piece = layout.own_piece(group.rank());
  auto factor = factor_block(drawn, false, layout, group);
  return {.factor = std::move(factor),
          .transposed = factor_block(drawn, true, layout, group),
          .weights = vector_weights(problem, piece.begin, piece.size()),
          .diagonal = Problem::rcond - problem.shift};
}

}  // namespace cg2d
