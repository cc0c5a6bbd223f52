#include "cg/run/run_options.hpp"

#include <fmt/format.h>

#include "cg/base/errors.hpp"
#include "cg/base/values.hpp"
#include "cg/tuning/run_plan.hpp"

namespace cg2d {

comm::ProcessGrid resolve_grid(const RunOptions& options, int rank_count) {
  if (options.open_grid.columns) {
    const int columns = *options.open_grid.columns;
    if (columns < 1 || rank_count % columns != 0) {
      throw InputError(fmt::format("--px {}: does not divide the {}; valid grids (PXxPY): {}", columns,
                                   format_count(rank_count, "rank"), valid_grids(rank_count)));
    }
    return {.columns = columns, .rows = rank_count / columns};
  }
  const auto& configuration = options.configuration;
  if (!configuration.has_grid()) return choose_grid(facts_of(options.problem), configuration, rank_count);
  require_grid_of(configuration.grid, rank_count);
  return configuration.grid;
}

}  // namespace cg2d
