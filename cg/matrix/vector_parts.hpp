#pragma once

// The part of one weighted sparse vector that meets one block of the matrix, as ranks send it: a record of
// 64-bit words.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace cg2d {

/// A record inside a buffer of words: weight, the two counts, row values, column values, then row and column
/// positions (32 bits each), relative to the first row and column of the block. One vector v with weight w
/// gives w * v[row] * v[column] to every entry (row, column) of the two lists.
class VectorPart {
 public:
  explicit VectorPart(const std::uint64_t* words) : words_(words) {}

  [[nodiscard]] double weight() const { return std::bit_cast<double>(words_[0]); }
  [[nodiscard]] std::int32_t row_count() const { return static_cast<std::int32_t>(words_[1] & 0xffffffffU); }
  [[nodiscard]] std::int32_t column_count() const { return static_cast<std::int32_t>(words_[1] >> 32); }
  [[nodiscard]] double row_value(std::int32_t k) const { return std::bit_cast<double>(words_[2 + k]); }
  [[nodiscard]] double column_value(std::int32_t k) const {
    return std::bit_cast<double>(words_[2 + row_count() + k]);
  }
  [[nodiscard]] std::int32_t row(std::int32_t k) const { return position(k); }
  [[nodiscard]] std::int32_t column(std::int32_t k) const { return position(row_count() + k); }
  [[nodiscard]] std::int64_t word_count() const { return word_count(row_count(), column_count()); }

  static std::int64_t word_count(std::int64_t row_count, std::int64_t column_count) {
    return 2 + row_count + column_count + (row_count + column_count + 1) / 2;
  }

  /// Appends a record. Positions are global; the block begins at (first_row, first_column).
  struct List {
    std::span<const std::int32_t> positions;
    std::span<const double> values;
    std::int64_t first;
  };
  static void append(std::vector<std::uint64_t>& buffer, double weight, const List& rows,
                     const List& columns) {
    const auto row_count = rows.positions.size();
    const auto column_count = columns.positions.size();
    const auto begin = buffer.size();
    buffer.resize(begin + static_cast<std::size_t>(word_count(static_cast<std::int64_t>(row_count),
                                                              static_cast<std::int64_t>(column_count))));
    std::uint64_t* word = buffer.data() + begin;
    *word++ = std::bit_cast<std::uint64_t>(weight);
    *word++ = row_count | (static_cast<std::uint64_t>(column_count) << 32);
    for (const double value : rows.values) *word++ = std::bit_cast<std::uint64_t>(value);
    for (const double value : columns.values) *word++ = std::bit_cast<std::uint64_t>(value);
    auto* position = reinterpret_cast<char*>(word);
    const auto append_positions = [&](const List& list) {
      for (const std::int32_t global : list.positions) {
        const auto local = static_cast<std::int32_t>(global - list.first);
        std::memcpy(position, &local, sizeof(local));
        position += sizeof(local);
      }
    };
    append_positions(rows);
    append_positions(columns);
  }

 private:
  [[nodiscard]] std::int32_t position(std::int32_t k) const {
    std::int32_t value = 0;
    const auto* positions = reinterpret_cast<const char*>(words_ + 2 + row_count() + column_count());
    std::memcpy(&value,
                positions + static_cast<std::ptrdiff_t>(k) * static_cast<std::ptrdiff_t>(sizeof(value)),
                sizeof(value));
    return value;
  }

  const std::uint64_t* words_;
};

}  // namespace cg2d
