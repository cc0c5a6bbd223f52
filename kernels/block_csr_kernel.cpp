// The loops of symmetric block CSR (block_csr.hpp), and the kernels around them, for one vector and for several.

#include "kernels/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/block_csr_kernel.cpp"
#include <hwy/foreach_target.h>

#include <type_traits>
#include <utility>

#include "kernels/block_csr.hpp"
#include "kernels/compiler_vectors-inl.hpp"

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

BlockRowLoop loop_for(InstructionSet /*set*/, int size) {
  return with_size<least_supervariable, largest_supervariable>(
      size, [](auto constant) -> BlockRowLoop { return &multiply_rows<constant()>; });
}

}  // namespace block_csr

/// The elements of an index, one of each vector, are lanes, and where they are in the vectors: copies of all vectors would take longer than the
/// product.
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

SeveralBlockRowLoop loop_for(InstructionSet /*set*/, int vector_count, int size) {
  return with_row_of(vector_count, [=]<typename Row>(std::type_identity<Row>) {
    return with_size<least_supervariable, largest_supervariable>(
        size, [](auto constant) -> SeveralBlockRowLoop {
          return &multiply_rows<constant(), typename Row::OfOneRegister>;
        });
  });
}

}  // namespace several_block_csr

}  // namespace
}  // namespace cg2d::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <vector>

#include "kernels/format_kernel.hpp"
#include "kernels/sell_matrix.hpp"

namespace cg2d::kernels {
namespace {

/// The end of the supervariables that rows of blocks have blocks with, or are.
int64_t end_of_columns(const BlockCsr& matrix, const RowRange& rows) {
  int64_t end = rows.end;
  for (auto row = static_cast<size_t>(rows.begin); row < static_cast<size_t>(rows.end); ++row) {
    if (matrix.row_starts[row] == matrix.row_starts[row + 1]) continue;
    const auto last = matrix.columns[static_cast<size_t>(matrix.row_starts[row + 1]) - 1];
    end = std::max(end, int64_t{last} + 1);
  }
  return end;
}

/// The common part of the kernels for one vector and for several.
class BlockCsrKernel : public FormatKernel<SplitRows<BlockCsr>> {
 public:
  BlockCsrKernel(BlockCsr given, const KernelOptions& options)
      : FormatKernel("blocks", options, {std::move(given), options.thread_count}),
        prefetch_distance_(options.tuning.prefetch_distance.value_or(default_sell_prefetch_distance)) {
    for (int thread = 0; thread < thread_count(); ++thread) {
      const auto rows = format().rows_of(thread);
      parts_.push_back({.written = {.begin = rows.begin, .end = end_of_columns(matrix(), rows)}});
    }
  }

 protected:
  /// The supervariables that a thread's blocks have as rows or columns, and numbers of its own.
  struct Part {
    RowRange written;
    PageBuffer<double> numbers{};
  };

  const BlockCsr& matrix() const { return format().matrix; }
  [[nodiscard]] std::vector<Part>& parts() { return parts_; }
  const std::vector<Part>& parts() const { return parts_; }
  /// The rows that a thread multiplies in a share.
  BlockRows rows_of_share(int thread, const ProductMode& mode) const {
    const auto rows = format().rows_of(thread, mode);
    return {.matrix = matrix(),
            .first_row = rows.begin,
            .last_row = rows.end,
            .prefetch_distance = prefetch_distance_};
  }
  /// The supervariables whose sums are added up after a share.
  int64_t summed_rows(const ProductMode& mode) const {
    return mode.is_last_share() ? matrix().row_count() : 0;
  }

 private:
  int64_t prefetch_distance_;
  std::vector<Part> parts_;
};

/// Each thread has p and q of the supervariables side by side, and writes those that its blocks have as rows or columns.
template <int Size>
class OneVectorBlockCsr final : public BlockCsrKernel {
  static constexpr int64_t places = places_of(Size);

 public:
  OneVectorBlockCsr(BlockCsr given, std::vector<uint32_t> members, const SharedIndices& indices,
                    const KernelOptions& options)
      : BlockCsrKernel(std::move(given), options),
        members_(std::move(members)),
        indices_(indices),
        multiply_rows_(CG2D_OF_SET(*options.instruction_set, block_csr::loop_for, Size)) {
    const auto count = matrix().row_count() * 2 * places;
    for (auto& part : parts()) part.numbers = PageBuffer<double>(static_cast<size_t>(count));
  }

  /// Each thread has sums of its own, which are added up after the last share.
  void multiply(const Operands& operands, const ProductMode& mode) override {
    if (mode.is_last_share() && !mode.is_added)
      std::fill_n(operands.q_rows.data() + indices_.first_row, indices_.count, 0.0);
    make_sums(
        thread_count(), summed_rows(mode),
        [&](int thread) {
          auto& part = parts()[static_cast<size_t>(thread)];
          if (mode.share == 0) gather(operands, part);
          multiply_rows_(rows_of_share(thread, mode), part.numbers.data());
        },
        [&](const RowRange& rows) { scatter(rows, operands, mode); });
  }

 private:
  /// p of the members, and zeros as sums. Places without a member stay zero from the beginning.
  void gather(const Operands& operands, Part& part) const {
    const auto* index = members_.data() + part.written.begin * Size;
    auto* pair = part.numbers.data() + part.written.begin * 2 * places;
    for (auto row = part.written.begin; row < part.written.end; ++row, pair += 2 * places) {
      for (int64_t place = 0; place < Size; ++place, ++index) {
        if (indices_.is_column(*index)) {
          pair[place] = operands.p_columns[*index];
        } else if (*index != Supervariables::no_member) {
          pair[place] = operands.p_rows[static_cast<size_t>(*indices_.row_of(*index))];
        }
      }
      std::fill_n(pair + places, places, 0.0);
    }
  }

  /// The sums of some supervariables of all threads. An index that is row and column has its sum as a column.
  void scatter(const RowRange& range, const Operands& operands, const ProductMode& mode) const {
    const auto* index = members_.data() + range.begin * Size;
    for (auto row = range.begin; row < range.end; ++row) {
      std::array<double, Size> sums{};
      for (const auto& part : parts()) {
        if (row < part.written.begin || row >= part.written.end) continue;
        const auto* const q = part.numbers.data() + (2 * row + 1) * places;
        for (size_t place = 0; place < Size; ++place) sums[place] += q[place];
      }
      for (size_t place = 0; place < Size; ++place, ++index) {
        if (indices_.is_column(*index)) {
          double& q = operands.q_columns[*index];
          q = mode.is_continued ? q + sums[place] : sums[place];
        } else if (*index != Supervariables::no_member) {
          double& q = operands.q_rows[static_cast<size_t>(*indices_.row_of(*index))];
          q = mode.is_added ? q + sums[place] : sums[place];
        }
      }
    }
  }

  std::vector<uint32_t> members_;  // as Supervariables::members
  SharedIndices indices_;          // where the members' p and q are in the block's vectors
  BlockRowLoop multiply_rows_;
};

/// Each thread but the first, whose sums are the result, has sums of all columns.
class SeveralBlockCsr final : public BlockCsrKernel {
 public:
  /// members: columns, those of empty places, too.
  SeveralBlockCsr(BlockCsr given, std::vector<uint32_t> members, int64_t column_count,
                  const KernelOptions& options)
      : BlockCsrKernel(std::move(given), options),
        members_(std::move(members)),
        multiply_rows_(CG2D_OF_SET(*options.instruction_set, several_block_csr::loop_for,
                                   options.vector_count, matrix().size)),
        vector_count_(options.vector_count) {
    for (auto& part : std::span(parts()).subspan(1))
      part.numbers = PageBuffer<double>(static_cast<size_t>(column_count * vector_count_));
  }

  /// All sums are over the columns.
  void multiply(const Operands& operands, const ProductMode& mode) override {
    if (mode.is_last_share() && !mode.is_added) std::ranges::fill(operands.q_rows, 0.0);
    make_sums(
        thread_count(), summed_rows(mode),
        [&](int thread) {
          auto& part = parts()[static_cast<size_t>(thread)];
          if (mode.share == 0 && thread > 0) clear(part);
          if (mode.share == 0 && thread == 0 && !mode.is_continued)
            std::ranges::fill(operands.q_columns, 0.0);
          multiply_rows_(rows_of_share(thread, mode),
                         {.members = members_.data(),
                          .p = operands.p_columns.data(),
                          .q = thread == 0 ? operands.q_columns.data() : part.numbers.data(),
                          .count = vector_count_});
        },
        [&](const RowRange& rows) { add_up(rows, operands.q_columns); });
  }

 private:
  /// visit(index) for the members of some supervariables, without what stands in empty places.
  template <typename Visit>
  void for_each_member(const RowRange& range, const Visit& visit) const {
    const auto size = matrix().size;
    for (auto row = range.begin; row < range.end; ++row) {
      const auto* const members = members_.data() + row * size;
      for (int k = 0; k < size; ++k) {
        if (k == 0 || members[k] != members[k - 1]) visit(members[k]);
      }
    }
  }
  void clear(Part& part) const {
    for_each_member(part.written, [&](uint32_t index) {
      std::fill_n(part.numbers.data() + index * vector_count_, vector_count_, 0.0);
    });
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

}  // namespace

std::unique_ptr<SpmvKernel> try_block_csr(CsrBlock& half, const KernelOptions& options) {
  const SharedIndices indices(half, options.column_of_row_0);
  const bool is_for_several = options.vector_count > 1;
  if (is_for_several && indices.count < half.row_count) return nullptr;
  auto found = find_supervariables(half, indices, options.thread_count);
  if (!found) return nullptr;
  auto matrix = make_block_csr(half, indices, *found, options.thread_count);
  if (!matrix) return nullptr;
  half = {};
  auto& members = found->members;
  if (!is_for_several) {
    return with_size<least_supervariable, largest_supervariable>(
        matrix->size, [&](auto size) -> std::unique_ptr<SpmvKernel> {
          return std::make_unique<OneVectorBlockCsr<size()>>(std::move(*matrix), std::move(members), indices,
                                                             options);
        });
  }
  // An empty place has zeros as entries, and may be any index.
  for (size_t k = 1; k < members.size(); ++k) {
    if (members[k] == Supervariables::no_member) members[k] = members[k - 1];
  }
  return std::make_unique<SeveralBlockCsr>(std::move(*matrix), std::move(members), indices.column_count,
                                           options);
}

}  // namespace cg2d::kernels
#endif
