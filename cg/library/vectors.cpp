#include "cg/library/vectors.hpp"

#include <algorithm>

#include "cg/base/agreement.hpp"
#include "cg/base/errors.hpp"
#include "cg/base/output_file.hpp"
#include "cg/matrix/files/word_rounds.hpp"

namespace cg2d {

std::vector<int64_t> piece_starts_of(int64_t own_row_count, const comm::ProcessGrid& grid,
                                     comm::RankGroup& group) {
  agree_on(group, [&] {
    require_grid_of(grid, group.size());
    if (own_row_count < 0)
      throw InputError("layout: {} rows on rank {}: must be 0 or more", own_row_count, group.rank());
  });
  const auto counts = group.gather_one(own_row_count);
  std::vector<int64_t> starts{0};
  for (int piece = 0; piece < group.size(); ++piece) {
    const int owner = grid.rank_at(piece % grid.rows, piece / grid.rows);
    starts.push_back(starts.back() + counts[static_cast<size_t>(owner)]);
  }
  return starts;
}

HugePageVector vector_from_elements(std::span<const VectorElement> elements, const PiecePlace& place,
                                    comm::RankGroup& group) {
  const auto n = place.layout.size();
  agree_on(group, [&] {
    const auto wrong = std::ranges::find_if(
        elements, [n](const VectorElement& element) { return element.row < 0 || element.row >= n; });
    if (wrong != elements.end())
      throw InputError("vector: element {} of rank {}: must be within 0 ... {}", wrong->row, group.rank(),
                       n - 1);
  });
  return scattered(place.layout, group, [&](const auto& put) {
    for (const auto& element : elements)
      put(place.permutation ? (*place.permutation)(element.row) : element.row, element.value);
  });
}

std::vector<double> elements_of(std::span<const double> piece, const comm::IndexRange& rows,
                                const PiecePlace& place, comm::RankGroup& group) {
  const auto mine = place.layout.own_piece(group.rank());
  std::vector<double> values;
  agree_on(group, [&] {
    if (static_cast<int64_t>(piece.size()) != mine.size())
      throw InputError("vector: the piece of rank {} has {} elements, got {}", group.rank(), mine.size(),
                       piece.size());
    if (rows.begin < 0 || rows.end < rows.begin || rows.end > place.layout.size())
      throw InputError("vector: rows from {} to before {} of rank {}: must be within 0 ... {}", rows.begin,
                       rows.end, group.rank(), place.layout.size() - 1);
    values.resize(static_cast<size_t>(rows.size()));
  });
  const auto index_of = [&](size_t k) {
    const auto row = rows.begin + static_cast<int64_t>(k);
    return place.permutation ? (*place.permutation)(row) : row;
  };
  fetch(place.layout, piece, index_of, values, group);
  return values;
}

void save_vector(const std::string& path, std::span<const double> piece, const std::string& title,
                 const PiecePlace& place, comm::RankGroup& group) {
  // A program's own standard output is its own.
  const auto file = open_output(path == standard_output_name ? "./-" : path, group, false);
  write_vector(piece, place, title, group, file.get());
}

}  // namespace cg2d
