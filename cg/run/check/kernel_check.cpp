// Products of a kernel against those of the plainest one.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <exception>
#include <limits>
#include <new>
#include <random>
#include <utility>

#include "cg/base/agreement.hpp"
#include "cg/matrix/half_storage.hpp"
#include "cg/run/check/check.hpp"
#include "cg/solver/communicator_setup.hpp"
#include "kernels/cpu_features.hpp"

namespace cg2d {
namespace {

using Rows = std::vector<std::vector<kernels::CsrBlock::Entry>>;
constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

/// Numbers of magnitude 1/2 to 3/2, so that a term that is lost or counted twice shows in any sum.
struct Numbers {
  std::mt19937_64 random{20261123};

  double next() {
    const double magnitude = 0.5 + static_cast<double>(random() >> 11) * 0x1p-53;
    return random() % 2 == 0 ? magnitude : -magnitude;
  }
  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(bound));
  }
};

/// A symmetric matrix with rows of a random number of entries, below `step_limit` columns apart; each seventh is left empty above the diagonal.
/// The rows of `dense` are connected with all others. Columns of a row rise: those below the diagonal come with earlier rows.
Rows random_rows(std::int64_t order, std::int64_t step_limit, const comm::IndexRange& dense,
                 Numbers& numbers) {
  Rows rows(static_cast<std::size_t>(order));
  const auto put = [&](std::int64_t row, std::int64_t column, double value) {
    rows[static_cast<std::size_t>(row)].push_back(
        {.column = static_cast<std::int32_t>(column), .value = value});
  };
  for (std::int64_t row = 0; row < order; ++row) {
    const bool is_dense = row >= dense.begin && row < dense.end;
    if (!is_dense && row % 7 == 3) continue;
    auto column = row;
    for (auto length = is_dense ? order : numbers.below(30); length > 0 && column < order; --length) {
      const double value = numbers.next();
      put(row, column, value);
      if (row != column) put(column, row, value);
      column += is_dense ? 1 : 1 + numbers.below(step_limit);
    }
  }
  return rows;
}

KnownProduct known_product(Rows rows, Numbers& numbers) {
  const auto order = static_cast<std::int64_t>(rows.size());
  KnownProduct known{.block = kernels::CsrBlock::from_rows(order, rows)};
  for (std::int64_t k = 0; k < order; ++k) known.operand.push_back(numbers.next());
  known.product.assign(rows.size(), nan_value);
  kernels::reference_kernel(kernels::Storage::whole)
      .make(known.block.copy(), {})
      ->multiply({.p_columns = known.operand, .q_rows = known.product});
  for (const auto& row : rows) {
    double magnitude = 0.0;
    for (const auto& entry : row)
      magnitude += std::abs(entry.value * known.operand[static_cast<std::size_t>(entry.column)]);
    known.rounding.push_back(static_cast<double>(row.size() + 2) * std::numeric_limits<double>::epsilon() *
                             magnitude);
  }
  return known;
}

/// The error of products of the first rows of a known block (of all with half storage), each with operands that are several multiples of
/// the known one, side by side. Results overwrite in a first product, and are added to zeros in several shares in another one.
double product_error(const kernels::KernelRow& row, const kernels::KernelOptions& options,
                     const KnownProduct& known, std::int64_t row_count) {
  auto block = known.block.first_rows(row_count);
  keep_stored(block, row.storage, equal_pieces(known.block.column_count, {.columns = 1, .rows = 1}), 0);
  auto own_options = options;
  own_options.column_of_row_0 = 0;
  const auto kernel = row.maker_for(options)(std::move(block), own_options);
  const auto vector_count = static_cast<std::size_t>(options.vector_count);
  // Powers of two: the product with each vector is an exact multiple.
  const auto scale_of = [&](std::size_t element) {
    return std::ldexp(1.0, static_cast<int>(element % vector_count));
  };
  std::vector<double> p(known.operand.size() * vector_count);
  for (std::size_t k = 0; k < p.size(); ++k) p[k] = scale_of(k) * known.operand[k / vector_count];
  std::vector<double> q(static_cast<std::size_t>(row_count) * vector_count);
  std::vector<double> mirrored_q(row.stores_half() ? q.size() : 0);
  double worst = 0.0;
  for (const int share_count : {1, 3}) {
    const bool is_added = share_count > 1;
    std::ranges::fill(q, is_added ? 0.0 : nan_value);
    std::ranges::fill(mirrored_q, nan_value);
    for (int share = 0; share < share_count; ++share) {
      kernel->multiply({.p_columns = p, .p_rows = p, .q_rows = q, .q_columns = mirrored_q},
                       {.is_added = is_added, .share = share, .share_count = share_count});
    }
    for (std::size_t k = 0; k < q.size(); ++k) {
      const double product = q[k] + (mirrored_q.empty() ? 0.0 : mirrored_q[k]);
      const double difference = std::abs(product - scale_of(k) * known.product[k / vector_count]);
      if (difference == 0.0) continue;
      worst = worse_of(worst, difference / (scale_of(k) * known.rounding[k / vector_count]));
    }
  }
  return worst;
}

std::string subject_of(const kernels::KernelRow& row, const kernels::KernelOptions& options) {
  std::string text(row.name);
  if (options.instruction_set) text += fmt::format(", {}", kernels::name_of(*options.instruction_set));
  if (options.thread_count > 1) text += fmt::format(", {} threads", options.thread_count);
  if (options.vector_count > 1) text += fmt::format(", {} vectors", options.vector_count);
  return text;
}

/// Every instruction set that some rank has, two threads, and several vectors.
std::vector<kernels::KernelOptions> all_loops_of(const kernels::KernelRow& row, comm::RankGroup& group) {
  std::vector<kernels::KernelOptions> loops;
  for (const auto set : kernels::all_instruction_sets) {
    const bool is_here = std::ranges::count(row.instruction_sets, set) > 0;
    if (group.maximum(std::int64_t{is_here}) != 0) loops.push_back({.instruction_set = set});
  }
  loops.push_back({.thread_count = 2});
  if (row.make_for_several == nullptr) return loops;
  for (const int count : kernels::vector_counts) loops.push_back({.vector_count = count});
  return loops;
}

}  // namespace

std::vector<KnownProduct> make_known_products() {
  struct Shape {
    std::int64_t order;
    std::int64_t step_limit;
    comm::IndexRange dense;
  };
  // The last one is wider than the widest column block.
  constexpr std::array shapes{Shape{1, 1, {0, 1}}, Shape{37, 1, {0, 37}}, Shape{1'009, 40, {500, 501}},
                              Shape{kernels::max_block_width + 4'001, 20'000, {0, 0}}};
  Numbers numbers;
  std::vector<KnownProduct> known;
  for (const auto& [order, step_limit, dense] : shapes)
    known.push_back(known_product(random_rows(order, step_limit, dense, numbers), numbers));
  return known;
}

/// Half storage multiplies the half of a block, and both results together are the product; kernels for whole blocks also multiply the first
/// third of the rows. Any exception of a kernel but lack of memory is a failure of the check.
CheckResult check_kernel(const kernels::KernelRow& row, const kernels::KernelOptions& options,
                         const std::vector<KnownProduct>& known, comm::RankGroup& group) {
  auto reason = row.why_unavailable();  // of this rank; empty where it can make the kernel
  const auto set = options.instruction_set;
  if (reason.empty() && set && !std::ranges::count(row.instruction_sets, *set))
    reason = fmt::format("no loop for {} on this processor", kernels::name_of(*set));
  CheckResult mine;
  agree_on(group, [&] {
    if (!reason.empty()) return;
    try {
      for (const auto& product : known) {
        const auto order = product.block.row_count;
        mine.figure = worse_of(mine.figure, product_error(row, options, product, order));
        if (!row.stores_half())
          mine.figure = worse_of(mine.figure, product_error(row, options, product, order / 3));
      }
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {
      mine = {.figure = std::numeric_limits<double>::infinity(), .reason = error.what()};
    }
  });
  const auto reasons = group.gather_all(reason);
  if (std::ranges::none_of(reasons, [](const std::string& text) { return text.empty(); }))
    return unavailable(reasons.front());
  constexpr double most_rounding = 1.0;
  return judged_over_ranks(mine, most_rounding, group);
}

void add_kernel_checks(CheckList& list) {
  const auto known = make_known_products();
  const auto& plan = list.plan;
  for (const auto* row : plan.kernels) {
    std::vector<kernels::KernelOptions> loops{
        {.thread_count = plan.configuration.thread_count, .tuning = plan.tuning}};
    if (plan.takes_all_loops) loops = all_loops_of(*row, list.group);
    for (const auto& options : loops)
      list.add(subject_of(*row, options), [&] { return check_kernel(*row, options, known, list.group); });
  }
}

}  // namespace cg2d
