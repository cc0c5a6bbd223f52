#include "kernels/product_check.hpp"

#include <cmath>
#include <random>
#include <utility>

namespace cg2d::kernels {

namespace {

/// Numbers of magnitude 1/2 to 3/2, so that a term that is lost or counted twice shows in any sum.
struct CheckNumbers {
  std::mt19937_64 random{20261123};

  double next() {
    const double magnitude = 0.5 + static_cast<double>(random() >> 11) * 0x1p-53;
    return random() % 2 == 0 ? magnitude : -magnitude;
  }
  int64_t below(int64_t bound) { return static_cast<int64_t>(random() % static_cast<uint64_t>(bound)); }
};

struct CheckShape {
  int64_t order;
  int64_t step_limit;
  int64_t dense_begin;
  int64_t dense_end;
};

/// A symmetric matrix with rows of a random number of entries, below `step_limit` columns apart; each seventh is left empty above the diagonal.
/// The dense rows are connected with all others. Columns of a row rise: those below the diagonal come with earlier rows.
CsrBlock::Rows symmetric_rows(const CheckShape& shape, CheckNumbers& numbers) {
  CsrBlock::Rows rows(static_cast<size_t>(shape.order));
  const auto put = [&](int64_t row, int64_t column, double value) {
    rows[static_cast<size_t>(row)].push_back({.column = static_cast<int32_t>(column), .value = value});
  };
  for (int64_t row = 0; row < shape.order; ++row) {
    const bool is_dense = row >= shape.dense_begin && row < shape.dense_end;
    if (!is_dense && row % 7 == 3) continue;
    auto column = row;
    for (auto length = is_dense ? shape.order : numbers.below(30); length > 0 && column < shape.order;
         --length) {
      const double value = numbers.next();
      put(row, column, value);
      if (row != column) put(column, row, value);
      column += is_dense ? 1 : 1 + numbers.below(shape.step_limit);
    }
  }
  return rows;
}

}  // namespace

void multiply_shares(SpmvKernel& kernel, const Operands& operands, ProductMode mode) {
  for (mode.share = 0; mode.share < mode.share_count; ++mode.share) kernel.multiply(operands, mode);
}

ProductMaker::ProductMaker(const KernelRow& row, const KernelOptions& options, CsrBlock block,
                           std::span<const double> p_columns, std::span<const double> p_rows)
    : row_size_(static_cast<size_t>(block.row_count * options.vector_count)),
      column_size_(row.stores_half() ? p_columns.size() : 0),
      p_columns_(p_columns),
      p_rows_(p_rows),
      kernel_(row.make(std::move(block), options)) {}

Products ProductMaker::multiply(int share_count) {
  return all_shares(std::numeric_limits<double>::quiet_NaN(), {.share_count = share_count});
}

Products ProductMaker::multiply_add(double before, int share_count) {
  return all_shares(before, {.is_added = true, .share_count = share_count});
}

Products ProductMaker::all_shares(double before, const ProductMode& mode) {
  Products q{.rows = std::vector<double>(row_size_, before),
             .columns = std::vector<double>(column_size_, std::numeric_limits<double>::quiet_NaN())};
  multiply_shares(
      *kernel_, {.p_columns = p_columns_, .p_rows = p_rows_, .q_rows = q.rows, .q_columns = q.columns}, mode);
  return q;
}

double worse_of(double one, double other) {
  if (std::isnan(one)) return one;
  return other <= one ? one : other;
}

double KnownSum::error_of(double found, double scale) const {
  const double difference = std::abs(found - scale * sum);
  return difference == 0.0 ? 0.0 : difference / (scale * rounding);
}

std::vector<KnownSum> known_sums(const CsrBlock::Rows& rows, std::span<const double> operand) {
  std::vector<KnownSum> sums;
  sums.reserve(rows.size());
  for (const auto& row : rows) {
    long double sum = 0.0L;
    double magnitude = 0.0;
    for (const auto& [column, value] : row) {
      const double factor = operand[static_cast<size_t>(column)];
      sum += static_cast<long double>(value) * factor;
      magnitude += std::abs(value * factor);
    }
    const auto terms = static_cast<double>(row.size());
    sums.push_back({.sum = static_cast<double>(sum),
                    .rounding = (terms + 2.0) * std::numeric_limits<double>::epsilon() * magnitude});
  }
  return sums;
}

std::vector<KnownProduct> make_known_products() {
  // The last one is wider than the widest column block.
  constexpr std::array shapes{CheckShape{1, 1, 0, 1}, CheckShape{37, 1, 0, 37},
                              CheckShape{1'009, 40, 500, 501},
                              CheckShape{max_block_width + 4'001, 20'000, 0, 0}};
  CheckNumbers numbers;
  std::vector<KnownProduct> products;
  for (const auto& shape : shapes) {
    const auto rows = symmetric_rows(shape, numbers);
    auto& known = products.emplace_back(KnownProduct{.block = CsrBlock::from_rows(shape.order, rows)});
    for (int64_t k = 0; k < shape.order; ++k) known.operand.push_back(numbers.next());
    known.sums = known_sums(rows, known.operand);
    const auto product =
        ProductMaker(reference_kernel(Storage::whole), {}, known.block.copy(), known.operand, {}).multiply();
    for (size_t k = 0; k < known.sums.size(); ++k) known.sums[k].sum = product.rows[k];
  }
  return products;
}

double product_error(const KernelRow& row, KernelOptions options, CsrBlock stored,
                     const KnownProduct& known) {
  options.column_of_row_0 = 0;
  const auto vector_count = static_cast<size_t>(options.vector_count);
  // Powers of two: the product with each vector is an exact multiple.
  const auto scale_of = [&](size_t element) {
    return std::ldexp(1.0, static_cast<int>(element % vector_count));
  };
  std::vector<double> p(known.operand.size() * vector_count);
  for (size_t k = 0; k < p.size(); ++k) p[k] = scale_of(k) * known.operand[k / vector_count];
  ProductMaker kernel(row, options, std::move(stored), p, p);
  double worst = 0.0;
  const auto judge = [&](const Products& q) {
    for (size_t k = 0; k < q.rows.size(); ++k) {
      const double product = q.rows[k] + (q.columns.empty() ? 0.0 : q.columns[k]);
      worst = worse_of(worst, known.sums[k / vector_count].error_of(product, scale_of(k)));
    }
  };
  judge(kernel.multiply());
  judge(kernel.multiply_add(0.0, 3));
  return worst;
}

}  // namespace cg2d::kernels
