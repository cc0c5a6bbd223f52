#include "cg/run/streaming/source_matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "cg/base/agreement.hpp"
#include "cg/base/errors.hpp"
#include "cg/base/values.hpp"
#include "cg/matrix/value_hash.hpp"

namespace cg2d {
SourceMatrix::SourceMatrix(const std::string& text, std::int64_t memory_bytes, comm::RankGroup& group,
                           const MemoryCheck& check_memory)
    : row_(source_row_of(text)), source_(source_from(text)) {
  facts_.key = {.name = text, .order = source_->facts().key.order};
  plan_survey(memory_bytes, group, check_memory);
  survey(group);
}

/// Strips of a sixteenth of the memory, but not so short that making them costs more than their entries.
void SourceMatrix::plan_survey(std::int64_t memory_bytes, comm::RankGroup& group,
                               const MemoryCheck& check_memory) {
  constexpr double bytes_per_entry = 12.0;
  constexpr std::int64_t least_bytes = std::int64_t{1} << 20;
  constexpr std::int64_t most_bytes = std::int64_t{32} << 20;
  constexpr std::int64_t strips_per_memory = 16;
  const auto layout = comm::BlockLayout::even(order(), {.columns = 1, .rows = group.size()});
  const auto share_bytes = bytes_per_entry * source_->facts().nonzero_count / group.size();
  const auto strip_bytes = std::clamp(memory_bytes / strips_per_memory, least_bytes, most_bytes);
  const auto most_count = static_cast<double>(std::max<std::int64_t>(order() / group.size(), 1));
  strips_.count = static_cast<int>(
      group.maximum(std::clamp(std::ceil(share_bytes / static_cast<double>(strip_bytes)), 1.0, most_count)));
  strips_.working_bytes = group.minimum(memory_bytes) / 4;
  constexpr double making = 2.0;  // a strip, and room that it grows into
  const auto needed = saturated_sum(source_->plan_strips(layout, strips_).working_bytes,
                                    saturated(making * share_bytes / strips_.count));
  if (check_memory)
    check_memory({.order = order(),
                  .entry_count = saturated(source_->facts().nonzero_count),
                  .making_bytes = saturated(static_cast<double>(group.maximum(needed)) * group.size())});
  agree_on(group, [&] {
    if (needed <= memory_bytes) return;
    throw RunError(
        ExitCode::memory,
        fmt::format("not enough memory: with --out-of-core a rank needs {} to count the rows of {}, "
                    "{} are left for it; raise --memory-limit or take more ranks",
                    format_bytes(needed), facts_.key.name,
                    format_bytes(std::max<std::int64_t>(memory_bytes, 0))));
  });
}

template <typename Visit>
void SourceMatrix::for_each_row(comm::RankGroup& group, const Visit& visit) const {
  const auto layout = comm::BlockLayout::even(order(), {.columns = 1, .rows = group.size()});
  auto global_row = layout.row_block(group.rank()).begin;
  Agreement agreement(group);
  source_->build_strips(layout, group, 1, strips_, [&](const kernels::CsrBlock& strip) {
    agreement.attempt([&] {
      for (std::int64_t row = 0; row < strip.row_count; ++row, ++global_row) visit(global_row, strip, row);
    });
  });
  agreement.reach();
}

void SourceMatrix::survey(comm::RankGroup& group) {
  const double sign = row_.is_negative_definite ? -1.0 : 1.0;
  std::uint64_t pattern_sum = 0;
  std::int64_t nonzero_count = 0;
  for_each_row(group, [&](std::int64_t global_row, const kernels::CsrBlock& strip, std::int64_t row) {
    const auto begin = static_cast<std::size_t>(strip.row_starts[static_cast<std::size_t>(row)]);
    const auto end = static_cast<std::size_t>(strip.row_starts[static_cast<std::size_t>(row) + 1]);
    double diagonal = 0.0;
    for (auto k = begin; k < end; ++k) {
      pattern_sum += hash_of_pair(global_row, strip.columns[k]);
      if (strip.columns[k] == global_row) diagonal = sign * strip.values[k];
    }
    diagonal_.push_back(diagonal);
    row_lengths_.push_back(static_cast<std::uint32_t>(end - begin));
    nonzero_count += static_cast<std::int64_t>(end - begin);
  });
  nonzero_count_ = group.sum(nonzero_count);
  facts_ = facts_of_rows({.name = facts_.key.name, .order = order()}, row_lengths_, pattern_sum, group);
}

SourcedBlock SourceMatrix::build(const comm::BlockLayout& layout, comm::RankGroup& group,
                                 int thread_count) const {
  auto sourced = source_->build(layout, group, thread_count);
  if (row_.is_negative_definite)
    std::ranges::transform(sourced.block.values.span(), sourced.block.values.data(), std::negate());
  return sourced;
}

SourceFacts SourceMatrix::build_strips(const comm::BlockLayout& layout, comm::RankGroup& group,
                                       int thread_count, const Strips& strips, const StripSink& sink) const {
  return source_->build_strips(layout, group, thread_count, strips, [&](kernels::CsrBlock strip) {
    if (row_.is_negative_definite)
      std::ranges::transform(strip.values.span(), strip.values.data(), std::negate());
    sink(std::move(strip));
  });
}

void SourceMatrix::visit_own_rows(comm::RankGroup& group, const RowVisit& visit) const {
  OwnRow own{.row = comm::share_of(order(), group.rank(), group.size()).begin,
             .nonzeros_before = group.sum_of_lower_ranks(
                 std::accumulate(row_lengths_.begin(), row_lengths_.end(), std::int64_t{0}))};
  for (std::size_t k = 0; k < row_lengths_.size(); ++k, ++own.row, own.nonzeros_before += own.length) {
    own.length = row_lengths_[k];
    own.diagonal = diagonal_[k];
    visit(own);
  }
}

std::vector<std::int64_t> SourceMatrix::nonzeros_of_blocks(const comm::BlockLayout& layout,
                                                           comm::RankGroup& group) const {
  const auto grid = layout.grid();
  std::vector<std::int64_t> counts(static_cast<std::size_t>(grid.rank_count()));
  for_each_row(group, [&](std::int64_t global_row, const kernels::CsrBlock& strip, std::int64_t row) {
    const int process_row = layout.row_block_of(global_row);
    for (auto k = strip.row_starts[static_cast<std::size_t>(row)];
         k < strip.row_starts[static_cast<std::size_t>(row) + 1]; ++k)
      ++counts[static_cast<std::size_t>(
          grid.rank_at(process_row, layout.column_block_of(strip.columns[static_cast<std::size_t>(k)])))];
  });
  group.sums(counts);
  return counts;
}

std::optional<std::uint64_t> SourceMatrix::content_hash() const {
  return hash_of_text(fmt::format("source {} {}", row_.name, source_->facts().key.pattern_hash));
}

}  // namespace cg2d
