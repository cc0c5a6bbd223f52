#include "cg/library/vectors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "cg/base/agreement.hpp"
#include "cg/base/errors.hpp"
#include "cg/base/output_file.hpp"
#include "cg/matrix/files/value_scatter.hpp"

namespace cg2d {
namespace {

comm::IndexRange own_range(const PiecePlace& place, int rank) {
  return place.layout.piece(place.layout.column_piece_of(rank));
}

}  // namespace

HugePageVector vector_from_elements(std::span<const VectorElement> elements, const PiecePlace& place,
                                    comm::RankGroup& group) {
  const auto n = place.layout.size();
  agree_on(group, [&] {
    const auto wrong = std::ranges::find_if(
        elements, [n](const VectorElement& element) { return element.row < 0 || element.row >= n; });
    if (wrong != elements.end()) {
      throw InputError(fmt::format("vector: element {} of rank {}: must be within 0 ... {}", wrong->row,
                                   group.rank(), n - 1));
    }
  });
  return scattered(RangeOwners::pieces_of(place.layout), group, [&](const auto& put) {
    for (const auto& element : elements)
      put(place.permutation ? (*place.permutation)(element.row) : element.row, element.value);
  });
}

std::vector<double> elements_of(std::span<const double> piece, const comm::IndexRange& rows,
                                const PiecePlace& place, comm::RankGroup& group) {
  const auto mine = own_range(place, group.rank());
  std::vector<double> values;
  agree_on(group, [&] {
    if (static_cast<std::int64_t>(piece.size()) != mine.size()) {
      throw InputError(fmt::format("vector: the piece of rank {} has {} elements, got {}", group.rank(),
                                   mine.size(), piece.size()));
    }
    if (rows.begin < 0 || rows.end < rows.begin || rows.end > place.layout.size()) {
      throw InputError(fmt::format("vector: rows from {} to before {} of rank {}: must be within 0 ... {}",
                                   rows.begin, rows.end, group.rank(), place.layout.size() - 1));
    }
    values.resize(static_cast<std::size_t>(rows.size()));
  });
  WordRounds rounds(group, [&](std::span<const std::uint64_t> words, int /*rank*/) {
    for (std::size_t k = 0; k < words.size(); k += 2)
      values[static_cast<std::size_t>(words[k])] = std::bit_cast<double>(words[k + 1]);
  });
  const auto asked = group.gather_one(rows);
  for (int rank = 0; rank < group.size(); ++rank) {
    const auto& wanted = asked[static_cast<std::size_t>(rank)];
    const auto send = [&](std::int64_t row, double value) {
      if (!wanted.contains(row)) return;
      if (rank == group.rank()) {
        values[static_cast<std::size_t>(row - wanted.begin)] = value;
        return;
      }
      auto& buffer = rounds.to(rank, 2);
      buffer.push_back(static_cast<std::uint64_t>(row - wanted.begin));
      buffer.push_back(std::bit_cast<std::uint64_t>(value));
    };
    // Without a permutation only the rows that both have; with one any element may be among those asked for.
    const auto begin = place.permutation ? mine.begin : std::max(mine.begin, wanted.begin);
    const auto end = place.permutation ? mine.end : std::min(mine.end, wanted.end);
    for (auto k = begin; k < end; ++k)
      send(place.permutation ? place.permutation->inverse(k) : k,
           piece[static_cast<std::size_t>(k - mine.begin)]);
  }
  rounds.finish();
  return values;
}

void save_vector(const std::string& path, std::span<const double> piece, const std::string& title,
                 const PiecePlace& place, comm::RankGroup& group) {
  // A program's own standard output is its own.
  const auto file = open_output(path == standard_output_name ? "./-" : path, group);
  write_vector(piece, place, title, group, file.get());
}

}  // namespace cg2d
