#include "cg/run/session_options.hpp"

#include <fmt/format.h>

#include <bit>
#include <limits>

#include "cg/base/errors.hpp"
#include "cg/library/built_in_choice.hpp"
#include "cg/solver/matrix_cut.hpp"

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

std::optional<uint64_t> permutation_seed_of(const SystemOptions& options) {
  const auto cut = matrix_cut_from(options.configuration.cut);
  return cut.kind == MatrixCut::Kind::random ? std::optional(cut.seed) : std::nullopt;
}

VectorOption vector_option_from(const std::string& option, const std::string& text) {
  if (text == "zeros") return {};
  if (text == "ones") return {.kind = VectorOption::Kind::ones, .text = text};
  if (const auto seed = seed_from(option, text))
    return {.kind = VectorOption::Kind::random, .seed = *seed, .text = fmt::format("random:{}", *seed)};
  return {.kind = VectorOption::Kind::file, .text = text};
}

comm::DomainGrid domain_grid_from(std::string_view text) {
  const auto parts = split_at(text, 'x');
  comm::DomainGrid grid;
  int64_t rank_count = 1;
  bool fits = parts.size() == comm::dimension_count;
  for (size_t dimension = 0; fits && dimension < comm::dimension_count; ++dimension) {
    grid.parts[dimension] = number_from<int>(parts[dimension]).value_or(0);
    rank_count *= grid.parts[dimension];
    fits = grid.parts[dimension] >= 1 && rank_count <= std::numeric_limits<int>::max();
  }
  if (!fits)
    throw InputError(
        "--domain {}: must be three positive numbers, as in 1x2x4, whose product is the number of ranks",
        text);
  return grid;
}

}  // namespace cg2d
