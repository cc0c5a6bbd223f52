#include "cg/solver/preconditioners/preconditioner_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cg/base/errors.hpp"
#include "cg/base/values.hpp"

namespace cg2d {

// Rows, each defined in its own file.
PreconditionerRow jacobi_preconditioner();
PreconditionerRow block_jacobi_preconditioner();
PreconditionerRow chebyshev_preconditioner();

std::span<const PreconditionerRow> preconditioner_table() {
  static const std::array table{
      PreconditionerRow{.name = "none",
                        .description = "M = 1",
                        .is_diagonal = true,
                        .make = [](const PreconditionerInput& /*input*/) -> std::unique_ptr<Preconditioner> {
                          return std::make_unique<IdentityPreconditioner>();
                        }},
      jacobi_preconditioner(), block_jacobi_preconditioner(), chebyshev_preconditioner()};
  return table;
}

const PreconditionerRow* find_preconditioner(std::string_view text) {
  return row_named(preconditioner_table(), text.substr(0, text.find(':')));
}

PolynomialOptions polynomial_from(const std::string& option, const std::string& text) {
  const auto colon = text.find(':');
  require_known(option, text.substr(0, colon), names_of(preconditioner_table()));
  if (colon == std::string::npos) return {};
  const auto refuse = [&](std::string_view reason) { throw InputError("{} {}: {}", option, text, reason); };
  if (find_preconditioner(text)->default_degree == 0) refuse("takes no numbers; chebyshev does");
  const auto parts = split_at(std::string_view(text).substr(colon + 1), ':');
  const auto degree = number_from<int>(parts.front());
  const bool has_bounds = parts.size() == 3;
  const auto low = number_from<double>(has_bounds ? parts[1] : "0");
  const auto high = number_from<double>(has_bounds ? parts[2] : "0");
  if (!degree || !low || !high || (parts.size() != 1 && !has_bounds))
    refuse("must be chebyshev:DEGREE or chebyshev:DEGREE:LOW:HIGH, as in chebyshev:4:0.1:2");
  if (*degree == 0 || (has_bounds && *high == 0.0)) refuse("its numbers must be greater than 0");
  const PolynomialOptions polynomial{.degree = *degree, .low = *low, .high = *high};
  try {
    require_valid(polynomial);
  } catch (const InputError& error) {
    refuse(error.what());
  }
  return polynomial;
}

std::string names_of_diagonal_preconditioners() {
  const auto names = names_where(preconditioner_table(), [](const auto& row) { return row.is_diagonal; });
  return fmt::format("{}", fmt::join(names, " or "));
}

}  // namespace cg2d
