#pragma once

// Preconditioners: operators M that are easy to invert and near A. A new one is one file that defines its
// row, and its entry in preconditioner_table().

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "cg/base/interface.hpp"
#include "cg/solver/distributed_vectors.hpp"
#include "cg/solver/linear_operator.hpp"

namespace cg2d {

/// Symmetric and, as A, definite. Needs no sum over ranks. All answers are the same on every rank.
class Preconditioner : public Interface {
 public:
  /// M = 1: then r . M^-1 r is r . r, and one dot product is enough.
  [[nodiscard]] virtual bool is_identity() const { return false; }
  /// apply() multiplies with A, and so overwrites the operator's operand and result.
  [[nodiscard]] virtual bool uses_products() const { return false; }
  /// M^-1 r on this rank's piece, valid until the next call; may be r itself. Collective where it
  /// uses_products(). Called outside of all phases; its own work belongs to the phase of the vector updates.
  virtual std::span<const double> apply(std::span<const double> r, DistributedVectors& vectors) = 0;
  /// One line for the user on how it was made, such as a shift that was needed; empty: as usual.
  [[nodiscard]] virtual std::string remark() const { return {}; }
};

/// M = 1. Copies nothing and computes nothing.
class IdentityPreconditioner final : public Preconditioner {
 public:
  [[nodiscard]] bool is_identity() const override { return true; }
  std::span<const double> apply(std::span<const double> r, DistributedVectors& /*vectors*/) override {
    return r;
  }
};

/// The input of every row's make().
struct PreconditionerInput {
  LinearOperator& matrix;
  std::span<const double>
      diagonal;  ///< this rank's piece of A's diagonal; may be empty for rows that need none
};

struct PreconditionerRow {
  std::string_view name;
  std::string_view description;
  bool needs_diagonal = false;
  /// Collective over the ranks of the matrix. Throws InputError, on every rank alike, where the input does
  /// not suffice.
  std::unique_ptr<Preconditioner> (*make)(const PreconditionerInput& input) = nullptr;
};

/// All preconditioners; the first one is the identity.
std::span<const PreconditionerRow> preconditioner_table();
/// The row of that name, or nullptr.
const PreconditionerRow* find_preconditioner(std::string_view name);

}  // namespace cg2d
