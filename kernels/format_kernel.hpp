#pragma once

// The part that kernels have in common: a matrix in a format for threads, its arrays, the bounds of reproducible sums, and the kernel of what the
// format has no place for.

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/parallel_parts.hpp"
#include "kernels/spmv.hpp"

namespace cg2d::kernels {

/// A format in parts, one per thread. Part: stored_arrays(), has_columns_in_range().
template <typename Part>
struct Parts {
  std::vector<Part> of_threads;

  const Part& operator[](int thread) const { return of_threads[static_cast<size_t>(thread)]; }
  int thread_count() const { return static_cast<int>(of_threads.size()); }
  [[nodiscard]] std::vector<StoredArray> stored_arrays() { return arrays_of_parts(of_threads); }
  bool has_columns_in_range(size_t thread) const { return of_threads[thread].has_columns_in_range(); }
};

/// A matrix whose rows are split over threads by nonzeros. Matrix: row_starts, stored_arrays(), has_columns_in_range(first_row, last_row).
template <typename Matrix>
struct SplitRows {
  Matrix matrix;
  std::vector<int64_t> borders;

  SplitRows(Matrix given, int thread_count)
      : matrix(std::move(given)), borders(split_rows_by_nonzeros(matrix.row_starts.span(), thread_count)) {}

  int thread_count() const { return static_cast<int>(borders.size()) - 1; }
  [[nodiscard]] std::vector<StoredArray> stored_arrays() { return matrix.stored_arrays(); }
  bool has_columns_in_range(size_t thread) const {
    return matrix.has_columns_in_range(borders[thread], borders[thread + 1]);
  }
  RowRange rows_of(int thread) const {
    const auto index = static_cast<size_t>(thread);
    return {.begin = borders[index], .end = borders[index + 1]};
  }
  /// The rows of a thread in a share: a share is a share of every thread's rows.
  RowRange rows_of(int thread, const ProductMode& mode) const {
    const auto rows = rows_of(thread);
    const ShareRange share(rows.end - rows.begin, mode);
    return {.begin = rows.begin + share.begin, .end = rows.begin + share.end};
  }
};

/// Format: Parts or SplitRows.
template <typename Format>
class FormatKernel : public SpmvKernel {
 public:
  /// rest: has the entries that are not in the format; nullptr: all are.
  FormatKernel(std::string_view name, const KernelOptions& options, Format format,
               std::unique_ptr<SpmvKernel> rest = nullptr)
      : name_(name),
        set_(*options.instruction_set),
        format_(std::move(format)),
        row_bounds_(options.row_bounds.begin(), options.row_bounds.end()),
        rest_(std::move(rest)) {
    for (const auto& array : FormatKernel::stored_arrays()) byte_count_ += std::ssize(array.bytes);
  }

  std::string_view name() const final { return name_; }
  std::string_view instruction_set() const final { return name_of(set_); }
  int64_t matrix_byte_count() const final { return byte_count_; }
  [[nodiscard]] std::vector<StoredArray> stored_arrays() final {
    auto arrays = rest_ ? rest_->stored_arrays() : std::vector<StoredArray>();
    for (const auto& array : format_.stored_arrays()) arrays.push_back(array);
    if (!row_bounds_.empty()) arrays.push_back(stored_array(ArrayKind::structure, std::span(row_bounds_)));
    return arrays;
  }
  bool has_columns_in_range() const final {
    return (!rest_ || rest_->has_columns_in_range()) && all_parts_hold(thread_count(), [this](size_t thread) {
             return format_.has_columns_in_range(thread);
           });
  }

 protected:
  int thread_count() const { return format_.thread_count(); }
  [[nodiscard]] Format& format() { return format_; }
  const Format& format() const { return format_; }
  const std::vector<double>& row_bounds() const { return row_bounds_; }
  SpmvKernel* rest() const { return rest_.get(); }
  /// multiply(thread) on each thread.
  template <typename Multiply>
  void on_each_thread(const Multiply& multiply) const {
    const int count = thread_count();
#pragma omp parallel for num_threads(count) schedule(static, 1) if (count > 1)
    for (int thread = 0; thread < count; ++thread) multiply(thread);
  }

 private:
  std::string_view name_;
  InstructionSet set_;
  Format format_;
  std::vector<double> row_bounds_;
  std::unique_ptr<SpmvKernel> rest_;
  int64_t byte_count_ = 0;
};

}  // namespace cg2d::kernels
