#include "cg/run/streaming/source_matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "cg/base/agreement.hpp"
#include "cg/base/errors.hpp"
#include "cg/base/values.hpp"

namespace cg2d {
SourceMatrix::SourceMatrix(const std::string& text, std::int64_t memory_bytes, comm::RankGroup& group,
                           const MemoryCheck& check_memory)
    : row_(source_row_of(text)), source_(source_from(text)) {
  facts_.key = {.name = text, .order = source_->facts().key.order};
  // Strips of a sixteenth of the memory, but not so short that making them costs more than their entries.
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
  const auto needed =
      saturated_sum(source_->working_bytes(layout, strips_), saturated(making * share_bytes / strips_.count));
  if (check_memory)
    check_memory({.order = order(),
                  .entry_count = saturated(source_->facts().nonzero_count),
                  .making_bytes = saturated(static_cast<double>(group.maximum(needed)) * group.size())});
  agree_on(group, [&] {
    if (needed <= memory_bytes) return;
    throw RunError(ExitCode::memory,
                   "not enough memory: with --out-of-core a rank needs {} to count the rows of {}, "
                   "{} are left for it; raise --memory-limit or take more ranks",
                   format_bytes(needed), facts_.key.name,
                   format_bytes(std::max<std::int64_t>(memory_bytes, 0)));
  });
  survey(text, {comm::share_of(order(), group.rank(), group.size())}, group);
}

void SourceMatrix::visit_entries(comm::RankGroup& group, const EntryVisit& visit) const {
  const auto layout = comm::BlockLayout::even(order(), {.columns = 1, .rows = group.size()});
  auto row = layout.row_block(group.rank()).begin;
  Agreement agreement(group);
  build_strips(layout, group, 1, strips_, [&](const kernels::CsrBlock& strip) {
    agreement.attempt([&] {
      for (std::int64_t local = 0; local < strip.row_count; ++local, ++row)
        visit({.row = row, .columns = strip.columns_of(local), .values = strip.values_of(local)});
    });
  });
  agreement.reach();
}

SourceFacts SourceMatrix::build_strips(const comm::BlockLayout& layout, comm::RankGroup& group,
                                       int thread_count, const Strips& strips, const StripSink& sink) const {
  return source_->build_strips(layout, group, thread_count, strips, [&](kernels::CsrBlock strip) {
    if (row_.is_negative_definite)
      std::ranges::transform(strip.values.span(), strip.values.data(), std::negate());
    sink(std::move(strip));
  });
}

std::optional<std::uint64_t> SourceMatrix::content_hash() const {
  return hash_of_text(fmt::format("source {} {}", row_.name, source_->facts().key.pattern_hash));
}

}  // namespace cg2d
