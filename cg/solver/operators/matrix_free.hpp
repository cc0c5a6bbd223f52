#pragma once

// Operators that are applied without an assembled matrix, by their texts: their table, and what they are made with.

#include <memory>

#include "cg/solver/configuration.hpp"
#include "cg/solver/linear_operator.hpp"
#include "cg/timing/phase_timer.hpp"
#include "comm/domain_layout.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// An operator with all that it needs: exchanges, blocks, clocks.
class MatrixFreeSystem : public LinearOperator {
 public:
  /// The clocks of its phases; off unless they were asked for.
  [[nodiscard]] virtual PhaseTimer& timer() = 0;
  /// Messages and bytes that this rank has sent so far for an operation.
  virtual comm::Traffic sent(comm::Operation operation) const = 0;
  /// The number of rows of the whole matrix.
  virtual int64_t order() const = 0;
  /// The row of the assembled matrix that an element of this rank's pieces belongs to.
  virtual int64_t row_of(size_t element) const = 0;
  /// The value of all elements of A's diagonal, where it is one value.
  virtual std::optional<double> diagonal() const { return std::nullopt; }
  /// The least work of one product in a phase that multiplies, on this rank; nothing in the others.
  virtual VectorWork product_work(Phase phase) const = 0;
  /// Bytes of this rank's factors that products read; 0 for an operator that reads vectors only.
  virtual int64_t matrix_byte_count() const { return 0; }
  /// The arrangement of the ranks, for people: "domain 2x1x3", "grid 2x3".
  virtual std::string arrangement() const = 0;
  /// The loops of its products, for people: the name of a kernel, or "stencil".
  virtual std::string_view kernel() const = 0;
};

/// The input of every row's make().
struct MatrixFreeInput {
  comm::RankGroup& group;
  /// Grid, transport, form of the sum, kernel, threads, overlap, nodes: a row takes those that it has. "auto" stands
  /// for the default ones.
  const Configuration& configuration;
  std::optional<comm::DomainGrid> domain_grid{};  ///< parts of a stencil's domain; empty: the best
  bool times_phases = false;
  bool changes_sign = false;  ///< -A instead of A, for rows that are negative definite
};

/// The size of an operator before it is made.
struct MatrixFreeSize {
  int64_t order = 0;
  int64_t bytes_per_row = 0;  ///< bytes of its parts and its vectors per row
};

/// One kind of operator. A new one is a class, and its row in the table.
struct MatrixFreeRow {
  std::string_view name;
  std::string_view arguments;         ///< as texts have them after "name:"
  bool uses_grid = false;             ///< Px x Py, and a kernel; else it cuts a domain
  bool is_negative_definite = false;  ///< then -A is positive definite, which solves of a system take
  std::span<const Phase> phases{};    ///< of a product, in their order
  /// The rule of the benchmark that a run with it breaks; empty: none.
  std::string_view why_not_conforming{};
  /// Local. Throws InputError for a bad text.
  MatrixFreeSize (*size_of)(std::string_view text);
  /// Collective. Throws InputError, on every rank alike, for a bad text and for a configuration that does not go
  /// with it; RunError, MpiError, std::bad_alloc.
  std::unique_ptr<MatrixFreeSystem> (*make)(std::string_view text, const MatrixFreeInput& input);
};

std::span<const MatrixFreeRow> matrix_free_table();
/// The row of a text "name:arguments", or nullptr.
const MatrixFreeRow* find_matrix_free(std::string_view text);
/// The row of a text "name:arguments". Throws InputError that names the known operators.
const MatrixFreeRow& matrix_free_row_of(std::string_view text);
/// The rows with their arguments, for messages: "laplace2d:NXxNY, ...".
std::string known_operators();

/// The transport of a configuration, "auto" being the default one. Throws InputError for an unknown name, and
/// RunError where it cannot serve here. Collective.
const comm::TransportRow& transport_of(const Configuration& configuration, comm::RankGroup& group);

}  // namespace cg2d
