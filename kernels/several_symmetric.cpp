// Half storage for several vectors; 10 bytes for two nonzeros. The columns are cut into blocks whose parts of p and q
// stay in the second-level cache. Within a block, rows of the same number of entries follow each other, as far as
// they are in the same window of 256 rows: so the loop over a row's entries ends where the processor expects it.

#include <algorithm>
#include <limits>
#include <utility>

#include "kernels/column_sums.hpp"
#include "kernels/parallel_parts.hpp"
#include "kernels/several_vectors.hpp"

namespace cg2d::kernels {
namespace {
namespace several_symmetric {

constexpr std::int64_t window_rows = 256;
constexpr std::int64_t default_prefetch_distance = 512;

/// Rows of one window with the same number of entries in one column block.
struct Run {
  std::int64_t first_entry;   ///< in the values and columns
  std::int64_t first_number;  ///< in the row numbers
  std::int64_t first_row;     ///< of the window
  std::int64_t first_column;  ///< of the column block
  std::int32_t entry_count;   ///< of each row
  std::int32_t row_count;
};

/// The rows of one thread.
struct Part {
  RowRange rows{};
  std::vector<Run> runs;
  PageBuffer<std::uint8_t> row_numbers;  ///< within the window
  PageBuffer<std::uint16_t> columns;     ///< within the column block
  PageBuffer<double> values;
};

/// Takes a thread's rows apart, block after block: since columns rise, each row goes on where it ended.
class PartMaker {
 public:
  PartMaker(const CsrBlock& block, const RowRange& rows, std::int64_t block_width)
      : block_(block), rows_(rows), block_width_(block_width) {
    for (std::int64_t row = rows.begin; row < rows.end; ++row) next_.push_back(start_of(row));
  }

  Part make() {
    part_.rows = rows_;
    const auto entry_count = static_cast<std::size_t>(start_of(rows_.end) - start_of(rows_.begin));
    part_.columns = PageBuffer<std::uint16_t>(entry_count);
    part_.values = PageBuffer<double>(entry_count);
    for (std::int64_t column = 0; column < block_.column_count; column += block_width_) {
      for (std::int64_t row = rows_.begin; row < rows_.end; row += window_rows) add_window(row, column);
    }
    part_.row_numbers = PageBuffer<std::uint8_t>(row_numbers_.size());
    std::ranges::copy(row_numbers_, part_.row_numbers.data());
    return std::move(part_);
  }

 private:
  struct WindowRow {
    std::int64_t number;
    std::int64_t entry_count;
  };

  [[nodiscard]] std::int64_t start_of(std::int64_t row) const {
    return block_.row_starts[static_cast<std::size_t>(row)];
  }

  void add_window(std::int64_t first_row, std::int64_t first_column) {
    window_.clear();
    const auto last_row = std::min(first_row + window_rows, rows_.end);
    for (auto row = first_row; row < last_row; ++row) {
      if (const auto count = entries_before(row, first_column + block_width_); count > 0)
        window_.push_back({.number = row - first_row, .entry_count = count});
    }
    std::ranges::stable_sort(window_, {}, &WindowRow::entry_count);
    for (std::size_t k = 0; k < window_.size(); ++k) {
      if (k == 0 || window_[k].entry_count != window_[k - 1].entry_count) {
        part_.runs.push_back({.first_entry = entry_,
                              .first_number = static_cast<std::int64_t>(row_numbers_.size()),
                              .first_row = first_row,
                              .first_column = first_column,
                              .entry_count = static_cast<std::int32_t>(window_[k].entry_count),
                              .row_count = 0});
      }
      ++part_.runs.back().row_count;
      row_numbers_.push_back(static_cast<std::uint8_t>(window_[k].number));
      add_entries(first_row + window_[k].number, window_[k].entry_count, first_column);
    }
  }

  [[nodiscard]] std::int64_t entries_before(std::int64_t row, std::int64_t column) const {
    const auto begin = next_[static_cast<std::size_t>(row - rows_.begin)];
    const auto* const columns = block_.columns.data();
    return std::lower_bound(columns + begin, columns + start_of(row + 1), column) - (columns + begin);
  }

  void add_entries(std::int64_t row, std::int64_t count, std::int64_t first_column) {
    auto& next = next_[static_cast<std::size_t>(row - rows_.begin)];
    for (const auto end = next + count; next < end; ++next, ++entry_) {
      const auto source = static_cast<std::size_t>(next);
      const auto target = static_cast<std::size_t>(entry_);
      part_.columns[target] = static_cast<std::uint16_t>(block_.columns[source] - first_column);
      part_.values[target] = block_.values[source];
    }
  }

  const CsrBlock& block_;
  RowRange rows_;
  std::int64_t block_width_;
  std::vector<std::int64_t> next_;  // the first entry of each row that is not taken yet
  std::vector<WindowRow> window_;
  std::vector<std::uint8_t> row_numbers_;
  std::int64_t entry_ = 0;
  Part part_;
};

struct SymmetricLoop {
  struct Operands {
    const Part& part;
    ShareRange runs;
    std::int64_t prefetch_distance;
    const kernels::Operands& vectors;
    double* q_columns;  // of this thread
  };

  template <typename Row>
  static inline __attribute__((always_inline)) void run(const Operands& operands) {
    for (auto k = operands.runs.begin; k < operands.runs.end; ++k)
      multiply_run<Row>(operands, operands.part.runs[static_cast<std::size_t>(k)]);
  }

 private:
  template <typename Row>
  static inline __attribute__((always_inline)) void multiply_run(const Operands& operands, const Run& run) {
    const double* values = operands.part.values.data() + run.first_entry;
    const std::uint16_t* columns = operands.part.columns.data() + run.first_entry;
    const std::uint8_t* row_numbers = operands.part.row_numbers.data() + run.first_number;
    const double* const p_columns = operands.vectors.p_columns.data() + run.first_column * Row::size;
    double* const q_columns = operands.q_columns + run.first_column * Row::size;
    for (std::int32_t k = 0; k < run.row_count; ++k) {
      prefetch_entries(values, columns, operands.prefetch_distance);
      const std::int64_t row = run.first_row + row_numbers[k];
      double* const q_row = operands.vectors.q_rows.data() + row * Row::size;
      Row p_row;
      p_row.load(operands.vectors.p_rows.data() + row * Row::size);
      Row sums;
      sums.load(q_row);
      for (const double* const end = values + run.entry_count; values < end; ++values, ++columns) {
        const std::int64_t column = *columns * Row::size;
        Row elements;
        elements.load(p_columns + column);
        sums.add_scaled(*values, elements);
        elements.load(q_columns + column);
        elements.add_scaled(*values, p_row);
        elements.store(q_columns + column);
      }
      sums.store(q_row);
    }
  }
};

class SeveralSymmetric final : public SpmvKernel {
 public:
  SeveralSymmetric(const CsrBlock& block, const KernelOptions& options)
      : set_(several::chosen_set(options)),
        loop_(several::loop_for<SymmetricLoop>(set_, options.vector_count)),
        vector_count_(options.vector_count),
        prefetch_distance_(options.tuning.prefetch_distance.value_or(default_prefetch_distance)),
        parts_(make_parts<Part>(block, options.thread_count,
                                [width = block_width(options), &block](const RowRange& rows) {
                                  return PartMaker(block, rows, width).make();
                                })),
        column_sums_(block.column_count * vector_count_, options.thread_count) {}

  [[nodiscard]] std::string_view name() const override { return "symmetric"; }
  [[nodiscard]] std::string_view instruction_set() const override { return name_of(set_); }
  [[nodiscard]] std::int64_t matrix_byte_count() const override {
    std::size_t bytes = 0;
    for (const auto& part : parts_) {
      bytes += part.runs.size() * sizeof(Run) + part.row_numbers.size() +
               part.values.size() * (sizeof(double) + sizeof(std::uint16_t));
    }
    return static_cast<std::int64_t>(bytes);
  }

  /// A share is a share of every thread's runs; the last one adds up the threads' column sums.
  void multiply(const Operands& operands, const ProductMode& mode) override {
    const int thread_count = static_cast<int>(parts_.size());
    const bool is_last_share = mode.share + 1 == mode.share_count;
    const auto columns_to_add = is_last_share ? static_cast<std::int64_t>(operands.q_columns.size()) : 0;
#pragma omp parallel num_threads(thread_count) if (thread_count > 1)
    {
#pragma omp for schedule(static, 1)
      for (int part = 0; part < thread_count; ++part) multiply_part(part, operands, mode);
#pragma omp for schedule(static, 1)
      for (int part = 0; part < thread_count; ++part) {
        column_sums_.add_to(operands.q_columns, columns_to_add * part / thread_count,
                            columns_to_add * (part + 1) / thread_count);
      }
    }
  }

 private:
  /// A block's parts of p and q, 512 KB of the second-level cache. Zen 5 (1 MB), 2026-11, class B, 8 vectors: see
  /// bench/README.md.
  static std::int64_t block_width(const KernelOptions& options) {
    constexpr std::int64_t cached_bytes = std::int64_t{512} << 10;
    const auto bytes_per_column = 2 * static_cast<std::int64_t>(sizeof(double)) * options.vector_count;
    return options.tuning.block_width.value_or(static_cast<int>(cached_bytes / bytes_per_column));
  }

  void multiply_part(int number, const Operands& operands, const ProductMode& mode) {
    const auto& part = parts_[static_cast<std::size_t>(number)];
    const auto q_columns = column_sums_.of_thread(number, operands.q_columns);
    if (mode.share == 0) {
      std::ranges::fill(q_columns, 0.0);
      const auto rows = operands.q_rows.subspan(
          static_cast<std::size_t>(part.rows.begin * vector_count_),
          static_cast<std::size_t>((part.rows.end - part.rows.begin) * vector_count_));
      if (!mode.is_added) std::ranges::fill(rows, 0.0);
    }
    loop_({.part = part,
           .runs = ShareRange(static_cast<std::int64_t>(part.runs.size()), mode),
           .prefetch_distance = prefetch_distance_,
           .vectors = operands,
           .q_columns = q_columns.data()});
  }

  InstructionSet set_;
  several::LoopFunction<SymmetricLoop> loop_;
  std::int64_t vector_count_;
  std::int64_t prefetch_distance_;
  std::vector<Part> parts_;
  ColumnSums column_sums_;
};

}  // namespace several_symmetric
}  // namespace

std::unique_ptr<SpmvKernel> make_several_symmetric(CsrBlock block, const KernelOptions& options) {
  const CsrBlock taken = std::move(block);  // given back when the format is made
  return std::make_unique<several_symmetric::SeveralSymmetric>(taken, options);
}

}  // namespace cg2d::kernels
