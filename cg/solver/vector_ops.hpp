#pragma once

// The vector operations of CG through CBLAS, on as many threads as a rank has.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace cg2d {

/// This rank's piece of a vector, to be read or to be written.
using ConstPiece = std::span<const double>;
using Piece = std::span<double>;

/// The least that vector operations move between memory and processor, and what they compute.
struct VectorWork {
  int64_t call_count = 0;
  int64_t byte_count = 0;
  int64_t flop_count = 0;

  friend VectorWork operator+(const VectorWork& left, const VectorWork& right) {
    return {.call_count = left.call_count + right.call_count,
            .byte_count = left.byte_count + right.byte_count,
            .flop_count = left.flop_count + right.flop_count};
  }
  friend VectorWork operator-(const VectorWork& left, const VectorWork& right) {
    return {.call_count = left.call_count - right.call_count,
            .byte_count = left.byte_count - right.byte_count,
            .flop_count = left.flop_count - right.flop_count};
  }
  friend bool operator==(const VectorWork&, const VectorWork&) = default;
};

/// Local vector operations; the vectors of one call have the same length and do not overlap. With several
/// threads each takes a fixed part, so results repeat their bits.
class VectorOps {
 public:
  explicit VectorOps(int thread_count)
      : thread_count_(thread_count), partial_sums_(static_cast<size_t>(thread_count)) {}

  /// From here on reproducible: every element, and every sum over all ranks, has the same bits wherever it stands (kernels/exact_sums.hpp).
  /// most_terms: a power of two, no less than the elements of a vector over all ranks. maximum_over_ranks: collective.
  /// dot() is collective, and returns the first of two numbers, of which both are summed over the ranks
  /// (lows()); add_scaled(), step_and_turn() without a diagonal, set_scaled(), copy(), fill() and add() serve, and no other
  /// operation does.
  void make_exact(double most_terms, std::function<double(double)> maximum_over_ranks) {
    most_terms_ = most_terms;
    maximum_over_ranks_ = std::move(maximum_over_ranks);
  }
  bool is_exact() const { return most_terms_ > 0.0; }
  /// The second numbers of the dot products since clear_lows(), in their order; empty unless is_exact().
  std::span<const double> lows() const { return lows_; }
  void clear_lows() { lows_.clear(); }  // keeps its room: a step of CG allocates nothing

  /// The largest magnitude in this rank's piece, 0 for no elements; NaN is passed over.
  [[nodiscard]] double largest_magnitude(ConstPiece x);
  /// x . y over this rank's piece.
  [[nodiscard]] double dot(ConstPiece x, ConstPiece y);
  /// y := y + a x
  void add_scaled(double a, ConstPiece x, Piece y);
  /// x := x + a p and r := r - a q, a solver's step along p. Counts as two operations; threads start once.
  void step_along(double a, ConstPiece p, ConstPiece q, Piece x, Piece r);
  /// r := r - a q; returns {r . D r, r . r} for the diagonal d of D, in the same pass over the vectors.
  [[nodiscard]] std::array<double, 2> step_residual(double a, ConstPiece q, ConstPiece d, Piece r);
  /// y := x + b y
  void scale_and_add(ConstPiece x, double b, Piece y);
  /// z := (x1 y1, ..., xn yn)
  void multiply(ConstPiece x, ConstPiece y, Piece z);
  /// z := x + y
  void add(ConstPiece x, ConstPiece y, Piece z);
  /// A vector and its factor in a sum.
  struct Term {
    double factor;
    ConstPiece vector;
  };
  /// z := x + y + c z for two terms; D x for x where the diagonal d of D is not empty
  void combine(const Term& x, const Term& y, double c, Piece z, ConstPiece d = {});
  /// y := a x
  void set_scaled(double a, ConstPiece x, Piece y);
  /// y := x
  void copy(ConstPiece x, Piece y);
  /// y := (a, ..., a)
  void fill(double a, Piece y);

  // Several vectors at once, row by row: the elements of a row, one of each vector, are neighbours. There are as many
  // vectors as numbers: 1, 2, 4, 8 or 16.

  /// sums := x . y of each vector, over this rank's piece
  void dots(ConstPiece x, ConstPiece y, std::span<double> sums);
  /// y := y - a x with a number for each vector.
  void subtract_scaled_each(std::span<const double> factors, ConstPiece x, Piece y);
  /// x := x + a p, then p := z + b p, a and b a length and a factor for each vector: the end of a step and its next direction, p read once. D z for
  /// z where the diagonal d of D is not empty, of one vector alone. Counts as two operations.
  void step_and_turn(std::span<const double> lengths, std::span<const double> factors, ConstPiece z, Piece p,
                     Piece x, ConstPiece d = {});
  /// z := x - y, and y := x, of the vectors whose number is not 0.
  void subtract_where(std::span<const double> are_taken, ConstPiece x, ConstPiece y, Piece z);
  void copy_where(std::span<const double> are_taken, ConstPiece x, Piece y);

  /// Counts work that a caller has done itself as that of a vector operation.
  void record_update(const VectorWork& work) { update_work_ = update_work_ + work; }

  /// The work of all dot products, and of all other operations, so far.
  const VectorWork& dot_work() const { return dot_work_; }
  const VectorWork& update_work() const { return update_work_; }

 private:
  template <typename Operation>
  void join(ConstPiece x, ConstPiece y, Piece z, const Operation& operation);
  template <typename Compute, typename Fold = std::plus<>>
  auto fold_parts(size_t size, const Compute& compute, const Fold& fold = {});

  static constexpr size_t most_vectors = 16;
  /// One per thread, a cache line apart; added in the order of the parts.
  struct alignas(64) PartialSums {
    std::array<double, most_vectors> values{};
  };

  void add_to(double a, ConstPiece x, Piece y) const;
  void turn_to(double b, ConstPiece x, Piece y) const;
  [[nodiscard]] double exact_dot(ConstPiece x, ConstPiece y);

  int thread_count_;
  double most_terms_ = 0.0;  // 0: not reproducible
  std::function<double(double)> maximum_over_ranks_;
  std::vector<double> lows_;
  std::vector<PartialSums> partial_sums_;
  VectorWork dot_work_;
  VectorWork update_work_;
};

}  // namespace cg2d
