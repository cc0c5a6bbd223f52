#include "kernels/sell_matrix.hpp"

#include <algorithm>
#include <bit>
#include <cassert>

#include "kernels/parallel_parts.hpp"

namespace cg2d::kernels {
namespace {

std::int64_t parts_of(std::int64_t total, std::int64_t part) { return (total + part - 1) / part; }

/// Counts, for one window of rows at a time, the entries of each row in each column block, and sorts the rows
/// of each block by falling length.
class WindowSorter {
 public:
  WindowSorter(const CsrBlock& block, const SellShape& shape, std::int64_t block_count)
      : block_(block),
        shift_(std::countr_zero(static_cast<std::uint64_t>(shape.block_width))),
        window_rows_(static_cast<std::size_t>(shape.window_rows)),
        lengths_(static_cast<std::size_t>(block_count) * window_rows_),
        // A row has at most one entry per column of a block.
        bucket_ends_(static_cast<std::size_t>(shape.block_width) + 2) {
    ordered_.reserve(window_rows_);
  }

  /// Takes the rows [first_row, last_row) as the window.
  void count(std::int64_t first_row, std::int64_t last_row) {
    std::fill(lengths_.begin(), lengths_.end(), 0U);
    row_count_ = static_cast<std::size_t>(last_row - first_row);
    for (std::size_t row = 0; row < row_count_; ++row) {
      const auto r = static_cast<std::size_t>(first_row) + row;
      for (auto k = static_cast<std::size_t>(block_.row_starts[r]);
           k < static_cast<std::size_t>(block_.row_starts[r + 1]); ++k) {
        ++lengths_[(static_cast<std::size_t>(block_.columns[k]) >> shift_) * window_rows_ + row];
      }
    }
  }

  [[nodiscard]] std::uint32_t length(std::int64_t column_block, std::size_t row) const {
    return lengths_[static_cast<std::size_t>(column_block) * window_rows_ + row];
  }

  /// The rows of the window with entries in the column block, longest first, rows of equal length in order.
  std::span<const std::uint16_t> rows_by_length(std::int64_t column_block) {
    const auto* lengths = lengths_.data() + static_cast<std::size_t>(column_block) * window_rows_;
    const auto longest = *std::max_element(lengths, lengths + row_count_);
    std::fill_n(bucket_ends_.begin(), longest + 2, 0U);
    for (std::size_t row = 0; row < row_count_; ++row) ++bucket_ends_[longest - lengths[row]];
    std::uint32_t end = 0;
    for (std::size_t bucket = 0; bucket <= longest; ++bucket) {
      const auto begin = end;
      end += bucket_ends_[bucket];
      bucket_ends_[bucket] = begin;
    }
    ordered_.resize(row_count_);
    for (std::size_t row = 0; row < row_count_; ++row) {
      ordered_[bucket_ends_[longest - lengths[row]]++] = static_cast<std::uint16_t>(row);
    }
    const auto empty_rows = static_cast<std::size_t>(std::count(lengths, lengths + row_count_, 0U));
    return std::span(ordered_).first(row_count_ - empty_rows);
  }

 private:
  const CsrBlock& block_;
  int shift_;
  std::size_t window_rows_;
  std::size_t row_count_ = 0;
  std::vector<std::uint32_t> lengths_;  // by column block, then row
  std::vector<std::uint32_t> bucket_ends_;
  std::vector<std::uint16_t> ordered_;
};

/// The position of the next chunk of a column block.
struct Place {
  std::int64_t chunk = 0;
  std::int64_t step = 0;
};

/// Makes one part: counts the entries, allocates, and fills in the entries.
class PartMaker {
 public:
  PartMaker(const CsrBlock& block, std::int64_t first_row, std::int64_t last_row, const SellShape& shape)
      : block_(block),
        sorter_(block, shape, parts_of(block.column_count, shape.block_width)),
        lanes_(static_cast<std::size_t>(shape.lanes)) {
    part_.shape = shape;
    part_.first_row = first_row;
    part_.row_count = last_row - first_row;
    part_.block_count = parts_of(block.column_count, shape.block_width);
    part_.window_count = parts_of(part_.row_count, shape.window_rows);
  }

  SellPart make() {
    const auto places = plan();
    fill(places);
    return std::move(part_);
  }

 private:
  [[nodiscard]] std::int64_t window_begin(std::int64_t window) const {
    return part_.first_row + window * part_.shape.window_rows;
  }
  [[nodiscard]] std::int64_t window_end(std::int64_t window) const {
    return std::min(part_.first_row + part_.row_count, window_begin(window + 1));
  }
  [[nodiscard]] std::size_t cell(std::int64_t column_block, std::int64_t window) const {
    return static_cast<std::size_t>(column_block * part_.window_count + window);
  }

  /// Allocates the arrays, and returns the place of every window's first chunk.
  std::vector<Place> plan() {
    std::vector<Place> places(static_cast<std::size_t>(part_.block_count * part_.window_count) + 1);
    for (std::int64_t window = 0; window < part_.window_count; ++window) {
      sorter_.count(window_begin(window), window_end(window));
      for (std::int64_t column_block = 0; column_block < part_.block_count; ++column_block) {
        auto& size = places[cell(column_block, window)];
        const auto rows = sorter_.rows_by_length(column_block);
        for (std::size_t first = 0; first < rows.size(); first += lanes_) {
          ++size.chunk;
          size.step += sorter_.length(column_block, rows[first]);
        }
      }
    }
    Place next;
    part_.first_chunk.reserve(places.size());
    for (auto& place : places) {
      const Place size = place;
      place = next;
      part_.first_chunk.push_back(next.chunk);
      next = {.chunk = next.chunk + size.chunk, .step = next.step + size.step};
    }
    for (std::int64_t column_block = 0; column_block <= part_.block_count; ++column_block)
      part_.first_step.push_back(places[cell(column_block, 0)].step);
    part_.values = PageBuffer<double>(static_cast<std::size_t>(next.step) * lanes_);
    part_.columns = PageBuffer<std::uint16_t>(static_cast<std::size_t>(next.step) * lanes_);
    part_.rows = PageBuffer<std::uint16_t>(static_cast<std::size_t>(next.chunk) * lanes_);
    part_.steps = PageBuffer<std::uint32_t>(static_cast<std::size_t>(next.chunk));
    return places;
  }

  void fill(const std::vector<Place>& places) {
    std::vector<std::int64_t> next_entry(static_cast<std::size_t>(part_.shape.window_rows));
    for (std::int64_t window = 0; window < part_.window_count; ++window) {
      const std::int64_t begin = window_begin(window);
      sorter_.count(begin, window_end(window));
      for (std::int64_t row = begin; row < window_end(window); ++row) {
        next_entry[static_cast<std::size_t>(row - begin)] = block_.row_starts[static_cast<std::size_t>(row)];
      }
      for (std::int64_t column_block = 0; column_block < part_.block_count; ++column_block) {
        Place place = places[cell(column_block, window)];
        const auto rows = sorter_.rows_by_length(column_block);
        for (std::size_t first = 0; first < rows.size(); first += lanes_) {
          fill_chunk(rows.subspan(first, std::min(lanes_, rows.size() - first)), column_block, place,
                     next_entry);
        }
      }
    }
  }

  /// Fills one chunk. Lanes without a row repeat the first lane's row and first column with zeros.
  void fill_chunk(std::span<const std::uint16_t> rows, std::int64_t column_block, Place& place,
                  std::vector<std::int64_t>& next_entry) {
    const std::uint32_t step_count = sorter_.length(column_block, rows.front());
    const auto first_column = static_cast<std::int32_t>(column_block * part_.shape.block_width);
    part_.steps[static_cast<std::size_t>(place.chunk)] = step_count;
    for (std::size_t lane = 0; lane < lanes_; ++lane) {
      const bool has_row = lane < rows.size();
      const auto row = has_row ? rows[lane] : rows.front();
      part_.rows[static_cast<std::size_t>(place.chunk) * lanes_ + lane] = row;
      const std::uint32_t length = has_row ? sorter_.length(column_block, row) : 0;
      auto entry = static_cast<std::size_t>(next_entry[row]);
      auto target = static_cast<std::size_t>(place.step) * lanes_ + lane;
      std::uint16_t column = part_.columns[static_cast<std::size_t>(place.step) * lanes_];
      for (std::uint32_t step = 0; step < length; ++step, ++entry, target += lanes_) {
        column = static_cast<std::uint16_t>(block_.columns[entry] - first_column);
        part_.values[target] = block_.values[entry];
        part_.columns[target] = column;
      }
      // The zeros are multiplied by an element of p that the row needs anyway, so that no infinity of another
      // element enters the sum.
      for (std::uint32_t step = length; step < step_count; ++step, target += lanes_)
        part_.columns[target] = column;
      if (has_row) next_entry[row] += length;
    }
    ++place.chunk;
    place.step += step_count;
  }

  const CsrBlock& block_;
  WindowSorter sorter_;
  std::size_t lanes_;
  SellPart part_;
};

}  // namespace

std::int64_t SellPart::byte_count() const {
  return static_cast<std::int64_t>(values.size() * sizeof(double) + columns.size() * sizeof(std::uint16_t) +
                                   rows.size() * sizeof(std::uint16_t) +
                                   steps.size() * sizeof(std::uint32_t) +
                                   (first_chunk.size() + first_step.size()) * sizeof(std::int64_t));
}

std::vector<SellPart> sell_parts(const CsrBlock& block, int thread_count, const SellShape& shape) {
  assert(std::has_single_bit(static_cast<std::uint64_t>(shape.block_width)) && shape.block_width <= 1 << 16);
  assert(0 < shape.window_rows && shape.window_rows <= 1 << 16);
  return make_parts<SellPart>(block, thread_count, [&](const RowRange& rows) {
    return PartMaker(block, rows.begin, rows.end, shape).make();
  });
}

}  // namespace cg2d::kernels
