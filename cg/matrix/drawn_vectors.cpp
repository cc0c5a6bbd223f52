#include "cg/matrix/drawn_vectors.hpp"

#include <algorithm>
#include <vector>

#include "cg/matrix/random_stream.hpp"

namespace cg2d {
namespace {

SourceFacts stream_facts(const Problem& problem, const StreamShare& share, std::int64_t first_number,
                         const Rejections& rejections, comm::RankGroup& group) {
  const std::int64_t last = needed_number_count(problem, rejections) - 1 - first_number;
  const bool is_mine = 0 <= last && last < share.own_count;
  const std::int64_t pair_count = group.maximum(is_mine ? pair_of_number(problem, share, last) + 1 : 0);
  RandomStream stream;
  stream.jump(1 + 2 * static_cast<std::uint64_t>(pair_count));
  return {.final_seed = stream.state(),
          .duplicate_pairs = static_cast<std::int64_t>(rejections.numbers.size()),
          .out_of_range_pairs = pair_count - needed_number_count(problem, rejections)};
}

std::vector<Repetition> all_repetitions(const StreamShare& share, std::int64_t first_number,
                                        std::int64_t window, comm::RankGroup& group) {
  const auto mine = find_repetitions(share, first_number, window);
  std::vector<Repetition> all;
  for (const auto& part : group.gather_all(std::span<const Repetition>(mine)))
    all.insert(all.end(), part.begin(), part.end());
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.later < b.later; });
  return all;
}

}  // namespace

comm::IndexRange share_of(std::int64_t total, int part, int part_count) {
  const auto border = [&](std::int64_t number) {
    return total / part_count * number + total % part_count * number / part_count;
  };
  return {.begin = border(part), .end = border(part + 1)};
}

DrawnVectors draw_vectors(const Problem& problem, comm::RankGroup& group) {
  std::int64_t pair_count = estimated_pair_count(problem);
  std::int64_t window = problem.nonzer + 8;
  for (;;) {
    const auto share = draw_share(problem, share_of(pair_count, group.rank(), group.size()), window);
    const std::int64_t first_number = group.sum_of_lower_ranks(share.own_count);
    const auto rejections = resolve_rejections(problem, all_repetitions(share, first_number, window, group));
    // Both estimates hold but once in a lifetime, or for tiny dense problems; every rank sees the same
    // numbers.
    if (rejections.longest_vector > window) {
      window *= 2;
    } else if (group.sum(share.own_count) < needed_number_count(problem, rejections)) {
      pair_count += pair_count / 4;
    } else {
      return {.vectors = build_vectors(problem, share, first_number, rejections),
              .facts = stream_facts(problem, share, first_number, rejections, group)};
    }
  }
}

}  // namespace cg2d
