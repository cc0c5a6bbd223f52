#include "cg/matrix/matrix_market.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "cg/base/agreement.hpp"
#include "cg/base/output_file.hpp"

namespace cg2d {
void write_in_turns(OutputFile* file, comm::RankGroup& group, const std::string& head,
                    const std::function<std::string()>& next_part) {
  Agreement agreement(group);
  const auto write = [&](const std::string& text) { agreement.attempt([&] { file->write(text); }); };
  if (group.rank() == 0) {
    write(head);
    for (auto part = next_part(); !part.empty(); part = next_part()) write(part);
    // After a failure the others' parts are received all the same, since they are sent.
    for (int rank = 1; rank < group.size(); ++rank) {
      for (auto part = group.receive_text(rank); !part.empty(); part = group.receive_text(rank)) write(part);
    }
    agreement.attempt([&] { file->commit(); });
  } else {
    std::string part;
    do {
      part = next_part();
      group.send_text(part, 0);
    } while (!part.empty());
  }
  agreement.reach();
}

void export_matrix_market(const kernels::CsrBlock& block, const comm::BlockLayout& layout,
                          const std::string& title, comm::RankGroup& group, OutputFile* file) {
  constexpr std::size_t part_bytes = std::size_t{4} << 20;
  const auto rows = layout.rows_of(group.rank());
  const auto columns = layout.columns_of(group.rank());
  // The entries of a row on or below the diagonal come first: columns rise.
  const auto lower_count = [&](std::int64_t row) {
    const auto all = block.columns_of(row);
    return std::ranges::upper_bound(all, rows.begin + row - columns.begin) - all.begin();
  };
  std::int64_t entry_count = 0;
  for (std::int64_t row = 0; row < block.row_count; ++row) entry_count += lower_count(row);
  entry_count = group.sum(entry_count);
  std::int64_t row = 0;
  const auto next_part = [&] {
    fmt::memory_buffer text;
    for (; row < block.row_count && text.size() < part_bytes; ++row) {
      const auto begin = block.row_starts[static_cast<std::size_t>(row)];
      const auto end = begin + lower_count(row);
      for (auto entry = begin; entry < end; ++entry) {
        const auto k = static_cast<std::size_t>(entry);
        fmt::format_to(std::back_inserter(text), "{} {} {:.17g}\n", rows.begin + row + 1,
                       columns.begin + block.columns[k] + 1, block.values[k]);
      }
    }
    return fmt::to_string(text);
  };
  write_in_turns(file, group,
                 fmt::format("%%MatrixMarket matrix coordinate real symmetric\n% {}\n{} {} {}\n", title,
                             layout.size(), layout.size(), entry_count),
                 next_part);
}

}  // namespace cg2d
