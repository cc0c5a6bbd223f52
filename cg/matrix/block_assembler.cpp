// Sums outer products of sparse vectors into one block in compressed sparse rows, strip of rows by strip of rows.

#include "cg/matrix/npb_vectors.hpp"

#include <algorithm>
#include <cassert>
#include <numeric>

#include "kernels/parallel_parts.hpp"

namespace cg2d {
namespace {

/// One record in which a row occurs, with the row's factor.
struct RowTerm {
  const uint64_t* record;
  double row_value;
};

/// The terms of every row of a strip, in the order of the vectors, and the number of products that they
/// make.
struct RowTerms {
  std::vector<int64_t> term_starts;     // per row of the strip, and the end
  std::vector<int64_t> product_starts;  // first product of each row of the strip, and the end
  std::vector<RowTerm> terms{};
};

template <typename Visit>
void for_each_record(std::span<const std::vector<uint64_t>> parts, const Visit& visit) {
  for (const auto& buffer : parts) {
    for (const uint64_t* word = buffer.data(); word != buffer.data() + buffer.size();) {
      const VectorPart part(word);
      visit(word, part);
      word += part.word_count();
    }
  }
}

using Product = kernels::CsrBlock::Entry;

/// Makes one row after the other; one per thread.
class RowBuilder {
 public:
  RowBuilder(int64_t column_count, double diagonal_shift)
      : column_count_(std::max<int64_t>(1, column_count)), diagonal_shift_(diagonal_shift) {}

  /// Writes the row's columns and values; returns how many. diagonal: its column in the block, or negative.
  int64_t build(std::span<const RowTerm> terms, int64_t diagonal, int32_t* columns, double* values) {
    products_.clear();
    for (size_t t = 0; t < terms.size(); ++t) {
      if (t + prefetch_distance < terms.size()) prefetch(terms[t + prefetch_distance].record);
      const VectorPart part(terms[t].record);
      const double weight = part.weight();
      const int32_t count = part.column_count();
      for (int32_t k = 0; k < count; ++k) {
        products_.push_back(
            {.column = part.column(k), .value = weight * (terms[t].row_value * part.column_value(k))});
      }
    }
    int64_t written = -1;
    int32_t last_column = -1;
    for (const auto& product : sorted_products()) {
      if (product.column == last_column) {
        values[written] += product.value;
      } else {
        ++written;
        last_column = columns[written] = product.column;
        values[written] = product.value;
      }
    }
    const int64_t count = written + 1;
    if (diagonal >= 0) {
      // Vector i has position i, so the diagonal entry is always there.
      auto* const found = std::lower_bound(columns, columns + count, static_cast<int32_t>(diagonal));
      assert(found != columns + count && *found == diagonal);
      values[found - columns] += diagonal_shift_;
    }
    return count;
  }

 private:
  // Records lie all over the strip's buffers: prefetch those that the row needs next.
  static constexpr size_t prefetch_distance = 4;
  static void prefetch(const uint64_t* record) {
    const auto* bytes = reinterpret_cast<const char*>(record);
    for (int line = 0; line < 5; ++line) __builtin_prefetch(bytes + static_cast<ptrdiff_t>(line) * 64);
  }

  /// The products by column, equal columns keeping their order. Columns of NPB matrices are spread evenly, so one pass into as many
  /// buckets as there are products leaves next to nothing to do for the insertion sort that follows.
  std::span<const Product> sorted_products() {
    constexpr size_t worth_buckets = 24;
    if (products_.size() < worth_buckets) {
      insertion_sort(products_);
      return products_;
    }
    const auto column_bits = static_cast<int>(std::bit_width(static_cast<uint64_t>(column_count_ - 1)));
    const int shift = std::max(0, column_bits - static_cast<int>(std::bit_width(products_.size())));
    bucket_ends_.assign((static_cast<size_t>(column_count_ - 1) >> shift) + 1, 0);
    for (const auto& product : products_) ++bucket_ends_[static_cast<size_t>(product.column) >> shift];
    uint32_t end = 0;
    for (auto& bucket : bucket_ends_) bucket = std::exchange(end, end + bucket);
    spread_.resize(products_.size());
    for (const auto& product : products_)
      spread_[bucket_ends_[static_cast<size_t>(product.column) >> shift]++] = product;
    insertion_sort(spread_);
    return spread_;
  }

  static void insertion_sort(std::vector<Product>& products) {
    for (size_t k = 1; k < products.size(); ++k) {
      const Product product = products[k];
      size_t place = k;
      for (; place > 0 && products[place - 1].column > product.column; --place)
        products[place] = products[place - 1];
      products[place] = product;
    }
  }

  int64_t column_count_;
  double diagonal_shift_;
  std::vector<Product> products_;
  std::vector<uint32_t> bucket_ends_;
  std::vector<Product> spread_;
};

RowTerms terms_of_rows(size_t row_count, std::span<const std::vector<uint64_t>> parts) {
  RowTerms inverted{.term_starts = std::vector<int64_t>(row_count + 1),
                    .product_starts = std::vector<int64_t>(row_count + 1)};
  auto* const term_counts = inverted.term_starts.data() + 1;
  auto* const product_counts = inverted.product_starts.data() + 1;
  for_each_record(parts, [&](const uint64_t*, const VectorPart& part) {
    for (int32_t k = 0; k < part.row_count(); ++k) {
      ++term_counts[part.row(k)];
      product_counts[part.row(k)] += part.column_count();
    }
  });
  for (auto* const starts : {&inverted.term_starts, &inverted.product_starts})
    std::partial_sum(starts->begin(), starts->end(), starts->begin());
  inverted.terms.resize(static_cast<size_t>(inverted.term_starts.back()));
  auto next = inverted.term_starts;
  for_each_record(parts, [&](const uint64_t* word, const VectorPart& part) {
    for (int32_t k = 0; k < part.row_count(); ++k)
      inverted.terms.data()[next.data()[part.row(k)]++] = {.record = word, .row_value = part.row_value(k)};
  });
  return inverted;
}

}  // namespace

BlockAssembler::BlockAssembler(comm::IndexRange rows, comm::IndexRange columns, double diagonal_shift,
                               int64_t expected_entry_count, int thread_count)
    : rows_(rows), columns_(columns), diagonal_shift_(diagonal_shift), thread_count_(thread_count) {
  block_ =
      kernels::CsrBlock::with_room(rows.size(), columns.size(), static_cast<size_t>(expected_entry_count));
}

void BlockAssembler::append_rows(int64_t row_count, std::span<const std::vector<uint64_t>> parts) {
  const auto inverted = terms_of_rows(static_cast<size_t>(row_count), parts);
  // A row has at most as many entries as products; the few that fall together leave gaps.
  const auto needed = static_cast<size_t>(finished_entries_ + inverted.product_starts.back());
  if (needed > block_.values.size())
    block_.resize(std::max(needed, block_.values.size() + block_.values.size() / 4));

  const auto borders = kernels::split_rows_by_nonzeros(inverted.product_starts, thread_count_);
  // The place of a part's first entry: after as many as the products before it.
  const auto place_of_part = [&, first = finished_entries_](size_t part) {
    return first + inverted.product_starts.data()[borders[part]];
  };
  int64_t* const row_ends = block_.row_starts.data() + finished_rows_ + 1;  // lengths at first
  kernels::make_on_threads(thread_count_, [&](size_t part) {
    RowBuilder builder(columns_.size(), diagonal_shift_);
    auto entry = place_of_part(part);
    for (int64_t row = borders[part]; row < borders[part + 1]; ++row) {
      const auto* const starts = inverted.term_starts.data() + row;
      const int64_t global_row = rows_.begin + finished_rows_ + row;
      row_ends[row] = builder.build({inverted.terms.data() + starts[0], inverted.terms.data() + starts[1]},
                                    columns_.contains(global_row) ? global_row - columns_.begin : -1,
                                    block_.columns.data() + entry, block_.values.data() + entry);
      entry += row_ends[row];
    }
  });
  for (size_t part = 0; part + 1 < borders.size(); ++part) {
    const auto from = place_of_part(part);
    const auto to = finished_entries_;
    for (int64_t row = borders[part]; row < borders[part + 1]; ++row)
      row_ends[row] = finished_entries_ += row_ends[row];
    if (from == to) continue;
    const auto count = static_cast<size_t>(finished_entries_ - to);
    std::memmove(block_.columns.data() + to, block_.columns.data() + from, count * sizeof(int32_t));
    std::memmove(block_.values.data() + to, block_.values.data() + from, count * sizeof(double));
  }
  finished_rows_ += row_count;
}

kernels::CsrBlock BlockAssembler::finish() {
  assert(finished_rows_ == rows_.size());
  block_.resize(static_cast<size_t>(finished_entries_));
  return std::move(block_);
}

}  // namespace cg2d
