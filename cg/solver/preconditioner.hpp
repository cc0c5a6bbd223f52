#pragma once

// Preconditioners: operators M that are easy to invert and near A. The room cg/solver/preconditioners has a table of
// them.

#include <string>

#include "cg/solver/distributed_vectors.hpp"

namespace cg2d {

/// Symmetric and, as A, definite. Needs no sum over ranks. All answers are the same on every rank.
class Preconditioner : public Interface {
 public:
  /// M = 1: then r . M^-1 r is r . r, and one dot product is enough.
  virtual bool is_identity() const { return false; }
  /// apply() multiplies with A, and so overwrites the operator's operand and result.
  virtual bool uses_products() const { return false; }
  /// M^-1 r on this rank's piece; may be r itself. Valid until the next call, and, where it uses_products(),
  /// until the operand of A is written: it may be that operand. Collective where it uses_products(). Called
  /// outside of all phases; its own work belongs to the phase of the vector updates.
  virtual ConstPiece apply(ConstPiece r, DistributedVectors& vectors) = 0;
  /// M^-1 where it is a diagonal, this rank's piece: then callers may apply it in passes of their own. Empty: it is none.
  virtual ConstPiece inverse_diagonal() const { return {}; }
  /// One line for the user on how it was made, such as a shift that was needed; empty: as usual.
  virtual std::string remark() const { return {}; }
};

/// M = 1. Copies nothing and computes nothing.
class IdentityPreconditioner final : public Preconditioner {
 public:
  bool is_identity() const override { return true; }
  ConstPiece apply(ConstPiece r, DistributedVectors& /*vectors*/) override { return r; }
};

}  // namespace cg2d
