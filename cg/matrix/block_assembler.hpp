#pragma once

// Sums outer products of sparse vectors into one block in compressed sparse rows, strip of rows by strip of
// rows. No MPI.

#include <bit>
#include <cstring>

#include "comm/block_layout.hpp"
#include "kernels/csr_block.hpp"

namespace cg2d {

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

}  // namespace cg2d
