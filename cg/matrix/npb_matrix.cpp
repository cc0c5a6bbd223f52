// The NAS CG matrix, generated in parallel: every rank draws its share of the random vectors, sends each
// block's owner the parts that meet the block, and sums the parts that it receives. No rank sorts more than a
// row.

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "cg/base/values.hpp"
#include "cg/matrix/block_assembler.hpp"
#include "cg/matrix/drawn_vectors.hpp"
#include "cg/matrix/matrix_source.hpp"
#include "cg/matrix/vector_parts.hpp"

namespace cg2d {
namespace {

/// The rows of row block `process_row` in strip number `strip`, as global rows.
comm::IndexRange strip_of(const comm::BlockLayout& layout, int process_row, int strip, const Strips& strips) {
  const auto block = layout.row_block(process_row);
  const auto local = strips.rows_of(strip, block.size());
  return {.begin = block.begin + local.begin, .end = block.begin + local.end};
}

/// A run of consecutive positions of one vector inside one block.
struct PositionRun {
  int block = 0;
  std::size_t begin = 0;
  std::size_t end = 0;
};

template <typename BlockOf>
void find_runs(std::span<const std::int32_t> positions, const BlockOf& block_of,
               std::vector<PositionRun>& runs) {
  runs.clear();
  for (std::size_t k = 0; k < positions.size(); ++k) {
    const int block = block_of(positions[k]);
    if (block < 0) continue;
    if (runs.empty() || runs.back().block != block) runs.push_back({.block = block, .begin = k, .end = k});
    runs.back().end = k + 1;
  }
}

/// The first row of records: that of the block, or of its strip.
enum class RowsCountFrom { block, strip };

/// The records for every rank whose block the vectors meet in the given strip of its rows.
std::vector<std::vector<std::uint64_t>> parts_for_strip(const SparseVectors& vectors,
                                                        const comm::BlockLayout& layout, int strip,
                                                        const Strips& cut, RowsCountFrom rows_count_from) {
  const auto grid = layout.grid();
  std::vector<std::vector<std::uint64_t>> outgoing(static_cast<std::size_t>(grid.rank_count()));
  std::vector<comm::IndexRange> strips;
  strips.reserve(static_cast<std::size_t>(grid.rows));
  for (int row = 0; row < grid.rows; ++row) strips.push_back(strip_of(layout, row, strip, cut));
  std::vector<PositionRun> row_runs;
  std::vector<PositionRun> column_runs;
  for (std::int64_t v = 0; v < vectors.count; ++v) {
    const auto positions = vectors.positions_of(v);
    const auto values = vectors.values_of(v);
    find_runs(
        positions,
        [&](std::int64_t position) {
          const int block = layout.row_block_of(position);
          return strips[static_cast<std::size_t>(block)].contains(position) ? block : -1;
        },
        row_runs);
    if (row_runs.empty()) continue;
    find_runs(
        positions, [&](std::int64_t position) { return layout.column_block_of(position); }, column_runs);
    const double weight = vectors.weights[static_cast<std::size_t>(v)];
    const auto list = [&](const PositionRun& run, std::int64_t first) {
      return VectorPart::List{.positions = positions.subspan(run.begin, run.end - run.begin),
                              .values = values.subspan(run.begin, run.end - run.begin),
                              .first = first};
    };
    const auto first_row_of = [&](int block) {
      return rows_count_from == RowsCountFrom::block ? layout.row_block(block).begin
                                                     : strips[static_cast<std::size_t>(block)].begin;
    };
    for (const auto& rows : row_runs) {
      for (const auto& columns : column_runs) {
        VectorPart::append(outgoing[static_cast<std::size_t>(grid.rank_at(rows.block, columns.block))],
                           weight, list(rows, first_row_of(rows.block)),
                           list(columns, layout.column_block(columns.block).begin));
      }
    }
  }
  return outgoing;
}

/// Expected bytes that one rank gets (and about as many that it sends) in one of `strip_count` strips.
double strip_bytes(const Problem& problem, const comm::ProcessGrid& grid, int strip_count) {
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

class NpbSource final : public MatrixSource {
 public:
  explicit NpbSource(const Problem& problem) : problem_(problem), facts_(facts_of(problem)) {}

  [[nodiscard]] const MatrixFacts& facts() const override { return facts_; }
  [[nodiscard]] SourcePlan plan(const comm::BlockLayout& layout) const override;
  [[nodiscard]] SourcePlan plan_strips(const comm::BlockLayout& layout, int strip_count) const override;
  [[nodiscard]] SourcedBlock build(const comm::BlockLayout& layout, comm::RankGroup& group,
                                   int thread_count) const override;
  SourceFacts build_strips(const comm::BlockLayout& layout, comm::RankGroup& group, int thread_count,
                           const Strips& strips, const StripSink& sink) const override;

 private:
  [[nodiscard]] BlockAssembler assembler_for(const comm::IndexRange& rows, const comm::IndexRange& columns,
                                             int thread_count) const;

  Problem problem_;
  MatrixFacts facts_;
};

SourcePlan NpbSource::plan(const comm::BlockLayout& layout) const {
  const auto grid = layout.grid();
  const double block_bytes = 12.0 * facts_.nonzero_count / grid.rank_count();
  // A quarter of the block at most for records; small blocks are not worth a second strip.
  constexpr double small_bytes = 16e6;
  constexpr int most_strips = 64;
  int strip_count = 1;
  while (strip_count < most_strips &&
         strip_bytes(problem_, grid, strip_count) > std::max(small_bytes, 0.25 * block_bytes)) {
    ++strip_count;
  }
  return plan_strips(layout, strip_count);
}

SourcePlan NpbSource::plan_strips(const comm::BlockLayout& layout, int strip_count) const {
  const auto grid = layout.grid();
  const double vector_bytes =
      (12.0 * (problem_.nonzer + 1.0) + 12.0) * static_cast<double>(problem_.n) / grid.rank_count();
  return {.working_bytes = saturated(vector_bytes + strip_bytes(problem_, grid, strip_count)),
          .strip_count = strip_count};
}

BlockAssembler NpbSource::assembler_for(const comm::IndexRange& rows, const comm::IndexRange& columns,
                                        int thread_count) const {
  const double share = static_cast<double>(rows.size()) * static_cast<double>(columns.size()) /
                       (static_cast<double>(problem_.n) * static_cast<double>(problem_.n));
  return {rows, columns, Problem::rcond - problem_.shift,
          static_cast<std::int64_t>(1.06 * share * facts_.nonzero_count) + 1024, thread_count};
}

SourceFacts NpbSource::build_strips(const comm::BlockLayout& layout, comm::RankGroup& group, int thread_count,
                                    const Strips& strips, const StripSink& sink) const {
  const auto drawn = draw_vectors(problem_, group);
  const int process_row = layout.grid().row_of(group.rank());
  const auto columns = layout.column_block(layout.grid().column_of(group.rank()));
  for (int strip = 0; strip < strips.count; ++strip) {
    const auto rows = strip_of(layout, process_row, strip, strips);
    auto assembler = assembler_for(rows, columns, thread_count);
    {
      const auto parts =
          group.exchange(parts_for_strip(drawn.vectors, layout, strip, strips, RowsCountFrom::strip));
      assembler.append_rows(rows.size(), parts);
    }
    sink(assembler.finish());
  }
  return drawn.facts;
}

SourcedBlock NpbSource::build(const comm::BlockLayout& layout, comm::RankGroup& group,
                              int thread_count) const {
  const auto drawn = draw_vectors(problem_, group);
  const int process_row = layout.grid().row_of(group.rank());
  const auto rows = layout.row_block(process_row);
  const auto columns = layout.column_block(layout.grid().column_of(group.rank()));
  auto assembler = assembler_for(rows, columns, thread_count);
  const Strips strips{.count = plan(layout).strip_count};
  for (int strip = 0; strip < strips.count; ++strip) {
    const auto parts =
        group.exchange(parts_for_strip(drawn.vectors, layout, strip, strips, RowsCountFrom::block));
    assembler.append_rows(strip_of(layout, process_row, strip, strips).end - rows.begin, parts);
  }
  return {.block = assembler.finish(), .facts = drawn.facts};
}

std::unique_ptr<MatrixSource> npb_source_from(std::string_view text) {
  return std::make_unique<NpbSource>(class_from(text));
}

}  // namespace

SourceRow npb_source() {
  return {.name = "npb",
          .arguments = "CLASS",
          .description = "the random matrix of the NAS CG benchmark, generated in parallel",
          .parse = &npb_source_from,
          .make = [](const Problem& problem) -> std::unique_ptr<MatrixSource> {
            return std::make_unique<NpbSource>(problem);
          },
          .is_negative_definite = true};
}

}  // namespace cg2d
