#pragma once

// The part that kernels with a format of their own have in common: its parts, one per thread, the bounds of reproducible sums, and the kernel of
// what the format has no place for.

#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/parallel_parts.hpp"
#include "kernels/spmv.hpp"

namespace cg2d::kernels {

/// KernelOptions::row_bounds. Throws std::invalid_argument for reproducible sums without a bound for each row.
inline std::span<const double> row_bounds_for(const CsrBlock& block, const KernelOptions& options) {
  if (options.most_terms > 0.0 && std::ssize(options.row_bounds) != block.row_count)
    throw std::invalid_argument("as many row bounds as the block has rows");
  return options.row_bounds;
}

/// Part: byte_count(), stored_arrays(), has_columns_in_range().
template <typename Part>
class PartsKernel : public SpmvKernel {
 public:
  /// row_bounds: of reproducible sums.
  PartsKernel(std::string_view name, InstructionSet set, std::vector<Part> parts,
              std::span<const double> row_bounds = {})
      : name_(name), set_(set), parts_(std::move(parts)), row_bounds_(row_bounds.begin(), row_bounds.end()) {}
  /// rest: has the entries that are in no part; nullptr: all are.
  PartsKernel(std::string_view name, InstructionSet set, std::vector<Part> parts,
              std::unique_ptr<SpmvKernel> rest)
      : name_(name), set_(set), parts_(std::move(parts)), rest_(std::move(rest)) {}

  std::string_view name() const final { return name_; }
  std::string_view instruction_set() const final { return name_of(set_); }
  int64_t matrix_byte_count() const final {
    auto bytes = static_cast<int64_t>(row_bounds_.size() * sizeof(double));
    if (rest_) bytes += rest_->matrix_byte_count();
    for (const auto& part : parts_) bytes += part.byte_count();
    return bytes;
  }
  [[nodiscard]] std::vector<StoredArray> stored_arrays() final {
    auto arrays = rest_ ? rest_->stored_arrays() : std::vector<StoredArray>();
    for (const auto& array : arrays_of_parts(parts_)) arrays.push_back(array);
    if (!row_bounds_.empty()) arrays.push_back(stored_array(ArrayKind::structure, std::span(row_bounds_)));
    return arrays;
  }
  bool has_columns_in_range() const final {
    return (!rest_ || rest_->has_columns_in_range()) &&
           all_parts_hold(part_count(), [this](size_t part) { return parts_[part].has_columns_in_range(); });
  }

 protected:
  int part_count() const { return static_cast<int>(parts_.size()); }
  const Part& part_at(int index) const { return parts_[static_cast<size_t>(index)]; }
  const std::vector<double>& row_bounds() const { return row_bounds_; }
  SpmvKernel* rest() const { return rest_.get(); }
  /// multiply(part) for each part, by its thread.
  template <typename Multiply>
  void on_each_part(const Multiply& multiply) const {
    const int count = part_count();
#pragma omp parallel for num_threads(count) schedule(static, 1) if (count > 1)
    for (int index = 0; index < count; ++index) multiply(part_at(index));
  }

 private:
  std::string_view name_;
  InstructionSet set_;
  std::vector<Part> parts_;  // one per thread
  std::vector<double> row_bounds_;
  std::unique_ptr<SpmvKernel> rest_;
};

}  // namespace cg2d::kernels
