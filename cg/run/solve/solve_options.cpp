#include "cg/run/solve/solve_options.hpp"

#include <fmt/format.h>

#include "cg/base/errors.hpp"
#include "cg/base/values.hpp"
#include "cg/solver/matrix_cut.hpp"

namespace cg2d {

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
  bool fits = parts.size() == comm::dimension_count;
  for (size_t dimension = 0; fits && dimension < comm::dimension_count; ++dimension) {
    grid.parts[dimension] = number_from<int>(parts[dimension]).value_or(0);
    fits = grid.parts[dimension] >= 1;
  }
  if (!fits) throw InputError("--domain {}: must be three positive numbers, as in 1x2x4", text);
  return grid;
}

}  // namespace cg2d
