// The NAS CG matrix, generated in parallel: every rank draws its share of the random vectors, sends each
// block's owner the parts that meet the block, and sums the parts that it receives. No rank sorts more than a
// row.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "cg/base/values.hpp"
#include "cg/matrix/block_assembler.hpp"
#include "cg/matrix/npb_vectors.hpp"

namespace cg2d {
namespace {

/// Records for each rank.
using OutgoingRecords = std::vector<std::vector<std::uint64_t>>;

/// Appends the records for every rank whose block the vectors meet in the given rows, one range for each row block. Positions and blocks
/// rise, so each vector is walked along the blocks once. Cost: for each vector its length, and Px + Py.
void append_records(const SparseVectors& vectors, const comm::BlockLayout& layout,
                    std::span<const comm::IndexRange> rows_of_blocks, OutgoingRecords& outgoing) {
  const auto grid = layout.grid();
  std::vector<comm::IndexRange> column_blocks;
  for (int column = 0; column < grid.columns; ++column) column_blocks.push_back(layout.column_block(column));
  std::vector<std::pair<int, VectorPart::List>> columns_of_blocks;  // of those that the vector meets
  for (std::int64_t v = 0; v < vectors.count; ++v) {
    const auto positions = vectors.positions_of(v);
    const auto values = vectors.values_of(v);
    // The entries with positions in a range, from a place on, which moves to their end.
    const auto next_list = [&](std::size_t& place, const comm::IndexRange& range) {
      while (place < positions.size() && positions[place] < range.begin) ++place;
      const auto begin = place;
      while (place < positions.size() && positions[place] < range.end) ++place;
      return VectorPart::List{.positions = positions.subspan(begin, place - begin),
                              .values = values.subspan(begin, place - begin),
                              .first = range.begin};
    };
    columns_of_blocks.clear();
    std::size_t row_place = 0;
    for (int row = 0; row < grid.rows && row_place < positions.size(); ++row) {
      const auto rows = next_list(row_place, rows_of_blocks[static_cast<std::size_t>(row)]);
      if (rows.positions.empty()) continue;
      std::size_t column_place = columns_of_blocks.empty() ? 0 : positions.size();
      for (int column = 0; column_place < positions.size(); ++column) {
        const auto columns = next_list(column_place, column_blocks[static_cast<std::size_t>(column)]);
        if (!columns.positions.empty()) columns_of_blocks.emplace_back(column, columns);
      }
      for (const auto& [column, columns] : columns_of_blocks)
        VectorPart::append(outgoing[static_cast<std::size_t>(grid.rank_at(row, column))],
                           vectors.weights[static_cast<std::size_t>(v)], rows, columns);
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
  VectorStore store = VectorStore::kept;
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
      making.store = VectorStore::drawn_again;
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

  [[nodiscard]] std::int64_t working_bytes(const comm::BlockLayout& layout,
                                           const Strips& strips) const override {
    return saturated(making_of(problem_, layout.grid(), strips).bytes);
  }

  SourceFacts build_strips(const comm::BlockLayout& layout, comm::RankGroup& group, int thread_count,
                           const Strips& strips, const StripSink& sink) const override {
    const auto making = making_of(problem_, layout.grid(), strips);
    const DrawnVectors drawn(problem_, group, making.store);
    const int process_row = layout.grid().row_of(group.rank());
    const auto columns = layout.columns_of(group.rank());
    const auto n = static_cast<double>(problem_.n);
    for (int strip = 0; strip < strips.count; ++strip) {
      const auto rows_of_strip = strips.rows_of(strip, layout.row_block(process_row));
      const double share =
          static_cast<double>(rows_of_strip.size()) * static_cast<double>(columns.size()) / (n * n);
      BlockAssembler assembler(rows_of_strip, columns, Problem::rcond - problem_.shift,
                               static_cast<std::int64_t>(1.06 * share * facts_.nonzero_count) + 1024,
                               thread_count);
      for (int exchange = 0; exchange < making.exchanges_per_strip; ++exchange) {
        std::vector<comm::IndexRange> rows_of_blocks;
        for (int block = 0; block < layout.grid().rows; ++block)
          rows_of_blocks.push_back(comm::share_of(strips.rows_of(strip, layout.row_block(block)), exchange,
                                                  making.exchanges_per_strip));
        OutgoingRecords outgoing(static_cast<std::size_t>(group.size()));
        drawn.visit(
            [&](const SparseVectors& vectors) { append_records(vectors, layout, rows_of_blocks, outgoing); });
        // From all ranks, in the order of their vectors.
        assembler.append_rows(rows_of_blocks[static_cast<std::size_t>(process_row)].size(),
                              group.exchange(std::move(outgoing)));
      }
      sink(assembler.finish());
    }
    return drawn.facts();
  }

  /// A row has about as many nonzeros as the vectors that have its position; positions that meet twice are few. Counted in bins of rows, in which
  /// they are about equally long.
  [[nodiscard]] std::vector<std::int64_t> balanced_piece_starts(std::span<const double> shares,
                                                                comm::RankGroup& group) const override {
    constexpr std::int64_t most_bins = std::int64_t{1} << 16;
    const auto bin_count = std::clamp<std::int64_t>(problem_.n, 1, most_bins);
    const auto rows_per_bin = (problem_.n + bin_count - 1) / bin_count;
    std::vector<std::int64_t> nonzeros(static_cast<std::size_t>(bin_count));
    DrawnVectors(problem_, group).visit([&](const SparseVectors& vectors) {
      for (std::int64_t v = 0; v < vectors.count; ++v) {
        const auto positions = vectors.positions_of(v);
        for (const auto position : positions)
          nonzeros[static_cast<std::size_t>(position / rows_per_bin)] += std::ssize(positions);
      }
    });
    group.sums(nonzeros);
    const std::vector<double> weights(nonzeros.begin(), nonzeros.end());
    const auto before = comm::sums_before(shares);
    const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
    std::vector<std::int64_t> starts{0};
    double nonzeros_before = 0.0;
    std::size_t bin = 0;
    for (std::size_t piece = 1; piece < shares.size(); ++piece) {
      const double goal = total * before[piece] / before.back();
      while (bin + 1 < weights.size() && nonzeros_before + weights[bin] < goal)
        nonzeros_before += weights[bin++];
      const double part = (goal - nonzeros_before) / std::max(weights[bin], 1.0);
      const double row =
          (static_cast<double>(bin) + std::clamp(part, 0.0, 1.0)) * static_cast<double>(rows_per_bin);
      starts.push_back(std::clamp<std::int64_t>(std::llround(row), starts.back(), problem_.n));
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

}  // namespace

SourceRow npb_source() {
  return {.name = "npb",
          .arguments = "CLASS",
          .parse = [](std::string_view text) { return npb_source_of(class_from(text)); },
          .make = &npb_source_of,
          .is_negative_definite = true};
}

}  // namespace cg2d
