// Symmetric block CSR (block_csr.hpp) for several vectors: kernel "blocks". The elements of an index, one of each vector, are lanes, and where
// they are in the vectors: copies of all vectors would take longer than the product.

#include "kernels/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/several_block_csr.cpp"
#include <hwy/foreach_target.h>

#include <utility>

#include "kernels/block_csr.hpp"
#include "kernels/several_loops-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace cg2d::kernels::HWY_NAMESPACE {
namespace {
namespace several_block_csr {

/// A row of blocks for one register of vectors.
template <int64_t Size, typename Row>
HWY_INLINE void multiply_row(const BlockRows& rows, int64_t row, const BlockRowVectors& vectors) {
  const auto* const starts = rows.matrix.row_starts.data();
  const auto* const own = vectors.members + row * Size;
  Row sums[Size];
  Row p_of_row[Size];
#pragma GCC unroll 8
  for (int64_t k = 0; k < Size; ++k) {
    sums[k].clear();
    p_of_row[k].load(vectors.p + own[k] * vectors.count);
  }
  for (auto block = starts[row]; block < starts[row + 1]; ++block) {
    const double* const values = rows.matrix.values.data() + block * Size * Size;
    const auto* const others = vectors.members + rows.matrix.columns.data()[block] * Size;
#pragma GCC unroll 8
    for (int64_t k = 0; k < Size * Size; k += 8) prefetch(values + k, rows.prefetch_distance);
#pragma GCC unroll 8
    for (int64_t column = 0; column < Size; ++column) {
      const auto place = others[column] * vectors.count;
      Row p{};
      Row q{};
      p.load(vectors.p + place);
      q.load(vectors.q + place);
#pragma GCC unroll 8
      for (int64_t k = 0; k < Size; ++k) {
        sums[k].add_scaled(values[k * Size + column], p);
        q.add_scaled(values[k * Size + column], p_of_row[k]);
      }
      q.store(vectors.q + place);
    }
  }
#pragma GCC unroll 8
  for (int64_t k = 0; k < Size; ++k) {
    double* const place = vectors.q + own[k] * vectors.count;
    Row q{};
    q.load(place);
    q.add_scaled(1.0, sums[k]);
    q.store(place);
  }
}

template <int64_t Size, typename Row>
void multiply_rows(const BlockRows& rows, const BlockRowVectors& vectors) {
  for (auto row = rows.first_row; row < rows.last_row; ++row) {
    for (int64_t first = 0; first < vectors.count; first += Row::size) {
      multiply_row<Size, Row>(rows, row,
                              {.members = vectors.members,
                               .p = vectors.p + first,
                               .q = vectors.q + first,
                               .count = vectors.count});
    }
  }
}

template <typename Row, int64_t... Sizes>
SeveralBlockRowLoops loops_of(std::integer_sequence<int64_t, Sizes...> /*sizes*/) {
  SeveralBlockRowLoops loops{};
  ((loops[least_supervariable + Sizes] = &multiply_rows<least_supervariable + Sizes, Row>), ...);
  return loops;
}

using LoopsForCount = SeveralBlockRowLoops (*)(int vector_count);
LoopsForCount loops_for(InstructionSet /*set*/) {
  return [](int vector_count) HWY_ATTR {
    return with_lanes_for(vector_count, [](auto lanes) HWY_ATTR {
      return loops_of<Elements<decltype(lanes)::value, 1>>(
          std::make_integer_sequence<int64_t, largest_supervariable + 1 - least_supervariable>());
    });
  };
}

}  // namespace several_block_csr
}  // namespace
}  // namespace cg2d::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <memory>
#include <span>
#include <vector>

namespace cg2d::kernels {
namespace {
namespace several_block_csr {

/// Each thread but the first, whose sums are the result, has sums of all columns.
class SeveralBlockCsr final : public BlockCsrKernel {
 public:
  /// members: columns, those of empty places, too.
  SeveralBlockCsr(BlockCsr matrix, std::vector<uint32_t> members, int64_t column_count, InstructionSet set,
                  const KernelOptions& options)
      : BlockCsrKernel(std::move(matrix), set, options),
        members_(std::move(members)),
        multiply_rows_(CG2D_OF_SET(set, several_block_csr::loops_for)(
            options.vector_count)[static_cast<size_t>(this->matrix().size)]),
        vector_count_(options.vector_count) {
    for (auto& part : std::span(parts()).subspan(1))
      part.numbers = PageBuffer<double>(static_cast<size_t>(column_count * vector_count_));
  }

  /// All sums are over the columns.
  void multiply(const Operands& operands, const ProductMode& mode) override {
    const bool is_last = mode.share + 1 == mode.share_count;
    if (is_last && !mode.is_added) std::ranges::fill(operands.q_rows, 0.0);
#pragma omp parallel num_threads(thread_count()) if (thread_count() > 1)
    {
#pragma omp for schedule(static, 1)
      for (int thread = 0; thread < thread_count(); ++thread) {
        auto& part = parts()[static_cast<size_t>(thread)];
        if (mode.share == 0 && (thread > 0 || !mode.is_continued)) clear(thread, operands.q_columns);
        multiply_rows_(rows_of_share(part, mode),
                       {.members = members_.data(),
                        .p = operands.p_columns.data(),
                        .q = thread == 0 ? operands.q_columns.data() : part.numbers.data(),
                        .count = vector_count_});
      }
#pragma omp for schedule(static, 1)
      for (int thread = 0; thread < (is_last ? thread_count() : 0); ++thread)
        add_up(sums_of(thread), operands.q_columns);
    }
  }

 private:
  /// visit(index) for the members of some supervariables, without what stands in empty places.
  template <typename Visit>
  void for_each_member(const RowRange& range, const Visit& visit) const {
    for (auto row = range.begin; row < range.end; ++row) {
      const auto* const members = members_.data() + row * matrix().size;
      for (int k = 0; k < matrix().size; ++k) {
        if (k == 0 || members[k] != members[k - 1]) visit(members[k]);
      }
    }
  }
  void clear(int thread, std::span<double> q) {
    auto& part = parts()[static_cast<size_t>(thread)];
    if (thread == 0) {
      std::ranges::fill(q, 0.0);
    } else {
      for_each_member(part.written, [&](uint32_t index) {
        std::fill_n(part.numbers.data() + index * vector_count_, vector_count_, 0.0);
      });
    }
  }
  /// Adds the sums of the other threads over some supervariables.
  void add_up(const RowRange& range, std::span<double> q) const {
    for (const auto& part : std::span(parts()).subspan(1)) {
      const RowRange own{.begin = std::max(range.begin, part.written.begin),
                         .end = std::min(range.end, part.written.end)};
      for_each_member(own, [&](uint32_t index) {
        const auto first = static_cast<size_t>(index * vector_count_);
        for (auto k = first; k < first + static_cast<size_t>(vector_count_); ++k) q[k] += part.numbers[k];
      });
    }
  }

  std::vector<uint32_t> members_;
  SeveralBlockRowLoop multiply_rows_;
  int64_t vector_count_;
};

}  // namespace several_block_csr
}  // namespace

std::unique_ptr<SpmvKernel> try_several_block_csr(CsrBlock& half, InstructionSet set,
                                                  const KernelOptions& options) {
  const SharedIndices shared(half, options.column_of_row_0);
  if (shared.count < half.row_count) return nullptr;
  auto made = find_block_csr(half, shared, options.thread_count);
  if (!made) return nullptr;
  // An empty place has zeros as entries, and may be any index.
  auto& members = made->supervariables.members;
  for (size_t k = 1; k < members.size(); ++k) {
    if (members[k] == Supervariables::no_member) members[k] = members[k - 1];
  }
  const auto column_count = half.column_count;
  half = {};
  return std::make_unique<several_block_csr::SeveralBlockCsr>(std::move(made->matrix), std::move(members),
                                                              column_count, set, options);
}

}  // namespace cg2d::kernels
#endif
