#include "cg/matrix/drawn_vectors.hpp"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "cg/matrix/random_stream.hpp"

namespace cg2d {

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

/// Draws the stream for the first time, in parts that take little memory: numbers of pairs, and where they are repeated.
class VectorDrawing {
 public:
  VectorDrawing(const Problem& problem, comm::RankGroup& group) : problem_(problem), group_(group) {}

  DrawnVectors draw(VectorStore store) {
    std::int64_t pair_count = estimated_pair_count(problem_);
    drawn_.problem_ = problem_;
    drawn_.window_ = problem_.nonzer + 8;
    for (;;) {
      draw_parts(comm::share_of(pair_count, group_.rank(), group_.size()));
      // Both estimates hold but once in a lifetime, or for tiny dense problems; every rank sees the same
      // numbers.
      if (drawn_.rejections_.longest_vector > drawn_.window_) {
        drawn_.window_ *= 2;
      } else if (group_.sum(own_count_) < needed_number_count(problem_, drawn_.rejections_)) {
        pair_count += pair_count / 4;
      } else {
        break;
      }
    }
    record_facts();
    take_weights();
    if (store == VectorStore::kept) {
      for (const auto& part : drawn_.parts_) drawn_.kept_.push_back(drawn_.vectors_of(part));
    }
    return std::move(drawn_);
  }

 private:
  void draw_parts(const comm::IndexRange& mine) {
    constexpr std::int64_t most_pairs = 65536;
    const auto part_count = static_cast<int>((mine.size() + most_pairs - 1) / most_pairs);
    drawn_.parts_.clear();
    own_count_ = 0;
    std::vector<Repetition> repetitions;
    for (int part = 0; part < part_count; ++part) {
      const auto pairs = comm::share_of(mine, part, part_count);
      const auto share = draw_share(problem_, pairs, drawn_.window_);
      drawn_.parts_.push_back({.pairs = pairs, .first_number = own_count_, .number_count = share.own_count});
      const auto found = find_repetitions(share, own_count_, drawn_.window_);
      repetitions.insert(repetitions.end(), found.begin(), found.end());
      own_count_ += share.own_count;
    }
    const auto first_number = group_.sum_of_lower_ranks(own_count_);
    for (auto& part : drawn_.parts_) part.first_number += first_number;
    for (auto& repetition : repetitions) {
      repetition.earlier += first_number;
      repetition.later += first_number;
    }
    drawn_.rejections_ = resolve_rejections(problem_, gathered(repetitions));
  }

  [[nodiscard]] std::vector<Repetition> gathered(const std::vector<Repetition>& mine) {
    std::vector<Repetition> all;
    for (const auto& part : group_.gather_all(std::span<const Repetition>(mine)))
      all.insert(all.end(), part.begin(), part.end());
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.later < b.later; });
    return all;
  }

  void record_facts() {
    const auto needed = needed_number_count(problem_, drawn_.rejections_);
    std::int64_t last_pair = -1;
    for (const auto& part : drawn_.parts_) {
      const auto local = needed - 1 - part.first_number;
      if (0 <= local && local < part.number_count)
        last_pair = pair_of_number(problem_, draw_share(problem_, part.pairs, 0), local);
    }
    const std::int64_t pair_count = group_.maximum(last_pair + 1);
    RandomStream stream;
    stream.jump(1 + 2 * static_cast<std::uint64_t>(pair_count));
    drawn_.facts_ = {.final_seed = stream.state(),
                     .duplicate_pairs = static_cast<std::int64_t>(drawn_.rejections_.numbers.size()),
                     .out_of_range_pairs = pair_count - needed};
  }

  void take_weights() {
    if (drawn_.parts_.empty()) return;
    const auto first_number = drawn_.parts_.front().first_number;
    drawn_.first_ = first_vector_from(problem_, drawn_.rejections_, first_number);
    const auto end = first_vector_from(problem_, drawn_.rejections_, first_number + own_count_);
    drawn_.weights_ = vector_weights(problem_, drawn_.first_, end - drawn_.first_);
  }

  const Problem& problem_;
  comm::RankGroup& group_;
  DrawnVectors drawn_;
  std::int64_t own_count_ = 0;  // pairs in range of all parts
};

DrawnVectors draw_vectors(const Problem& problem, comm::RankGroup& group, VectorStore store) {
  return VectorDrawing(problem, group).draw(store);
}

}  // namespace cg2d
