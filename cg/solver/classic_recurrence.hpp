#pragma once

// CG as Hestenes and Stiefel wrote it, with the order of operations of conj_grad in the NAS benchmark.

#include <optional>
#include <span>

#include "cg/base/process_memory.hpp"
#include "cg/solver/cg_recurrence.hpp"

namespace cg2d {

/// Two sums over all ranks per step, and one product. The direction p lies in the operator's operand, unless
/// the preconditioner needs that for products of its own.
class ClassicRecurrence final : public CgRecurrence {
 public:
  explicit ClassicRecurrence(const CgParts& parts);

  void begin(CgState& state) override;
  std::optional<SolveEnd> step(CgState& state, const LinearSystem& system, const StopRule& stop) override;

 private:
  void multiply();
  void take_products(CgState& state, std::span<const double> preconditioned);

  HugePageVector own_direction_;
  std::span<double> p_;
};

}  // namespace cg2d
