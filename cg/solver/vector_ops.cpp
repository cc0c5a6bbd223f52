#include "cg/solver/vector_ops.hpp"

#include <cblas.h>

#include <algorithm>
#include <cassert>
#include <type_traits>

#include "comm/mpi_handles.hpp"
#include "kernels/exact_vectors.hpp"

namespace cg2d {
namespace {

// Shorter vectors are not worth a parallel region, which costs 1.3 to 1.7 us with 2 and 4 threads (Zen 5,
// 2026-11). With 16384 instead, the updates of class A (14000 elements) on 4 threads took 1.5 times as long.
constexpr std::size_t shortest_for_threads = 8192;

// Elements of y in a block that stays in the cache: 8 kB, and as many of x.
constexpr std::size_t cached_elements = 1024;

/// One call: `vector_count` vectors read or written, `flop_count` operations per element.
VectorWork work_on(std::size_t size, std::int64_t vector_count, std::int64_t flop_count) {
  const auto count = static_cast<std::int64_t>(size);
  return {.call_count = 1,
          .byte_count = count * vector_count * static_cast<std::int64_t>(sizeof(double)),
          .flop_count = count * flop_count};
}

double larger(double left, double right) { return std::max(left, right); }

/// Calls work(first, length) for the pieces of a part one after the other: they stay in the first-level cache from one operation
/// to the next.
template <typename Work>
void for_each_piece(std::size_t begin, std::size_t size, const Work& work) {
  for (std::size_t done = 0; done < size; done += cached_elements)
    work(begin + done, std::min(cached_elements, size - done));
}

/// Calls work(count) with the number of vectors as a type, so that loops over the elements of a row have no end to test.
template <typename Work>
void with_count(std::size_t vector_count, const Work& work) {
  switch (vector_count) {
    case 2:
      return work(std::integral_constant<std::size_t, 2>());
    case 4:
      return work(std::integral_constant<std::size_t, 4>());
    case 8:
      return work(std::integral_constant<std::size_t, 8>());
    default:
      assert(vector_count == 16);
      return work(std::integral_constant<std::size_t, 16>());
  }
}

/// Calls work(part, begin, size) for every thread's part, in parallel.
template <typename Work>
void on_parts(int thread_count, std::size_t size, const Work& work) {
  if (thread_count == 1 || size < shortest_for_threads) {
    work(std::size_t{0}, std::size_t{0}, size);
    return;
  }
  const auto parts = static_cast<std::size_t>(thread_count);
  // BLAS counts ints. Checked here: no exception may leave the parallel loop.
  static_cast<void>(comm::int_count(size / parts + 1));
#pragma omp parallel for num_threads(thread_count) schedule(static, 1)
  for (std::size_t part = 0; part < parts; ++part) {
    const std::size_t begin = size / parts * part + std::min(part, size % parts);
    const std::size_t end = size / parts * (part + 1) + std::min(part + 1, size % parts);
    work(part, begin, end - begin);
  }
}

/// Calls work(begin, end, count) for every thread's rows, in parallel: begin and end are those of its elements.
template <typename Work>
void on_rows(int thread_count, std::size_t size, std::size_t vector_count, const Work& work) {
  with_count(vector_count, [&](const auto count) {
    on_parts(thread_count, size / count, [&](std::size_t, std::size_t first_row, std::size_t row_count) {
      work(first_row * count, (first_row + row_count) * count, count);
    });
  });
}

/// Calls work(element, vector) for the elements of the vectors whose number is not 0, on the threads.
template <typename Work>
void on_taken(int thread_count, std::size_t size, std::span<const double> are_taken, const Work& work) {
  const auto count = are_taken.size();
  on_parts(thread_count, size / count, [&](std::size_t, std::size_t first_row, std::size_t row_count) {
    const auto end = (first_row + row_count) * count;
    for (auto row = first_row * count; row < end; row += count) {
      for (std::size_t vector = 0; vector < count; ++vector) {
        if (are_taken[vector] != 0.0) work(row + vector, vector);
      }
    }
  });
}

}  // namespace

/// y := y + a x
void VectorOps::add_to(double a, const double* x, std::span<double> y) const {
  if (is_exact()) {
    kernels::add_scaled_rounded(a, std::span(x, y.size()), y);
  } else {
    cblas_daxpy(comm::int_count(y.size()), a, x, 1, y.data(), 1);
  }
}

/// y := x + b y on a cached piece. OpenBLAS's daxpby has no loop for vector registers: 0.28 ns per element, these two 0.16 to
/// 0.21 (Zen 5, 2026-11).
void VectorOps::turn_to(double b, const double* x, std::span<double> y) const {
  cblas_dscal(static_cast<int>(y.size()), b, y.data(), 1);
  add_to(1.0, x, y);
}

/// The arrays that compute(begin, size) returns for every thread's part, each number folded in the order of the parts, from 0.
template <typename Compute, typename Fold>
auto VectorOps::fold_parts(std::size_t size, const Compute& compute, const Fold& fold) {
  std::invoke_result_t<const Compute&, std::size_t, std::size_t> totals{};
  for (auto& partial : partial_sums_) std::ranges::copy(totals, partial.values.begin());
  on_parts(thread_count_, size, [&](std::size_t part, std::size_t begin, std::size_t part_size) {
    std::ranges::copy(compute(begin, part_size), partial_sums_[part].values.begin());
  });
  for (const auto& partial : partial_sums_) {
    for (std::size_t k = 0; k < totals.size(); ++k) totals[k] = fold(totals[k], partial.values[k]);
  }
  return totals;
}

double VectorOps::largest_magnitude(std::span<const double> x) {
  const auto largest = [&](std::size_t begin, std::size_t size) {
    return std::array{kernels::largest_magnitude(x.subspan(begin, size))};
  };
  return fold_parts(x.size(), largest, larger)[0];
}

double VectorOps::exact_dot(std::span<const double> x, std::span<const double> y) {
  const auto largest = [&](std::size_t begin, std::size_t size) {
    return std::array{kernels::largest_product(x.subspan(begin, size), y.subspan(begin, size))};
  };
  const double bound =
      kernels::power_of_two_for(maximum_over_ranks_(fold_parts(x.size(), largest, larger)[0])) * most_terms_;
  const auto [high, low] = fold_parts(x.size(), [&](std::size_t begin, std::size_t size) {
    const auto part = kernels::exact_dot(x.subspan(begin, size), y.subspan(begin, size), bound, most_terms_);
    return std::array{part.high, part.low};
  });
  lows_.push_back(low);
  return high;
}

double VectorOps::dot(std::span<const double> x, std::span<const double> y) {
  dot_work_ = dot_work_ + work_on(x.size(), x.data() == y.data() ? 1 : 2, 2);
  if (is_exact()) return exact_dot(x, y);
  return fold_parts(x.size(), [&](std::size_t begin, std::size_t size) {
    return std::array{cblas_ddot(comm::int_count(size), x.data() + begin, 1, y.data() + begin, 1)};
  })[0];
}

void VectorOps::add_scaled(double a, std::span<const double> x, std::span<double> y) {
  record_update(work_on(y.size(), 3, 2));
  on_parts(thread_count_, x.size(), [&](std::size_t, std::size_t begin, std::size_t size) {
    add_to(a, x.data() + begin, y.subspan(begin, size));
  });
}

void VectorOps::step_along(double a, std::span<const double> p, std::span<const double> q,
                           std::span<double> x, std::span<double> r) {
  record_update(work_on(x.size(), 3, 2) + work_on(r.size(), 3, 2));
  // Both in one parallel region: 3.1 instead of 4.9 us for 14000 elements on 4 threads, 6.6 instead of 9.1 for
  // 75000 (Zen 5, 2026-11). Passes over cached pieces of 1024, with r . r in the same pass: 1 to 16 % more time
  // with one thread; with 4 they save the 1.7 us of one more region, but the dot product would leave its phase.
  on_parts(thread_count_, x.size(), [&](std::size_t, std::size_t begin, std::size_t size) {
    cblas_daxpy(comm::int_count(size), a, p.data() + begin, 1, x.data() + begin, 1);
    cblas_daxpy(comm::int_count(size), -a, q.data() + begin, 1, r.data() + begin, 1);
  });
}

std::array<double, 2> VectorOps::step_residual(double a, std::span<const double> q, std::span<const double> d,
                                               std::span<double> r) {
  record_update(work_on(r.size(), 4, 7));
  return fold_parts(r.size(), [&](std::size_t begin, std::size_t size) {
    std::array<double, cached_elements> scaled{};
    std::array<double, 2> sums{};
    for_each_piece(begin, size, [&](std::size_t first, std::size_t length) {
      const auto count = static_cast<int>(length);
      double* const rest = r.data() + first;
      cblas_daxpy(count, -a, q.data() + first, 1, rest, 1);
      std::transform(rest, rest + length, d.data() + first, scaled.begin(), std::multiplies<>());
      sums[0] += cblas_ddot(count, rest, 1, scaled.data(), 1);
      sums[1] += cblas_ddot(count, rest, 1, rest, 1);
    });
    return sums;
  });
}

void VectorOps::step_and_turn(double a, double b, std::span<const double> z, std::span<double> p,
                              std::span<double> x, std::span<const double> d) {
  record_update(work_on(x.size(), 3, 2));
  record_update(d.empty() ? work_on(p.size(), 2, 2) : work_on(p.size(), 3, 3));
  on_parts(thread_count_, x.size(), [&](std::size_t, std::size_t begin, std::size_t size) {
    const auto turn_with = [&](const auto& z_of) {
      for_each_piece(begin, size, [&](std::size_t first, std::size_t length) {
        add_to(a, p.data() + first, x.subspan(first, length));
        turn_to(b, z_of(first, length), p.subspan(first, length));
      });
    };
    if (d.empty()) return turn_with([&](std::size_t first, std::size_t) { return z.data() + first; });
    std::array<double, cached_elements> scaled{};
    turn_with([&](std::size_t first, std::size_t length) {
      std::transform(z.data() + first, z.data() + first + length, d.data() + first, scaled.begin(),
                     std::multiplies<>());
      return scaled.data();
    });
  });
}

void VectorOps::scale_and_add(std::span<const double> x, double b, std::span<double> y) {
  record_update(work_on(y.size(), 3, 2));
  on_parts(thread_count_, x.size(), [&](std::size_t, std::size_t begin, std::size_t size) {
    for_each_piece(begin, size, [&](std::size_t first, std::size_t length) {
      turn_to(b, x.data() + first, std::span(y.data() + first, length));
    });
  });
}

/// z := operation(x, y), element by element
template <typename Operation>
void VectorOps::join(std::span<const double> x, std::span<const double> y, std::span<double> z,
                     const Operation& operation) {
  record_update(work_on(z.size(), 3, 1));
  on_parts(thread_count_, z.size(), [&](std::size_t, std::size_t begin, std::size_t size) {
    std::transform(x.data() + begin, x.data() + begin + size, y.data() + begin, z.data() + begin, operation);
  });
}

void VectorOps::multiply(std::span<const double> x, std::span<const double> y, std::span<double> z) {
  join(x, y, z, std::multiplies<>());
}

void VectorOps::add(std::span<const double> x, std::span<const double> y, std::span<double> z) {
  join(x, y, z, std::plus<>());
}

void VectorOps::combine(const Term& x, const Term& y, double c, std::span<double> z,
                        std::span<const double> d) {
  record_update(d.empty() ? work_on(z.size(), 4, 5) : work_on(z.size(), 5, 6));
  on_parts(thread_count_, z.size(), [&](std::size_t, std::size_t begin, std::size_t size) {
    const double* const from_x = x.vector.data() + begin;
    const double* const from_y = y.vector.data() + begin;
    double* const to = z.data() + begin;
    const double a = x.factor;
    const double b = y.factor;
    const auto add_up = [&](const auto& scaled) {
#pragma omp simd
      for (std::size_t k = 0; k < size; ++k) to[k] = a * scaled(k) + b * from_y[k] + c * to[k];
    };
    if (d.empty()) return add_up([=](std::size_t k) { return from_x[k]; });
    const double* const from_d = d.data() + begin;
    add_up([=](std::size_t k) { return from_d[k] * from_x[k]; });
  });
}

void VectorOps::set_scaled(double a, std::span<const double> x, std::span<double> y) {
  record_update(work_on(y.size(), 2, 1));
  on_parts(thread_count_, y.size(), [&](std::size_t, std::size_t begin, std::size_t size) {
    for_each_piece(begin, size, [&](std::size_t first, std::size_t length) {
      std::copy_n(x.data() + first, length, y.data() + first);
      cblas_dscal(static_cast<int>(length), a, y.data() + first, 1);
    });
  });
}

void VectorOps::copy(std::span<const double> x, std::span<double> y) {
  record_update(work_on(y.size(), 2, 0));
  on_parts(thread_count_, x.size(), [&](std::size_t, std::size_t begin, std::size_t size) {
    std::copy_n(x.data() + begin, size, y.data() + begin);
  });
}

void VectorOps::fill(double a, std::span<double> y) {
  record_update(work_on(y.size(), 1, 0));
  on_parts(thread_count_, y.size(),
           [&](std::size_t, std::size_t begin, std::size_t size) { std::fill_n(y.data() + begin, size, a); });
}

void VectorOps::dots(std::span<const double> x, std::span<const double> y, std::span<double> sums) {
  if (sums.size() == 1) {
    sums[0] = dot(x, y);
    return;
  }
  dot_work_ = dot_work_ + work_on(x.size(), 2, 2);
  with_count(sums.size(), [&](const auto vector_count) {
    constexpr std::size_t count = vector_count;
    const auto totals = fold_parts(x.size() / count, [&](std::size_t first_row, std::size_t row_count) {
      const auto end = (first_row + row_count) * count;
      double partial[count] = {};
      for (auto row = first_row * count; row < end; row += count) {
#pragma omp simd
        for (std::size_t k = 0; k < count; ++k) partial[k] += x.data()[row + k] * y.data()[row + k];
      }
      return std::to_array(partial);
    });
    std::ranges::copy(totals, sums.begin());
  });
}

void VectorOps::steps_along(std::span<const double> lengths, std::span<const double> p,
                            std::span<const double> q, std::span<double> x, std::span<double> r) {
  record_update(work_on(x.size(), 3, 2) + work_on(r.size(), 3, 2));
  on_rows(thread_count_, x.size(), lengths.size(), [&](std::size_t begin, std::size_t end, const auto count) {
    double a[count];
    std::copy_n(lengths.begin(), +count, a);
    for (auto row = begin; row < end; row += count) {
#pragma omp simd
      for (std::size_t k = 0; k < count; ++k) {
        x.data()[row + k] += a[k] * p.data()[row + k];
        r.data()[row + k] -= a[k] * q.data()[row + k];
      }
    }
  });
}

void VectorOps::scale_and_add_each(std::span<const double> x, std::span<const double> factors,
                                   std::span<double> y) {
  record_update(work_on(y.size(), 3, 2));
  on_rows(thread_count_, y.size(), factors.size(), [&](std::size_t begin, std::size_t end, const auto count) {
    double b[count];
    std::copy_n(factors.begin(), +count, b);
    for (auto row = begin; row < end; row += count) {
#pragma omp simd
      for (std::size_t k = 0; k < count; ++k)
        y.data()[row + k] = x.data()[row + k] + b[k] * y.data()[row + k];
    }
  });
}

void VectorOps::subtract_where(std::span<const double> are_taken, std::span<const double> x,
                               std::span<const double> y, std::span<double> z) {
  record_update(work_on(z.size(), 3, 1));
  on_taken(thread_count_, z.size(), are_taken, [&](std::size_t k, std::size_t) { z[k] = x[k] - y[k]; });
}

void VectorOps::copy_where(std::span<const double> are_taken, std::span<const double> x,
                           std::span<double> y) {
  if (are_taken.size() == 1 && are_taken[0] != 0.0) return copy(x, y);
  record_update(work_on(y.size(), 2, 0));
  on_taken(thread_count_, y.size(), are_taken, [&](std::size_t k, std::size_t) { y[k] = x[k]; });
}

void VectorOps::step_back_where(std::span<const double> are_taken, std::span<const double> lengths,
                                std::span<const double> p, std::span<const double> x,
                                std::span<double> kept) {
  record_update(work_on(kept.size(), 3, 2));
  on_taken(thread_count_, kept.size(), are_taken,
           [&](std::size_t k, std::size_t vector) { kept[k] = x[k] - lengths[vector] * p[k]; });
}

}  // namespace cg2d
