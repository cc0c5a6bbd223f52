#include "kernels/sell_matrix.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <span>
#include <stdexcept>
#include <utility>

#include "kernels/exact_sums.hpp"
#include "kernels/format_kernel.hpp"

namespace cg2d::kernels {
namespace {

constexpr size_t max_lanes = 8;

int64_t parts_of(int64_t total, int64_t part) { return (total + part - 1) / part; }

/// Counts, for one window of rows at a time, the entries of each row in each column block, and sorts the rows
/// of each block by falling length.
class WindowSorter {
 public:
  WindowSorter(const CsrBlock& block, const SellShape& shape, int64_t block_count)
      : block_(block),
        shift_(std::countr_zero(static_cast<uint64_t>(shape.block_width))),
        window_rows_(static_cast<size_t>(shape.window_rows)),
        lengths_(static_cast<size_t>(block_count) * window_rows_),
        entry_counts_(static_cast<size_t>(block_count)),
        // A row has at most one entry per column of a block.
        bucket_ends_(static_cast<size_t>(shape.block_width) + 2) {
    ordered_.reserve(window_rows_);
  }

  /// Takes the rows [first_row, last_row) as the window.
  void count(int64_t first_row, int64_t last_row) {
    clear();
    row_count_ = static_cast<size_t>(last_row - first_row);
    for (size_t row = 0; row < row_count_; ++row) {
      const auto r = static_cast<size_t>(first_row) + row;
      for (auto k = static_cast<size_t>(block_.row_starts[r]);
           k < static_cast<size_t>(block_.row_starts[r + 1]); ++k) {
        const auto column_block = static_cast<size_t>(block_.columns[k]) >> shift_;
        ++lengths_[column_block * window_rows_ + row];
        ++entry_counts_[column_block];
      }
    }
  }

  uint32_t length(int64_t column_block, size_t row) const {
    return lengths_[static_cast<size_t>(column_block) * window_rows_ + row];
  }

  /// The rows of the window with entries in the column block, longest first, rows of equal length in order.
  std::span<const uint16_t> rows_by_length(int64_t column_block) {
    if (entry_counts_[static_cast<size_t>(column_block)] == 0) return {};
    const auto* lengths = lengths_.data() + static_cast<size_t>(column_block) * window_rows_;
    const auto longest = *std::max_element(lengths, lengths + row_count_);
    std::fill_n(bucket_ends_.begin(), longest + 2, 0U);
    for (size_t row = 0; row < row_count_; ++row) ++bucket_ends_[longest - lengths[row]];
    uint32_t end = 0;
    for (size_t bucket = 0; bucket <= longest; ++bucket) {
      const auto begin = end;
      end += bucket_ends_[bucket];
      bucket_ends_[bucket] = begin;
    }
    ordered_.resize(row_count_);
    for (size_t row = 0; row < row_count_; ++row) {
      ordered_[bucket_ends_[longest - lengths[row]]++] = static_cast<uint16_t>(row);
    }
    const auto empty_rows = static_cast<size_t>(std::count(lengths, lengths + row_count_, 0U));
    return std::span(ordered_).first(row_count_ - empty_rows);
  }

 private:
  /// Only blocks with entries: of a mesh, a window has entries in few of many.
  void clear() {
    for (size_t column_block = 0; column_block < entry_counts_.size(); ++column_block) {
      if (entry_counts_[column_block] == 0) continue;
      std::fill_n(lengths_.data() + column_block * window_rows_, window_rows_, 0U);
      entry_counts_[column_block] = 0;
    }
  }

  const CsrBlock& block_;
  int shift_;
  size_t window_rows_;
  size_t row_count_ = 0;
  std::vector<uint32_t> lengths_;       // by column block, then row
  std::vector<uint32_t> entry_counts_;  // entries of each column block; a window has less than 2^32
  std::vector<uint32_t> bucket_ends_;
  std::vector<uint16_t> ordered_;
};

/// The rows of one chunk, with their entries in its column block.
struct ChunkRows {
  std::span<const uint16_t> rows;                // rows of the window, at most one per lane
  std::array<int64_t, max_lanes> first_entry{};  // in the block, of each row
  std::array<uint32_t, max_lanes> length{};      // length of each row, falling
};

/// Says which entry of a chunk stands in which step and lane.
class ChunkArranger {
 public:
  ChunkArranger(const CsrBlock& block, const SellShape& shape) : block_(block), shape_(shape) {}

  /// Lays the entries out in order, and moves those that would meet another one of the same column in a lane
  /// that must be distinct. Returns the number of steps: more than the longest row has entries where moving
  /// within the row does not help.
  uint32_t arrange(const ChunkRows& chunk) {
    step_count_ = chunk.length[0];
    entries_.assign(static_cast<size_t>(step_count_ * shape_.lanes), no_entry);
    for (size_t lane = 0; lane < chunk.rows.size(); ++lane) {
      for (uint32_t step = 0; step < chunk.length[lane]; ++step)
        entry(step, lane) = chunk.first_entry[lane] + step;
      if (shape_.distinct != DistinctLanes::none) part_from_lanes_before(lane);
    }
    return step_count_;
  }

  static constexpr int64_t no_entry = -1;
  int64_t entry_at(uint32_t step, size_t lane) const {
    return entries_[static_cast<size_t>(step * shape_.lanes) + lane];
  }

 private:
  int64_t& entry(uint32_t step, size_t lane) {
    return entries_[static_cast<size_t>(step * shape_.lanes) + lane];
  }

  bool must_differ(size_t lane, size_t other) const {
    return shape_.distinct == DistinctLanes::all || other == (lane ^ 2U);
  }

  bool meets_lanes_before(uint32_t step, size_t lane) const {
    const auto column = column_of(entry_at(step, lane));
    if (column < 0) return false;
    for (size_t other = 0; other < lane; ++other) {
      if (must_differ(lane, other) && column == column_of(entry_at(step, other))) return true;
    }
    return false;
  }

  int64_t column_of(int64_t entry) const {
    return entry == no_entry ? -1 : block_.columns[static_cast<size_t>(entry)];
  }

  void part_from_lanes_before(size_t lane) {
    for (uint32_t step = 0; step < step_count_; ++step) {
      if (!meets_lanes_before(step, lane) || changes_places(step, lane)) continue;
      entries_.resize(entries_.size() + static_cast<size_t>(shape_.lanes), no_entry);
      std::swap(entry(step, lane), entry(step_count_++, lane));
    }
  }

  /// Swaps the entry with one of another step of its lane, if then both meet nothing.
  bool changes_places(uint32_t step, size_t lane) {
    for (uint32_t other = 0; other < step_count_; ++other) {
      if (other == step) continue;
      std::swap(entry(step, lane), entry(other, lane));
      if (!meets_lanes_before(step, lane) && !meets_lanes_before(other, lane)) return true;
      std::swap(entry(step, lane), entry(other, lane));
    }
    return false;
  }

  const CsrBlock& block_;
  const SellShape& shape_;
  uint32_t step_count_ = 0;
  std::vector<int64_t> entries_;  // by step, then lane
};

/// The position of the next chunk of a column block, and of the positions of its window. One for each window: sell_windows().
struct Place {
  int64_t chunk = 0;
  int64_t step = 0;
  int64_t position = 0;
};

/// Makes one part: counts the entries, allocates, and fills in the entries.
class PartMaker {
 public:
  PartMaker(const CsrBlock& block, int64_t first_row, int64_t last_row, const SellShape& shape)
      : block_(block),
        sorter_(block, shape, parts_of(block.column_count, shape.block_width)),
        part_(SellPart::of_rows(shape, first_row, last_row - first_row, block.column_count)),
        arranger_(block, part_.shape),
        lanes_(static_cast<size_t>(shape.lanes)) {}

  SellPart make() {
    auto places = plan();
    fill(places);
    return std::move(part_);
  }

 private:
  size_t cell(int64_t column_block, int64_t window) const {
    return static_cast<size_t>(column_block * part_.window_count + window);
  }

  /// Calls visit(chunk, column block, window) for every chunk: window by window, and in each block by block.
  template <typename Visitor>
  void for_each_chunk(const Visitor& visit) {
    std::vector<int64_t> next_entry(static_cast<size_t>(part_.shape.window_rows));
    for (int64_t window = 0; window < part_.window_count; ++window) {
      const int64_t begin = part_.first_row + window * part_.shape.window_rows;
      const int64_t end = std::min(part_.first_row + part_.row_count, begin + part_.shape.window_rows);
      sorter_.count(begin, end);
      std::copy(block_.row_starts.data() + begin, block_.row_starts.data() + end, next_entry.begin());
      for (int64_t column_block = 0; column_block < part_.block_count; ++column_block) {
        const auto rows = sorter_.rows_by_length(column_block);
        for (size_t first = 0; first < rows.size(); first += lanes_) {
          ChunkRows chunk{.rows = rows.subspan(first, std::min(lanes_, rows.size() - first))};
          for (size_t lane = 0; lane < chunk.rows.size(); ++lane) {
            auto& entry = next_entry[chunk.rows[lane]];
            chunk.first_entry[lane] = entry;
            chunk.length[lane] = sorter_.length(column_block, chunk.rows[lane]);
            entry += chunk.length[lane];
          }
          visit(chunk, column_block, window);
        }
      }
    }
  }

  /// Allocates the arrays, and returns the place of every window's first chunk.
  std::vector<Place> plan() {
    std::vector<Place> places(static_cast<size_t>(part_.block_count * part_.window_count) + 1);
    for_each_chunk([&](const ChunkRows& chunk, int64_t column_block, int64_t window) {
      auto& size = places[cell(column_block, window)];
      ++size.chunk;
      size.step += arranger_.arrange(chunk);
      size.position = part_.shape.has_positions ? part_.shape.window_rows : 0;
    });
    Place next;
    part_.first_chunk = PageBuffer<int64_t>(places.size());
    for (size_t index = 0; index < places.size(); ++index) {
      auto& place = places[index];
      const Place size = place;
      place = next;
      part_.first_chunk[index] = next.chunk;
      next = {.chunk = next.chunk + size.chunk,
              .step = next.step + size.step,
              .position = next.position + size.position};
    }
    const auto border_count = static_cast<size_t>(part_.block_count) + 1;
    part_.first_step = PageBuffer<int64_t>(border_count);
    part_.first_position = PageBuffer<int64_t>(border_count);
    for (size_t border = 0; border < border_count; ++border) {
      const auto& place = places[cell(static_cast<int64_t>(border), 0)];
      part_.first_step[border] = place.step;
      part_.first_position[border] = place.position;
    }
    part_.values = PageBuffer<double>(static_cast<size_t>(next.step) * lanes_);
    part_.columns = PageBuffer<uint16_t>(static_cast<size_t>(next.step) * lanes_);
    part_.rows = PageBuffer<uint16_t>(static_cast<size_t>(next.chunk) * lanes_);
    part_.steps = PageBuffer<uint32_t>(static_cast<size_t>(next.chunk));
    part_.positions = PageBuffer<uint16_t>(static_cast<size_t>(next.position));
    std::ranges::fill(part_.positions.span(), static_cast<uint16_t>(part_.shape.spare_position()));
    return places;
  }

  /// Fills in all chunks; moves every place to the end of its window.
  void fill(std::vector<Place>& places) {
    for_each_chunk([&](const ChunkRows& chunk, int64_t column_block, int64_t window) {
      auto& place = places[cell(column_block, window)];
      if (part_.shape.has_positions) fill_positions(chunk, place, first_chunk_of(column_block, window));
      fill_chunk(chunk, column_block, place);
    });
  }

  int64_t first_chunk_of(int64_t column_block, int64_t window) const {
    return part_.first_chunk[cell(column_block, window)];
  }

  void fill_positions(const ChunkRows& chunk, const Place& place, int64_t first_chunk) {
    for (size_t lane = 0; lane < chunk.rows.size(); ++lane) {
      part_.positions[static_cast<size_t>(place.position) + chunk.rows[lane]] =
          static_cast<uint16_t>((place.chunk - first_chunk) * part_.shape.lanes + static_cast<int64_t>(lane));
    }
  }

  /// Fills one chunk. Lanes without a row repeat the first lane's row.
  void fill_chunk(const ChunkRows& chunk, int64_t column_block, Place& place) {
    const uint32_t step_count = arranger_.arrange(chunk);
    part_.steps[static_cast<size_t>(place.chunk)] = step_count;
    for (size_t lane = 0; lane < lanes_; ++lane) {
      const auto row = lane < chunk.rows.size() ? chunk.rows[lane] : chunk.rows.front();
      part_.rows[static_cast<size_t>(place.chunk) * lanes_ + lane] = row;
      fill_lane(lane, column_block * part_.shape.block_width,
                {part_.values.data() + place.step * part_.shape.lanes,
                 part_.columns.data() + place.step * part_.shape.lanes},
                step_count);
    }
    ++place.chunk;
    place.step += step_count;
  }

  /// The entries of a chunk.
  struct ChunkEntries {
    double* values;
    uint16_t* columns;
  };

  /// Fills one lane. A step without an entry is a zero; it is multiplied by an element of p that the row needs
  /// anyway, so that no infinity of another element enters the sum, or by a spare element, which is zero.
  void fill_lane(size_t lane, int64_t first_column, ChunkEntries target, uint32_t step_count) {
    auto column = part_.shape.distinct == DistinctLanes::none
                      ? target.columns[0]
                      : static_cast<uint16_t>(part_.shape.spare_column(static_cast<int64_t>(lane)));
    for (uint32_t step = 0; step < step_count; ++step) {
      const auto place = step * lanes_ + lane;
      const auto entry = arranger_.entry_at(step, lane);
      if (entry == ChunkArranger::no_entry) {
        target.columns[place] = column;
        continue;
      }
      const auto index = static_cast<size_t>(entry);
      target.columns[place] = static_cast<uint16_t>(block_.columns[index] - first_column);
      target.values[place] = block_.values[index];
      if (part_.shape.distinct == DistinctLanes::none) column = target.columns[place];
    }
  }

  const CsrBlock& block_;
  WindowSorter sorter_;
  SellPart part_;
  ChunkArranger arranger_;
  size_t lanes_;
};

void require_storable([[maybe_unused]] const SellShape& shape) {
  assert(std::has_single_bit(static_cast<uint64_t>(shape.block_width)) && shape.block_width <= 1 << 16);
  assert(0 < shape.window_rows && shape.window_rows <= 1 << 16);
  assert(0 < shape.lanes && shape.lanes <= static_cast<int64_t>(max_lanes));
  assert(shape.distinct == DistinctLanes::none || shape.block_width <= 1 << 15);
  assert(!shape.has_positions || shape.window_rows <= 1 << 15);
}

}  // namespace

SellPart SellPart::of_rows(const SellShape& shape, int64_t first_row, int64_t row_count,
                           int64_t column_count) {
  SellPart part;
  part.shape = shape;
  part.first_row = first_row;
  part.row_count = row_count;
  part.column_count = column_count;
  part.block_count = parts_of(column_count, shape.block_width);
  part.window_count = parts_of(row_count, shape.window_rows);
  return part;
}

std::vector<SellBands> external_sell_parts(const ExternalArrays& block, const SellShape& shape) {
  auto part = SellPart::of_rows(shape, 0, block.row_count, block.column_count);
  const auto arrays = part.stored_arrays();
  bool fits = arrays.size() == block.array_bytes.size();
  for (size_t index = 0; fits && index < arrays.size(); ++index) {
    fits = block.array_bytes[index] % arrays[index].element_size == 0;
    *arrays[index].memory = PageMemory::nowhere(block.array_bytes[index]);
  }
  const auto lanes = static_cast<size_t>(shape.lanes);
  const auto borders = static_cast<size_t>(part.block_count) + 1;
  const auto windows = static_cast<size_t>(part.block_count * part.window_count);
  if (!fits || part.values.size() != part.columns.size() || part.values.size() % lanes != 0 ||
      part.rows.size() != part.steps.size() * lanes || part.first_chunk.size() != windows + 1 ||
      part.first_step.size() != borders || part.first_position.size() != borders)
    throw std::invalid_argument("arrays of other sizes than those of such a block");
  std::vector<SellBands> bands(1);
  bands.front().bands.push_back(std::move(part));
  return bands;
}

std::vector<StoredArray> SellPart::stored_arrays() {
  return {stored_array(ArrayKind::values, values),        stored_array(ArrayKind::columns, columns),
          stored_array(ArrayKind::structure, rows),       stored_array(ArrayKind::structure, steps),
          stored_array(ArrayKind::structure, positions),  stored_array(ArrayKind::structure, first_chunk),
          stored_array(ArrayKind::structure, first_step), stored_array(ArrayKind::structure, first_position)};
}

bool SellPart::has_columns_in_range() const {
  for (int64_t column_block = 0; column_block < block_count; ++column_block) {
    const auto index = static_cast<size_t>(column_block);
    const auto entries = columns.span().subspan(
        static_cast<size_t>(first_step[index] * shape.lanes),
        static_cast<size_t>((first_step[index + 1] - first_step[index]) * shape.lanes));
    if (entries.empty()) continue;
    // In 16 bits and without branches, so that the compiler makes vectors of it.
    const auto last = static_cast<uint16_t>(
        std::min(shape.block_width, column_count - column_block * shape.block_width) - 1);
    const auto first_spare = static_cast<uint16_t>(shape.spare_column(0));
    const auto spare_count = static_cast<uint16_t>(shape.distinct == DistinctLanes::none ? 0 : shape.lanes);
    uint16_t is_beyond = 0;
    for (const uint16_t column : entries) {
      const auto from_spare = static_cast<uint16_t>(column - first_spare);
      is_beyond |= static_cast<uint16_t>(column > last ? 1 : 0) &
                   static_cast<uint16_t>(from_spare >= spare_count ? 1 : 0);
    }
    if (is_beyond != 0) return false;
  }
  return true;
}

std::vector<StoredArray> SellBands::stored_arrays() { return arrays_of_parts(bands); }

bool SellBands::has_columns_in_range() const {
  return std::ranges::all_of(bands, &SellPart::has_columns_in_range);
}

std::vector<SellBands> sell_parts(const CsrBlock& block, int thread_count, const SellShape& shape) {
  require_storable(shape);
  return make_parts<SellBands>(block, thread_count, [&](const RowRange& rows) {
    const auto row_count = rows.end - rows.begin;
    const auto band_count =
        row_count > shape.bands.most_rows_of_one ? parts_of(row_count, shape.bands.rows) : 1;
    const auto windows = parts_of(parts_of(row_count, band_count), shape.window_rows);
    const auto step = std::max<int64_t>(windows, 1) * shape.window_rows;
    SellBands own;
    auto begin = rows.begin;
    do {
      const auto end = std::min(begin + step, rows.end);
      own.bands.push_back(PartMaker(block, begin, end, shape).make());
      begin = end;
    } while (begin < rows.end);
    return own;
  });
}

// ---------------------------------------------------------------- kernels

namespace {

/// Adds the constants with which running sums begin, or takes them away: exactly. sign: 1 or -1.
void add_high_constants(double sign, std::span<const double> bounds, double p_bound, double* q) {
  for (const double bound : bounds) *q++ += sign * (SplitConstants::high_factor * (bound * p_bound));
}

class SellKernel final : public FormatKernel<Parts<SellBands>> {
 public:
  SellKernel(const SellForm& form, std::vector<SellBands> bands, const KernelOptions& options)
      : FormatKernel(form.name, options, {std::move(bands)}),
        form_(form),
        prefetch_distance_(options.tuning.prefetch_distance.value_or(default_sell_prefetch_distance)),
        vector_count_(options.vector_count),
        low_factor_(SplitConstants::low_factor(options.most_terms)),
        column_sums_(stores_half() ? any_band().column_count * vector_count_ : 0, thread_count()) {
    if (!form.shape.has_positions) return;
    for (int thread = 0; thread < thread_count(); ++thread) {
      pairs_.emplace_back(static_cast<size_t>(form.shape.spare_column(form.shape.lanes)));
      row_sums_.emplace_back(static_cast<size_t>(form.shape.spare_position()) + 1);
    }
  }

  /// A share is a share of the column blocks, which are the same for all threads: their sums over the columns of
  /// the share are added up before it ends.
  void multiply(const Operands& operands, const ProductMode& mode) override {
    if (!stores_half()) {
      on_each_thread([&](int thread) { multiply_bands(thread, operands, nullptr, mode); });
      return;
    }
    const ShareRange blocks(any_band().block_count, mode);
    column_sums_.make(
        operands.q_columns, {.begin = elements_before(blocks.begin), .end = elements_before(blocks.end)},
        [&](int thread, std::span<double> sums) { multiply_bands(thread, operands, sums.data(), mode); });
  }

 private:
  bool stores_half() const { return form_.storage == Storage::half; }
  const SellPart& any_band() const { return format()[0].bands.front(); }
  /// Elements of a vector over the columns of the column blocks before this one.
  int64_t elements_before(int64_t column_block) const {
    return vector_count_ * std::min(column_block * form_.shape.block_width, any_band().column_count);
  }

  /// The first band of the first thread goes on with what the caller has, the others with what is there from the band before.
  void multiply_bands(int thread, const Operands& operands, double* q_columns, ProductMode mode) {
    mode.is_continued = mode.is_continued && thread == 0;
    const auto index = static_cast<size_t>(thread);
    for (const auto& band : format()[thread].bands) {
      begin_rows(band, operands, mode);
      const ShareRange blocks(band.block_count, mode);
      form_.loop({.part = band,
                  .first_block = blocks.begin,
                  .last_block = blocks.end,
                  .prefetch_distance = prefetch_distance_,
                  .p_columns = operands.p_columns.data(),
                  .q_rows = operands.q_rows.data(),
                  .q_rows_low = operands.q_rows_low.data(),
                  .low_share = low_factor_ / SplitConstants::high_binade,
                  .p_rows = operands.p_rows.data(),
                  .q_columns = q_columns,
                  .is_continued = mode.is_continued,
                  .pairs = pairs_.empty() ? nullptr : pairs_[index].data(),
                  .row_sums = row_sums_.empty() ? nullptr : row_sums_[index].data()});
      if (mode.is_last_share())
        add_high_constants(-1.0, bounds_of(band), operands.p_bound, operands.q_rows.data() + band.first_row);
      mode.is_continued = true;
    }
  }

  void begin_rows(const SellPart& band, const Operands& operands, const ProductMode& mode) const {
    if (mode.share > 0) return;
    double* const q = operands.q_rows.data() + band.first_row * vector_count_;
    if (!mode.is_added) {
      std::fill_n(q, band.row_count * vector_count_, 0.0);
      if (low_factor_ > 0.0) std::fill_n(operands.q_rows_low.data() + band.first_row, band.row_count, 0.0);
    }
    add_high_constants(1.0, bounds_of(band), operands.p_bound, q);
  }

  /// None where sums are as usual.
  std::span<const double> bounds_of(const SellPart& band) const {
    if (low_factor_ == 0.0) return {};
    return std::span(row_bounds())
        .subspan(static_cast<size_t>(band.first_row), static_cast<size_t>(band.row_count));
  }

  SellForm form_;
  int64_t prefetch_distance_;
  int64_t vector_count_;
  double low_factor_;  // SplitConstants::low_factor(); 0: sums as usual
  ColumnSums column_sums_;
  std::vector<PageBuffer<ColumnPair>> pairs_;  // of each thread
  std::vector<PageBuffer<double>> row_sums_;
};

}  // namespace

std::unique_ptr<SpmvKernel> make_sell_kernel(const SellForm& form, std::vector<SellBands> bands,
                                             const KernelOptions& options) {
  return std::make_unique<SellKernel>(form, std::move(bands), options);
}

}  // namespace cg2d::kernels
