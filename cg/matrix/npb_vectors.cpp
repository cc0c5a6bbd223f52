#include "cg/matrix/npb_vectors.hpp"

#include <cmath>

#include "cg/matrix/files/stored_matrix.hpp"
#include "cg/matrix/random_stream.hpp"

namespace cg2d {

namespace {

/// The official program draws positions from the smallest power of two >= n.
int position_bits(const Problem& problem) {
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(problem.n) - 1));
}

double share_in_range(const Problem& problem) {
  return static_cast<double>(problem.n) / std::exp2(position_bits(problem));
}

RandomStream stream_at_pair(std::int64_t pair) {
  RandomStream stream;
  stream.jump(1 + 2 * static_cast<std::uint64_t>(pair));  // one draw is discarded before generation
  return stream;
}

/// Kept pairs before pair-in-range `number` of the whole stream.
std::int64_t kept_before(const Rejections& rejections, std::int64_t number) {
  return number - (std::ranges::lower_bound(rejections.numbers, number) - rejections.numbers.begin());
}

/// The first vector that begins at pair-in-range `number` of the whole stream or later; n if there is none.
std::int64_t first_vector_from(const Problem& problem, const Rejections& rejections, std::int64_t number) {
  return std::min(problem.n, (kept_before(rejections, number) + problem.nonzer - 1) / problem.nonzer);
}

/// Inserts (position, value) into the vector's first `length` entries, by rising position.
void insert_sorted(std::int32_t* positions, double* values, std::int32_t length, std::int32_t position,
                   double value) {
  std::int32_t k = length;
  for (; k > 0 && positions[k - 1] > position; --k) {
    positions[k] = positions[k - 1];
    values[k] = values[k - 1];
  }
  positions[k] = position;
  values[k] = value;
}

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
        const std::int64_t position = positions[k];
        collector.add(is_transposed ? number : position, is_transposed ? position : number, values[k]);
      }
    }
  });
  return block_of_rows(collector.finish(), layout, group);
}

}  // namespace

std::int64_t estimated_pair_count(const Problem& problem) {
  const double needed = static_cast<double>(problem.n) * problem.nonzer;
  const double share = share_in_range(problem);
  const double deviation = std::sqrt(needed * (1.0 - share)) / share;
  const double repetitions = 2.0 * problem.nonzer * problem.nonzer;
  return static_cast<std::int64_t>(needed / share + 6.0 * deviation + repetitions / share) + 64;
}

StreamShare draw_share(const Problem& problem, comm::IndexRange pairs, std::int64_t halo_count) {
  StreamShare share;
  const int bits = position_bits(problem);
  const auto n = static_cast<std::uint64_t>(problem.n);
  const auto expected =
      static_cast<std::size_t>(static_cast<double>(pairs.size()) * share_in_range(problem) * 1.02) +
      static_cast<std::size_t>(halo_count) + 64;
  share.positions.reserve(expected);
  share.values.reserve(expected);

  auto stream = stream_at_pair(pairs.begin);
  const auto draw_one = [&] {
    const double value = RandomStream::number(stream.next());
    const std::uint64_t position = RandomStream::leading_bits(stream.next(), bits);
    if (position < n) {
      share.positions.push_back(static_cast<std::int32_t>(position));
      share.values.push_back(value);
    }
  };
  for (std::int64_t pair = 0; pair < pairs.size(); ++pair) draw_one();
  share.own_count = std::ssize(share.positions);
  while (std::ssize(share.positions) < share.own_count + halo_count) draw_one();
  return share;
}

std::vector<Repetition> find_repetitions(const StreamShare& share, std::int64_t first_number,
                                         std::int64_t window) {
  // A small table of the last place seen for each hash of the position: without a place within the window,
  // there is no equal position (a later one with the same hash would only make the place newer). Otherwise
  // look back.
  constexpr std::size_t table_size = 4096;
  std::vector<std::int64_t> last_seen(table_size, -window);
  std::vector<Repetition> found;
  const auto* const positions = share.positions.data();
  for (std::int64_t later = 0; later < std::ssize(share.positions); ++later) {
    const std::int32_t position = positions[later];
    auto& last = last_seen[static_cast<std::size_t>(position) % table_size];
    if (later - last < window) {
      const std::int64_t first = std::max<std::int64_t>(0, later - window + 1);
      for (std::int64_t earlier = later - 1; earlier >= first; --earlier) {
        if (positions[earlier] != position) continue;
        if (earlier < share.own_count)
          found.push_back({.earlier = first_number + earlier, .later = first_number + later});
        break;
      }
    }
    last = later;
  }
  return found;
}

Rejections resolve_rejections(const Problem& problem, std::span<const Repetition> repetitions) {
  Rejections rejections;
  rejections.longest_vector = problem.nonzer;
  std::int64_t current_vector = -1;
  std::int64_t rejected_in_current = 0;
  for (const auto& [earlier, later] : repetitions) {
    // The vector being filled when a pair is reached: kept pairs before it, by nonzer.
    const auto vector_at = [&](std::int64_t number) {
      return kept_before(rejections, number) / problem.nonzer;
    };
    const std::int64_t vector = vector_at(later);
    if (vector >= problem.n) break;
    if (vector_at(earlier) != vector) continue;
    rejections.numbers.push_back(later);
    if (vector != current_vector) {
      current_vector = vector;
      rejected_in_current = 0;
    }
    ++rejected_in_current;
    rejections.longest_vector = std::max(rejections.longest_vector, problem.nonzer + rejected_in_current);
  }
  return rejections;
}

std::int64_t needed_number_count(const Problem& problem, const Rejections& rejections) {
  return problem.n * problem.nonzer + std::ssize(rejections.numbers);
}

SparseVectors build_vectors(const Problem& problem, const StreamShare& share, std::int64_t first_number,
                            const Rejections& rejections) {
  SparseVectors vectors;
  vectors.first = first_vector_from(problem, rejections, first_number);
  vectors.count = first_vector_from(problem, rejections, first_number + share.own_count) - vectors.first;
  vectors.stride = problem.nonzer + 1;
  vectors.lengths.assign(static_cast<std::size_t>(vectors.count), problem.nonzer);
  vectors.positions.resize(static_cast<std::size_t>(vectors.count * vectors.stride));
  vectors.values.resize(vectors.positions.size());

  std::int64_t number = first_number;
  auto next_rejected = std::ranges::lower_bound(rejections.numbers, number);
  const auto take_next = [&]() -> std::size_t {
    while (next_rejected != rejections.numbers.end() && *next_rejected == number) {
      ++next_rejected;
      ++number;
    }
    return static_cast<std::size_t>(number++ - first_number);
  };
  // The rest of a vector that began in the share before.
  for (auto k = kept_before(rejections, number); k < vectors.first * problem.nonzer; ++k) take_next();

  for (std::int64_t v = 0; v < vectors.count; ++v) {
    std::int32_t* positions = vectors.positions.data() + v * vectors.stride;
    double* values = vectors.values.data() + v * vectors.stride;
    for (std::int32_t length = 0; length < problem.nonzer; ++length) {
      const std::size_t source = take_next();
      assert(source < share.positions.size());
      insert_sorted(positions, values, length, share.positions[source], share.values[source]);
    }
    const auto own_position = static_cast<std::int32_t>(vectors.first + v);
    auto& length = vectors.lengths[static_cast<std::size_t>(v)];
    if (const auto* const present = std::find(positions, positions + length, own_position);
        present != positions + length) {
      values[present - positions] = 0.5;
    } else {
      insert_sorted(positions, values, length++, own_position, 0.5);
    }
  }
  return vectors;
}

std::vector<double> vector_weights(const Problem& problem, std::int64_t first, std::int64_t count) {
  const double ratio = std::pow(Problem::rcond, 1.0 / static_cast<double>(problem.n));
  double weight = 1.0;
  for (std::int64_t i = 0; i < first; ++i) weight *= ratio;
  std::vector<double> weights;
  weights.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i, weight *= ratio) weights.push_back(weight);
  return weights;
}

std::int64_t pair_of_number(const Problem& problem, std::int64_t first_pair, std::int64_t count) {
  auto stream = stream_at_pair(first_pair);
  const int bits = position_bits(problem);
  for (auto pair = first_pair;; ++pair) {
    stream.next();
    const bool is_in_range =
        RandomStream::leading_bits(stream.next(), bits) < static_cast<std::uint64_t>(problem.n);
    if (is_in_range && count-- == 0) return pair;
  }
}

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
  const auto needed = needed_number_count(problem_, rejections_);
  std::int64_t last_pair = -1;
  for (const auto& part : parts_) {
    const auto local = needed - 1 - part.first_number;
    if (0 <= local && local < part.number_count)
      last_pair = pair_of_number(problem_, part.pairs.begin, local);
  }
  pair_count = group.maximum(last_pair + 1);
  facts_ = {.final_seed = stream_at_pair(pair_count).state(),
            .duplicate_pairs = std::ssize(rejections_.numbers),
            .out_of_range_pairs = pair_count - needed};
  if (parts_.empty()) return;
  const auto first_number = parts_.front().first_number;
  first_ = first_vector_from(problem_, rejections_, first_number);
  const auto end = first_vector_from(problem_, rejections_, first_number + own_count_);
  weights_ = vector_weights(problem_, first_, end - first_);
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
  // Repetitions of all ranks, in the order of the stream.
  std::vector<Repetition> all;
  for (const auto& theirs : group.gather_all(std::span<const Repetition>(repetitions)))
    all.insert(all.end(), theirs.begin(), theirs.end());
  std::ranges::sort(all, {}, &Repetition::later);
  rejections_ = resolve_rejections(problem_, all);
}

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
