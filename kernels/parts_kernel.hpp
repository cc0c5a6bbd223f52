#pragma once

// The part that kernels with a format of their own have in common: its parts, one per thread, and the bounds of reproducible sums.

#include <cstdint>
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

  std::string_view name() const final { return name_; }
  std::string_view instruction_set() const final { return name_of(set_); }
  int64_t matrix_byte_count() const final {
    auto bytes = static_cast<int64_t>(row_bounds_.size() * sizeof(double));
    for (const auto& part : parts_) bytes += part.byte_count();
    return bytes;
  }
  [[nodiscard]] std::vector<StoredArray> stored_arrays() final {
    auto arrays = arrays_of_parts(parts_);
    if (!row_bounds_.empty()) arrays.push_back(stored_array(ArrayKind::structure, std::span(row_bounds_)));
    return arrays;
  }
  bool has_columns_in_range() const final {
    return all_parts_hold(part_count(), [this](size_t part) { return parts_[part].has_columns_in_range(); });
  }

 protected:
  int part_count() const { return static_cast<int>(parts_.size()); }
  const Part& part_at(int index) const { return parts_[static_cast<size_t>(index)]; }
  const std::vector<double>& row_bounds() const { return row_bounds_; }
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
};

}  // namespace cg2d::kernels
