#include "cg/matrix/files/entry_store.hpp"

#include <bit>
#include <numeric>
#include <utility>

namespace cg2d {
namespace {

/// Buckets of 4096 rows, which a cache holds while they are put in order, and whose numbers leave 4 of 16 bits for the origin; smaller where there
/// would be too few of them for the ranks.
int shift_for(int64_t order, int rank_count) {
  constexpr int largest_shift = 12;
  constexpr int64_t buckets_per_rank = 16;
  const auto rows = static_cast<uint64_t>(std::max<int64_t>(1, order / (rank_count * buckets_per_rank)));
  return std::min(largest_shift, static_cast<int>(std::bit_width(rows)) - 1);
}

}  // namespace

RowShares::RowShares(int64_t order, int rank_count)
    : order_(order), rank_count_(rank_count), shift_(shift_for(order, rank_count)) {
  for (int rank = 0; rank < rank_count; ++rank)
    owners_.insert(owners_.end(), static_cast<size_t>(buckets_of(rank).size()), rank);
}

EntryStore::EntryStore(const RowShares& shares, int rank, std::unique_ptr<ScratchChunks> scratch)
    : shares_(shares),
      origin_bits_(
          std::min(4, static_cast<int>(std::bit_width(static_cast<unsigned>(shares.rank_count() - 1))))),
      numbers_(shares.buckets_of(rank)),
      scratch_(std::move(scratch)) {
  for (auto number = numbers_.begin; number < numbers_.end; ++number)
    buckets_.push_back({.first_row = number * shares.rows_per_bucket()});
}

size_t EntryStore::add_to_memory() {
  const auto number = in_memory_.size();
  if (number == slabs_.size() * chunks_per_slab) slabs_.emplace_back(chunks_per_slab);
  in_memory_.push_back(&slabs_.back()[number % chunks_per_slab]);
  return number;
}

void EntryStore::put_open_chunk(const Bucket& bucket) {
  if (scratch_ && !bucket.chunks.empty())
    scratch_->put(bucket.chunks.back(), std::as_bytes(std::span(bucket.open, 1)));
}

/// With a scratch file a bucket keeps the memory of its open chunk.
void EntryStore::open_chunk(Bucket& bucket) {
  put_open_chunk(bucket);
  size_t number = 0;
  if (!free_chunks_.empty()) {
    number = free_chunks_.back();
    free_chunks_.pop_back();
  } else {
    number = scratch_ ? scratch_->add() : add_to_memory();
  }
  if (!scratch_) {
    bucket.open = in_memory_[number];
  } else if (bucket.open == nullptr) {
    bucket.open = in_memory_[add_to_memory()];
  }
  bucket.chunks.push_back(number);
  bucket.fill = 0;
}

/// Counting sort by row and origin, then each row that is not in order by column and value: the sum of entries of a place must not depend on how
/// many ranks have read the file. A bucket's entries go back into its own chunks.
void EntryStore::seal() {
  struct Entry {
    int32_t column;
    double value;
    bool operator<(const Entry& other) const {
      return column != other.column ? column < other.column : value < other.value;
    }
  };
  const auto row_count = static_cast<size_t>(shares_.rows_per_bucket());
  std::vector<size_t> ends(row_count << origin_bits_);  // of the entries of each row from each origin
  std::vector<Entry> entries;
  for (auto& bucket : buckets_) {
    put_open_chunk(bucket);
    std::ranges::fill(ends, size_t{0});
    for_each_chunk(bucket, [&](const Chunk& chunk, size_t count) {
      for (size_t k = 0; k < count; ++k) ++ends[chunk.rows[k]];
    });
    entries.resize(bucket.entry_count());
    std::exclusive_scan(ends.begin(), ends.end(), ends.begin(), size_t{0});
    for_each_chunk(bucket, [&](const Chunk& chunk, size_t count) {
      for (size_t k = 0; k < count; ++k)
        entries[ends[chunk.rows[k]]++] = {.column = chunk.columns[k], .value = chunk.values[k]};
    });
    free_chunks_.insert(free_chunks_.end(), bucket.chunks.rbegin(), bucket.chunks.rend());
    bucket.chunks.clear();
    bucket.fill = capacity;
    auto* entry = entries.data();
    for (size_t row = 0; row < row_count; ++row) {
      auto* const end = entries.data() + ends[((row + 1) << origin_bits_) - 1];
      auto* kept_end = end;
      const auto falls = [](const Entry& left, const Entry& right) { return left.column >= right.column; };
      if (std::adjacent_find(entry, end, falls) != end) {
        std::sort(entry, end);
        kept_end = entry + 1;
        for (const auto* next = entry + 1; next != end; ++next) {
          if (next->column == kept_end[-1].column) {
            kept_end[-1].value += next->value;
          } else {
            *kept_end++ = *next;
          }
        }
      }
      while (entry != kept_end) {
        if (bucket.fill == capacity) open_chunk(bucket);
        Chunk& chunk = *bucket.open;
        const auto first = bucket.fill;
        bucket.fill = std::min(capacity, first + static_cast<size_t>(kept_end - entry));
        for (auto k = first; k < bucket.fill; ++k, ++entry) {
          chunk.values[k] = entry->value;
          chunk.columns[k] = entry->column;
          chunk.rows[k] = static_cast<uint16_t>(row);
        }
      }
      entry = end;
    }
    put_open_chunk(bucket);
  }
  if (!scratch_) return;
  in_memory_.clear();
  slabs_.clear();
}

void EntryStore::drop(size_t bucket) {
  for (const auto number : std::exchange(buckets_[bucket].chunks, {})) {
    const auto place = number % chunks_per_slab;
    if (!scratch_) slabs_[number / chunks_per_slab].drop(place, place + 1);
  }
}

std::optional<double> EntryStore::value_at(int64_t row, int32_t column) const {
  const Bucket& bucket = buckets_[place_of(row)];
  const auto wanted = std::pair(static_cast<uint16_t>(row - bucket.first_row), column);
  size_t begin = 0;
  size_t end = bucket.entry_count();
  while (begin < end) {
    const size_t middle = begin + (end - begin) / 2;
    const auto number = bucket.chunks[middle / capacity];
    const auto& chunk =
        scratch_ ? *reinterpret_cast<const Chunk*>(scratch_->look_at(number).data()) : *in_memory_[number];
    const size_t place = middle % capacity;
    const auto found = std::pair(chunk.rows[place], chunk.columns[place]);
    if (found == wanted) return chunk.values[place];
    if (found < wanted) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return std::nullopt;
}

}  // namespace cg2d
