// The loops of symmetric block CSR (block_csr.hpp), and the kernels around them, for one vector and for several.

#include "kernels/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/block_csr_kernel.cpp"
#include <hwy/foreach_target.h>

#include <type_traits>
#include <utility>

#include "kernels/block_csr.hpp"
#include "kernels/dense_lanes-inl.hpp"
#include "kernels/several_loops-inl.hpp"

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
#include <array>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/parallel_parts.hpp"
#include "kernels/symmetric_sell.hpp"

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
class BlockCsrKernel : public SpmvKernel {
 public:
  BlockCsrKernel(BlockCsr matrix, InstructionSet set, const KernelOptions& options)
      : matrix_(std::move(matrix)),
        set_(set),
        prefetch_distance_(
            options.tuning.prefetch_distance.value_or(symmetric_sell::default_prefetch_distance)) {
    const auto borders = split_rows_by_nonzeros(matrix_.row_starts.span(), options.thread_count);
    for (size_t part = 0; part + 1 < borders.size(); ++part) {
      const RowRange rows{.begin = borders[part], .end = borders[part + 1]};
      parts_.push_back(
          {.rows = rows, .written = {.begin = rows.begin, .end = end_of_columns(matrix_, rows)}});
    }
  }

  std::string_view name() const final { return "blocks"; }
  std::string_view instruction_set() const final { return name_of(set_); }
  int64_t matrix_byte_count() const final { return matrix_.byte_count(); }
  [[nodiscard]] std::vector<StoredArray> stored_arrays() final { return matrix_.stored_arrays(); }
  bool has_columns_in_range() const final { return matrix_.has_columns_in_range(thread_count()); }

 protected:
  /// The rows of blocks of one thread, the supervariables that these have as rows or columns, and numbers of its own.
  struct Part {
    RowRange rows;
    RowRange written;
    PageBuffer<double> numbers{};
  };

  const BlockCsr& matrix() const { return matrix_; }
  int thread_count() const { return static_cast<int>(parts_.size()); }
  [[nodiscard]] std::vector<Part>& parts() { return parts_; }
  const std::vector<Part>& parts() const { return parts_; }
  /// The rows that a thread multiplies in a share.
  BlockRows rows_of_share(const Part& part, const ProductMode& mode) const {
    const ShareRange share(part.rows.end - part.rows.begin, mode);
    return {.matrix = matrix_,
            .first_row = part.rows.begin + share.begin,
            .last_row = part.rows.begin + share.end,
            .prefetch_distance = prefetch_distance_};
  }
  /// The supervariables whose sums a thread adds up.
  RowRange sums_of(int thread) const {
    return {.begin = matrix_.row_count() * thread / thread_count(),
            .end = matrix_.row_count() * (thread + 1) / thread_count()};
  }

 private:
  BlockCsr matrix_;
  InstructionSet set_;
  int64_t prefetch_distance_;
  std::vector<Part> parts_;
};

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

}  // namespace

std::unique_ptr<SpmvKernel> try_block_csr(CsrBlock& half, InstructionSet set, const KernelOptions& options) {
  const SharedIndices shared(half, options.column_of_row_0);
  const bool is_for_several = options.vector_count > 1;
  if (is_for_several && shared.count < half.row_count) return nullptr;
  auto made = find_block_csr(half, shared, options.thread_count);
  if (!made) return nullptr;
  const BlockIndices numbers(half, shared);
  const auto column_count = half.column_count;
  half = {};
  if (!is_for_several)
    return std::make_unique<block_csr::Kernel>(std::move(*made), numbers, shared, set, options);
  // An empty place has zeros as entries, and may be any index.
  auto& members = made->supervariables.members;
  for (size_t k = 1; k < members.size(); ++k) {
    if (members[k] == Supervariables::no_member) members[k] = members[k - 1];
  }
  return std::make_unique<SeveralBlockCsr>(std::move(made->matrix), std::move(members), column_count, set,
                                           options);
}

}  // namespace cg2d::kernels
#endif
