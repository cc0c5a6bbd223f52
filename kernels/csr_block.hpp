#pragma once

// One block of a sparse matrix in compressed sparse rows, with the block's own row and column numbers.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/page_buffer.hpp"

namespace cg2d::kernels {

/// The contents of an array of matrix data.
enum class ArrayKind {
  values,     ///< elements of the matrix, and zeros that fill rows up
  columns,    ///< column numbers, or differences of them
  structure,  ///< lengths, starts and places of rows
};

/// An array of matrix data in the format of its owner, for checksums of it and for faults on purpose.
struct StoredArray {
  ArrayKind kind = ArrayKind::values;
  size_t element_size = 0;  ///< bytes
  std::span<std::byte> bytes{};
  /// For owners that take memory with the same contents in place of their own; nullptr: this one does not.
  PageMemory* memory = nullptr;
};
template <typename T>
StoredArray stored_array(ArrayKind kind, std::span<T> elements) {
  return {.kind = kind, .element_size = sizeof(T), .bytes = std::as_writable_bytes(elements)};
}
template <typename T>
StoredArray stored_array(ArrayKind kind, PageBuffer<T>& elements) {
  auto array = stored_array(kind, elements.span());
  array.memory = &elements.memory();
  return array;
}

/// A block in the format of a kernel on one thread, whose arrays are not in memory: they are lent to the kernel before a product.
struct ExternalArrays {
  int64_t row_count = 0;
  int64_t column_count = 0;
  std::span<const size_t> array_bytes{};  ///< bytes of each of the kernel's StoredArrays
};

/// Row r is the entries row_starts[r] ... row_starts[r+1]-1, its columns in rising order, each in
/// [0, column_count). row_starts has row_count + 1 entries and never falls; the first one is 0, the last one
/// is the number of nonzeros. Row starts have 64 bits because one block may hold more than 2^31 nonzeros; a
/// block's columns always fit 32 bits.
struct CsrBlock {
  /// Value and column.
  static constexpr double bytes_per_nonzero = sizeof(double) + sizeof(int32_t);

  int64_t row_count = 0;
  int64_t column_count = 0;
  PageBuffer<int64_t> row_starts;
  PageBuffer<int32_t> columns;
  PageBuffer<double> values;

  int64_t nonzero_count() const {
    return row_starts.empty() ? 0 : row_starts[static_cast<size_t>(row_count)];
  }
  /// The columns of a row.
  std::span<const int32_t> columns_of(int64_t row) const {
    const auto begin = static_cast<size_t>(row_starts[static_cast<size_t>(row)]);
    const auto end = static_cast<size_t>(row_starts[static_cast<size_t>(row) + 1]);
    return columns.span().subspan(begin, end - begin);
  }
  /// The values of its entries.
  std::span<const double> values_of(int64_t row) const {
    const auto begin = static_cast<size_t>(row_starts[static_cast<size_t>(row)]);
    const auto end = static_cast<size_t>(row_starts[static_cast<size_t>(row) + 1]);
    return values.span().subspan(begin, end - begin);
  }
  /// Rows without entries, and room for so many.
  static CsrBlock with_room(int64_t row_count, int64_t column_count, size_t entry_count = 0) {
    return {.row_count = row_count,
            .column_count = column_count,
            .row_starts = PageBuffer<int64_t>(static_cast<size_t>(row_count) + 1),
            .columns = PageBuffer<int32_t>(entry_count),
            .values = PageBuffer<double>(entry_count)};
  }
  /// Makes row_starts of the lengths of the rows, that of row r in row_starts[r+1], and room for exactly these entries; keeps the first ones.
  void make_room_by_lengths();
  /// Room for as many entries; keeps the first ones.
  void resize(size_t entry_count) {
    columns.resize(entry_count);
    values.resize(entry_count);
  }
  int64_t byte_count() const;
  [[nodiscard]] std::vector<StoredArray> stored_arrays();
  /// Whether all columns of the rows first_row ... last_row-1 are in [0, column_count).
  bool has_columns_in_range(int64_t first_row, int64_t last_row) const;
  /// Copies the first rows into a new block. (A kernel takes over the block that it is given.)
  CsrBlock first_rows(int64_t count) const;
  CsrBlock copy() const { return first_rows(row_count); }

  struct Entry {
    int32_t column;
    double value;
  };
  using Rows = std::vector<std::vector<Entry>>;
  /// Makes a small block for tests and examples from one list of entries per row, columns rising.
  static CsrBlock from_rows(int64_t column_count, const Rows& rows);
};

/// Cuts the rows into `part_count` consecutive parts of about equal numbers of nonzeros: part_count + 1
/// borders.
std::vector<int64_t> split_rows_by_nonzeros(std::span<const int64_t> row_starts, int part_count);

/// Moves the arrays of a block to fresh pages, each first written by the thread whose rows lie there: thread
/// k reads the rows borders[k] ... borders[k+1]-1. The block may have been made by another thread. Old pages
/// are given back as new ones are taken, so that the peak of memory hardly grows. With one thread nothing is
/// moved. Throws std::bad_alloc. Cost: one copy of the block.
void place_near_threads(CsrBlock& block, std::span<const int64_t> borders);

}  // namespace cg2d::kernels
