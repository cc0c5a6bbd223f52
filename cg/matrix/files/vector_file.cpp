#include "cg/matrix/files/vector_file.hpp"

#include <iterator>

#include "cg/base/agreement.hpp"
#include "cg/base/output_file.hpp"
#include "cg/matrix/files/market_file.hpp"
#include "cg/matrix/files/matrix_file.hpp"
#include "cg/matrix/files/word_rounds.hpp"

namespace cg2d {
namespace {

/// Texts are sent in parts that are about so long.
constexpr size_t part_bytes = size_t{4} << 20;

/// Writes a text of which rank 0 has the head, and each rank parts, rank after rank; rank 0 writes, the others send it their parts.
/// next_part: the next one of this rank's, empty at the end.
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

}  // namespace

VectorPlace place_of(const comm::BlockLayout& layout, const std::optional<RandomPermutation>& permutation,
                     int rank) {
  const auto piece = layout.own_piece(rank);
  return {.size = layout.size(),
          .local_size = static_cast<size_t>(piece.size()),
          .row_of = [begin = piece.begin, &permutation](size_t element) {
            const auto index = begin + static_cast<int64_t>(element);
            return permutation ? permutation->inverse(index) : index;
          }};
}

VectorPlace place_of_several(const VectorPlace& place, int column_count) {
  if (column_count == 1) return place;
  const auto count = static_cast<size_t>(column_count);
  return {.size = place.size * column_count,
          .local_size = place.local_size * count,
          .row_of =
              [count, n = place.size, row_of = place.row_of](size_t element) {
                return static_cast<int64_t>(element % count) * n + row_of(element / count);
              },
          .column_count = column_count};
}

int64_t column_count_of(const std::string& path, comm::RankGroup& group) {
  require_same_file(path, group);
  int64_t count = 0;
  agree_on(group, [&] { count = read_market_header(path).header.column_count; });
  return count;
}

HugePageVector read_vector(const std::string& path, const VectorPlace& place, comm::RankGroup& group) {
  require_same_file(path, group);
  LocatedHeader located;
  agree_on(group, [&] {
    located = read_market_header(path);
    const auto& header = located.header;
    if (header.row_count != place.row_count() || header.column_count != place.column_count)
      throw FileError(path, located.line_count,
                      "found {} rows and {} columns, expected {} rows and {}, as the matrix {}",
                      header.row_count, header.column_count, place.row_count(),
                      format_count(place.column_count, "column"),
                      place.column_count == 1 ? "needs" : "and the number of right-hand sides need");
  });
  const auto shares = comm::BlockLayout::even(place.size, {.columns = 1, .rows = group.size()});
  Agreement agreement(group);
  std::optional<TextFault> fault;
  const auto share = scattered(shares, group, [&](const auto& put) {
    agreement.attempt([&] {
      const auto own_lines = comm::share_of(located.header.line_count, group.rank(), group.size());
      fault = parse_vector_lines(path, located, own_lines, put);
    });
  });
  agreement.reach();
  if (const auto first = first_fault(fault, group)) throw FileError(path, first->offset(), first->what());
  HugePageVector values(place.local_size);
  fetch(shares, share, place.row_of, values, group);
  return values;
}

HugePageVector random_vector(uint64_t seed, const VectorPlace& place) {
  HugePageVector values(place.local_size);
  for (size_t element = 0; element < values.size(); ++element) {
    const auto bits = mixed_bits(mixed_bits(seed) + static_cast<uint64_t>(place.row_of(element)));
    values[element] = (static_cast<double>(bits >> 12U) + 0.5) * 0x1p-51 - 1.0;
  }
  return values;
}

void write_vector(std::span<const double> piece, const VectorPlace& place, const std::string& title,
                  comm::RankGroup& group, OutputFile* file) {
  const auto shares = comm::BlockLayout::even(place.size, {.columns = 1, .rows = group.size()});
  const auto values = scattered(shares, group, [&](const auto& put) {
    for (size_t k = 0; k < piece.size(); ++k) put(place.row_of(k), piece[k]);
  });
  size_t done = 0;
  const auto next_part = [&] {
    fmt::memory_buffer text;
    for (; done < values.size() && text.size() < part_bytes; ++done)
      fmt::format_to(std::back_inserter(text), "{}\n", values[done]);
    return fmt::to_string(text);
  };
  write_in_turns(file, group,
                 fmt::format("%%MatrixMarket matrix array real general\n% {}\n{} {}\n", one_line(title),
                             place.row_count(), place.column_count),
                 next_part);
}

void export_matrix_market(const kernels::CsrBlock& block, const comm::BlockLayout& layout,
                          const std::string& title, comm::RankGroup& group, OutputFile* file) {
  const auto rows = layout.rows_of(group.rank());
  const auto columns = layout.columns_of(group.rank());
  // The entries of a row on or below the diagonal come first: columns rise.
  const auto lower_columns_of = [&](int64_t row) {
    const auto all = block.columns_of(row);
    return std::span(all.begin(), std::ranges::upper_bound(all, rows.begin + row - columns.begin));
  };
  int64_t entry_count = 0;
  for (int64_t row = 0; row < block.row_count; ++row) entry_count += std::ssize(lower_columns_of(row));
  entry_count = group.sum(entry_count);
  int64_t row = 0;
  const auto next_part = [&] {
    fmt::memory_buffer text;
    for (; row < block.row_count && text.size() < part_bytes; ++row) {
      const auto lower_columns = lower_columns_of(row);
      for (size_t k = 0; k < lower_columns.size(); ++k)
        fmt::format_to(std::back_inserter(text), "{} {} {:.17g}\n", rows.begin + row + 1,
                       columns.begin + lower_columns[k] + 1, block.values_of(row)[k]);
    }
    return fmt::to_string(text);
  };
  write_in_turns(file, group,
                 fmt::format("%%MatrixMarket matrix coordinate real symmetric\n% {}\n{} {} {}\n", title,
                             layout.size(), layout.size(), entry_count),
                 next_part);
}

}  // namespace cg2d
