#include "cg/run/session_options.hpp"

#include <bit>

#include "cg/base/errors.hpp"
#include "cg/library/built_in_choice.hpp"

namespace cg2d {

std::optional<comm::ProcessGrid> official_grid(int rank_count) {
  const auto ranks = static_cast<unsigned>(rank_count);
  if (!std::has_single_bit(ranks)) return std::nullopt;
  const int rows = 1 << (static_cast<unsigned>(std::countr_zero(ranks)) / 2);
  return comm::ProcessGrid{.columns = rank_count / rows, .rows = rows};
}

std::optional<comm::ProcessGrid> grid_named_by(const OpenGridOptions& options, int rank_count) {
  if (options.is_official) {
    if (const auto grid = official_grid(rank_count)) return grid;
    throw InputError(
        "--grid official: the official program has no grid of {}, which is not a power of two; "
        "valid grids (PXxPY): {}",
        format_count(rank_count, "rank"), valid_grids(rank_count));
  }
  if (!options.columns) return std::nullopt;
  const int columns = *options.columns;
  if (columns < 1 || rank_count % columns != 0) {
    throw InputError("--px {}: does not divide the {}; valid grids (PXxPY): {}", columns,
                     format_count(rank_count, "rank"), valid_grids(rank_count));
  }
  return comm::ProcessGrid{.columns = columns, .rows = rank_count / columns};
}

std::optional<comm::ProcessGrid> named_grid(const SessionOptions& options, int rank_count) {
  if (const auto named = grid_named_by(options.open_grid, rank_count)) return named;
  if (!options.configuration.has_grid()) return std::nullopt;
  require_grid_of(options.configuration.grid, rank_count);
  return options.configuration.grid;
}

comm::ProcessGrid resolve_grid(const SessionOptions& options, const MatrixFacts& matrix,
                               const Configuration& configuration, int rank_count) {
  if (const auto named = named_grid(options, rank_count)) return *named;
  return choose_grid(matrix, configuration, rank_count);
}

}  // namespace cg2d
