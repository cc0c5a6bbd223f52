#include "cg/solver/vector_ops.hpp"

#include <cblas.h>

#include <algorithm>
#include <cassert>
#include <type_traits>

#include "comm/mpi_handles.hpp"
#include "kernels/exact_sums.hpp"

namespace cg2d {
namespace {

// Shorter vectors are not worth a parallel region, which costs 1.3 to 1.7 us with 2 and 4 threads (Zen 5,
// 2026-11). With 16384 instead, the updates of class A (14000 elements) on 4 threads took 1.5 times as long.
constexpr size_t shortest_for_threads = 8192;

// Elements of y in a block that stays in the cache: 8 kB, and as many of x.
constexpr size_t cached_elements = 1024;

/// One call: `vector_count` vectors read or written, `flop_count` operations per element.
VectorWork work_on(ConstPiece vector, int64_t vector_count, int64_t flop_count) {
  const auto count = std::ssize(vector);
  return {.call_count = 1,
          .byte_count = count * vector_count * static_cast<int64_t>(sizeof(double)),
          .flop_count = count * flop_count};
}

double larger(double left, double right) { return std::max(left, right); }

/// Some consecutive elements of vectors.
struct ElementRange {
  size_t begin = 0;
  size_t size = 0;
  size_t number = 0;  // among the threads' parts

  template <typename Element>
  std::span<Element> of(std::span<Element> vector) const {
    return vector.subspan(begin, size);
  }
};

/// y := y + a x
void add_by_blas(double a, ConstPiece x, Piece y) {
  cblas_daxpy(comm::int_count(y.size()), a, x.data(), 1, y.data(), 1);
}

double dot_by_blas(ConstPiece x, ConstPiece y) {
  return cblas_ddot(comm::int_count(x.size()), x.data(), 1, y.data(), 1);
}

/// Calls work(piece) for the pieces of a part one after the other: they stay in the first-level cache from one operation to the next.
template <typename Work>
void for_each_piece(const ElementRange& part, const Work& work) {
  for (size_t done = 0; done < part.size; done += cached_elements)
    work(ElementRange{.begin = part.begin + done, .size = std::min(cached_elements, part.size - done)});
}

/// Calls work(count) with the number of vectors as a type, so that loops over the elements of a row have no end to test.
template <typename Work>
void with_count(size_t vector_count, const Work& work) {
  switch (vector_count) {
    case 1:
      return work(std::integral_constant<size_t, 1>());
    case 2:
      return work(std::integral_constant<size_t, 2>());
    case 4:
      return work(std::integral_constant<size_t, 4>());
    case 8:
      return work(std::integral_constant<size_t, 8>());
    default:
      assert(vector_count == 16);
      return work(std::integral_constant<size_t, 16>());
  }
}

/// Calls work(part) for every thread's part, in parallel.
template <typename Work>
void on_parts(int thread_count, size_t size, const Work& work) {
  if (thread_count == 1 || size < shortest_for_threads) return work(ElementRange{.size = size});
  const auto parts = static_cast<size_t>(thread_count);
  // BLAS counts ints. Checked here: no exception may leave the parallel loop.
  static_cast<void>(comm::int_count(size / parts + 1));
#pragma omp parallel for num_threads(thread_count) schedule(static, 1)
  for (size_t number = 0; number < parts; ++number) {
    const size_t begin = size / parts * number + std::min(number, size % parts);
    const size_t end = size / parts * (number + 1) + std::min(number + 1, size % parts);
    work(ElementRange{.begin = begin, .size = end - begin, .number = number});
  }
}

/// Calls work(element, number, other) for the elements of several vectors, each with the numbers of its vector, on the threads; other: 0 where
/// there are no others.
template <typename Work>
void on_elements(int thread_count, size_t size, std::span<const double> numbers, const Work& work,
                 std::span<const double> others = {}) {
  with_count(numbers.size(), [&](const auto vector_count) {
    constexpr size_t count = vector_count;
    on_parts(thread_count, size / count, [&](const ElementRange& rows) {
      double own[count];
      double own_other[count] = {};
      std::copy_n(numbers.begin(), count, own);
      std::ranges::copy(others, own_other);
      const auto end = (rows.begin + rows.size) * count;
      for (auto row = rows.begin * count; row < end; row += count) {
#pragma omp simd
        for (size_t k = 0; k < count; ++k) work(row + k, own[k], own_other[k]);
      }
    });
  });
}

}  // namespace

/// y := y + a x
void VectorOps::add_to(double a, ConstPiece x, Piece y) const {
  is_exact() ? kernels::add_scaled_rounded(a, x, y) : add_by_blas(a, x, y);
}

/// y := x + b y on a cached piece. OpenBLAS's daxpby has no loop for vector registers: 0.28 ns per element, these two 0.16 to
/// 0.21 (Zen 5, 2026-11).
void VectorOps::turn_to(double b, ConstPiece x, Piece y) const {
  cblas_dscal(comm::int_count(y.size()), b, y.data(), 1);
  add_to(1.0, x, y);
}

/// The arrays that compute(part) returns for every thread's part, each number folded in the order of the parts, from 0.
template <typename Compute, typename Fold>
auto VectorOps::fold_parts(size_t size, const Compute& compute, const Fold& fold) {
  std::invoke_result_t<const Compute&, const ElementRange&> totals{};
  for (auto& partial : partial_sums_) std::ranges::copy(totals, partial.values.begin());
  on_parts(thread_count_, size, [&](const ElementRange& part) {
    std::ranges::copy(compute(part), partial_sums_[part.number].values.begin());
  });
  for (const auto& partial : partial_sums_) {
    for (size_t k = 0; k < totals.size(); ++k) totals[k] = fold(totals[k], partial.values[k]);
  }
  return totals;
}

double VectorOps::largest_magnitude(ConstPiece x) {
  const auto largest = [&](const ElementRange& part) {
    return std::array{kernels::largest_magnitude(part.of(x))};
  };
  return fold_parts(x.size(), largest, larger)[0];
}

double VectorOps::exact_dot(ConstPiece x, ConstPiece y) {
  const auto largest = [&](const ElementRange& part) {
    return std::array{kernels::largest_product(part.of(x), part.of(y))};
  };
  const double bound =
      kernels::power_of_two_for(maximum_over_ranks_(fold_parts(x.size(), largest, larger)[0])) * most_terms_;
  const auto [high, low] = fold_parts(x.size(), [&](const ElementRange& part) {
    const auto sum = kernels::exact_dot(part.of(x), part.of(y), bound, most_terms_);
    return std::array{sum.high, sum.low};
  });
  lows_.push_back(low);
  return high;
}

double VectorOps::dot(ConstPiece x, ConstPiece y) {
  dot_work_ = dot_work_ + work_on(x, x.data() == y.data() ? 1 : 2, 2);
  if (is_exact()) return exact_dot(x, y);
  return fold_parts(
      x.size(), [&](const ElementRange& part) { return std::array{dot_by_blas(part.of(x), part.of(y))}; })[0];
}

void VectorOps::add_scaled(double a, ConstPiece x, Piece y) {
  record_update(work_on(y, 3, 2));
  on_parts(thread_count_, x.size(), [&](const ElementRange& part) { add_to(a, part.of(x), part.of(y)); });
}

void VectorOps::step_along(double a, ConstPiece p, ConstPiece q, Piece x, Piece r) {
  record_update(work_on(x, 3, 2) + work_on(r, 3, 2));
  // Both in one parallel region: 3.1 instead of 4.9 us for 14000 elements on 4 threads, 6.6 instead of 9.1 for
  // 75000 (Zen 5, 2026-11). Passes over cached pieces of 1024, with r . r in the same pass: 1 to 16 % more time
  // with one thread; with 4 they save the 1.7 us of one more region, but the dot product would leave its phase.
  on_parts(thread_count_, x.size(), [&](const ElementRange& part) {
    add_by_blas(a, part.of(p), part.of(x));
    add_by_blas(-a, part.of(q), part.of(r));
  });
}

std::array<double, 2> VectorOps::step_residual(double a, ConstPiece q, ConstPiece d, Piece r) {
  record_update(work_on(r, 4, 7));
  return fold_parts(r.size(), [&](const ElementRange& part) {
    std::array<double, cached_elements> scaled{};
    std::array<double, 2> sums{};
    for_each_piece(part, [&](const ElementRange& piece) {
      const auto rest = piece.of(r);
      add_by_blas(-a, piece.of(q), rest);
      std::transform(rest.begin(), rest.end(), piece.of(d).begin(), scaled.begin(), std::multiplies<>());
      sums[0] += dot_by_blas(rest, scaled);
      sums[1] += dot_by_blas(rest, rest);
    });
    return sums;
  });
}

void VectorOps::scale_and_add(ConstPiece x, double b, Piece y) {
  record_update(work_on(y, 3, 2));
  on_parts(thread_count_, x.size(), [&](const ElementRange& part) {
    for_each_piece(part, [&](const ElementRange& piece) { turn_to(b, piece.of(x), piece.of(y)); });
  });
}

/// z := operation(x, y), element by element
template <typename Operation>
void VectorOps::join(ConstPiece x, ConstPiece y, Piece z, const Operation& operation) {
  record_update(work_on(z, 3, 1));
  on_parts(thread_count_, z.size(), [&](const ElementRange& part) {
    const auto own_x = part.of(x);
    std::transform(own_x.begin(), own_x.end(), part.of(y).begin(), part.of(z).begin(), operation);
  });
}

void VectorOps::multiply(ConstPiece x, ConstPiece y, Piece z) { join(x, y, z, std::multiplies<>()); }

void VectorOps::add(ConstPiece x, ConstPiece y, Piece z) { join(x, y, z, std::plus<>()); }

void VectorOps::combine(const Term& x, const Term& y, double c, Piece z, ConstPiece d) {
  record_update(d.empty() ? work_on(z, 4, 5) : work_on(z, 5, 6));
  on_parts(thread_count_, z.size(), [&](const ElementRange& part) {
    const double* const from_x = part.of(x.vector).data();
    const double* const from_y = part.of(y.vector).data();
    double* const to = part.of(z).data();
    const double a = x.factor;
    const double b = y.factor;
    const auto add_up = [&](const auto& scaled) {
#pragma omp simd
      for (size_t k = 0; k < part.size; ++k) to[k] = a * scaled(k) + b * from_y[k] + c * to[k];
    };
    if (d.empty()) return add_up([=](size_t k) { return from_x[k]; });
    const double* const from_d = part.of(d).data();
    add_up([=](size_t k) { return from_d[k] * from_x[k]; });
  });
}

void VectorOps::set_scaled(double a, ConstPiece x, Piece y) {
  record_update(work_on(y, 2, 1));
  on_parts(thread_count_, y.size(), [&](const ElementRange& part) {
    for_each_piece(part, [&](const ElementRange& piece) {
      const auto own_y = piece.of(y);
      std::ranges::copy(piece.of(x), own_y.begin());
      cblas_dscal(comm::int_count(own_y.size()), a, own_y.data(), 1);
    });
  });
}

void VectorOps::copy(ConstPiece x, Piece y) {
  record_update(work_on(y, 2, 0));
  on_parts(thread_count_, x.size(),
           [&](const ElementRange& part) { std::ranges::copy(part.of(x), part.of(y).begin()); });
}

void VectorOps::fill(double a, Piece y) {
  record_update(work_on(y, 1, 0));
  on_parts(thread_count_, y.size(), [&](const ElementRange& part) { std::ranges::fill(part.of(y), a); });
}

void VectorOps::dots(ConstPiece x, ConstPiece y, std::span<double> sums) {
  if (sums.size() == 1) {
    sums[0] = dot(x, y);
    return;
  }
  dot_work_ = dot_work_ + work_on(x, 2, 2);
  with_count(sums.size(), [&](const auto vector_count) {
    constexpr size_t count = vector_count;
    const auto totals = fold_parts(x.size() / count, [&](const ElementRange& rows) {
      const auto end = (rows.begin + rows.size) * count;
      double partial[count] = {};
      for (auto row = rows.begin * count; row < end; row += count) {
#pragma omp simd
        for (size_t k = 0; k < count; ++k) partial[k] += x.data()[row + k] * y.data()[row + k];
      }
      return std::to_array(partial);
    });
    std::ranges::copy(totals, sums.begin());
  });
}

void VectorOps::subtract_scaled_each(std::span<const double> factors, ConstPiece x, Piece y) {
  if (factors.size() == 1) return add_scaled(-factors[0], x, y);
  record_update(work_on(y, 3, 2));
  on_elements(thread_count_, y.size(), factors,
              [&](size_t k, double factor, double) { y.data()[k] -= factor * x.data()[k]; });
}

void VectorOps::step_and_turn(std::span<const double> lengths, std::span<const double> factors, ConstPiece z,
                              Piece p, Piece x, ConstPiece d) {
  record_update(work_on(x, 3, 2));
  record_update(d.empty() ? work_on(p, 2, 2) : work_on(p, 3, 3));
  if (lengths.size() > 1) {
    const auto step = [&](size_t k, double length, double factor) {
      x.data()[k] += length * p.data()[k];
      p.data()[k] = z.data()[k] + factor * p.data()[k];
    };
    return on_elements(thread_count_, x.size(), lengths, step, factors);
  }
  const double a = lengths[0];
  const double b = factors[0];
  on_parts(thread_count_, x.size(), [&](const ElementRange& part) {
    const auto turn_with = [&](const auto& z_of) {
      for_each_piece(part, [&](const ElementRange& piece) {
        add_to(a, piece.of(p), piece.of(x));
        turn_to(b, z_of(piece.of(z), piece), piece.of(p));
      });
    };
    if (d.empty()) return turn_with([](ConstPiece own_z, const ElementRange&) { return own_z; });
    std::array<double, cached_elements> scaled{};
    turn_with([&](ConstPiece own_z, const ElementRange& piece) {
      std::transform(own_z.begin(), own_z.end(), piece.of(d).begin(), scaled.begin(), std::multiplies<>());
      return ConstPiece(scaled).first(piece.size);
    });
  });
}

void VectorOps::subtract_where(std::span<const double> are_taken, ConstPiece x, ConstPiece y, Piece z) {
  record_update(work_on(z, 3, 1));
  on_elements(thread_count_, z.size(), are_taken, [&](size_t k, double is_taken, double) {
    if (is_taken != 0.0) z[k] = x[k] - y[k];
  });
}

void VectorOps::copy_where(std::span<const double> are_taken, ConstPiece x, Piece y) {
  if (are_taken.size() == 1 && are_taken[0] != 0.0) return copy(x, y);
  record_update(work_on(y, 2, 0));
  on_elements(thread_count_, y.size(), are_taken, [&](size_t k, double is_taken, double) {
    if (is_taken != 0.0) y[k] = x[k];
  });
}

}  // namespace cg2d
