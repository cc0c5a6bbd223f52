#include "cg/matrix/files/vector_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "cg/base/agreement.hpp"
#include "cg/base/output_file.hpp"
#include "cg/matrix/files/line_blocks.hpp"
#include "cg/matrix/files/system_matrix.hpp"
#include "cg/matrix/files/value_scatter.hpp"
#include "cg/matrix/files/vector_lines.hpp"
#include "cg/matrix/value_hash.hpp"

namespace cg2d {
namespace {

constexpr std::int64_t no_line = std::numeric_limits<std::int64_t>::max();

/// The elements of a place, of which each rank has an equal share in the order of the rows: every rank asks for its
/// own, in parts, so that what is sent stays small. Collective.
HugePageVector fetched(const VectorPlace& place, std::span<const double> share, comm::RankGroup& group) {
  const auto shares = RangeOwners::equal_shares(place.size, group.size());
  const auto first_row = shares.range_of(group.rank()).begin;
  HugePageVector values(place.local_size);
  constexpr std::size_t part_size = std::size_t{1} << 20;
  const auto part_count =
      group.maximum(static_cast<std::int64_t>((values.size() + part_size - 1) / part_size));
  for (std::int64_t part = 0; part < part_count; ++part) {
    const auto begin = std::min(values.size(), static_cast<std::size_t>(part) * part_size);
    const auto end = std::min(values.size(), begin + part_size);
    std::vector<std::vector<std::uint64_t>> rows(static_cast<std::size_t>(group.size()));
    std::vector<std::vector<std::size_t>> elements(rows.size());
    for (auto element = begin; element < end; ++element) {
      const auto row = place.row_of(element);
      const auto owner = static_cast<std::size_t>(shares.owner_of(row));
      rows[owner].push_back(static_cast<std::uint64_t>(row));
      elements[owner].push_back(element);
    }
    auto asked = group.exchange(std::move(rows));
    for (auto& words : asked) {
      for (auto& word : words)
        word = std::bit_cast<std::uint64_t>(share[word - static_cast<std::uint64_t>(first_row)]);
    }
    const auto answers = group.exchange(std::move(asked));
    for (std::size_t rank = 0; rank < answers.size(); ++rank) {
      for (std::size_t k = 0; k < answers[rank].size(); ++k)
        values[elements[rank][k]] = std::bit_cast<double>(answers[rank][k]);
    }
  }
  return values;
}

/// One reading of a file.
class VectorReading {
 public:
  VectorReading(const std::string& path, const VectorPlace& place, comm::RankGroup& group)
      : path_(path), place_(place), group_(group) {}

  HugePageVector read() {
    require_same_file(path_, group_);
    Agreement agreement(group_);
    agreement.attempt([&] {
      located_ = read_market_header(path_);
      require_size();
    });
    agreement.reach();
    const auto share = scattered(RangeOwners::equal_shares(place_.size, group_.size()), group_,
                                 [&](const auto& put) { agreement.attempt([&] { parse(put); }); });
    agreement.reach();
    throw_first_fault();
    return fetched(place_, share, group_);
  }

 private:
  void require_size() const {
    const auto& header = located_.header;
    const auto n = place_.row_count();
    if (header.row_count == n && header.column_count == place_.column_count) return;
    throw FileError(
        path_, located_.line_count,
        place_.column_count == 1
            ? fmt::format("found {} rows and {} columns, expected {} rows and 1 column, as the matrix needs",
                          header.row_count, header.column_count, n)
            : fmt::format(
                  "found {} rows and {} columns, expected {} rows and {} columns, as the matrix and the "
                  "number of right-hand sides need",
                  header.row_count, header.column_count, n, place_.column_count));
  }

  /// Parses this rank's lines.
  template <typename Put>
  void parse(const Put& put) {
    const auto own_lines =
        RangeOwners::equal_shares(located_.header.line_count, group_.size()).range_of(group_.rank());
    if (auto fault = VectorLines(located_, own_lines).parse(path_, put)) fault_ = std::move(*fault);
  }

  void throw_first_fault() {
    const auto first = group_.minimum(fault_.line);
    if (first == no_line) return;
    const auto messages = group_.gather_all(fault_.line == first ? fault_.message : std::string());
    throw FileError(path_, first, *std::ranges::max_element(messages));
  }

  const std::string& path_;
  const VectorPlace& place_;
  comm::RankGroup& group_;
  LocatedHeader located_;
  LineFault fault_{.line = no_line};
};

/// The lines of the values from `begin` on, about part_bytes long.
std::string next_lines(std::span<const double> values, std::size_t& begin) {
  constexpr std::size_t part_bytes = std::size_t{4} << 20;
  fmt::memory_buffer text;
  for (; begin < values.size() && text.size() < part_bytes; ++begin)
    fmt::format_to(std::back_inserter(text), "{}\n", values[begin]);
  return fmt::to_string(text);
}

}  // namespace

VectorPlace place_of(const comm::BlockLayout& layout, const std::optional<RandomPermutation>& permutation,
                     int rank) {
  const auto piece = layout.piece(layout.column_piece_of(rank));
  return {.size = layout.size(),
          .local_size = static_cast<std::size_t>(piece.size()),
          .row_of =
              [begin = piece.begin, &permutation](std::size_t element) {
                const auto index = begin + static_cast<std::int64_t>(element);
                return permutation ? permutation->inverse(index) : index;
              },
          .column_count = 1};
}

VectorPlace place_of_several(const VectorPlace& place, int column_count) {
  if (column_count == 1) return place;
  const auto count = static_cast<std::size_t>(column_count);
  return {.size = place.size * column_count,
          .local_size = place.local_size * count,
          .row_of =
              [count, n = place.size, row_of = place.row_of](std::size_t element) {
                return static_cast<std::int64_t>(element % count) * n + row_of(element / count);
              },
          .column_count = column_count};
}

std::int64_t column_count_of(const std::string& path, comm::RankGroup& group) {
  require_same_file(path, group);
  std::int64_t count = 0;
  Agreement agreement(group);
  agreement.attempt([&] { count = read_market_header(path).header.column_count; });
  agreement.reach();
  return count;
}

HugePageVector read_vector(const std::string& path, const VectorPlace& place, comm::RankGroup& group) {
  return VectorReading(path, place, group).read();
}

HugePageVector random_vector(std::uint64_t seed, const VectorPlace& place) {
  HugePageVector values(place.local_size);
  for (std::size_t element = 0; element < values.size(); ++element) {
    const auto bits = mixed_bits(mixed_bits(seed) + static_cast<std::uint64_t>(place.row_of(element)));
    values[element] = (static_cast<double>(bits >> 12U) + 0.5) * 0x1p-51 - 1.0;
  }
  return values;
}

void write_vector(std::span<const double> piece, const VectorPlace& place, const std::string& title,
                  comm::RankGroup& group, OutputFile* file) {
  const auto n = place.size;
  const auto values = scattered(RangeOwners::equal_shares(n, group.size()), group, [&](const auto& put) {
    for (std::size_t k = 0; k < piece.size(); ++k) put(place.row_of(k), piece[k]);
  });
  Agreement agreement(group);
  std::size_t done = 0;
  if (group.rank() != 0) {
    for (auto part = next_lines(values, done);; part = next_lines(values, done)) {
      group.send_text(part, 0);
      if (part.empty()) break;
    }
    agreement.reach();
    return;
  }
  const auto write = [&](const std::string& text) { agreement.attempt([&] { file->write(text); }); };
  write(fmt::format("%%MatrixMarket matrix array real general\n% {}\n{} {}\n", title, place.row_count(),
                    place.column_count));
  for (auto part = next_lines(values, done); !part.empty(); part = next_lines(values, done)) write(part);
  // After a failure the others' parts are received all the same, since they are sent.
  for (int rank = 1; rank < group.size(); ++rank) {
    for (auto part = group.receive_text(rank); !part.empty(); part = group.receive_text(rank)) write(part);
  }
  agreement.attempt([&] { file->commit(); });
  agreement.reach();
}

}  // namespace cg2d
