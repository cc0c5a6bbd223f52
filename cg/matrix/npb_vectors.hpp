#pragma once

// The NAS CG matrix: its random numbers, its random vectors, of which any part can be generated without the rest, and blocks that are sums of
// their outer products. Up to NpbFactor no MPI.
//
// The definition is sequential: pairs (value, position) are drawn from one stream; a pair is dropped when its
// position lies outside of [0, n) or is in the vector already; a vector is full after `nonzer` positions.
// It becomes parallel because
//
//  - pair number t is draws 2t+1 and 2t+2, whatever happened before, and the generator can jump: ranks draw
//    equal shares of the pairs. Whether a pair is in range depends on no other pair, so a prefix sum numbers
//    the pairs in range.
//  - only a repeated position makes a vector use more than `nonzer` numbers, and for that the two equal
//    positions must lie within one vector, so within a short window of the stream. Each rank lists the
//    repetitions in its share: about nonzer^2 in the whole problem, for every n. The list, the same on all
//    ranks, tells where each vector begins.

#include <bit>
#include <cstring>

#include "cg/matrix/matrix_source.hpp"

namespace cg2d {

/// s <- 5^13 * s mod 2^46; the number drawn is s * 2^-46 (RNR-94-007, section 2.3). Integer arithmetic is
/// exact here, so no splitting into halves is needed.
class RandomStream {
 public:
  static constexpr uint64_t first_seed = 314'159'265;

  explicit RandomStream(uint64_t seed = first_seed) : state_(seed) {}

  /// Advances by one draw and returns the state: an integer below 2^46.
  uint64_t next() {
    state_ = (state_ * multiplier) & mask;
    return state_;
  }
  /// Advances by `count` draws in log2(count) steps.
  void jump(uint64_t count) {
    uint64_t power = multiplier;  // multiplier^(2^bit), wrapping modulo 2^64 keeps the low 46 bits right
    for (; count != 0; count >>= 1) {
      if ((count & 1) != 0) state_ = (state_ * power) & mask;
      power = (power * power) & mask;
    }
  }
  uint64_t state() const { return state_; }

  /// The number in (0, 1) of a state; exact.
  static double number(uint64_t state) { return static_cast<double>(state) * 0x1p-46; }
  /// floor(2^bit_count * number(state)); exact.
  static uint64_t leading_bits(uint64_t state, int bit_count) { return state >> (46 - bit_count); }

 private:
  static constexpr uint64_t multiplier = 1'220'703'125;
  static constexpr uint64_t mask = (uint64_t{1} << 46) - 1;

  uint64_t state_;
};

/// The pairs in range of one share of the stream, and some that follow it (the halo), in the order of the
/// stream.
struct StreamShare {
  int64_t own_count = 0;           // pairs in range within the share
  std::vector<int32_t> positions;  // own, then halo
  std::vector<double> values;      // own values, then halo
};

/// A number of pairs that suffices for the whole matrix in all but one of a hundred million problems.
int64_t estimated_pair_count(const Problem& problem);

/// Draws the pairs of a share and goes on until `halo_count` more are in range. Cost: one step per pair.
StreamShare draw_share(const Problem& problem, comm::IndexRange pairs, int64_t halo_count);

/// Two pairs in range with the same position; numbers count the pairs in range of the whole stream.
struct Repetition {
  int64_t earlier = 0;
  int64_t later = 0;
};

/// Finds, for every pair of the share and its halo, the nearest earlier one with the same position, if that
/// one is the share's own and less than `window` away. first_number: the number of the share's first pair in
/// range.
std::vector<Repetition> find_repetitions(const StreamShare& share, int64_t first_number, int64_t window);

/// The pairs in range that are dropped because their vector has the position already.
struct Rejections {
  std::vector<int64_t> numbers;  // rising
  int64_t longest_vector = 0;    // pairs in range that the longest vector takes, dropped ones included
};

/// `repetitions`: those of the whole stream, by rising `later`. The result is right if longest_vector <=
/// window; else repetitions with a larger window are needed.
Rejections resolve_rejections(const Problem& problem, std::span<const Repetition> repetitions);

/// Number of pairs in range that the whole matrix takes.
int64_t needed_number_count(const Problem& problem, const Rejections& rejections);

/// Consecutive vectors v_first, ...; positions rising within each, v_i(i) = 0.5 included.
struct SparseVectors {
  int64_t first = 0;
  int64_t count = 0;
  int stride = 0;                  // room per vector: nonzer + 1
  std::vector<int32_t> lengths;    // length of each vector: nonzer or nonzer + 1
  std::vector<int32_t> positions;  // count * stride
  std::vector<double> values;      // count * stride
  // Weight of each vector in the matrix, see vector_weights: not set by build_vectors.
  std::vector<double> weights;

  std::span<const int32_t> positions_of(int64_t local_vector) const {
    const auto* const first_one = positions.data() + local_vector * stride;
    return {first_one, first_one + lengths.data()[local_vector]};
  }
  std::span<const double> values_of(int64_t local_vector) const {
    const auto* const first_one = values.data() + local_vector * stride;
    return {first_one, first_one + lengths.data()[local_vector]};
  }
};

/// The vectors that begin in the share. Its halo must hold at least longest_vector pairs.
SparseVectors build_vectors(const Problem& problem, const StreamShare& share, int64_t first_number,
                            const Rejections& rejections);

/// The weights rcond^(i / n) of the vectors first, ..., first + count - 1 (numbered from 0), as the official
/// program rounds them: by repeated multiplication with rcond^(1 / n). That drifts from the exact powers, by
/// 8e-12 at the end of class C, which moves its zeta by 2e-12: more than all other rounding. Cost: one
/// multiplication for each vector up to the last.
std::vector<double> vector_weights(const Problem& problem, int64_t first, int64_t count);

// ---------------------------------------------------------------- blocks

/// A record inside a buffer of words: weight, the two counts, row values, column values, then row and column
/// positions (32 bits each), relative to the first row of the strip and the first column of the block. One vector v with weight w
/// gives w * v[row] * v[column] to every entry (row, column) of the two lists.
class VectorPart {
 public:
  explicit VectorPart(const uint64_t* words) : words_(words) {}

  double weight() const { return std::bit_cast<double>(words_[0]); }
  int32_t row_count() const { return static_cast<int32_t>(words_[1] & 0xffffffffU); }
  int32_t column_count() const { return static_cast<int32_t>(words_[1] >> 32); }
  double row_value(int32_t k) const { return std::bit_cast<double>(words_[2 + k]); }
  double column_value(int32_t k) const { return std::bit_cast<double>(words_[2 + row_count() + k]); }
  int32_t row(int32_t k) const { return position(k); }
  int32_t column(int32_t k) const { return position(row_count() + k); }
  int64_t word_count() const { return word_count(row_count(), column_count()); }

  static int64_t word_count(int64_t row_count, int64_t column_count) {
    return 2 + row_count + column_count + (row_count + column_count + 1) / 2;
  }

  /// Global positions with their values; the record counts positions from `first`.
  struct List {
    std::span<const int32_t> positions;
    std::span<const double> values;
    int64_t first;
  };
  static void append(std::vector<uint64_t>& buffer, double weight, const List& rows, const List& columns) {
    const auto row_count = std::ssize(rows.positions);
    const auto column_count = std::ssize(columns.positions);
    const auto begin = buffer.size();
    buffer.resize(begin + static_cast<size_t>(word_count(row_count, column_count)));
    uint64_t* word = buffer.data() + begin;
    *word++ = std::bit_cast<uint64_t>(weight);
    *word++ = static_cast<uint64_t>(row_count) | (static_cast<uint64_t>(column_count) << 32);
    for (const double value : rows.values) *word++ = std::bit_cast<uint64_t>(value);
    for (const double value : columns.values) *word++ = std::bit_cast<uint64_t>(value);
    auto* position = reinterpret_cast<char*>(word);
    for (const auto* const list : {&rows, &columns}) {
      for (const int32_t global : list->positions) {
        const auto local = static_cast<int32_t>(global - list->first);
        std::memcpy(position, &local, sizeof(local));
        position += sizeof(local);
      }
    }
  }

 private:
  int32_t position(int32_t k) const {
    int32_t value = 0;
    const auto* positions = reinterpret_cast<const int32_t*>(words_ + 2 + row_count() + column_count());
    std::memcpy(&value, positions + k, sizeof(value));
    return value;
  }

  const uint64_t* words_;
};

/// Builds the block rows x columns of  sum_k w_k v_k v_k^T + diagonal_shift * I.
///
/// Every entry sums its products in the order in which the records come (which is the order of the vectors)
/// and adds the diagonal shift last, so its bits do not depend on the grid; w * (v[r] * v[c]) makes the
/// matrix symmetric to the bit. A row's products are gathered, put in order of their columns by one bucket
/// pass, and merged: nothing larger than a row is ever sorted. Memory beyond the block: 16 bytes per (vector,
/// row) pair of a strip.
class BlockAssembler {
 public:
  /// expected_entry_count: an estimate of the block's nonzeros; a low one costs time, a high one only address
  /// space.
  BlockAssembler(comm::IndexRange rows, comm::IndexRange columns, double diagonal_shift,
                 int64_t expected_entry_count, int thread_count);

  /// Adds the `row_count` rows that follow the last strip. `parts`: buffers of VectorPart records, in the order of the
  /// vectors, that hold every record whose row list meets the strip, row lists cut to the strip, rows counted from its first one. Throws
  /// std::bad_alloc.
  void append_rows(int64_t row_count, std::span<const std::vector<uint64_t>> parts);

  /// Hands the block over; every row must have been appended.
  [[nodiscard]] kernels::CsrBlock finish();

 private:
  comm::IndexRange rows_;
  comm::IndexRange columns_;
  double diagonal_shift_;
  int thread_count_;
  int64_t finished_rows_ = 0;
  int64_t finished_entries_ = 0;
  kernels::CsrBlock block_;
};

/// One rank's part of the sum of outer products that defines the matrix: A = V W V^T + diagonal * 1, where the columns of V are the vectors
/// and W their weights. Blocks of V and V^T at the rank's place in the layout, by whose pieces the numbers of the
/// vectors are cut like all other indices.
struct NpbFactor {
  kernels::CsrBlock factor;      ///< V: rows are positions, columns the numbers of vectors
  kernels::CsrBlock transposed;  ///< V^T
  std::vector<double> weights;   ///< weights of the vectors in this rank's column piece
  double diagonal = 0.0;         ///< rcond - shift
};

/// The layout's size must be the order of the matrix, and its grid have a place for each rank. Collective. Cost: n
/// (nonzer + 1) entries of each factor in all, of 14 bytes until they are in order. Throws MpiError, std::bad_alloc.
NpbFactor make_npb_factor(const Problem& problem, const comm::BlockLayout& layout, comm::RankGroup& group);

}  // namespace cg2d
