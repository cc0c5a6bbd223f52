#pragma once

// The part that all kernels on plain CSR have in common: the block, its split over threads, and the call of a
// loop over rows.

#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/cpu_features.hpp"
#include "kernels/parallel_parts.hpp"
#include "kernels/spmv.hpp"

namespace cg2d::kernels {

/// The operands of a loop over rows, which sets q[row] for the rows [first_row, last_row), or adds to it.
struct CsrRowOperands {
  int64_t first_row;
  int64_t last_row;
  const double* p;
  double* q;  // q of the whole block
  bool are_added;
  // Operands of reproducible loops only: see Operands and KernelOptions.
  double* q_low;
  double p_bound;
  const double* row_bounds;
};

using CsrRowLoop = std::function<void(const CsrBlock& block, const CsrRowOperands& operands)>;

/// A kernel on plain CSR, rows split by nonzeros.
class CsrKernel : public SpmvKernel {
 public:
  /// row_bounds: KernelOptions::row_bounds; empty, or one for each row.
  CsrKernel(std::string_view name, std::string_view instruction_set, CsrBlock block, int thread_count,
            std::span<const double> row_bounds = {})
      : name_(name),
        instruction_set_(instruction_set),
        block_(std::move(block)),
        borders_(split_rows_by_nonzeros(block_.row_starts.span(), thread_count)),
        row_bounds_(row_bounds.begin(), row_bounds.end()) {
    place_near_threads(block_, borders_);
  }

  std::string_view name() const final { return name_; }
  std::string_view instruction_set() const final { return instruction_set_; }
  int64_t matrix_byte_count() const final {
    return block_.byte_count() + static_cast<int64_t>(row_bounds_.size() * sizeof(double));
  }
  [[nodiscard]] std::vector<StoredArray> stored_arrays() final {
    auto arrays = block_.stored_arrays();
    if (!row_bounds_.empty()) arrays.push_back(stored_array(ArrayKind::structure, std::span(row_bounds_)));
    return arrays;
  }
  bool has_columns_in_range() const final {
    return all_parts_hold(thread_count(), [this](size_t part) {
      return block_.has_columns_in_range(borders_[part], borders_[part + 1]);
    });
  }

 protected:
  const CsrBlock& block() const { return block_; }
  int thread_count() const { return static_cast<int>(borders_.size()) - 1; }
  const double* row_bounds() const { return row_bounds_.data(); }
  /// The rows of a thread in a share: a share is a share of every thread's rows.
  RowRange rows_of(int thread, const ProductMode& mode) const {
    const auto first_row = borders_[static_cast<size_t>(thread)];
    const ShareRange rows(borders_[static_cast<size_t>(thread) + 1] - first_row, mode);
    return {.begin = first_row + rows.begin, .end = first_row + rows.end};
  }

 private:
  std::string_view name_;
  std::string_view instruction_set_;
  CsrBlock block_;
  std::vector<int64_t> borders_;
  std::vector<double> row_bounds_;
};

/// A kernel that runs one row loop on every thread.
class CsrRowsKernel final : public CsrKernel {
 public:
  CsrRowsKernel(std::string_view name, std::string_view instruction_set, CsrRowLoop loop, CsrBlock block,
                int thread_count, std::span<const double> row_bounds = {})
      : CsrKernel(name, instruction_set, std::move(block), thread_count, row_bounds),
        loop_(std::move(loop)) {}

  void multiply(const Operands& operands, const ProductMode& mode) override {
    const int count = thread_count();
#pragma omp parallel for num_threads(count) schedule(static, 1) if (count > 1)
    for (int thread = 0; thread < count; ++thread) {
      const auto rows = rows_of(thread, mode);
      loop_(block(), {.first_row = rows.begin,
                      .last_row = rows.end,
                      .p = operands.p_columns.data(),
                      .q = operands.q_rows.data(),
                      .are_added = mode.is_added,
                      .q_low = operands.q_rows_low.data(),
                      .p_bound = operands.p_bound,
                      .row_bounds = row_bounds()});
    }
  }

 private:
  CsrRowLoop loop_;
};

/// Plain CSR with reproducible sums, by the loop for a set that has no gathers, for the kernel of that name, which must stay alive.
std::unique_ptr<SpmvKernel> make_exact_csr(std::string_view name, InstructionSet set, CsrBlock block,
                                           const KernelOptions& options);

// ---------------------------------------------------------------- loops over rows in registers (spmv_csr.cpp)

/// Rows whose entries lie one after the other; lengths[row] is the number of entries of a row.
template <typename Lengths, typename Column>
struct CsrRows {
  Lengths lengths;
  const Column* columns;
  const double* values;
  int64_t row_count;
  bool are_added;  // adds the products to q instead of overwriting it
};

/// The lengths of rows, from the positions at which they start.
struct RowLengths {
  const int64_t* starts;
  int64_t operator[](int64_t row) const { return starts[row + 1] - starts[row]; }
};

struct CsrLoopConfig {
  int64_t critical_vector_length;  // shorter rows take the scalar loop
  int64_t prefetch_distance;       // in entries
};

/// p: the element of column 0; q: one element per row.
template <typename Lengths, typename Column>
using CsrRowsLoop = void (*)(const CsrRows<Lengths, Column>& rows, const CsrLoopConfig& settings,
                             const double* p, double* q);

/// The sets with a loop here that this processor has: all of this processor's.
inline std::vector<InstructionSet> csr_instruction_sets() { return of_this_processor(all_instruction_sets); }

/// The settings that were asked for, else the defaults, which have both.
inline CsrLoopConfig csr_loop_config(const Tuning& tuning, const Tuning& defaults) {
  return {.critical_vector_length = tuning.critical_vector_length.value_or(*defaults.critical_vector_length),
          .prefetch_distance = tuning.prefetch_distance.value_or(*defaults.prefetch_distance)};
}

}  // namespace cg2d::kernels
