#pragma once

// Products of kernels with data whose results are known: for `cg2d check`, and for the contract of all kernels.

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "kernels/spmv.hpp"

namespace cg2d::kernels {

/// The results of one product; `columns` is empty for kernels on whole blocks.
struct Products {
  std::vector<double> rows;
  std::vector<double> columns;
};

/// All shares of a product.
void multiply_shares(SpmvKernel& kernel, const Operands& operands, ProductMode mode);

/// A kernel, and one product after the other with the same operands.
class ProductMaker {
 public:
  /// p_columns, p_rows: as in Operands; they must outlive this. Throws as KernelRow::make.
  ProductMaker(const KernelRow& row, const KernelOptions& options, CsrBlock block,
               std::span<const double> p_columns, std::span<const double> p_rows);

  const SpmvKernel& kernel() const { return *kernel_; }

  /// Results start as NaN, so that elements that are not written show.
  [[nodiscard]] Products multiply(int share_count = 1);
  /// Adds to rows that hold `before`.
  [[nodiscard]] Products multiply_add(double before, int share_count = 1);

 private:
  [[nodiscard]] Products all_shares(double before, const ProductMode& mode);

  size_t row_size_;
  size_t column_size_;  // 0 with whole storage
  std::span<const double> p_columns_;
  std::span<const double> p_rows_;
  std::unique_ptr<SpmvKernel> kernel_;
};

/// The larger of two figures; NaN is larger than any number.
double worse_of(double one, double other);

/// A sum of products, and by how much a kernel's may differ from it, however its terms are added: (terms + 2) eps sum |a| |p|,
/// half of it for each of both (Higham, Accuracy and Stability, section 3.1), with a last addition to the result.
struct KnownSum {
  double sum = 0.0;
  double rounding = 0.0;

  /// The difference in parts of what is allowed: at most 1 is right. scale: a power of two by which the operand is larger.
  double error_of(double found, double scale = 1.0) const;
};
/// The sums of all rows, in long double arithmetic.
std::vector<KnownSum> known_sums(const CsrBlock::Rows& rows, std::span<const double> operand);

/// A symmetric block, an operand, and the product by the reference kernel for whole storage.
struct KnownProduct {
  CsrBlock block;
  std::vector<double> operand{};
  std::vector<KnownSum> sums{};
};
/// Blocks of awkward shapes: one row, dense, rows of 0 to 60 entries with one dense row, and several column blocks.
std::vector<KnownProduct> make_known_products();

/// The largest error of a kernel's products with a known block; at most 1 is right. stored: the first rows of the block or, with half storage,
/// the half of it that is stored, whose results for rows and columns together are the product. Each vector is another multiple of the known
/// operand. Results overwrite in a first product, and are added to zeros in several shares in another one. Throws as
/// KernelRow::make.
double product_error(const KernelRow& row, KernelOptions options, CsrBlock stored, const KnownProduct& known);

}  // namespace cg2d::kernels
