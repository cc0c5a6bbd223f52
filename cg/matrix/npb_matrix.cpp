// The NAS CG matrix: its random vectors, and their outer products in parallel: every rank draws its share of the random vectors, sends each
// block's owner the parts that meet the block, and sums the parts that it receives. No rank sorts more than a row.

#include "cg/matrix/npb_vectors.hpp"

#include <cmath>
#include <numeric>

#include "cg/base/values.hpp"
#include "cg/matrix/files/system_matrix.hpp"

namespace cg2d {

namespace {

/// The official program draws positions from the smallest power of two >= n.
int position_bits(const Problem& problem) {
  return static_cast<int>(std::bit_width(static_cast<uint64_t>(problem.n) - 1));
}

double share_in_range(const Problem& problem) {
  return static_cast<double>(problem.n) / std::exp2(position_bits(problem));
}

RandomStream stream_at_pair(int64_t pair) {
  RandomStream stream;
  stream.jump(1 + 2 * static_cast<uint64_t>(pair));  // one draw is discarded before generation
  return stream;
}

/// Kept pairs before pair-in-range `number` of the whole stream.
int64_t kept_before(const Rejections& rejections, int64_t number) {
  return number - (std::ranges::lower_bound(rejections.numbers, number) - rejections.numbers.begin());
}

/// The first vector that begins at pair-in-range `number` of the whole stream or later; n if there is none.
int64_t first_vector_from(const Problem& problem, const Rejections& rejections, int64_t number) {
  return std::min(problem.n, (kept_before(rejections, number) + problem.nonzer - 1) / problem.nonzer);
}

/// Inserts (position, value) into the vector's first `length` entries, by rising position.
void insert_sorted(int32_t* positions, double* values, int32_t length, int32_t position, double value) {
  int32_t k = length;
  for (; k > 0 && positions[k - 1] > position; --k) {
    positions[k] = positions[k - 1];
    values[k] = values[k - 1];
  }
  positions[k] = position;
  values[k] = value;
}

}  // namespace

int64_t estimated_pair_count(const Problem& problem) {
  const double needed = static_cast<double>(problem.n) * problem.nonzer;
  const double share = share_in_range(problem);
  const double deviation = std::sqrt(needed * (1.0 - share)) / share;
  const double repetitions = 2.0 * problem.nonzer * problem.nonzer;
  return static_cast<int64_t>(needed / share + 6.0 * deviation + repetitions / share) + 64;
}

StreamShare draw_share(const Problem& problem, comm::IndexRange pairs, int64_t halo_count) {
  StreamShare share;
  const int bits = position_bits(problem);
  const auto n = static_cast<uint64_t>(problem.n);
  const auto expected =
      static_cast<size_t>(static_cast<double>(pairs.size()) * share_in_range(problem) * 1.02) +
      static_cast<size_t>(halo_count) + 64;
  share.positions.reserve(expected);
  share.values.reserve(expected);

  auto stream = stream_at_pair(pairs.begin);
  const auto draw_one = [&] {
    const double value = RandomStream::number(stream.next());
    const uint64_t position = RandomStream::leading_bits(stream.next(), bits);
    if (position < n) {
      share.positions.push_back(static_cast<int32_t>(position));
      share.values.push_back(value);
    }
  };
  for (int64_t pair = 0; pair < pairs.size(); ++pair) draw_one();
  share.own_count = std::ssize(share.positions);
  while (std::ssize(share.positions) < share.own_count + halo_count) draw_one();
  return share;
}

std::vector<Repetition> find_repetitions(const StreamShare& share, int64_t first_number, int64_t window) {
  // A small table of the last place seen for each hash of the position: without a place within the window,
  // there is no equal position (a later one with the same hash would only make the place newer). Otherwise
  // look back.
  constexpr size_t table_size = 4096;
  std::vector<int64_t> last_seen(table_size, -window);
  std::vector<Repetition> found;
  const auto* const positions = share.positions.data();
  for (int64_t later = 0; later < std::ssize(share.positions); ++later) {
    const int32_t position = positions[later];
    auto& last = last_seen[static_cast<size_t>(position) % table_size];
    if (later - last < window) {
      const int64_t first = std::max<int64_t>(0, later - window + 1);
      for (int64_t earlier = later - 1; earlier >= first; --earlier) {
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
  int64_t current_vector = -1;
  int64_t rejected_in_current = 0;
  for (const auto& [earlier, later] : repetitions) {
    // The vector being filled when a pair is reached: kept pairs before it, by nonzer.
    const auto vector_at = [&](int64_t number) { return kept_before(rejections, number) / problem.nonzer; };
    const int64_t vector = vector_at(later);
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

int64_t needed_number_count(const Problem& problem, const Rejections& rejections) {
  return problem.n * problem.nonzer + std::ssize(rejections.numbers);
}

SparseVectors build_vectors(const Problem& problem, const StreamShare& share, int64_t first_number,
                            const Rejections& rejections) {
  SparseVectors vectors;
  vectors.first = first_vector_from(problem, rejections, first_number);
  vectors.count = first_vector_from(problem, rejections, first_number + share.own_count) - vectors.first;
  vectors.stride = problem.nonzer + 1;
  vectors.lengths.assign(static_cast<size_t>(vectors.count), problem.nonzer);
  vectors.positions.resize(static_cast<size_t>(vectors.count * vectors.stride));
  vectors.values.resize(vectors.positions.size());

  int64_t number = first_number;
  auto next_rejected = std::ranges::lower_bound(rejections.numbers, number);
  const auto take_next = [&]() -> size_t {
    while (next_rejected != rejections.numbers.end() && *next_rejected == number) {
      ++next_rejected;
      ++number;
    }
    return static_cast<size_t>(number++ - first_number);
  };
  // The rest of a vector that began in the share before.
  for (auto k = kept_before(rejections, number); k < vectors.first * problem.nonzer; ++k) take_next();

  for (int64_t v = 0; v < vectors.count; ++v) {
    int32_t* positions = vectors.positions.data() + v * vectors.stride;
    double* values = vectors.values.data() + v * vectors.stride;
    for (int32_t length = 0; length < problem.nonzer; ++length) {
      const size_t source = take_next();
      assert(source < share.positions.size());
      insert_sorted(positions, values, length, share.positions[source], share.values[source]);
    }
    const auto own_position = static_cast<int32_t>(vectors.first + v);
    auto& length = vectors.lengths[static_cast<size_t>(v)];
    if (const auto* const present = std::find(positions, positions + length, own_position);
        present != positions + length) {
      values[present - positions] = 0.5;
    } else {
      insert_sorted(positions, values, length++, own_position, 0.5);
    }
  }
  return vectors;
}

std::vector<double> vector_weights(const Problem& problem, int64_t first, int64_t count) {
  const double ratio = std::pow(Problem::rcond, 1.0 / static_cast<double>(problem.n));
  double weight = 1.0;
  for (int64_t i = 0; i < first; ++i) weight *= ratio;
  std::vector<double> weights;
  weights.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i, weight *= ratio) weights.push_back(weight);
  return weights;
}

// ---------------------------------------------------------------- in parallel

namespace {

/// The number of the pair (among all pairs) before which, from `first_pair` on, `count` pairs are in range. Cost: one step per pair.
int64_t pair_of_number(const Problem& problem, int64_t first_pair, int64_t count) {
  auto stream = stream_at_pair(first_pair);
  const int bits = position_bits(problem);
  for (auto pair = first_pair;; ++pair) {
    stream.next();
    const bool is_in_range =
        RandomStream::leading_bits(stream.next(), bits) < static_cast<uint64_t>(problem.n);
    if (is_in_range && count-- == 0) return pair;
  }
}

/// The vectors that begin in this rank's share of the stream.
class DrawnVectors {
 public:
  /// Every rank draws an equal share of the random numbers, in parts that take little memory: numbers of pairs, and where they are repeated.
  /// keeps: whether the vectors stay in memory, 12 bytes per number, or are drawn again by each visit, which takes less memory and more time.
  /// Collective. Throws MpiError, std::bad_alloc.
  DrawnVectors(const Problem& problem, comm::RankGroup& group, bool keeps)
      : problem_(problem), window_(problem.nonzer + 8) {
    int64_t pair_count = estimated_pair_count(problem_);
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
    int64_t last_pair = -1;
    for (const auto& part : parts_) {
      const auto local = needed - 1 - part.first_number;
      if (0 <= local && local < part.number_count)
        last_pair = pair_of_number(problem_, part.pairs.begin, local);
    }
    pair_count = group.maximum(last_pair + 1);
    facts = {.final_seed = stream_at_pair(pair_count).state(),
             .duplicate_pairs = std::ssize(rejections_.numbers),
             .out_of_range_pairs = pair_count - needed};
    if (parts_.empty()) return;
    const auto first_number = parts_.front().first_number;
    first_ = first_vector_from(problem_, rejections_, first_number);
    const auto end = first_vector_from(problem_, rejections_, first_number + own_count_);
    weights_ = vector_weights(problem_, first_, end - first_);
    if (!keeps) return;
    for (const auto& part : parts_) kept_.push_back(vectors_of(part));
  }

  /// Visits all of them in their order, some consecutive ones at a time. Throws std::bad_alloc.
  template <typename Visit>
  void visit(const Visit& visitor) const {
    for (const auto& vectors : kept_) visitor(vectors);
    if (!kept_.empty()) return;
    for (const auto& part : parts_) visitor(vectors_of(part));
  }

  SourceFacts facts;  ///< of the whole stream

 private:
  /// Consecutive pairs of the stream, and the number of the first one in range.
  struct Part {
    comm::IndexRange pairs;
    int64_t first_number = 0;
    int64_t number_count = 0;
  };

  void draw_parts(const comm::IndexRange& mine, comm::RankGroup& group) {
    constexpr int64_t most_pairs = 65536;
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

  SparseVectors vectors_of(const Part& part) const {
    auto vectors =
        build_vectors(problem_, draw_share(problem_, part.pairs, window_), part.first_number, rejections_);
    const auto first_weight = weights_.begin() + (vectors.first - first_);
    vectors.weights.assign(first_weight, first_weight + vectors.count);
    return vectors;
  }

  Problem problem_;
  std::vector<Part> parts_;
  int64_t own_count_ = 0;  // pairs in range of all parts
  int64_t window_ = 0;
  Rejections rejections_;
  int64_t first_ = 0;
  std::vector<double> weights_;  // from vector first_ on
  std::vector<SparseVectors> kept_;
};

/// Records for each rank.
using OutgoingRecords = std::vector<std::vector<uint64_t>>;

/// Appends the records for every rank whose block the vectors meet in the given rows, one range for each row block. Positions and blocks
/// rise, so each vector is walked along the blocks once. Cost: for each vector its length, and Px + Py.
void append_records(const SparseVectors& vectors, const comm::BlockLayout& layout,
                    std::span<const comm::IndexRange> rows_of_blocks, OutgoingRecords& outgoing) {
  const auto grid = layout.grid();
  std::vector<comm::IndexRange> column_blocks;
  for (int column = 0; column < grid.columns; ++column) column_blocks.push_back(layout.column_block(column));
  std::vector<std::pair<int, VectorPart::List>> columns_of_blocks;  // of those that the vector meets
  for (int64_t v = 0; v < vectors.count; ++v) {
    const auto positions = vectors.positions_of(v);
    const auto values = vectors.values_of(v);
    // The entries with positions in a range, from a place on, which moves to their end.
    const auto next_list = [&](size_t& place, const comm::IndexRange& range) {
      while (place < positions.size() && positions[place] < range.begin) ++place;
      const auto begin = place;
      while (place < positions.size() && positions[place] < range.end) ++place;
      return VectorPart::List{.positions = positions.subspan(begin, place - begin),
                              .values = values.subspan(begin, place - begin),
                              .first = range.begin};
    };
    columns_of_blocks.clear();
    size_t row_place = 0;
    for (int row = 0; row < grid.rows && row_place < positions.size(); ++row) {
      const auto rows = next_list(row_place, rows_of_blocks[static_cast<size_t>(row)]);
      if (rows.positions.empty()) continue;
      size_t column_place = columns_of_blocks.empty() ? 0 : positions.size();
      for (int column = 0; column_place < positions.size(); ++column) {
        const auto columns = next_list(column_place, column_blocks[static_cast<size_t>(column)]);
        if (!columns.positions.empty()) columns_of_blocks.emplace_back(column, columns);
      }
      for (const auto& [column, columns] : columns_of_blocks)
        VectorPart::append(outgoing[static_cast<size_t>(grid.rank_at(row, column))],
                           vectors.weights[static_cast<size_t>(v)], rows, columns);
    }
  }
}

/// Expected bytes that one rank gets (and about as many that it sends) in one of `strip_count` exchanges.
double exchange_bytes(const Problem& problem, const comm::ProcessGrid& grid, int strip_count) {
  const double length = problem.nonzer + 1.0;
  const double rows_hit =
      length / grid.rows / strip_count;  // positions of one vector in the strip, on average
  const double columns_hit = length / grid.columns;
  const double meets_rows = -std::expm1(-rows_hit);  // about Poisson
  const double meets_columns = -std::expm1(-columns_hit);
  const double words_per_position = 1.5;
  const double words = 2.0 * meets_rows * meets_columns +
                       words_per_position * (rows_hit * meets_columns + columns_hit * meets_rows);
  const double inverted_words = 2.0 * rows_hit * meets_columns;
  const double buffers = 2.0;  // sent and received words
  return 8.0 * static_cast<double>(problem.n) * (buffers * words + inverted_words);
}

/// How strips are made in little memory.
struct StripMaking {
  bool keeps_vectors = true;
  int exchanges_per_strip = 1;  ///< in each of which the records of a part of its rows travel
  double bytes = 0.0;           ///< memory of a rank, at most
};

/// Records take a quarter of a block that stays in memory at most; small ones are not worth a second exchange. Where memory is limited, the
/// vectors are kept if they leave half of it to the records.
StripMaking making_of(const Problem& problem, const comm::ProcessGrid& grid, const Strips& strips) {
  constexpr int most_exchanges = 64;
  constexpr double small_bytes = 16e6;
  constexpr double least_bytes = 1e6;
  constexpr double bytes_of_part = 2e6;  // bytes of a part of vectors that are drawn again, see DrawnVectors
  const double block_bytes = 12.0 * expected_nonzero_count(problem) / grid.rank_count();
  const double weight_bytes = 8.0 * static_cast<double>(problem.n) / grid.rank_count();
  // The drawn vectors.
  StripMaking making{.bytes = (12.0 * (problem.nonzer + 1.0) + 12.0) * static_cast<double>(problem.n) /
                              grid.rank_count()};
  double most_records = std::max(small_bytes, 0.25 * block_bytes);
  if (strips.working_bytes) {
    const auto allowed = static_cast<double>(*strips.working_bytes);
    if (making.bytes > 0.5 * allowed) {
      making.keeps_vectors = false;
      making.bytes = std::min(making.bytes, bytes_of_part) + weight_bytes;
    }
    most_records = std::max(least_bytes, allowed - making.bytes);
  }
  const auto records = [&] {
    return exchange_bytes(problem, grid, strips.count * making.exchanges_per_strip);
  };
  while (making.exchanges_per_strip < most_exchanges && records() > most_records)
    ++making.exchanges_per_strip;
  making.bytes += records();
  return making;
}

class NpbSource final : public MatrixSource {
 public:
  explicit NpbSource(const Problem& problem) : MatrixSource(facts_of(problem)), problem_(problem) {}

  int64_t working_bytes(const comm::BlockLayout& layout, const Strips& strips) const override {
    return saturated(making_of(problem_, layout.grid(), strips).bytes);
  }

  SourceFacts build_strips(const comm::BlockLayout& layout, comm::RankGroup& group, int thread_count,
                           const Strips& strips, const StripSink& sink) const override {
    const auto making = making_of(problem_, layout.grid(), strips);
    const DrawnVectors drawn(problem_, group, making.keeps_vectors);
    const int process_row = layout.grid().row_of(group.rank());
    const auto columns = layout.columns_of(group.rank());
    const auto n = static_cast<double>(problem_.n);
    for (int strip = 0; strip < strips.count; ++strip) {
      const auto rows_of_strip = strips.rows_of(strip, layout.row_block(process_row));
      const double share =
          static_cast<double>(rows_of_strip.size()) * static_cast<double>(columns.size()) / (n * n);
      BlockAssembler assembler(rows_of_strip, columns, Problem::rcond - problem_.shift,
                               static_cast<int64_t>(1.06 * share * facts_.nonzero_count) + 1024,
                               thread_count);
      for (int exchange = 0; exchange < making.exchanges_per_strip; ++exchange) {
        std::vector<comm::IndexRange> rows_of_blocks;
        for (int block = 0; block < layout.grid().rows; ++block)
          rows_of_blocks.push_back(comm::share_of(strips.rows_of(strip, layout.row_block(block)), exchange,
                                                  making.exchanges_per_strip));
        OutgoingRecords outgoing(static_cast<size_t>(group.size()));
        drawn.visit(
            [&](const SparseVectors& vectors) { append_records(vectors, layout, rows_of_blocks, outgoing); });
        // From all ranks, in the order of their vectors.
        assembler.append_rows(rows_of_blocks[static_cast<size_t>(process_row)].size(),
                              group.exchange(std::move(outgoing)));
      }
      sink(assembler.finish());
    }
    return drawn.facts;
  }

  /// A row has about as many nonzeros as the vectors that have its position; positions that meet twice are few. Counted in bins of rows, in which
  /// they are about equally long.
  std::vector<int64_t> balanced_piece_starts(std::span<const double> shares,
                                             comm::RankGroup& group) const override {
    constexpr int64_t most_bins = int64_t{1} << 16;
    const auto bin_count = std::clamp<int64_t>(problem_.n, 1, most_bins);
    const auto rows_per_bin = (problem_.n + bin_count - 1) / bin_count;
    std::vector<int64_t> nonzeros(static_cast<size_t>(bin_count));
    // Visited once: keeping them would gain nothing, and no account of memory knows of them yet.
    DrawnVectors(problem_, group, false).visit([&](const SparseVectors& vectors) {
      for (int64_t v = 0; v < vectors.count; ++v) {
        const auto positions = vectors.positions_of(v);
        for (const auto position : positions)
          nonzeros[static_cast<size_t>(position / rows_per_bin)] += std::ssize(positions);
      }
    });
    group.sums(nonzeros);
    const std::vector<double> weights(nonzeros.begin(), nonzeros.end());
    const auto before = comm::sums_before(shares);
    const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
    std::vector<int64_t> starts{0};
    double nonzeros_before = 0.0;
    size_t bin = 0;
    for (size_t piece = 1; piece < shares.size(); ++piece) {
      const double goal = total * before[piece] / before.back();
      while (bin + 1 < weights.size() && nonzeros_before + weights[bin] < goal)
        nonzeros_before += weights[bin++];
      const double part = (goal - nonzeros_before) / std::max(weights[bin], 1.0);
      const double row =
          (static_cast<double>(bin) + std::clamp(part, 0.0, 1.0)) * static_cast<double>(rows_per_bin);
      starts.push_back(std::clamp<int64_t>(std::llround(row), starts.back(), problem_.n));
    }
    starts.push_back(problem_.n);
    return starts;
  }

 private:
  Problem problem_;
};

std::unique_ptr<MatrixSource> npb_source_of(const Problem& problem) {
  return std::make_unique<NpbSource>(problem);
}

/// V or its transposed. Collective.
kernels::CsrBlock factor_block(const DrawnVectors& drawn, bool is_transposed, const comm::BlockLayout& layout,
                               comm::RankGroup& group) {
  EntryCollector collector(layout.size(), group);
  drawn.visit([&](const SparseVectors& vectors) {
    for (int64_t v = 0; v < vectors.count; ++v) {
      const auto positions = vectors.positions_of(v);
      const auto values = vectors.values_of(v);
      const auto number = vectors.first + v;
      for (size_t k = 0; k < positions.size(); ++k) {
        const int64_t position = positions[k];
        collector.add(is_transposed ? number : position, is_transposed ? position : number, values[k]);
      }
    }
  });
  return block_of_rows(collector.finish(), layout, group, [](size_t) {});
}

}  // namespace

SourceRow npb_source() {
  return {.name = "npb",
          .arguments = "CLASS",
          .parse = [](std::string_view text) { return npb_source_of(class_from(text)); },
          .make = &npb_source_of,
          .is_negative_definite = true};
}

NpbFactor make_npb_factor(const Problem& problem, const comm::BlockLayout& layout, comm::RankGroup& group) {
  const DrawnVectors drawn(problem, group, true);
  const auto piece = layout.own_piece(group.rank());
  auto factor = factor_block(drawn, false, layout, group);
  return {.factor = std::move(factor),
          .transposed = factor_block(drawn, true, layout, group),
          .weights = vector_weights(problem, piece.begin, piece.size()),
          .diagonal = Problem::rcond - problem.shift};
}

}  // namespace cg2d
