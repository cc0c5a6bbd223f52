#include "cg/run/run_options.hpp"

#include <fmt/format.h>

#include "cg/base/errors.hpp"
#include "cg/base/text_format.hpp"
#include "cg/base/values.hpp"
#include "kernels/spmv.hpp"

namespace cg2d {

comm::ProcessGrid resolve_grid(const RunOptions& options, int rank_count) {
  // A kernel that is still to be chosen follows the grid: until then, one on whole blocks.
  const auto kernel =
      kernel_info(options.kernel.name == "auto" ? kernels::default_kernel().name : options.kernel.name);
  if (options.grid_columns) {
    const int columns = *options.grid_columns;
    if (columns < 1 || rank_count % columns != 0) {
      throw InputError(fmt::format("--px {}: does not divide the {}; valid grids (PXxPY): {}", columns,
                                   format_count(rank_count, "rank"), valid_grids(rank_count)));
    }
    return {.columns = columns, .rows = rank_count / columns};
  }
  if (!options.grid)
    return choose_grid(facts_of(options.problem), options.choices(kernel).configuration(), rank_count);
  require_grid_of(*options.grid, rank_count);
  return *options.grid;
}

}  // namespace cg2d
