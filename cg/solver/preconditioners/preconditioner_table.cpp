#include "cg/solver/preconditioners/preconditioner_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <vector>

namespace cg2d {

// Rows, each defined in its own file.
PreconditionerRow jacobi_preconditioner();
PreconditionerRow block_jacobi_preconditioner();
PreconditionerRow chebyshev_preconditioner();

namespace {

PreconditionerRow no_preconditioner() {
  return {.name = "none",
          .description = "M = 1",
          .is_diagonal = true,
          .make = [](const PreconditionerInput& /*input*/) -> std::unique_ptr<Preconditioner> {
            return std::make_unique<IdentityPreconditioner>();
          }};
}

}  // namespace

std::span<const PreconditionerRow> preconditioner_table() {
  static const std::array table{no_preconditioner(), jacobi_preconditioner(), block_jacobi_preconditioner(),
                                chebyshev_preconditioner()};
  return table;
}

const PreconditionerRow* find_preconditioner(std::string_view name) {
  const auto table = preconditioner_table();
  const auto found = std::ranges::find(table, name, &PreconditionerRow::name);
  return found == table.end() ? nullptr : &*found;
}

std::string names_of_diagonal_preconditioners() {
  std::vector<std::string_view> names;
  for (const auto& row : preconditioner_table()) {
    if (row.is_diagonal) names.push_back(row.name);
  }
  return fmt::format("{}", fmt::join(names, " or "));
}

}  // namespace cg2d
