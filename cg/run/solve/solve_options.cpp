#include "cg/run/solve/solve_options.hpp"

#include <fmt/format.h>

#include "cg/base/errors.hpp"
#include "cg/base/values.hpp"
#include "cg/solver/matrix_cut.hpp"

namespace cg2d {

std::optional<std::uint64_t> permutation_seed_of(const SystemOptions& options) {
  const auto cut = matrix_cut_from(options.configuration.cut);
  return cut.kind == MatrixCut::Kind::random ? std::optional(cut.seed) : std::nullopt;
}

std::string vector_text(const VectorOption& option) {
  switch (option.kind) {
    case VectorOption::Kind::zeros:
      return "zeros";
    case VectorOption::Kind::ones:
      return "ones";
    case VectorOption::Kind::random:
      return fmt::format("random:{}", option.seed);
    default:
      return option.path;
  }
}

VectorOption vector_option_from(const std::string& option, const std::string& text) {
  if (text == "zeros") return {.kind = VectorOption::Kind::zeros};
  if (text == "ones") return {.kind = VectorOption::Kind::ones};
  if (const auto seed = seed_from(option, text)) return {.kind = VectorOption::Kind::random, .seed = *seed};
  return {.kind = VectorOption::Kind::file, .seed = 0, .path = text};
}

comm::DomainGrid domain_grid_from(std::string_view text) {
  const auto parts = split_at(text, 'x');
  comm::DomainGrid grid;
  bool fits = parts.size() == comm::dimension_count;
  for (std::size_t dimension = 0; fits && dimension < comm::dimension_count; ++dimension) {
    grid.parts[dimension] = number_from<int>(parts[dimension]).value_or(0);
    fits = grid.parts[dimension] >= 1;
  }
  if (!fits) throw InputError(fmt::format("--domain {}: must be three positive numbers, as in 1x2x4", text));
  return grid;
}

}  // namespace cg2d
