#include "cg/solver/operators/matrix_free.hpp"

#include <fmt/format.h>

#include "cg/base/errors.hpp"

namespace cg2d {

// Each row is defined in the file of its operator.
MatrixFreeRow laplacian_operator(std::string_view name, std::string_view arguments,
                                 std::string_view description);
MatrixFreeRow npb_factored_operator();

std::span<const MatrixFreeRow> matrix_free_table() {
  static const std::array table{
      laplacian_operator("laplace2d", "NXxNY", "the Laplacian of 5 points, by an exchange of halos"),
      laplacian_operator("laplace3d", "NXxNYxNZ[:27]",
                         "the Laplacian of 7 (or 27) points, by an exchange of halos"),
      npb_factored_operator()};
  return table;
}

const MatrixFreeRow* find_matrix_free(std::string_view text) {
  return row_named(matrix_free_table(), text.substr(0, text.find(':')));
}

std::string known_operators() {
  std::string known;
  for (const auto& row : matrix_free_table())
    known += fmt::format("{}{}:{}", known.empty() ? "" : ", ", row.name, row.arguments);
  return known;
}

const MatrixFreeRow& matrix_free_row_of(std::string_view text) {
  if (const auto* row = find_matrix_free(text)) return *row;
  throw InputError("{}: no such operator without a matrix; there are {}{}", text, known_operators(),
                   did_you_mean(text.substr(0, text.find(':')), names_of(matrix_free_table())));
}

const comm::TransportRow& transport_of(const Configuration& configuration, comm::RankGroup& group) {
  const auto name = configuration.has_transport() ? configuration.transport : Configuration{}.transport;
  require_known("--transport", name, names_of(comm::transport_table()));
  const auto& row = *comm::find_transport(name);
  if (const auto reason = row.why_unavailable(group); !reason.empty())
    throw RunError(ExitCode::unavailable, "--transport {}: {}", name, reason);
  return row;
}

}  // namespace cg2d
