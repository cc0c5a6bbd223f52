// Kernel "symmetric-scalar", the reference with half storage: plain CSR, one row after the other.

#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/column_sums.hpp"
#include "kernels/parallel_parts.hpp"
#include "kernels/spmv.hpp"

namespace cg2d::kernels {
namespace {
namespace symmetric_scalar {

class Kernel final : public SpmvKernel {
 public:
  Kernel(std::string_view instruction_set, CsrBlock block, int thread_count)
      : instruction_set_(instruction_set),
        block_(std::move(block)),
        borders_(split_rows_by_nonzeros(block_.row_starts.span(), thread_count)),
        column_sums_(block_.column_count, thread_count) {
    place_near_threads(block_, borders_);
  }

  [[nodiscard]] std::string_view name() const override { return "symmetric-scalar"; }
  [[nodiscard]] std::string_view instruction_set() const override { return instruction_set_; }
  [[nodiscard]] std::int64_t matrix_byte_count() const override { return block_.byte_count(); }
  [[nodiscard]] std::vector<StoredArray> stored_arrays() override { return block_.stored_arrays(); }
  [[nodiscard]] bool has_columns_in_range() const override {
    return all_parts_hold(static_cast<int>(borders_.size()) - 1, [this](std::size_t part) {
      return block_.has_columns_in_range(borders_[part], borders_[part + 1]);
    });
  }

  /// A share is a share of every thread's rows; the last one adds up the threads' column sums.
  void multiply(const Operands& operands, const ProductMode& mode) override {
    const int thread_count = static_cast<int>(borders_.size()) - 1;
    const bool is_last_share = mode.share + 1 == mode.share_count;
    const std::int64_t columns_to_add = is_last_share ? block_.column_count : 0;
#pragma omp parallel num_threads(thread_count) if (thread_count > 1)
    {
#pragma omp for schedule(static, 1)
      for (int part = 0; part < thread_count; ++part) {
        multiply_rows(part, operands, mode, column_sums_.of_thread(part, operands.q_columns));
      }
#pragma omp for schedule(static, 1)
      for (int part = 0; part < thread_count; ++part) {
        column_sums_.add_to(operands.q_columns, columns_to_add * part / thread_count,
                            columns_to_add * (part + 1) / thread_count);
      }
    }
  }

 private:
  void multiply_rows(int part, const Operands& operands, const ProductMode& mode,
                     std::span<double> q_columns) const {
    // The first thread's sums are those of the result itself.
    const bool is_continued = mode.is_continued && part == 0;
    if (mode.share == 0 && !is_continued) std::ranges::fill(q_columns, 0.0);
    const std::int64_t first_row = borders_[static_cast<std::size_t>(part)];
    const ShareRange rows(borders_[static_cast<std::size_t>(part) + 1] - first_row, mode);
    for (std::int64_t row = first_row + rows.begin; row < first_row + rows.end; ++row) {
      const auto r = static_cast<std::size_t>(row);
      const double p_row = operands.p_rows[r];
      double sum = 0.0;
      for (auto k = static_cast<std::size_t>(block_.row_starts[r]);
           k < static_cast<std::size_t>(block_.row_starts[r + 1]); ++k) {
        sum += block_.values[k] * operands.p_columns[static_cast<std::size_t>(block_.columns[k])];
        q_columns[static_cast<std::size_t>(block_.columns[k])] += block_.values[k] * p_row;
      }
      operands.q_rows[r] = mode.is_added ? operands.q_rows[r] + sum : sum;
    }
  }

  std::string_view instruction_set_;
  CsrBlock block_;
  std::vector<std::int64_t> borders_;
  ColumnSums column_sums_;
};

std::unique_ptr<SpmvKernel> make(CsrBlock block, const KernelOptions& options) {
  const auto set = choose_instruction_set(options.instruction_set, {InstructionSet::portable},
                                          [] { return InstructionSet::portable; });
  return std::make_unique<Kernel>(name_of(set), std::move(block), options.thread_count);
}

}  // namespace symmetric_scalar
}  // namespace

KernelRow symmetric_scalar_kernel() {
  return {
      .name = "symmetric-scalar",
      .description =
          "symmetric storage: one entry of each mirrored pair; plain CSR, the reference of its kind",
      .storage_text = mirrored_pairs_text,
      .storage = Storage::half,
      .is_reference = true,
      .bytes_per_nonzero = 6.0,
      .instruction_sets = {InstructionSet::portable},
      .make = &symmetric_scalar::make,
  };
}

}  // namespace cg2d::kernels
