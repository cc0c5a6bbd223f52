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
template <int64_t Size>
void multiply_rows(const BlockRows& rows, double* pairs) {
  using Vector = std::conditional_t<places_of(Size) == 2, dense::TwoLanes, dense::Lanes>;
  constexpr int64_t lanes = sizeof(Vector) / sizeof(double);
  constexpr int64_t groups = (Size + lanes - 1) / lanes;
  constexpr int64_t places = places_of(Size);
  const auto* const starts = rows.matrix.row_starts.data();
  const double* values = rows.matrix.values.data() + starts[rows.first_row] * Size * Size;
  const uint32_t* columns = rows.matrix.columns.data() + starts[rows.first_row];
  double* own = pairs + rows.first_row * 2 * places;
  for (auto row = rows.first_row; row < rows.last_row; ++row, own += 2 * places) {
    Vector sums[groups * lanes];
    double p_of_row[Size];
#pragma GCC unroll 8
    for (int64_t k = 0; k < groups * lanes; ++k) sums[k] = Vector{};
#pragma GCC unroll 8
    for (int64_t k = 0; k < Size; ++k) p_of_row[k] = own[k];
    for (auto rest = starts[row + 1] - starts[row]; rest > 0; --rest, values += Size * Size, ++columns) {
#pragma GCC unroll 8
      for (int64_t k = 0; k < Size * Size; k += 8) prefetch(values + k, rows.prefetch_distance);
      double* const other = pairs + size_t{*columns} * 2 * places;
      Vector p[groups];
      Vector q[groups];
#pragma GCC unroll 4
      for (int64_t group = 0; group < groups; ++group) {
        p[group] = dense::load<Vector>(other + lanes * group);
        q[group] = dense::load<Vector>(other + places + lanes * group);
      }
#pragma GCC unroll 8
      for (int64_t k = 0; k < Size; ++k) {
#pragma GCC unroll 4
        for (int64_t group = 0; group < groups; ++group) {
          const auto v = dense::load<Vector>(values + Size * k + lanes * group);
          sums[k] += v * p[group];
          q[group] += v * p_of_row[k];
        }
      }
#pragma GCC unroll 4
      for (int64_t group = 0; group < groups; ++group) dense::store(other + places + lanes * group, q[group]);
    }
#pragma GCC unroll 4
    for (int64_t group = 0; group < groups; ++group) {
      double* const q = own + places + lanes * group;
      dense::store(q, dense::load<Vector>(q) + dense::sums_of(sums + lanes * group));
    }
  }
}

template <int64_t... Sizes>
BlockRowLoops loops_of(std::integer_sequence<int64_t, Sizes...> /*sizes*/) {
  BlockRowLoops loops{};
  ((loops[least_supervariable + Sizes] = &multiply_rows<least_supervariable + Sizes>), ...);
  return loops;
}

BlockRowLoops loops_for(InstructionSet /*set*/) {
  return loops_of(std::make_integer_sequence<int64_t, largest_supervariable + 1 - least_supervariable>());
}

}  // namespace block_csr
}  // namespace
}  // namespace cg2d::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <array>
#include <vector>

namespace cg2d::kernels {
namespace {
namespace block_csr {

/// Each thread has p and q of the supervariables side by side, and writes those that its blocks have as rows or columns.
class Kernel final : public BlockCsrKernel {
 public:
  Kernel(FoundBlockCsr found, const BlockIndices& numbers, const SharedIndices& shared, InstructionSet set,
         const KernelOptions& options)
      : BlockCsrKernel(std::move(found.matrix), set, options),
        members_(std::move(found.supervariables.members)),
        numbers_(numbers),
        shared_(shared),
        copies_(
            copies_for(matrix().size,
                       std::make_integer_sequence<int, largest_supervariable + 1 - least_supervariable>())),
        multiply_rows_(CG2D_OF_SET(set, block_csr::loops_for)[static_cast<size_t>(matrix().size)]) {
    const auto count = matrix().row_count() * 2 * places_of(matrix().size);
    for (auto& part : parts()) part.numbers = PageBuffer<double>(static_cast<size_t>(count));
  }

  void multiply(const Operands& operands, const ProductMode& mode) override;

 private:
  template <int Size>
  void gather(const Operands& operands, Part& part) const;
  template <int Size>
  void scatter(const RowRange& range, const Operands& operands, const ProductMode& mode) const;

  /// The copies of each size.
  struct Copies {
    void (Kernel::*gather)(const Operands& operands, Part& part) const;
    void (Kernel::*scatter)(const RowRange& range, const Operands& operands, const ProductMode& mode) const;
  };
  template <int... Sizes>
  static Copies copies_for(int size, std::integer_sequence<int, Sizes...> /*sizes*/) {
    constexpr std::array copies{Copies{&Kernel::gather<least_supervariable + Sizes>,
                                       &Kernel::scatter<least_supervariable + Sizes>}...};
    return copies[static_cast<size_t>(size - least_supervariable)];
  }

  std::vector<uint32_t> members_;  // as Supervariables::members
  BlockIndices numbers_;           // where the members' p and q are in the block's vectors
  SharedIndices shared_;
  Copies copies_;
  BlockRowLoop multiply_rows_;
};

/// p of the members, and zeros as sums. Places without a member stay zero from the beginning.
template <int Size>
void Kernel::gather(const Operands& operands, Part& part) const {
  constexpr int64_t places = places_of(Size);
  const auto* index = members_.data() + part.written.begin * Size;
  auto* pair = part.numbers.data() + part.written.begin * 2 * places;
  for (auto row = part.written.begin; row < part.written.end; ++row, pair += 2 * places) {
    for (int64_t place = 0; place < Size; ++place, ++index) {
      if (numbers_.is_column(*index)) {
        pair[place] = operands.p_columns[*index];
      } else if (*index != Supervariables::no_member) {
        pair[place] = operands.p_rows[static_cast<size_t>(*numbers_.row_of(*index))];
      }
    }
    std::fill_n(pair + places, places, 0.0);
  }
}

/// The sums of the supervariables [begin, end) of all threads. An index that is row and column has its sum as a column.
template <int Size>
void Kernel::scatter(const RowRange& range, const Operands& operands, const ProductMode& mode) const {
  constexpr int64_t places = places_of(Size);
  const auto* index = members_.data() + range.begin * Size;
  for (auto row = range.begin; row < range.end; ++row) {
    std::array<double, Size> sums{};
    for (const auto& part : parts()) {
      if (row < part.written.begin || row >= part.written.end) continue;
      const auto* const q = part.numbers.data() + (2 * row + 1) * places;
      for (size_t place = 0; place < Size; ++place) sums[place] += q[place];
    }
    for (size_t place = 0; place < Size; ++place, ++index) {
      if (numbers_.is_column(*index)) {
        double& q = operands.q_columns[*index];
        q = mode.is_continued ? q + sums[place] : sums[place];
      } else if (*index != Supervariables::no_member) {
        double& q = operands.q_rows[static_cast<size_t>(*numbers_.row_of(*index))];
        q = mode.is_added ? q + sums[place] : sums[place];
      }
    }
  }
}

/// Each thread has sums of its own, which are added up behind the last share.
void Kernel::multiply(const Operands& operands, const ProductMode& mode) {
  const bool is_last = mode.share + 1 == mode.share_count;
  if (is_last && !mode.is_added) std::fill_n(operands.q_rows.data() + shared_.first_row, shared_.count, 0.0);
#pragma omp parallel num_threads(thread_count()) if (thread_count() > 1)
  {
#pragma omp for schedule(static, 1)
    for (int thread = 0; thread < thread_count(); ++thread) {
      auto& part = parts()[static_cast<size_t>(thread)];
      if (mode.share == 0) (this->*copies_.gather)(operands, part);
      multiply_rows_(rows_of_share(part, mode), part.numbers.data());
    }
#pragma omp for schedule(static, 1)
    for (int thread = 0; thread < (is_last ? thread_count() : 0); ++thread)
      (this->*copies_.scatter)(sums_of(thread), operands, mode);
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
  return std::make_unique<block_csr::Kernel>(std::move(*made), numbers, shared, set, options);
}

}  // namespace cg2d::kernels
#endif
