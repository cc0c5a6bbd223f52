#include "cg/library/layout.hpp"

#include "cg/base/agreement.hpp"
#include "cg/base/errors.hpp"

namespace cg2d {

std::vector<std::int64_t> piece_starts_of(std::int64_t own_row_count, const comm::ProcessGrid& grid,
                                          comm::RankGroup& group) {
  agree_on(group, [&] {
    require_grid_of(grid, group.size());
    if (own_row_count < 0)
      throw InputError("layout: {} rows on rank {}: must be 0 or more", own_row_count, group.rank());
  });
  const auto counts = group.gather_one(own_row_count);
  std::vector<std::int64_t> starts{0};
  for (int piece = 0; piece < group.size(); ++piece) {
    const int owner = grid.rank_at(piece % grid.rows, piece / grid.rows);
    starts.push_back(starts.back() + counts[static_cast<std::size_t>(owner)]);
  }
  return starts;
}

}  // namespace cg2d
