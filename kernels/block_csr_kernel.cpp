// The loops of symmetric block CSR, and the kernel around them.

#include "kernels/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/block_csr_kernel.cpp"
#include <hwy/foreach_target.h>

#include <type_traits>
#include <utility>

#include "kernels/block_csr.hpp"
#include "kernels/dense_lanes-inl.hpp"
#include "kernels/vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace cg2d::kernels::HWY_NAMESPACE {
namespace {
namespace block_csr {

/// A row of blocks keeps the sums of its rows, and p of its columns, in registers. A register may reach over the row of a block, and over the
/// last members: what it finds there meets zeros of p, or adds to places of q that nobody reads.
template <std::int64_t Size>
void multiply_rows(const BlockRows& rows, double* pairs) {
  using Vector = std::conditional_t<places_of(Size) == 2, dense::TwoLanes, dense::Lanes>;
  constexpr std::int64_t lanes = sizeof(Vector) / sizeof(double);
  constexpr std::int64_t groups = (Size + lanes - 1) / lanes;
  constexpr std::int64_t places = places_of(Size);
  const auto* const starts = rows.matrix.row_starts.data();
  const double* values = rows.matrix.values.data() + starts[rows.first_row] * Size * Size;
  const std::uint32_t* columns = rows.matrix.columns.data() + starts[rows.first_row];
  double* own = pairs + rows.first_row * 2 * places;
  for (auto row = rows.first_row; row < rows.last_row; ++row, own += 2 * places) {
    Vector sums[groups * lanes];
    double p_of_row[Size];
#pragma GCC unroll 8
    for (std::int64_t k = 0; k < groups * lanes; ++k) sums[k] = Vector{};
#pragma GCC unroll 8
    for (std::int64_t k = 0; k < Size; ++k) p_of_row[k] = own[k];
    for (auto rest = starts[row + 1] - starts[row]; rest > 0; --rest, values += Size * Size, ++columns) {
#pragma GCC unroll 8
      for (std::int64_t k = 0; k < Size * Size; k += 8) prefetch(values + k, rows.prefetch_distance);
      double* const other = pairs + std::size_t{*columns} * 2 * places;
      Vector p[groups];
      Vector q[groups];
#pragma GCC unroll 4
      for (std::int64_t group = 0; group < groups; ++group) {
        p[group] = dense::load<Vector>(other + lanes * group);
        q[group] = dense::load<Vector>(other + places + lanes * group);
      }
#pragma GCC unroll 8
      for (std::int64_t k = 0; k < Size; ++k) {
#pragma GCC unroll 4
        for (std::int64_t group = 0; group < groups; ++group) {
          const auto v = dense::load<Vector>(values + Size * k + lanes * group);
          sums[k] += v * p[group];
          q[group] += v * p_of_row[k];
        }
      }
#pragma GCC unroll 4
      for (std::int64_t group = 0; group < groups; ++group)
        dense::store(other + places + lanes * group, q[group]);
    }
#pragma GCC unroll 4
    for (std::int64_t group = 0; group < groups; ++group) {
      double* const q = own + places + lanes * group;
      dense::store(q, dense::load<Vector>(q) + dense::sums_of(sums + lanes * group));
    }
  }
}

template <std::int64_t... Sizes>
BlockRowLoops loops_of(std::integer_sequence<std::int64_t, Sizes...> /*sizes*/) {
  BlockRowLoops loops{};
  ((loops[least_supervariable + Sizes] = &multiply_rows<least_supervariable + Sizes>), ...);
  return loops;
}

BlockRowLoops loops_for(InstructionSet /*set*/) {
  return loops_of(
      std::make_integer_sequence<std::int64_t, largest_supervariable + 1 - least_supervariable>());
}

}  // namespace block_csr
}  // namespace
}  // namespace cg2d::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "kernels/parallel_parts.hpp"
#include "kernels/symmetric_sell.hpp"

namespace cg2d::kernels {
namespace {
namespace block_csr {

/// Where the p and q of the supervariables' members are in a block's vectors.
struct Members {
  std::vector<std::uint32_t> indices;  // as Supervariables::members
  BlockIndices numbers;
};

/// The pairs of one thread; it has written those of the supervariables that its blocks have as rows or columns.
struct Part {
  RowRange rows;     // of blocks
  RowRange written;  // supervariables
  PageBuffer<double> pairs;
};

/// p of the members, and zeros as sums. Places without a member stay zero from the beginning.
template <int Size>
void gather(const Members& members, const Operands& operands, Part& part) {
  constexpr std::int64_t places = places_of(Size);
  const auto* index = members.indices.data() + part.written.begin * Size;
  auto* pair = part.pairs.data() + part.written.begin * 2 * places;
  for (auto row = part.written.begin; row < part.written.end; ++row, pair += 2 * places) {
    for (std::int64_t place = 0; place < Size; ++place, ++index) {
      if (members.numbers.is_column(*index)) {
        pair[place] = operands.p_columns[*index];
      } else if (*index != Supervariables::no_member) {
        pair[place] = operands.p_rows[static_cast<std::size_t>(*members.numbers.row_of(*index))];
      }
    }
    std::fill_n(pair + places, places, 0.0);
  }
}

/// The sums of the supervariables [begin, end) of all threads. An index that is row and column has its sum as a column.
template <int Size>
void scatter(const Members& members, const std::vector<Part>& parts, const RowRange& range,
             const Operands& operands, const ProductMode& mode) {
  constexpr std::int64_t places = places_of(Size);
  const auto* index = members.indices.data() + range.begin * Size;
  for (auto row = range.begin; row < range.end; ++row) {
    std::array<double, Size> sums{};
    for (const auto& part : parts) {
      if (row < part.written.begin || row >= part.written.end) continue;
      const auto* const q = part.pairs.data() + (2 * row + 1) * places;
      for (std::size_t place = 0; place < Size; ++place) sums[place] += q[place];
    }
    for (std::size_t place = 0; place < Size; ++place, ++index) {
      if (members.numbers.is_column(*index)) {
        double& q = operands.q_columns[*index];
        q = mode.is_continued ? q + sums[place] : sums[place];
      } else if (*index != Supervariables::no_member) {
        double& q = operands.q_rows[static_cast<std::size_t>(*members.numbers.row_of(*index))];
        q = mode.is_added ? q + sums[place] : sums[place];
      }
    }
  }
}

/// The copies of each size.
struct Copies {
  decltype(&gather<1>) gather;
  decltype(&scatter<1>) scatter;
};
template <int... Sizes>
Copies copies_for(int size, std::integer_sequence<int, Sizes...> /*sizes*/) {
  constexpr std::array copies{Copies{&gather<Sizes + 1>, &scatter<Sizes + 1>}...};
  return copies[static_cast<std::size_t>(size) - 1];
}

class Kernel final : public SpmvKernel {
 public:
  Kernel(BlockCsr matrix, Members members, const SharedIndices& shared, InstructionSet set,
         const KernelOptions& options)
      : matrix_(std::move(matrix)),
        members_(std::move(members)),
        shared_(shared),
        set_(set),
        copies_(copies_for(matrix_.size, std::make_integer_sequence<int, largest_supervariable>())),
        multiply_rows_(CG2D_OF_SET(set, block_csr::loops_for)[static_cast<std::size_t>(matrix_.size)]),
        prefetch_distance_(
            options.tuning.prefetch_distance.value_or(symmetric_sell::default_prefetch_distance)) {
    const auto borders = split_rows_by_nonzeros(matrix_.row_starts.span(), options.thread_count);
    for (std::size_t part = 0; part + 1 < borders.size(); ++part) {
      const RowRange rows{.begin = borders[part], .end = borders[part + 1]};
      parts_.push_back({.rows = rows,
                        .written = {.begin = rows.begin, .end = end_of_columns(matrix_, rows)},
                        .pairs = PageBuffer<double>(static_cast<std::size_t>(pair_count()))});
    }
  }

  [[nodiscard]] std::string_view name() const override { return "blocks"; }
  [[nodiscard]] std::string_view instruction_set() const override { return name_of(set_); }
  [[nodiscard]] std::int64_t matrix_byte_count() const override { return matrix_.byte_count(); }
  [[nodiscard]] std::vector<StoredArray> stored_arrays() override { return matrix_.stored_arrays(); }
  [[nodiscard]] bool has_columns_in_range() const override {
    return matrix_.has_columns_in_range(static_cast<int>(parts_.size()));
  }
  void multiply(const Operands& operands, const ProductMode& mode) override;

 private:
  /// Doubles of p and q.
  [[nodiscard]] std::int64_t pair_count() const { return matrix_.row_count() * 2 * places_of(matrix_.size); }

  BlockCsr matrix_;
  Members members_;
  SharedIndices shared_;
  InstructionSet set_;
  Copies copies_;
  BlockRowLoop multiply_rows_;
  std::int64_t prefetch_distance_;
  std::vector<Part> parts_;  // of each thread
};

/// Each thread has sums of its own, which are added up behind the last share.
void Kernel::multiply(const Operands& operands, const ProductMode& mode) {
  const int thread_count = static_cast<int>(parts_.size());
  const bool is_last = mode.share + 1 == mode.share_count;
  if (is_last && !mode.is_added) std::fill_n(operands.q_rows.data() + shared_.first_row, shared_.count, 0.0);
#pragma omp parallel num_threads(thread_count) if (thread_count > 1)
  {
#pragma omp for schedule(static, 1)
    for (int thread = 0; thread < thread_count; ++thread) {
      auto& part = parts_[static_cast<std::size_t>(thread)];
      if (mode.share == 0) copies_.gather(members_, operands, part);
      const ShareRange share(part.rows.end - part.rows.begin, mode);
      multiply_rows_({.matrix = matrix_,
                      .first_row = part.rows.begin + share.begin,
                      .last_row = part.rows.begin + share.end,
                      .prefetch_distance = prefetch_distance_},
                     part.pairs.data());
    }
#pragma omp for schedule(static, 1)
    for (int thread = 0; thread < (is_last ? thread_count : 0); ++thread) {
      copies_.scatter(members_, parts_,
                      {.begin = matrix_.row_count() * thread / thread_count,
                       .end = matrix_.row_count() * (thread + 1) / thread_count},
                      operands, mode);
    }
  }
}

}  // namespace block_csr
}  // namespace

std::unique_ptr<SpmvKernel> try_block_csr(CsrBlock& half, InstructionSet set, const KernelOptions& options) {
  const SharedIndices shared(half, options.column_of_row_0);
  auto made = find_block_csr(half, shared, options.thread_count);
  if (!made) return nullptr;
  const BlockIndices numbers(half, shared);
  half = {};
  return std::make_unique<block_csr::Kernel>(
      std::move(made->matrix),
      block_csr::Members{.indices = std::move(made->supervariables.members), .numbers = numbers}, shared, set,
      options);
}

}  // namespace cg2d::kernels
#endif
