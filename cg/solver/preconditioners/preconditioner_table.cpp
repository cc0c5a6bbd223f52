#include "cg/solver/preconditioners/preconditioner_table.hpp"

#include <algorithm>
#include <array>

namespace cg2d {

// Rows, each defined in its own file.
PreconditionerRow jacobi_preconditioner();
PreconditionerRow block_jacobi_preconditioner();
PreconditionerRow chebyshev_preconditioner();

namespace {

PreconditionerRow no_preconditioner() {
  return {.name = "none",
          .description = "M = 1",
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

}  // namespace cg2d
