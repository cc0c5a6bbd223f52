#include "bench/generated_block.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

namespace cg2d::bench {
namespace {

/// The positions of one vector that lie in a range, with their values.
VectorPart::List part_within(const comm::IndexRange& range, std::span<const int32_t> positions,
                             std::span<const double> values) {
  const auto begin = std::lower_bound(positions.begin(), positions.end(), range.begin) - positions.begin();
  const auto end = std::lower_bound(positions.begin(), positions.end(), range.end) - positions.begin();
  const auto offset = static_cast<size_t>(begin);
  const auto count = static_cast<size_t>(end - begin);
  return {.positions = positions.subspan(offset, count),
          .values = values.subspan(offset, count),
          .first = range.begin};
}

}  // namespace

SparseVectors draw_all_vectors(const Problem& problem) {
  const int64_t window = problem.nonzer + 8;
  const auto share = draw_share(problem, {.begin = 0, .end = estimated_pair_count(problem)}, window);
  const auto rejections = resolve_rejections(problem, find_repetitions(share, 0, window));
  if (rejections.longest_vector > window || share.own_count < needed_number_count(problem, rejections)) {
    throw std::runtime_error("the generator's estimates do not fit class " + problem.class_name);
  }
  auto vectors = build_vectors(problem, share, 0, rejections);
  vectors.weights = vector_weights(problem, vectors.first, vectors.count);
  return vectors;
}

kernels::CsrBlock generate_block(const Problem& problem, const SparseVectors& vectors,
                                 const comm::BlockLayout& layout, int rank) {
  const auto rows = layout.rows_of(rank);
  const auto columns = layout.columns_of(rank);
  std::array<std::vector<uint64_t>, 1> parts;
  for (int64_t v = 0; v < vectors.count; ++v) {
    const auto row_part = part_within(rows, vectors.positions_of(v), vectors.values_of(v));
    const auto column_part = part_within(columns, vectors.positions_of(v), vectors.values_of(v));
    if (row_part.positions.empty() || column_part.positions.empty()) continue;
    VectorPart::append(parts.front(), vectors.weights[static_cast<size_t>(v)], row_part, column_part);
  }
  const double share = static_cast<double>(rows.size()) * static_cast<double>(columns.size()) /
                       (static_cast<double>(problem.n) * static_cast<double>(problem.n));
  BlockAssembler assembler(rows, columns, Problem::rcond - problem.shift,
                           static_cast<int64_t>(1.06 * share * expected_nonzero_count(problem)) + 1024, 1);
  assembler.append_rows(rows.size(), parts);
  return assembler.finish();
}

}  // namespace cg2d::bench
