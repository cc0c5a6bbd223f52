#include "cg/matrix/matrix_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cg/base/errors.hpp"
#include "cg/base/values.hpp"

namespace cg2d {

// Each row is defined in the file of its source.
SourceRow npb_source();
SourceRow laplace2d_source();
SourceRow laplace3d_source();

comm::IndexRange Strips::rows_of(int strip, const comm::IndexRange& block_rows) const {
  const auto multiples = (block_rows.size() + row_multiple - 1) / row_multiple;
  const auto share = comm::share_of(multiples, strip, count);
  return {.begin = std::min(block_rows.begin + share.begin * row_multiple, block_rows.end),
          .end = std::min(block_rows.begin + share.end * row_multiple, block_rows.end)};
}

SourcedBlock MatrixSource::build(const comm::BlockLayout& layout, comm::RankGroup& group,
                                 int thread_count) const {
  SourcedBlock made;
  made.facts = build_strips(layout, group, thread_count, {},
                            [&](kernels::CsrBlock block) { made.block = std::move(block); });
  return made;
}

std::span<const SourceRow> source_table() {
  static const std::array table{npb_source(), laplace2d_source(), laplace3d_source()};
  return table;
}

const SourceRow& default_source() { return source_table().front(); }

const SourceRow& source_row_of(std::string_view text) {
  if (const auto* const row = row_named(source_table(), text.substr(0, text.find(':')))) return *row;
  std::vector<std::string> known;
  for (const auto& other : source_table()) known.push_back(fmt::format("{}:{}", other.name, other.arguments));
  throw InputError("{}: no such matrix; there are {}", text, fmt::join(known, ", "));
}

std::unique_ptr<MatrixSource> source_from(std::string_view text) { return source_row_of(text).parse(text); }

}  // namespace cg2d
