#pragma once

// The rows of a matrix whose order of arrival nobody knows: a rank's share of them, kept in little more memory
// than the entries take. No MPI.

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include "cg/base/storage/unnamed_file.hpp"
#include "comm/block_layout.hpp"
#include "kernels/page_buffer.hpp"

namespace cg2d {

/// Consecutive rows for each rank, in buckets of 2^k rows: about as many buckets for each.
class RowShares {
 public:
  RowShares(int64_t order, int rank_count);

  int rank_count() const { return rank_count_; }
  int64_t bucket_count() const { return bucket_of(order_ + rows_per_bucket() - 1); }
  int64_t rows_per_bucket() const { return int64_t{1} << shift_; }
  int64_t bucket_of(int64_t row) const { return row >> shift_; }
  int owner_of(int64_t row) const { return owners_[static_cast<size_t>(bucket_of(row))]; }
  comm::IndexRange buckets_of(int rank) const { return comm::share_of(bucket_count(), rank, rank_count_); }
  /// The rows of some consecutive buckets.
  comm::IndexRange rows_of(const comm::IndexRange& buckets) const {
    return {.begin = std::min(buckets.begin << shift_, order_),
            .end = std::min(buckets.end << shift_, order_)};
  }

 private:
  int64_t order_;
  int rank_count_;
  int shift_;
  std::vector<int32_t> owners_;  // owner of each bucket: a division per entry would cost more
};

/// Bytes that a store takes for an entry: column, row and value.
inline constexpr int64_t stored_entry_bytes = 14;

/// A part of a row: all of it, or as much as lies together.
struct RowPart {
  int64_t row = 0;
  std::span<const int32_t> columns{};
  std::span<const double> values{};
};

/// One rank's rows. Entries come one by one in any order; seal() puts them in order and sums those that are there twice;
/// afterwards they are read row by row. Memory: 14 bytes per entry, and half a chunk per bucket. Whatever looks at the entries throws
/// std::bad_alloc where there is no room for them in memory, RunError where there is none on the device of the scratch folder, or where that does
/// not give back what it was given.
class EntryStore {
 public:
  /// scratch: where the entries lie, in place of memory, of which a chunk per bucket is used then; nullptr: nowhere else.
  EntryStore(const RowShares& shares, int rank, std::unique_ptr<ScratchChunks> scratch = nullptr);
  /// The most memory that chunks take where entries lie elsewhere, until a bucket is put in order.
  static int64_t open_bytes(const RowShares& shares) {
    return static_cast<int64_t>(ScratchChunks::chunk_bytes) *
           (shares.bucket_count() / shares.rank_count() + 1);
  }

  const RowShares& shares() const { return shares_; }
  /// This rank's.
  comm::IndexRange rows() const { return shares_.rows_of(numbers_); }

  /// The origin of entries that a rank sends; ranks that follow each other share one where there are more than 16. Each rank reads its own part
  /// of a file: where the entries of a row lie together by origin, the rows of an ordered file are in order, however messages have come in between.
  uint16_t origin_of(int rank) const {
    return static_cast<uint16_t>((int64_t{rank} << origin_bits_) / shares_.rank_count());
  }
  /// row: one of this rank's.
  void add(int64_t row, int32_t column, double value, uint16_t origin = 0) {
    Bucket& bucket = buckets_[place_of(row)];
    if (bucket.fill == capacity) open_chunk(bucket);
    bucket.open->values[bucket.fill] = value;
    bucket.open->columns[bucket.fill] = column;
    bucket.open->rows[bucket.fill] =
        static_cast<uint16_t>(((row - bucket.first_row) << origin_bits_) | origin);
    ++bucket.fill;
  }

  /// Rows in rising order, columns in rising order within each, every place once. Cost: two passes over the
  /// entries, bucket by bucket.
  void seal();

  /// The number of this rank's buckets; after seal() they are visited one by one, rows rising.
  size_t bucket_count() const { return buckets_.size(); }
  comm::IndexRange rows_of(size_t bucket) const {
    const auto number = numbers_.begin + static_cast<int64_t>(bucket);
    return shares_.rows_of({.begin = number, .end = number + 1});
  }
  /// Calls visit(RowPart) for every part of every row of a bucket, in their order; empty rows have none.
  template <typename Visit>
  void for_each_part(size_t bucket, Visit&& visit) const;
  /// Calls visit(part) for the parts of all buckets.
  template <typename Visit>
  void for_each_part(Visit&& visit) const {
    for (size_t bucket = 0; bucket < buckets_.size(); ++bucket) for_each_part(bucket, visit);
  }
  /// Gives the memory of a bucket back: its rows are gone.
  void drop(size_t bucket);
  /// The value at a place of a sealed row of this rank; empty where there is no entry. Cost: a search.
  std::optional<double> value_at(int64_t row, int32_t column) const;

 private:
  static constexpr size_t capacity = 4680;  // entries of a chunk

  struct Chunk {
    std::array<double, capacity> values;
    std::array<int32_t, capacity> columns;
    std::array<uint16_t, capacity> rows;  // within the bucket; the origin in the last bits until seal()
    std::array<uint64_t, 2> unused;
  };
  static_assert(sizeof(Chunk) == ScratchChunks::chunk_bytes);
  static constexpr size_t chunks_per_slab = 512;  // 32 MiB

  /// All chunks but the last one are full.
  struct Bucket {
    int64_t first_row = 0;
    Chunk* open = nullptr;         // the last chunk, in memory, until seal()
    size_t fill = capacity;        // entries in it; without a chunk it counts as full
    std::vector<size_t> chunks{};  // their numbers, in memory or in the scratch file

    size_t entry_count() const { return chunks.empty() ? 0 : (chunks.size() - 1) * capacity + fill; }
  };

  /// The number of a row's bucket among this rank's.
  size_t place_of(int64_t row) const { return static_cast<size_t>(shares_.bucket_of(row) - numbers_.begin); }
  void open_chunk(Bucket& bucket);
  void put_open_chunk(const Bucket& bucket);
  size_t add_to_memory();
  /// Calls visit(chunk, number of its entries) for the chunks of a bucket, none of which is open.
  template <typename Visit>
  void for_each_chunk(const Bucket& bucket, const Visit& visit) const {
    std::vector<Chunk> buffer(scratch_ ? 1 : 0);
    for (size_t c = 0; c < bucket.chunks.size(); ++c) {
      const auto number = bucket.chunks[c];
      if (scratch_) scratch_->get(number, std::as_writable_bytes(std::span(buffer)));
      visit(scratch_ ? buffer.front() : *in_memory_[number],
            c + 1 == bucket.chunks.size() ? bucket.fill : capacity);
    }
  }

  RowShares shares_;
  int origin_bits_;
  comm::IndexRange numbers_;  // of this rank's buckets
  std::vector<Bucket> buckets_;
  std::unique_ptr<ScratchChunks> scratch_;  // nullptr: chunks stay in memory
  std::vector<kernels::PageBuffer<Chunk>> slabs_;
  std::vector<Chunk*> in_memory_;    // chunks of the slabs that are in use or were
  std::vector<size_t> free_chunks_;  // numbers of chunks without entries, the next one to be used last
};

template <typename Visit>
void EntryStore::for_each_part(size_t bucket_number, Visit&& visit) const {
  const Bucket& bucket = buckets_[bucket_number];
  for_each_chunk(bucket, [&](const Chunk& chunk, size_t count) {
    for (size_t begin = 0; begin < count;) {
      size_t end = begin + 1;
      while (end < count && chunk.rows[end] == chunk.rows[begin]) ++end;
      visit(RowPart{.row = bucket.first_row + chunk.rows[begin],
                    .columns = std::span(chunk.columns).subspan(begin, end - begin),
                    .values = std::span(chunk.values).subspan(begin, end - begin)});
      begin = end;
    }
  });
}

}  // namespace cg2d
