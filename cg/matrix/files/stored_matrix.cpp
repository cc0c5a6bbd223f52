#include "cg/matrix/files/stored_matrix.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <utility>

#include "cg/base/errors.hpp"
#include "cg/base/process_memory.hpp"
#include "cg/base/values.hpp"
#include "comm/node_map.hpp"

namespace cg2d {
// ---------------------------------------------------------------- collection

EntryCollector::EntryCollector(std::int64_t order, comm::RankGroup& group, EntryValues values,
                               std::unique_ptr<ScratchChunks> scratch)
    : agreement_(group),
      store_(RowDeal(order, group.size()), group.rank(), values, std::move(scratch)),
      rounds_(group, [this](WordRounds::Words message, int sender) { receive(message, sender); }) {}

void EntryCollector::receive(WordRounds::Words message, int sender) {
  const auto origin_of_words = store_.origin_of(sender);
  const bool has_value = store_.values() == EntryValues::any;
  // A rank that has no more room goes on without it: the others wait for it to take what they send.
  agreement_.attempt([&] {
    for (std::size_t k = 0; k < message.size(); k += has_value ? 2 : 1)
      store_.add(high_of(message[k]), static_cast<std::int32_t>(low_of(message[k])),
                 has_value ? std::bit_cast<double>(message[k + 1]) : 1.0, origin_of_words);
  });
}

void EntryCollector::add(std::int64_t row, std::int64_t column, double value) {
  const bool has_value = store_.values() == EntryValues::any;
  auto& buffer = rounds_.to(store_.deal().owner_of(row), has_value ? 2 : 1);
  buffer.push_back(pair_of(row, column));
  if (has_value) buffer.push_back(std::bit_cast<std::uint64_t>(value));
}

EntryStore EntryCollector::finish() {
  rounds_.finish();
  agreement_.attempt([&] { store_.seal(); });
  agreement_.reach();
  return std::move(store_);
}

// ---------------------------------------------------------------- memory

std::int64_t stored_bytes(std::int64_t order, std::int64_t entry_count, EntryValues values) {
  constexpr std::int64_t bytes_per_row = 18;  // measured: lengths, in two orders, and the diagonal
  return stored_entry_bytes(values) * entry_count + bytes_per_row * order;
}

/// Working memory: messages, what the rows of a rank take more than the block that is made of them, and the chunks that are not dropped at
/// once (EntryStore::order_chunks).
ExpectedMatrix expected_matrix(std::int64_t order, std::int64_t entry_count, EntryValues values,
                               int rank_count) {
  constexpr std::int64_t words_per_entry =
      4;  // short rows: two words of their part, and one and a half of the entry
  constexpr std::int64_t most_kept_bytes = std::int64_t{32} << 20;
  constexpr std::int64_t block_entry_bytes = 12;
  const auto share = entry_count / rank_count + 1;
  const auto row_bytes = stored_bytes(order, 0, values);
  const auto bytes = EntryStore::most_bytes(RowDeal(order, rank_count), entry_count, values);
  const auto own_bytes = bytes / rank_count;
  const auto beyond_block = std::max<std::int64_t>(0, own_bytes - block_entry_bytes * share);
  const auto word_count = values == EntryValues::any ? 2 * share : share;
  return {.order = order,
          .entry_count = entry_count,
          .working_bytes = word_round_bytes(rank_count, words_per_entry * share) + beyond_block +
                           std::min(own_bytes, most_kept_bytes) + row_bytes / rank_count,
          .making_bytes = bytes + row_bytes + rank_count * word_round_bytes(rank_count, word_count)};
}

void require_memory(const MemoryCheck& check, const std::string& name, const ExpectedMatrix& matrix,
                    comm::RankGroup& group) {
  if (check) return check(matrix);
  const auto nodes = comm::make_node_map(group, 0);
  agree_on(group, [&] {
    const auto rank_count = static_cast<int>(nodes.ranks_of(nodes.node_of(group.rank())).size());
    const auto growth = std::max<std::int64_t>(0, planned_process_bytes(1) - resident_bytes());
    const auto needed = (matrix.making_bytes / group.size() + growth) * rank_count;
    const auto room = memory_room(rank_count);
    if (needed <= room.available_bytes) return;
    throw RunError(ExitCode::memory,
                   "{}: not enough memory: storing its rows takes {} on the node of rank {} ({}), {} "
                   "are available; {}take more nodes",
                   name, format_bytes(needed), group.rank(), format_count(rank_count, "rank"),
                   format_bytes(std::max<std::int64_t>(room.available_bytes, 0)),
                   enough_limit_text(room, needed - room.available_bytes, rank_count));
  });
}

// ---------------------------------------------------------------- survey

StoredMatrix::StoredMatrix(EntryStore store, std::string name, std::optional<RandomPermutation> permutation,
                           comm::RankGroup& group)
    : store_(std::move(store)) {
  permutation_ = permutation;
  survey_store(name, group);
}

void StoredMatrix::survey_store(const std::string& name, comm::RankGroup& group) {
  std::vector<comm::IndexRange> rows;
  for (std::size_t bucket = 0; bucket < store_.bucket_count(); ++bucket)
    rows.push_back(store_.rows_of(bucket));
  survey(name, std::move(rows), group);
}

void StoredMatrix::visit_entries(comm::RankGroup& group, const EntryVisit& visit) const {
  agree_on(group, [&] { store_.for_each_part(visit); });
}

// ---------------------------------------------------------------- blocks

namespace {

using RowPart = EntryStore::RowPart;

/// A message of a part of a row of a block: row, and twice the number of entries, and 1 if all values are 1; columns two by two; the values, unless
/// all are 1.
std::size_t word_count_of(const RowPart& part) {
  const auto count = part.columns.size();
  return 1 + (count + 1) / 2 + (part.is_all_ones ? 0 : count);
}

void append_part(const RowPart& part, std::vector<std::uint64_t>& words) {
  const auto begin = words.size();
  words.resize(begin + word_count_of(part));
  auto* const message = words.data() + begin;
  message[0] = pair_of(part.row, 2 * std::ssize(part.columns) + (part.is_all_ones ? 1 : 0));
  std::memcpy(message + 1, part.columns.data(), part.columns.size_bytes());
  if (!part.is_all_ones)
    std::memcpy(message + 1 + (part.columns.size() + 1) / 2, part.values.data(), part.values.size_bytes());
}

/// Its columns and values are to be copied only: they lie in words.
RowPart part_of(const std::uint64_t* message) {
  const auto count = static_cast<std::size_t>(low_of(message[0])) / 2;
  const bool is_all_ones = low_of(message[0]) % 2 != 0;
  return {.row = high_of(message[0]),
          .columns = {reinterpret_cast<const std::int32_t*>(message + 1), count},
          .values = {reinterpret_cast<const double*>(message + 1 + (count + 1) / 2), is_all_ones ? 0 : count},
          .is_all_ones = is_all_ones};
}

/// Where the row has its next entries, which is where row_starts are from then on.
void place_part(const RowPart& part, std::int32_t first_column, kernels::CsrBlock& block) {
  auto& next = block.row_starts[static_cast<std::size_t>(part.row)];
  auto* const columns = block.columns.data() + next;
  auto* const values = block.values.data() + next;
  std::memcpy(columns, part.columns.data(), part.columns.size_bytes());
  for (std::size_t k = 0; k < part.columns.size(); ++k) columns[k] -= first_column;
  if (part.is_all_ones) {
    std::fill_n(values, part.columns.size(), 1.0);
  } else {
    std::memcpy(values, part.values.data(), part.values.size_bytes());
  }
  next += std::ssize(part.columns);
}

/// The buckets in an order in which the blocks of all process rows grow alike, each from its first row on. In the
/// order of rows those of the first process row would be whole while half of the store or more is still there.
std::vector<std::size_t> buckets_in_turns(const EntryStore& store, const comm::BlockLayout& layout) {
  const auto share_before = [&](std::size_t bucket) {
    const auto row = store.rows_of(bucket).begin;
    const auto block = layout.row_block(layout.row_block_of(row));
    return static_cast<double>(row - block.begin) / static_cast<double>(block.size());
  };
  std::vector<std::size_t> buckets(store.bucket_count());
  std::iota(buckets.begin(), buckets.end(), std::size_t{0});
  std::ranges::stable_sort(buckets, {}, share_before);
  return buckets;
}

}  // namespace

/// In two rounds: lengths of the block's rows, so that the block is allocated as it is, then their entries, each to its place. Those of a row come from one
/// rank, in their order.
kernels::CsrBlock block_of_rows(const EntryStore& store, const comm::BlockLayout& layout,
                                comm::RankGroup& group,
                                const std::function<void(std::size_t bucket)>& after_bucket) {
  const auto columns = layout.columns_of(group.rank());
  const auto first_column = static_cast<std::int32_t>(columns.begin);
  auto block = kernels::CsrBlock::with_room(layout.rows_of(group.rank()).size(), columns.size());
  const auto starts = block.row_starts.span();
  Agreement agreement(group);
  {
    WordRounds lengths(group, [&](WordRounds::Words words, int /*rank*/) {
      for (const auto word : words) starts[static_cast<std::size_t>(high_of(word)) + 1] += low_of(word);
    });
    agreement.attempt([&] {
      store.for_each_part([&](const RowPart& of_row) {
        for_each_block_part(layout, of_row, [&](int owner, const RowPart& part) {
          lengths.to(owner, 1).push_back(pair_of(part.row, std::ssize(part.columns)));
        });
      });
    });
    lengths.finish();
    agreement.reach();
  }
  block.make_room_by_lengths();
  WordRounds entries(group, [&](WordRounds::Words words, int /*rank*/) {
    while (!words.empty()) {
      const auto part = part_of(words.data());
      place_part(part, first_column, block);
      words = words.subspan(word_count_of(part));
    }
  });
  agreement.attempt([&] {
    for (const auto bucket : buckets_in_turns(store, layout)) {
      store.for_each_part(bucket, [&](const RowPart& of_row) {
        for_each_block_part(layout, of_row, [&](int owner, const RowPart& part) {
          if (owner == group.rank()) {
            place_part(part, first_column, block);
          } else {
            append_part(part, entries.to(owner, word_count_of(part)));
          }
        });
      });
      if (after_bucket) after_bucket(bucket);
    }
  });
  entries.finish();
  agreement.reach();
  // Each row's start has come to its end, which is the start of the next one.
  std::ranges::copy_backward(starts.first(starts.size() - 1), starts.end());
  starts.front() = 0;
  return block;
}

std::int64_t StoredMatrix::working_bytes(const comm::BlockLayout& layout, const Strips& /*strips*/) const {
  return expected_matrix(order(), nonzero_count_, store_.values(), layout.grid().rank_count()).working_bytes;
}

SourceFacts StoredMatrix::build_strips(const comm::BlockLayout& layout, comm::RankGroup& group,
                                       int /*thread_count*/, const Strips& /*strips*/,
                                       const StripSink& sink) const {
  sink(block_of_rows(store_, layout, group));
  return {};
}

kernels::CsrBlock StoredMatrix::take(const comm::BlockLayout& layout, comm::RankGroup& group) {
  return block_of_rows(store_, layout, group, [this](std::size_t bucket) { store_.drop(bucket); });
}

}  // namespace cg2d
