#include "cg/files/entry_store.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

namespace cg2d {
namespace {

constexpr std::size_t slab_bytes = std::size_t{1} << 25;

/// Rows of a bucket have 16 bits; smaller buckets where there would be too few of them for the ranks.
int shift_for(std::int64_t order, int rank_count) {
  constexpr int largest_shift = 12;
  constexpr std::int64_t buckets_per_rank = 16;
  const auto rows =
      static_cast<std::uint64_t>(std::max<std::int64_t>(1, order / (rank_count * buckets_per_rank)));
  return std::min(largest_shift, static_cast<int>(std::bit_width(rows)) - 1);
}

}  // namespace

RowDeal::RowDeal(std::int64_t order, int rank_count)
    : order_(order), rank_count_(rank_count), shift_(shift_for(order, rank_count)) {
  const auto count = bucket_count();
  owners_.reserve(static_cast<std::size_t>(count));
  places_.reserve(static_cast<std::size_t>(count));
  for (std::int64_t bucket = 0; bucket < count; ++bucket) {
    owners_.push_back(static_cast<std::int32_t>(bucket % rank_count));
    places_.push_back(static_cast<std::uint32_t>(bucket / rank_count));
  }
}

/// Puts the entries of one bucket after the other in order; keeps its buffers.
class EntryStore::BucketSorter {
 public:
  explicit BucketSorter(std::int64_t row_count) : row_starts_(static_cast<std::size_t>(row_count) + 1) {}

  /// Returns how many entries are left: the first ones of the bucket.
  std::size_t sort(const Bucket& bucket) {
    gather(bucket);
    for (std::size_t row = 0; row + 1 < row_starts_.size(); ++row)
      row_ends_[row] = ordered_row(row_starts_[row], row_starts_[row + 1]);
    return write_back(bucket);
  }

 private:
  struct Entry {
    std::int32_t column;
    double value;
  };

  /// Counting sort by row, which keeps the order within a row.
  void gather(const Bucket& bucket) {
    std::ranges::fill(row_starts_, std::size_t{0});
    for_each(bucket,
             [&](const Chunk& chunk, std::size_t k) { ++row_starts_[chunk.rows()[k] + std::size_t{1}]; });
    std::partial_sum(row_starts_.begin(), row_starts_.end(), row_starts_.begin());
    row_ends_.assign(row_starts_.begin(), row_starts_.end() - 1);
    entries_.resize(bucket.entry_count());
    for_each(bucket, [&](const Chunk& chunk, std::size_t k) {
      entries_[row_ends_[chunk.rows()[k]]++] = {.column = chunk.columns()[k], .value = chunk.values()[k]};
    });
  }

  /// Orders a row and sums what is there twice; returns its new end. Equal places are ordered by value before
  /// they are summed: the sum must not depend on how many ranks have read the file.
  std::size_t ordered_row(std::size_t begin, std::size_t end) {
    bool is_ordered = true;
    for (std::size_t k = begin + 1; k < end; ++k) is_ordered &= entries_[k - 1].column < entries_[k].column;
    if (is_ordered) return end;
    std::sort(entries_.begin() + static_cast<std::ptrdiff_t>(begin),
              entries_.begin() + static_cast<std::ptrdiff_t>(end), [](const Entry& left, const Entry& right) {
                return left.column != right.column ? left.column < right.column : left.value < right.value;
              });
    std::size_t last = begin;
    for (std::size_t k = begin + 1; k < end; ++k) {
      if (entries_[k].column == entries_[last].column) {
        entries_[last].value += entries_[k].value;
      } else {
        entries_[++last] = entries_[k];
      }
    }
    return last + 1;
  }

  std::size_t write_back(const Bucket& bucket) const {
    std::size_t written = 0;
    for (std::size_t row = 0; row < row_ends_.size(); ++row) {
      for (std::size_t k = row_starts_[row]; k < row_ends_[row]; ++k, ++written) {
        const Chunk chunk(bucket.chunks[written / Chunk::capacity]);
        const std::size_t place = written % Chunk::capacity;
        chunk.values()[place] = entries_[k].value;
        chunk.columns()[place] = entries_[k].column;
        chunk.rows()[place] = static_cast<std::uint16_t>(row);
      }
    }
    return written;
  }

  template <typename Visit>
  static void for_each(const Bucket& bucket, const Visit& visit) {
    for (std::size_t c = 0; c < bucket.chunks.size(); ++c) {
      const Chunk chunk(bucket.chunks[c]);
      for (std::size_t k = 0; k < bucket.entries_in(c); ++k) visit(chunk, k);
    }
  }

  std::vector<std::size_t> row_starts_;
  std::vector<std::size_t> row_ends_;
  std::vector<Entry> entries_;
};

EntryStore::EntryStore(const RowDeal& deal, int rank) : deal_(deal), rank_(rank) {
  for (std::int64_t bucket = rank; bucket < deal.bucket_count(); bucket += deal.rank_count())
    buckets_.push_back({.first_row = deal.first_row_of(bucket)});
}

std::int64_t EntryStore::entry_count() const {
  std::int64_t count = 0;
  for (const auto& bucket : buckets_) count += static_cast<std::int64_t>(bucket.entry_count());
  return count;
}

void EntryStore::open_chunk(Bucket& bucket) {
  if (free_chunks_.empty()) {
    auto& slab = slabs_.emplace_back(slab_bytes);
    for (std::size_t end = slab_bytes; end > 0; end -= Chunk::byte_count)
      free_chunks_.push_back(slab.data() + (end - Chunk::byte_count));
  }
  bucket.open = free_chunks_.back();
  bucket.chunks.push_back(bucket.open);
  free_chunks_.pop_back();
  bucket.fill = 0;
}

void EntryStore::close_chunk(std::byte* chunk) {
  const auto slab = std::ranges::find_if(slabs_, [&](const auto& candidate) {
    return candidate.data() <= chunk && chunk < candidate.data() + candidate.size();
  });
  const auto begin = static_cast<std::size_t>(chunk - slab->data());
  slab->drop(begin, begin + Chunk::byte_count);
  free_chunks_.push_back(chunk);
}

void EntryStore::shrink(Bucket& bucket, std::size_t entry_count) {
  const std::size_t chunk_count = (entry_count + Chunk::capacity - 1) / Chunk::capacity;
  for (; bucket.chunks.size() > chunk_count; bucket.chunks.pop_back()) close_chunk(bucket.chunks.back());
  bucket.open = bucket.chunks.empty() ? nullptr : bucket.chunks.back();
  bucket.fill = bucket.chunks.empty() ? Chunk::capacity : entry_count - (chunk_count - 1) * Chunk::capacity;
}

void EntryStore::seal() {
  BucketSorter sorter(deal_.rows_per_bucket());
  for (auto& bucket : buckets_) {
    if (!bucket.chunks.empty()) shrink(bucket, sorter.sort(bucket));
  }
}

void EntryStore::drop(std::size_t bucket) { shrink(buckets_[bucket], 0); }

std::optional<double> EntryStore::value_at(std::int64_t row, std::int32_t column) const {
  const Bucket& bucket = buckets_[deal_.place_of(row)];
  const auto wanted = std::pair(static_cast<std::uint16_t>(row - bucket.first_row), column);
  std::size_t begin = 0;
  std::size_t end = bucket.entry_count();
  while (begin < end) {
    const std::size_t middle = begin + (end - begin) / 2;
    const Chunk chunk(bucket.chunks[middle / Chunk::capacity]);
    const std::size_t place = middle % Chunk::capacity;
    const auto found = std::pair(chunk.rows()[place], chunk.columns()[place]);
    if (found == wanted) return chunk.values()[place];
    if (found < wanted) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return std::nullopt;
}

}  // namespace cg2d
