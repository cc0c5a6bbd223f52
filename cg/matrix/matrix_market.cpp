#include "cg/matrix/matrix_market.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "cg/base/agreement.hpp"
#include "cg/base/output_file.hpp"

namespace cg2d {
namespace {

/// The lower triangle of one block as text, a part at a time.
class LowerTriangle {
 public:
  LowerTriangle(const kernels::CsrBlock& block, comm::IndexRange rows, comm::IndexRange columns)
      : block_(block), rows_(rows), columns_(columns) {}

  [[nodiscard]] std::int64_t entry_count() const {
    std::int64_t count = 0;
    for (std::int64_t row = 0; row < block_.row_count; ++row) count += end_of(row) - start_of(row);
    return count;
  }

  /// Lines of the next rows, about part_bytes long; empty at the end.
  std::string next_part() {
    fmt::memory_buffer text;
    for (; row_ < block_.row_count && text.size() < part_bytes; ++row_) {
      for (std::int64_t k = start_of(row_); k < end_of(row_); ++k) {
        const auto entry = static_cast<std::size_t>(k);
        fmt::format_to(std::back_inserter(text), "{} {} {:.17g}\n", rows_.begin + row_ + 1,
                       columns_.begin + block_.columns[entry] + 1, block_.values[entry]);
      }
    }
    return fmt::to_string(text);
  }

 private:
  static constexpr std::size_t part_bytes = std::size_t{4} << 20;

  [[nodiscard]] std::int64_t start_of(std::int64_t row) const {
    return block_.row_starts[static_cast<std::size_t>(row)];
  }

  /// The end of the row's entries on or below the diagonal: columns rise within a row.
  [[nodiscard]] std::int64_t end_of(std::int64_t row) const {
    const std::int64_t diagonal = rows_.begin + row - columns_.begin;
    const std::int32_t* first = block_.columns.data() + start_of(row);
    const std::int32_t* last = block_.columns.data() + start_of(row + 1);
    return start_of(row) +
           (std::partition_point(first, last, [&](std::int32_t c) { return c <= diagonal; }) - first);
  }

  const kernels::CsrBlock& block_;
  comm::IndexRange rows_;
  comm::IndexRange columns_;
  std::int64_t row_ = 0;
};

}  // namespace

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
  LowerTriangle triangle(block, layout.rows_of(group.rank()), layout.columns_of(group.rank()));
  const std::int64_t entry_count = group.sum(triangle.entry_count());
  write_in_turns(file, group,
                 fmt::format("%%MatrixMarket matrix coordinate real symmetric\n% {}\n{} {} {}\n", title,
                             layout.size(), layout.size(), entry_count),
                 [&] { return triangle.next_part(); });
}

}  // namespace cg2d
