#include "cg/matrix/files/entry_store.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <numeric>
#include <utility>

#include "cg/base/values.hpp"

namespace cg2d {
namespace {

/// Rows of a bucket have 12 bits: of the 16 with an entry, 4 are left for its origin. Buckets are smaller where there
/// would be too few of them for the ranks.
int shift_for(std::int64_t order, int rank_count) {
  constexpr int largest_shift = 12;
  constexpr std::int64_t buckets_per_rank = 16;
  const auto rows =
      static_cast<std::uint64_t>(std::max<std::int64_t>(1, order / (rank_count * buckets_per_rank)));
  return std::min(largest_shift, static_cast<int>(std::bit_width(rows)) - 1);
}

/// Bits that tell origins apart.
int origin_bits_for(int rank_count) {
  constexpr int most_bits = 4;
  return std::min(most_bits, static_cast<int>(std::bit_width(static_cast<unsigned>(rank_count - 1))));
}

}  // namespace

RowDeal::RowDeal(std::int64_t order, int rank_count)
    : order_(order), rank_count_(rank_count), shift_(shift_for(order, rank_count)) {
  for (std::int64_t bucket = 0; bucket < bucket_count(); ++bucket) {
    owners_.push_back(static_cast<std::int32_t>(bucket % rank_count));
    places_.push_back(static_cast<std::uint32_t>(bucket / rank_count));
  }
}

// ---------------------------------------------------------------- order

/// Entries while they are put in order.
struct EntryStore::ValuedEntry {
  std::int32_t column;
  double value;

  ValuedEntry() = default;
  ValuedEntry(const Chunk& chunk, std::size_t k) : column(chunk.columns[k]), value(chunk.values[k]) {}
  void write(const Chunk& chunk, std::size_t k) const {
    chunk.values[k] = value;
    chunk.columns[k] = column;
  }
  /// Equal places are ordered by value before they are summed: the sum must not depend on how many ranks have read the file.
  [[nodiscard]] bool is_before(const ValuedEntry& other) const {
    return column != other.column ? column < other.column : value < other.value;
  }
  /// Another entry of the same place.
  void join(const ValuedEntry& other, std::int64_t /*row*/, std::vector<Multiple>& /*multiples*/) {
    value += other.value;
  }
};

struct EntryStore::OneEntry {
  std::int32_t column;

  OneEntry() = default;
  OneEntry(const Chunk& chunk, std::size_t k) : column(chunk.columns[k]) {}
  void write(const Chunk& chunk, std::size_t k) const { chunk.columns[k] = column; }
  [[nodiscard]] bool is_before(const OneEntry& other) const { return column < other.column; }
  void join(const OneEntry& /*other*/, std::int64_t row, std::vector<Multiple>& multiples) const {
    if (multiples.empty() || multiples.back().row != row || multiples.back().column != column)
      multiples.push_back({.row = row, .column = column, .value = 1.0});
    multiples.back().value += 1.0;
  }
};

/// Puts the entries of one bucket after the other in order; keeps its buffers.
template <typename Entry>
class EntryStore::BucketSorter {
 public:
  BucketSorter(const EntryStore& store, std::vector<Multiple>& multiples)
      : store_(store),
        multiples_(multiples),
        key_ends_(static_cast<std::size_t>(store.deal().rows_per_bucket())
                  << static_cast<unsigned>(store.origin_bits_)),
        row_ends_(static_cast<std::size_t>(store.deal().rows_per_bucket())),
        origin_bits_(static_cast<unsigned>(store.origin_bits_)) {}

  struct Sorted {
    std::size_t entry_count = 0;  ///< those that are left: the first ones of the bucket
    bool is_changed = true;
  };
  /// chunks: the contents of the bucket's, in memory.
  Sorted sort(const Bucket& bucket, std::span<std::byte* const> chunks) {
    chunks_ = chunks;
    if (is_in_order(bucket)) {
      for_each(bucket, [&](const Chunk& chunk, std::size_t k) { chunk.rows[k] = row_of(chunk, k); });
      return {.entry_count = store_.entry_count_of(bucket), .is_changed = origin_bits_ > 0};
    }
    gather(bucket);
    const std::size_t keys_per_row = std::size_t{1} << origin_bits_;
    std::size_t begin = 0;
    std::size_t kept = 0;
    for (std::size_t row = 0; row < row_ends_.size(); ++row) {
      const std::size_t end = key_ends_[(row + 1) * keys_per_row - 1];
      kept = ordered_row(bucket.first_row + static_cast<std::int64_t>(row), begin, end, kept);
      row_ends_[row] = kept;
      begin = end;
    }
    write_back();
    return {.entry_count = kept};
  }

 private:
  [[nodiscard]] std::uint16_t row_of(const Chunk& chunk, std::size_t k) const {
    return static_cast<std::uint16_t>(chunk.rows[k] >> origin_bits_);
  }

  /// Whether a bucket is as an ordered file with both triangles leaves it. Cost: a look at the entries in
  /// order.
  [[nodiscard]] bool is_in_order(const Bucket& bucket) const {
    std::pair<int, std::int32_t> before{-1, 0};
    for (std::size_t c = 0; c < chunks_.size(); ++c) {
      const Chunk chunk(chunks_[c], store_.form_);
      for (std::size_t k = 0; k < store_.entries_in(bucket, c); ++k) {
        const std::pair<int, std::int32_t> place(row_of(chunk, k), chunk.columns[k]);
        if (place <= before) return false;
        before = place;
      }
    }
    return true;
  }

  /// Counting sort by row and origin, which keeps the order within both. Afterwards key_ends_ are the ends of the
  /// entries of each key.
  void gather(const Bucket& bucket) {
    std::ranges::fill(key_ends_, std::size_t{0});
    for_each(bucket, [&](const Chunk& chunk, std::size_t k) { ++key_ends_[chunk.rows[k]]; });
    std::exclusive_scan(key_ends_.begin(), key_ends_.end(), key_ends_.begin(), std::size_t{0});
    entries_.resize(store_.entry_count_of(bucket));
    for_each(bucket, [&](const Chunk& chunk, std::size_t k) {
      entries_[key_ends_[chunk.rows[k]]++] = Entry(chunk, k);
    });
  }

  /// Orders the entries begin ... end - 1, a row, joins what is there twice, and puts them at `target`, which is at
  /// most `begin`; returns their new end.
  std::size_t ordered_row(std::int64_t row, std::size_t begin, std::size_t end, std::size_t target) {
    const auto at = [&](std::size_t k) { return entries_.begin() + static_cast<std::ptrdiff_t>(k); };
    bool is_ordered = true;
    for (std::size_t k = begin + 1; k < end; ++k) is_ordered &= entries_[k - 1].column < entries_[k].column;
    if (is_ordered) {
      if (target != begin) std::copy(at(begin), at(end), at(target));
      return target + (end - begin);
    }
    std::sort(at(begin), at(end),
              [](const Entry& left, const Entry& right) { return left.is_before(right); });
    std::size_t last = target;
    entries_[last] = entries_[begin];
    for (std::size_t k = begin + 1; k < end; ++k) {
      if (entries_[k].column == entries_[last].column) {
        entries_[last].join(entries_[k], row, multiples_);
      } else {
        entries_[++last] = entries_[k];
      }
    }
    return last + 1;
  }

  /// Chunk by chunk: the rows' ends are followed meanwhile.
  void write_back() const {
    const std::size_t capacity = store_.form_.capacity;
    const std::size_t entry_count = row_ends_.back();
    std::size_t row = 0;
    for (std::size_t begin = 0; begin < entry_count; begin += capacity) {
      const Chunk chunk(chunks_[begin / capacity], store_.form_);
      const Entry* const entries = entries_.data() + begin;
      const std::size_t count = std::min(entry_count - begin, capacity);
      for (std::size_t k = 0; k < count; ++k) entries[k].write(chunk, k);
      for (std::size_t k = 0; k < count; ++row) {
        const std::size_t row_end = std::min(row_ends_[row] - begin, count);
        std::fill(chunk.rows + k, chunk.rows + row_end, static_cast<std::uint16_t>(row));
        k = row_end;
        if (k == count && row_ends_[row] > begin + count) break;  // the row goes on in the next chunk
      }
    }
  }

  template <typename Visit>
  void for_each(const Bucket& bucket, const Visit& visit) const {
    for (std::size_t c = 0; c < chunks_.size(); ++c) {
      const Chunk chunk(chunks_[c], store_.form_);
      const std::size_t count = store_.entries_in(bucket, c);
      for (std::size_t k = 0; k < count; ++k) visit(chunk, k);
    }
  }

  const EntryStore& store_;
  std::vector<Multiple>& multiples_;
  std::span<std::byte* const> chunks_;
  std::vector<std::size_t> key_ends_;  // a key: the row, and the origin in its last bits
  std::vector<std::size_t> row_ends_;
  std::vector<Entry> entries_;
  unsigned origin_bits_;
};

template <typename Entry>
void EntryStore::order_buckets() {
  BucketSorter<Entry> sorter(*this, multiples_);
  for (auto& bucket : buckets_) {
    if (bucket.chunks.empty()) continue;
    const auto contents = bring_back(bucket);
    if (failure_) return;
    const auto sorted = sorter.sort(bucket, contents);
    shrink(bucket, sorted.entry_count);
    put_away(bucket, contents, sorted.is_changed);
  }
}

void EntryStore::seal() {
  if (failure_) return;
  if (has_values()) {
    order_buckets<ValuedEntry>();
  } else {
    order_buckets<OneEntry>();
  }
  if (!scratch_) order_chunks();
}

// ---------------------------------------------------------------- chunks

EntryStore::EntryStore(const RowDeal& deal, int rank, EntryValues values,
                       std::unique_ptr<ScratchChunks> scratch)
    : deal_(deal),
      rank_(rank),
      origin_bits_(origin_bits_for(deal.rank_count())),
      form_(values),
      ones_(has_values() ? 0 : form_.capacity, 1.0),
      scratch_(std::move(scratch)),
      lost_(ChunkForm::byte_count) {
  for (std::int64_t bucket = rank; bucket < deal.bucket_count(); bucket += deal.rank_count())
    buckets_.push_back({.first_row = deal.first_row_of(bucket), .fill = form_.capacity});
}

std::int64_t EntryStore::entry_count() const {
  std::int64_t count = 0;
  for (const auto& bucket : buckets_) count += static_cast<std::int64_t>(entry_count_of(bucket));
  return count;
}

/// Keeps the RunError of a step, after which none is made any more. Whether there is none.
template <typename Step>
bool EntryStore::attempt(const Step& step) const {
  if (failure_) return false;
  try {
    step();
  } catch (const RunError& error) {
    failure_ = error;
  }
  return !failure_;
}

/// A rank that has no more room goes on without it: the others wait for it to take what they send.
void EntryStore::open_chunk(Bucket& bucket) {
  bucket.fill = 0;
  const bool has_room = attempt([&] {
    if (!scratch_) {
      bucket.chunks.push_back(new_chunk());
      bucket.open = address_of(bucket.chunks.back());
      return;
    }
    if (bucket.open == nullptr) {
      bucket.open = free_memory();
    } else {
      scratch_->put(bucket.chunks.back(), {bucket.open, ChunkForm::byte_count});
    }
    bucket.chunks.push_back(scratch_->add());
  });
  if (!has_room) bucket.open = lost_.data();
}

/// The number of one that was never used. Throws RunError (memory).
std::size_t EntryStore::new_chunk() {
  try {
    if (chunk_count_ == slabs_.size() * chunks_per_slab)
      slabs_.push_back({.memory = kernels::PageBuffer<std::byte>(slab_bytes)});
  } catch (const std::bad_alloc&) {
    throw RunError(ExitCode::memory,
                   "out of memory on rank {}: the system refuses {} for rows; take a smaller "
                   "matrix or more nodes",
                   rank_, format_bytes(slab_bytes));
  }
  return chunk_count_++;
}

std::byte* EntryStore::free_memory() {
  if (free_.empty()) return address_of(new_chunk());
  auto* const memory = free_.back();
  free_.pop_back();
  return memory;
}

/// The contents of a bucket's chunks, in memory. A failure leaves some out.
std::vector<std::byte*> EntryStore::bring_back(const Bucket& bucket) {
  std::vector<std::byte*> contents;
  attempt([&] {
    for (std::size_t c = 0; c < bucket.chunks.size(); ++c) {
      if (!scratch_) {
        contents.push_back(address_of(bucket.chunks[c]));
      } else if (c + 1 == bucket.chunks.size()) {
        contents.push_back(bucket.open);
      } else {
        contents.push_back(free_memory());
        scratch_->get(bucket.chunks[c], {contents.back(), ChunkForm::byte_count});
      }
    }
  });
  return contents;
}

/// To the scratch file, where there is one. Contents that are not changed are there, but for those of the open chunk.
void EntryStore::put_away(Bucket& bucket, std::span<std::byte* const> contents, bool are_changed) {
  if (!scratch_) return;
  attempt([&] {
    const auto first = are_changed || bucket.chunks.empty() ? 0 : bucket.chunks.size() - 1;
    for (auto c = first; c < bucket.chunks.size(); ++c)
      scratch_->put(bucket.chunks[c], {contents[c], ChunkForm::byte_count});
  });
  free_.insert(free_.end(), contents.begin(), contents.end());
  bucket.open = nullptr;
}

/// nullptr: after a failure. buffer: for a chunk that lies in the scratch file.
std::byte* EntryStore::read_chunk(std::size_t chunk, std::vector<std::byte>& buffer) const {
  if (!scratch_) return address_of(chunk);
  buffer.resize(ChunkForm::byte_count);
  return attempt([&] { scratch_->get(chunk, buffer); }) ? buffer.data() : nullptr;
}

/// For places here and there, to be read only; nullptr: after a failure.
std::byte* EntryStore::look_at(std::size_t chunk) const {
  if (!scratch_) return address_of(chunk);
  std::byte* bytes = nullptr;
  attempt([&] { bytes = const_cast<std::byte*>(scratch_->look_at(chunk).data()); });
  return bytes;
}

/// Only whole huge pages go back: the system would split one of which it gets a part, and the block that grows meanwhile
/// would get no huge pages from what was given back, but memory that was never used.
void EntryStore::close_chunk(std::size_t chunk) {
  constexpr std::size_t chunks_per_page = huge_page_bytes / ChunkForm::byte_count;
  auto& slab = slabs_[chunk / chunks_per_slab];
  const auto page = chunk % chunks_per_slab / chunks_per_page;
  if (++slab.closed_counts[page] == chunks_per_page)
    slab.memory.drop(page * huge_page_bytes, (page + 1) * huge_page_bytes);
}

/// Moves chunks to lie in memory in the order of the buckets, so that buckets that are dropped in turn free whole huge
/// pages. Where the columns of a file are in no order, each huge page has chunks of many buckets before. Cost: one copy
/// of the chunks, or none where they are not far from their places.
void EntryStore::order_chunks() {
  constexpr std::size_t near_chunks =
      (std::size_t{1} << 25) / ChunkForm::byte_count;  // 32 MB are kept so long
  std::vector<std::size_t> contents;                   // in the order of the buckets
  for (const auto& bucket : buckets_)
    contents.insert(contents.end(), bucket.chunks.begin(), bucket.chunks.end());
  auto places = contents;
  std::ranges::sort(places);
  std::vector<std::size_t> sources;  // for each place: the place that has its content now
  bool is_near = true;
  for (const auto content : contents) {
    const auto source = static_cast<std::size_t>(std::ranges::lower_bound(places, content) - places.begin());
    is_near = is_near && source < sources.size() + near_chunks && sources.size() < source + near_chunks;
    sources.push_back(source);
  }
  if (is_near) return;
  // The content of places[sources[k]] comes to places[k], cycle by cycle.
  std::vector<std::byte> first(ChunkForm::byte_count);
  const auto copy = [](std::byte* to, const std::byte* from) {
    std::memcpy(to, from, ChunkForm::byte_count);
  };
  const auto at = [&](std::size_t number) { return address_of(places[number]); };
  for (std::size_t begin = 0; begin < places.size(); ++begin) {
    if (sources[begin] == begin) continue;
    copy(first.data(), at(begin));
    std::size_t target = begin;
    while (sources[target] != begin) {
      copy(at(target), at(sources[target]));
      target = std::exchange(sources[target], target);
    }
    copy(at(target), first.data());
    sources[target] = target;
  }
  auto place = places.begin();
  for (auto& bucket : buckets_) {
    for (auto& chunk : bucket.chunks) chunk = *place++;
    if (!bucket.chunks.empty()) bucket.open = address_of(bucket.chunks.back());
  }
}

void EntryStore::shrink(Bucket& bucket, std::size_t entry_count) {
  const std::size_t chunk_count = (entry_count + form_.capacity - 1) / form_.capacity;
  for (; bucket.chunks.size() > chunk_count; bucket.chunks.pop_back()) {
    if (!scratch_) close_chunk(bucket.chunks.back());
  }
  bucket.open = bucket.chunks.empty() || scratch_ ? nullptr : address_of(bucket.chunks.back());
  bucket.fill = bucket.chunks.empty() ? form_.capacity : entry_count - (chunk_count - 1) * form_.capacity;
}

void EntryStore::drop(std::size_t bucket) { shrink(buckets_[bucket], 0); }

// ---------------------------------------------------------------- reading

std::span<const EntryStore::Multiple> EntryStore::multiples_of(std::int64_t row,
                                                               std::span<const std::int32_t> columns) const {
  const auto place_before = [](const Multiple& left, const Multiple& right) {
    return std::pair(left.row, left.column) < std::pair(right.row, right.column);
  };
  const auto begin =
      std::ranges::lower_bound(multiples_, Multiple{.row = row, .column = columns.front()}, place_before);
  const auto end =
      std::upper_bound(begin, multiples_.end(), Multiple{.row = row, .column = columns.back()}, place_before);
  return {begin, end};
}

void EntryStore::set_multiples(RowPart& part, std::vector<double>& values) const {
  const auto multiples = multiples_of(part.row, part.columns);
  if (multiples.empty()) return;
  values.assign(part.columns.size(), 1.0);
  for (const auto& multiple : multiples) {
    const auto place = std::ranges::lower_bound(part.columns, multiple.column);
    values[static_cast<std::size_t>(place - part.columns.begin())] = multiple.value;
  }
  part.values = values;
  part.is_all_ones = false;
}

std::optional<double> EntryStore::value_at(std::int64_t row, std::int32_t column) const {
  const Bucket& bucket = buckets_[deal_.place_of(row)];
  const auto wanted = std::pair(static_cast<std::uint16_t>(row - bucket.first_row), column);
  std::size_t begin = 0;
  std::size_t end = entry_count_of(bucket);
  while (begin < end) {
    const std::size_t middle = begin + (end - begin) / 2;
    auto* const bytes = look_at(bucket.chunks[middle / form_.capacity]);
    if (bytes == nullptr) return std::nullopt;
    const Chunk chunk(bytes, form_);
    const std::size_t place = middle % form_.capacity;
    const auto found = std::pair(chunk.rows[place], chunk.columns[place]);
    if (found == wanted) {
      if (has_values()) return chunk.values[place];
      const auto multiple = multiples_of(row, {&column, 1});
      return multiple.empty() ? 1.0 : multiple.front().value;
    }
    if (found < wanted) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return std::nullopt;
}

}  // namespace cg2d
