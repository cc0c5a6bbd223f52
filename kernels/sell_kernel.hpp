#pragma once

// The part that the usual and the reproducible form of the kernel "sell" have in common: the format, and its split over threads. A form
// brings a loop for each instruction set (sell_loops-inl.hpp).

#include <cstdint>
#include <string_view>
#include <vector>

#include "kernels/cpu_features.hpp"
#include "kernels/sell_matrix.hpp"
#include "kernels/spmv.hpp"

namespace cg2d::kernels {

inline constexpr std::int64_t sell_lanes = 8;

/// Some column blocks of a part, to be multiplied.
struct SellBlocks {
  const SellPart& part;
  std::int64_t first_block;
  std::int64_t last_block;
  std::int64_t prefetch_distance;
};

/// The vectors of a loop, which are those of the whole block.
struct SellVectors {
  const double* p;
  double* q;      // sums are added to it
  double* q_low;  // low parts of reproducible sums
  // SplitConstants::low over the greatest power of two in SplitConstants::high; reproducible sums only.
  double low_share;
};

using SellLoop = void (*)(const SellBlocks& range, const SellVectors& vectors);

/// A loop with its format.
class SellKernel final : public SpmvKernel {
 public:
  struct Form {
    InstructionSet set = InstructionSet::portable;
    SellLoop loop = nullptr;
    std::int64_t prefetch_distance = 0;
    SellShape shape;
  };

  /// Reproducible where the options have most_terms. Throws std::bad_alloc, std::invalid_argument without a bound for each row then.
  SellKernel(const Form& form, const CsrBlock& block, const KernelOptions& options);
  /// For one thread, and sums as usual. Throws std::invalid_argument for sizes that are not those of such a block.
  SellKernel(const Form& form, const ExternalArrays& block);

  [[nodiscard]] std::string_view name() const override { return "sell"; }
  [[nodiscard]] std::string_view instruction_set() const override { return name_of(form_.set); }
  [[nodiscard]] std::int64_t matrix_byte_count() const override;
  [[nodiscard]] std::vector<StoredArray> stored_arrays() override;
  [[nodiscard]] bool has_columns_in_range() const override;
  /// A share is a share of the column blocks.
  void multiply(const Operands& operands, const ProductMode& mode) override;

 private:
  [[nodiscard]] bool is_exact() const { return low_factor_ > 0.0; }

  Form form_;
  std::vector<SellPart> parts_;  // one per thread
  std::vector<double> row_bounds_;
  double low_factor_;  // SplitConstants::low_factor(); 0: sums as usual
};

}  // namespace cg2d::kernels
