#include "cg/matrix/files/entry_store.hpp"

#include <bit>
#include <numeric>

#include "cg/base/errors.hpp"
#include "cg/base/values.hpp"

namespace cg2d {
namespace {

/// Rows of a bucket have 12 bits: of the 16 with an entry, 4 are left for its origin. Buckets are smaller where there
/// would be too few of them for the ranks.
int shift_for(int64_t order, int rank_count) {
  constexpr int largest_shift = 12;
  constexpr int64_t buckets_per_rank = 16;
  const auto rows = static_cast<uint64_t>(std::max<int64_t>(1, order / (rank_count * buckets_per_rank)));
  return std::min(largest_shift, static_cast<int>(std::bit_width(rows)) - 1);
}

}  // namespace

RowDeal::RowDeal(int64_t order, int rank_count)
    : order_(order), rank_count_(rank_count), shift_(shift_for(order, rank_count)) {
  for (int64_t bucket = 0; bucket < bucket_count(); ++bucket) {
    owners_.push_back(static_cast<int32_t>(bucket % rank_count));
    places_.push_back(static_cast<uint32_t>(bucket / rank_count));
  }
}

// ---------------------------------------------------------------- order

/// Entries while they are put in order. Equal places are ordered by value before they are summed: the sum must not depend on how many
/// ranks have read the file.
struct EntryStore::ValuedEntry {
  int32_t column;
  double value;
  bool operator<(const ValuedEntry& other) const {
    return column != other.column ? column < other.column : value < other.value;
  }
};
struct EntryStore::OneEntry {
  static constexpr double value = 1.0;
  int32_t column;
  bool operator<(const OneEntry& other) const { return column < other.column; }
};

/// Puts the entries of one bucket after the other in order; keeps its buffers.
template <typename Entry>
class EntryStore::BucketSorter {
 public:
  explicit BucketSorter(EntryStore& store)
      : store_(store),
        origin_bits_(static_cast<unsigned>(store.origin_bits_)),
        key_ends_(static_cast<size_t>(store.deal_.rows_per_bucket()) << origin_bits_) {}

  /// Brings a bucket of the scratch file back, and puts it away again; what is not changed is there, but for the open chunk.
  void order(Bucket& bucket) {
    if (bucket.chunks.empty()) return;
    const auto full_count = bucket.chunks.size() - 1;
    brought_back_.resize(std::max(brought_back_.size(), full_count));
    chunks_.clear();
    for (size_t c = 0; c < full_count; ++c)
      chunks_.push_back(store_.read_chunk(bucket.chunks[c], brought_back_[c]));
    chunks_.push_back(store_.chunk_at(bucket.open));
    auto entry_count = store_.entry_count_of(bucket);
    const bool was_in_order = is_in_order(bucket);
    if (was_in_order) {
      for_each(bucket, [&](const Chunk& chunk, size_t k) { chunk.rows[k] = row_of(chunk, k); });
    } else {
      gather(bucket);
      entry_count = write_joined(bucket.first_row);
    }
    store_.shrink(bucket, entry_count);
    const bool is_changed = !was_in_order || origin_bits_ > 0;
    for (auto c = is_changed ? 0 : bucket.chunks.size() - 1; store_.scratch_ && c < bucket.chunks.size(); ++c)
      store_.scratch_->put(bucket.chunks[c], {reinterpret_cast<std::byte*>(chunks_[c].values), chunk_bytes});
  }

 private:
  static constexpr bool has_values = std::is_same_v<Entry, ValuedEntry>;

  uint16_t row_of(const Chunk& chunk, size_t k) const {
    return static_cast<uint16_t>(chunk.rows[k] >> origin_bits_);
  }

  /// Whether a bucket is as an ordered file with both triangles leaves it. Cost: a look at the entries in
  /// order.
  bool is_in_order(const Bucket& bucket) const {
    std::pair<int, int32_t> before{-1, 0};
    for (size_t c = 0; c < chunks_.size(); ++c) {
      const Chunk chunk = chunks_[c];
      for (size_t k = 0; k < store_.entries_in(bucket, c); ++k) {
        const std::pair<int, int32_t> place(row_of(chunk, k), chunk.columns[k]);
        if (place <= before) return false;
        before = place;
      }
    }
    return true;
  }

  /// Counting sort by row and origin, which keeps the order within both. Afterwards key_ends_ are the ends of the
  /// entries of each key.
  void gather(const Bucket& bucket) {
    std::ranges::fill(key_ends_, size_t{0});
    for_each(bucket, [&](const Chunk& chunk, size_t k) { ++key_ends_[chunk.rows[k]]; });
    std::exclusive_scan(key_ends_.begin(), key_ends_.end(), key_ends_.begin(), size_t{0});
    entries_.resize(store_.entry_count_of(bucket));
    for_each(bucket, [&](const Chunk& chunk, size_t k) {
      auto& entry = entries_[key_ends_[chunk.rows[k]]++];
      entry.column = chunk.columns[k];
      if constexpr (has_values) entry.value = chunk.values[k];
    });
  }

  /// Writes what gather() has gathered, the entries of each place joined, to the first chunks. Returns how many are left.
  size_t write_joined(int64_t first_row) {
    const size_t capacity = store_.capacity_;
    size_t chunk_number = 0;
    size_t place = 0;
    Chunk chunk = chunks_.front();
    auto* entry = entries_.data();
    for (size_t row = 0; row < (key_ends_.size() >> origin_bits_); ++row) {
      auto* const end = entries_.data() + key_ends_[((row + 1) << origin_bits_) - 1];
      if (std::adjacent_find(entry, end, [](const Entry& left, const Entry& right) {
            return left.column >= right.column;
          }) != end)
        std::sort(entry, end);
      while (entry != end) {
        const auto column = entry->column;
        double sum = entry->value;
        for (++entry; entry != end && entry->column == column; ++entry) sum += entry->value;
        if (place == capacity) {
          chunk = chunks_[++chunk_number];
          place = 0;
        }
        if constexpr (has_values) chunk.values[place] = sum;
        if (!has_values && sum != 1.0)
          store_.multiples_.emplace_hint(store_.multiples_.end(),
                                         std::pair(first_row + static_cast<int64_t>(row), column), sum);
        chunk.columns[place] = column;
        chunk.rows[place++] = static_cast<uint16_t>(row);
      }
    }
    return chunk_number * capacity + place;
  }

  template <typename Visit>
  void for_each(const Bucket& bucket, const Visit& visit) const {
    for (size_t c = 0; c < chunks_.size(); ++c) {
      const Chunk chunk = chunks_[c];
      const size_t count = store_.entries_in(bucket, c);
      for (size_t k = 0; k < count; ++k) visit(chunk, k);
    }
  }

  EntryStore& store_;
  unsigned origin_bits_;
  std::vector<Chunk> chunks_;                         // of the bucket, in memory
  std::vector<std::vector<std::byte>> brought_back_;  // contents of those of a scratch file
  std::vector<size_t> key_ends_;                      // a key: the row, and the origin in its last bits
  std::vector<Entry> entries_;
};

void EntryStore::seal() {
  const auto order_by = [this](auto sorter) {
    for (auto& bucket : buckets_) sorter.order(bucket);
  };
  if (has_values()) {
    order_by(BucketSorter<ValuedEntry>(*this));
  } else {
    order_by(BucketSorter<OneEntry>(*this));
  }
  if (scratch_) {
    slabs_.clear();
  } else {
    order_chunks();
  }
}

// ---------------------------------------------------------------- chunks

EntryStore::EntryStore(const RowDeal& deal, int rank, EntryValues values,
                       std::unique_ptr<ScratchChunks> scratch)
    : deal_(deal),
      rank_(rank),
      origin_bits_(
          std::min(4, static_cast<int>(std::bit_width(static_cast<unsigned>(deal.rank_count() - 1))))),
      capacity_(chunk_bytes / static_cast<size_t>(stored_entry_bytes(values)) / 8 * 8),
      value_bytes_(values == EntryValues::any ? capacity_ * sizeof(double) : 0),
      ones_(has_values() ? 0 : capacity_, 1.0),
      scratch_(std::move(scratch)) {
  for (int64_t bucket = rank; bucket < deal.bucket_count(); bucket += deal.rank_count())
    buckets_.push_back({.first_row = bucket * deal.rows_per_bucket(), .fill = capacity_});
}

/// With a scratch file a bucket keeps the memory of its open chunk. Throws RunError.
void EntryStore::open_chunk(Bucket& bucket) {
  const auto number = chunk_count_;
  if (scratch_ && bucket.open != nullptr) {
    scratch_->put(bucket.chunks.back(), {bucket.open, chunk_bytes});
  } else {
    try {
      if (number == slabs_.size() * chunks_per_slab)
        slabs_.push_back({.memory = kernels::PageBuffer<std::byte>(slab_bytes)});
    } catch (const std::bad_alloc&) {
      throw RunError(
          ExitCode::memory,
          "out of memory on rank {}: the system refuses {} for rows; take a smaller matrix or more nodes",
          rank_, format_bytes(slab_bytes));
    }
    bucket.open = address_of(number);
    ++chunk_count_;
  }
  bucket.chunks.push_back(scratch_ ? scratch_->add() : number);
  bucket.fill = 0;
}

EntryStore::Chunk EntryStore::read_chunk(size_t chunk, std::vector<std::byte>& buffer) const {
  if (!scratch_) return chunk_at(address_of(chunk));
  buffer.resize(chunk_bytes);
  scratch_->get(chunk, buffer);
  return chunk_at(buffer.data());
}

/// Moves chunks to lie in memory in the order of the buckets, so that buckets that are dropped in turn free whole huge
/// pages. Where the columns of a file are in no order, each huge page has chunks of many buckets before. Cost: one copy
/// of the chunks, or none where they are not far from their places.
void EntryStore::order_chunks() {
  constexpr size_t near_chunks = (size_t{1} << 25) / chunk_bytes;  // 32 MB are kept so long
  std::vector<size_t> contents;                                    // in the order of the buckets
  for (const auto& bucket : buckets_)
    contents.insert(contents.end(), bucket.chunks.begin(), bucket.chunks.end());
  auto places = contents;
  std::ranges::sort(places);
  std::vector<size_t> sources;  // for each place: the place that has its content now
  bool is_near = true;
  for (const auto content : contents) {
    const auto source = static_cast<size_t>(std::ranges::lower_bound(places, content) - places.begin());
    is_near = is_near && source < sources.size() + near_chunks && sources.size() < source + near_chunks;
    sources.push_back(source);
  }
  if (is_near) return;
  // The content of places[sources[k]] comes to places[k], cycle by cycle.
  std::vector<std::byte> first(chunk_bytes);
  const auto bytes_at = [&](size_t number) { return std::span(address_of(places[number]), chunk_bytes); };
  for (size_t begin = 0; begin < places.size(); ++begin) {
    if (sources[begin] == begin) continue;
    std::ranges::copy(bytes_at(begin), first.begin());
    size_t target = begin;
    for (; sources[target] != begin; target = std::exchange(sources[target], target))
      std::ranges::copy(bytes_at(sources[target]), bytes_at(target).begin());
    std::ranges::copy(first, bytes_at(target).begin());
    sources[target] = target;
  }
  auto place = places.begin();
  for (auto& bucket : buckets_) {
    for (auto& chunk : bucket.chunks) chunk = *place++;
  }
}

/// Only whole huge pages go back: the system would split one of which it gets a part, and the block that grows meanwhile
/// would get no huge pages from what was given back, but memory that was never used.
void EntryStore::shrink(Bucket& bucket, size_t entry_count) {
  constexpr size_t chunks_per_page = huge_page_bytes / chunk_bytes;
  const size_t chunk_count = (entry_count + capacity_ - 1) / capacity_;
  for (; bucket.chunks.size() > chunk_count; bucket.chunks.pop_back()) {
    if (scratch_) continue;
    const auto chunk = bucket.chunks.back();
    auto& slab = slabs_[chunk / chunks_per_slab];
    const auto page = chunk % chunks_per_slab / chunks_per_page;
    if (++slab.closed_counts[page] == chunks_per_page)
      slab.memory.drop(page * huge_page_bytes, (page + 1) * huge_page_bytes);
  }
  bucket.fill = bucket.chunks.empty() ? capacity_ : entry_count - (chunk_count - 1) * capacity_;
}

// ---------------------------------------------------------------- reading

void EntryStore::set_multiples(RowPart& part, std::vector<double>& values) const {
  const auto end = multiples_.upper_bound({part.row, part.columns.back()});
  for (auto multiple = multiples_.lower_bound({part.row, part.columns.front()}); multiple != end;
       ++multiple) {
    if (part.is_all_ones) values.assign(part.columns.size(), 1.0);
    part.is_all_ones = false;
    part.values = values;
    const auto place = std::ranges::lower_bound(part.columns, multiple->first.second);
    values[static_cast<size_t>(place - part.columns.begin())] = multiple->second;
  }
}

std::optional<double> EntryStore::value_at(int64_t row, int32_t column) const {
  const Bucket& bucket = buckets_[deal_.place_of(row)];
  const auto wanted = std::pair(static_cast<uint16_t>(row - bucket.first_row), column);
  size_t begin = 0;
  size_t end = entry_count_of(bucket);
  while (begin < end) {
    const size_t middle = begin + (end - begin) / 2;
    const auto number = bucket.chunks[middle / capacity_];
    // To be read only.
    auto* const bytes =
        scratch_ ? const_cast<std::byte*>(scratch_->look_at(number).data()) : address_of(number);
    const Chunk chunk = chunk_at(bytes);
    const size_t place = middle % capacity_;
    const auto found = std::pair(chunk.rows[place], chunk.columns[place]);
    if (found < wanted) {
      begin = middle + 1;
    } else if (found > wanted) {
      end = middle;
    } else if (has_values()) {
      return chunk.values[place];
    } else {
      const auto multiple = multiples_.find({row, column});
      return multiple == multiples_.end() ? 1.0 : multiple->second;
    }
  }
  return std::nullopt;
}

}  // namespace cg2d
