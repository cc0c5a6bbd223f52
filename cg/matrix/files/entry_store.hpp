#pragma once

// The rows of a matrix whose order of arrival nobody knows: a rank's share of them, kept in little more memory
// than the entries take. No MPI.

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>

#include "cg/base/storage/unnamed_file.hpp"
#include "comm/block_layout.hpp"
#include "kernels/page_buffer.hpp"

namespace cg2d {

/// Deals rows out to ranks: buckets of 2^k consecutive rows, in turns, so that neither a dense corner of the
/// matrix nor the order of a file lands on one rank.
class RowDeal {
 public:
  RowDeal(int64_t order, int rank_count);

  int64_t order() const { return order_; }
  int rank_count() const { return rank_count_; }
  int64_t bucket_count() const { return (order_ + rows_per_bucket() - 1) >> shift_; }
  int64_t rows_per_bucket() const { return int64_t{1} << shift_; }
  int owner_of(int64_t row) const { return owners_[static_cast<size_t>(row >> shift_)]; }
  /// The number of a bucket among its owner's.
  size_t place_of(int64_t row) const { return places_[static_cast<size_t>(row >> shift_)]; }

 private:
  int64_t order_;
  int rank_count_;
  int shift_;
  std::vector<int32_t> owners_;   // owner of each bucket: a division per entry would cost more
  std::vector<uint32_t> places_;  // number of each bucket among its owner's
};

/// The values of entries: any, or 1 for each, as in a file that has a pattern only.
enum class EntryValues { any, ones };

/// Bytes that a store takes for an entry: column, row and origin, and the value where it may be any.
constexpr int64_t stored_entry_bytes(EntryValues values) { return values == EntryValues::any ? 14 : 6; }

/// A part of a row: all of it, or as much as lies together.
struct RowPart {
  int64_t row = 0;
  std::span<const int32_t> columns{};
  std::span<const double> values{};
  bool is_all_ones = false;  ///< known to be, without a look at the values
};

/// One rank's rows. Entries come one by one in any order, each with its origin; seal() puts them in order and sums
/// those that are there twice; afterwards they are read row by row. Memory: 14 bytes per entry, 6 where all values are 1,
/// in chunks that go back to the system in the order of the buckets, and half a chunk per bucket. Whatever looks at the entries throws RunError where
/// there is no room for them in memory or on the device of the scratch folder, or where that does not give back what it was given.
class EntryStore {
 public:
  /// scratch: where the entries lie, in place of memory, of which a chunk per bucket is used then; nullptr: nowhere else.
  EntryStore(const RowDeal& deal, int rank, EntryValues values = EntryValues::any,
             std::unique_ptr<ScratchChunks> scratch = nullptr);
  /// The most memory that chunks take where entries lie elsewhere, until a bucket is put in order.
  static int64_t open_bytes(const RowDeal& deal) {
    return static_cast<int64_t>(chunk_bytes) * (deal.bucket_count() / deal.rank_count() + 1);
  }

  const RowDeal& deal() const { return deal_; }
  EntryValues values() const { return has_values() ? EntryValues::any : EntryValues::ones; }
  /// The rank that an entry comes from; ranks that follow each other share a number where there are more than 16.
  /// Each rank reads its own part of a file, one after the other: when the entries of a row lie together by origin, the
  /// rows of an ordered file are in order, however the messages of the ranks have come in between.
  int64_t origin_of(int rank) const { return (int64_t{rank} << origin_bits_) / deal_.rank_count(); }

  /// row: one of this rank's. value: 1 where the store has no others.
  void add(int64_t row, int32_t column, double value, int64_t origin) {
    Bucket& bucket = buckets_[deal_.place_of(row)];
    if (bucket.fill == capacity_) open_chunk(bucket);
    const Chunk chunk = chunk_at(bucket.open);
    if (has_values()) chunk.values[bucket.fill] = value;
    chunk.columns[bucket.fill] = column;
    chunk.rows[bucket.fill] = static_cast<uint16_t>(((row - bucket.first_row) << origin_bits_) | origin);
    ++bucket.fill;
  }

  /// Rows in rising order, columns in rising order within each, every place once. Cost: one pass over the
  /// entries, bucket by bucket.
  void seal();

  /// The number of this rank's buckets; after seal() they are visited one by one, rows rising.
  size_t bucket_count() const { return buckets_.size(); }
  comm::IndexRange rows_of(size_t bucket) const {
    const auto first = buckets_[bucket].first_row;
    return {.begin = first, .end = std::min(first + deal_.rows_per_bucket(), deal_.order())};
  }
  /// The number of a row among this rank's; those of a bucket lie together, and the last bucket has numbers without a row.
  size_t local_row(int64_t row) const {
    return deal_.place_of(row) * static_cast<size_t>(deal_.rows_per_bucket()) +
           static_cast<size_t>(row % deal_.rows_per_bucket());
  }
  /// Calls visit(RowPart) for every part of every row of a bucket, in their order; empty rows have none.
  template <typename Visit>
  void for_each_part(size_t bucket, Visit&& visit) const;
  /// Calls visit(part) for the parts of all buckets.
  template <typename Visit>
  void for_each_part(Visit&& visit) const {
    for (size_t bucket = 0; bucket < buckets_.size(); ++bucket) for_each_part(bucket, visit);
  }
  /// Empties a bucket, and gives back the huge pages that no other bucket uses: few are kept for long where the buckets
  /// are dropped in their order after seal().
  void drop(size_t bucket) { shrink(buckets_[bucket], 0); }
  /// The value at a place of a sealed row of this rank; empty where there is no entry. Cost: a search.
  std::optional<double> value_at(int64_t row, int32_t column) const;

 private:
  static constexpr size_t chunk_bytes = ScratchChunks::chunk_bytes;

  /// Values, where there are any, then columns, then rows relative to the bucket. Before seal() a row has the origin in its last bits.
  struct Chunk {
    double* values;
    int32_t* columns;
    uint16_t* rows;
  };
  Chunk chunk_at(std::byte* begin) const {
    auto* const columns = reinterpret_cast<int32_t*>(begin + value_bytes_);
    return {.values = reinterpret_cast<double*>(begin),
            .columns = columns,
            .rows = reinterpret_cast<uint16_t*>(columns + capacity_)};
  }

  /// All chunks but the last one are full.
  struct Bucket {
    int64_t first_row = 0;
    std::byte* open = nullptr;     // the last chunk, in memory, until seal()
    size_t fill = 0;               // entries in it; without a chunk it counts as full
    std::vector<size_t> chunks{};  // their numbers, in memory or in the scratch file
  };
  /// Values of entries that are there more than once in a store without values, by row and column: 64 bytes each,
  /// which no plan counts.
  using Multiples = std::map<std::pair<int64_t, int32_t>, double>;
  template <typename Entry>
  class BucketSorter;
  struct ValuedEntry;
  struct OneEntry;

  static constexpr size_t huge_page_bytes = size_t{1} << 21;
  static constexpr size_t slab_bytes = 16 * huge_page_bytes;
  static constexpr size_t chunks_per_slab = slab_bytes / chunk_bytes;
  struct Slab {
    kernels::PageBuffer<std::byte> memory;
    std::array<size_t, slab_bytes / huge_page_bytes> closed_counts{};  // chunks closed, by huge page
  };

  bool has_values() const { return value_bytes_ != 0; }
  size_t entry_count_of(const Bucket& bucket) const {
    return bucket.chunks.empty() ? 0 : (bucket.chunks.size() - 1) * capacity_ + bucket.fill;
  }
  size_t entries_in(const Bucket& bucket, size_t chunk) const {
    return chunk + 1 == bucket.chunks.size() ? bucket.fill : capacity_;
  }
  void set_multiples(RowPart& part, std::vector<double>& values) const;
  void open_chunk(Bucket& bucket);
  /// The address of a chunk in memory.
  std::byte* address_of(size_t chunk) const {
    return const_cast<std::byte*>(slabs_[chunk / chunks_per_slab].memory.data()) +
           chunk % chunks_per_slab * chunk_bytes;
  }
  /// A chunk to be read. buffer: for one that lies in the scratch file.
  Chunk read_chunk(size_t chunk, std::vector<std::byte>& buffer) const;
  void order_chunks();
  void shrink(Bucket& bucket, size_t entry_count);

  RowDeal deal_;
  int rank_;
  int origin_bits_;
  size_t capacity_;           // entries of a chunk
  size_t value_bytes_;        // of a chunk; 0: all values are 1
  std::vector<double> ones_;  // the values of a chunk in a store without them
  Multiples multiples_;       // after seal()
  std::vector<Bucket> buckets_;
  std::unique_ptr<ScratchChunks> scratch_;  // nullptr: chunks stay in memory
  std::vector<Slab> slabs_;
  size_t chunk_count_ = 0;  // chunks of the slabs that are in use or were
};

template <typename Visit>
void EntryStore::for_each_part(size_t bucket_number, Visit&& visit) const {
  const Bucket& bucket = buckets_[bucket_number];
  std::vector<double> changed;  // values of a part that are not all 1
  std::vector<std::byte> buffer;
  for (size_t c = 0; c < bucket.chunks.size(); ++c) {
    const Chunk chunk = read_chunk(bucket.chunks[c], buffer);
    const size_t count = entries_in(bucket, c);
    for (size_t begin = 0; begin < count;) {
      const auto row = chunk.rows[begin];
      size_t end = begin + 1;
      while (end < count && chunk.rows[end] == row) ++end;
      RowPart part{.row = bucket.first_row + row,
                   .columns = {chunk.columns + begin, end - begin},
                   .values = {has_values() ? chunk.values + begin : ones_.data(), end - begin},
                   .is_all_ones = !has_values()};
      if (!multiples_.empty()) set_multiples(part, changed);
      visit(part);
      begin = end;
    }
  }
}

}  // namespace cg2d
