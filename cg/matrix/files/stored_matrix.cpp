#include "cg/matrix/files/stored_matrix.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <utility>

#include "cg/base/agreement.hpp"
#include "cg/base/errors.hpp"
#include "cg/base/process_memory.hpp"
#include "cg/base/values.hpp"
#include "comm/node_map.hpp"

namespace cg2d {
// ---------------------------------------------------------------- collection

EntryCollector::EntryCollector(std::int64_t order, comm::RankGroup& group, EntryValues values,
                               std::unique_ptr<ScratchChunks> scratch)
    : group_(group),
      store_(RowDeal(order, group.size()), group.rank(), values, std::move(scratch)),
      rounds_(group,
              [this](std::span<const std::uint64_t> message, int sender) { receive(message, sender); }) {}

void EntryCollector::receive(std::span<const std::uint64_t> message, int sender) {
  const auto origin_of_words = store_.origin_of(sender);
  const bool has_value = store_.values() == EntryValues::any;
  for (std::size_t k = 0; k < message.size(); k += has_value ? 2 : 1)
    store_.add(high_of(message[k]), static_cast<std::int32_t>(low_of(message[k])),
               has_value ? std::bit_cast<double>(message[k + 1]) : 1.0, origin_of_words);
}

void EntryCollector::add(std::int64_t row, std::int64_t column, double value) {
  const bool has_value = store_.values() == EntryValues::any;
  auto& buffer = rounds_.to(store_.deal().owner_of(row), has_value ? 2 : 1);
  buffer.push_back(pair_of(row, column));
  if (has_value) buffer.push_back(std::bit_cast<std::uint64_t>(value));
}

EntryStore EntryCollector::finish() {
  rounds_.finish();
  agree_on(group_, [&] { store_.seal(); });
  require_intact(store_, group_);
  return std::move(store_);
}

// ---------------------------------------------------------------- memory

namespace {

/// Memory of a rank beside its block: messages, what its rows take more than the block that is made of them, and the chunks that are not
/// dropped at once (EntryStore::order_chunks).
std::int64_t distribution_bytes(std::int64_t order, std::int64_t entry_count, EntryValues values,
                                int rank_count) {
  constexpr std::int64_t words_per_entry =
      4;  // short rows: two words of their run, and one and a half of the entry
  constexpr std::int64_t most_kept_bytes = std::int64_t{32} << 20;
  constexpr std::int64_t block_entry_bytes = 12;
  const auto share = entry_count / rank_count + 1;
  const auto bytes = EntryStore::most_bytes(RowDeal(order, rank_count), entry_count, values) / rank_count;
  const auto beyond_block = std::max<std::int64_t>(0, bytes - block_entry_bytes * share);
  return word_round_bytes(rank_count, words_per_entry * share) + beyond_block +
         std::min(bytes, most_kept_bytes) + stored_bytes(order, 0, values) / rank_count;
}

}  // namespace

std::int64_t stored_bytes(std::int64_t order, std::int64_t entry_count, EntryValues values) {
  constexpr std::int64_t bytes_per_row = 18;  // measured: lengths, in two orders, and the diagonal
  return stored_entry_bytes(values) * entry_count + bytes_per_row * order;
}

ExpectedMatrix expected_matrix(std::int64_t order, std::int64_t entry_count, EntryValues values,
                               int rank_count) {
  const auto share = entry_count / rank_count + 1;
  const auto word_count = values == EntryValues::any ? 2 * share : share;
  const auto kept_bytes = EntryStore::most_bytes(RowDeal(order, rank_count), entry_count, values) +
                          (stored_bytes(order, 0, values));
  return {.order = order,
          .entry_count = entry_count,
          .working_bytes = distribution_bytes(order, entry_count, values, rank_count),
          .making_bytes = kept_bytes + rank_count * word_round_bytes(rank_count, word_count)};
}

void require_memory(const std::string& name, std::int64_t bytes_of_all_ranks, comm::RankGroup& group) {
  const auto nodes = comm::make_node_map(group, 0);
  agree_on(group, [&] {
    const auto rank_count = static_cast<int>(nodes.ranks_of(nodes.node_of(group.rank())).size());
    const auto growth = std::max<std::int64_t>(0, planned_process_bytes(1) - resident_bytes());
    const auto needed = (bytes_of_all_ranks / group.size() + growth) * rank_count;
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

void require_memory(const MemoryCheck& check, const std::string& name, const ExpectedMatrix& matrix,
                    comm::RankGroup& group) {
  if (check) return check(matrix);
  require_memory(name, matrix.making_bytes, group);
}

void require_intact(const EntryStore& store, comm::RankGroup& group) {
  agree_on(group, [&] {
    if (store.failure()) throw RunError(*store.failure());
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
  const auto& deal = store_.deal();
  std::vector<comm::IndexRange> rows;
  for (std::size_t bucket = 0; bucket < store_.bucket_count(); ++bucket) {
    const auto first = store_.first_row(bucket);
    rows.push_back({.begin = first, .end = std::min(first + deal.rows_per_bucket(), deal.order())});
  }
  survey(name, std::move(rows), group);
}

void StoredMatrix::visit_entries(comm::RankGroup& group, const EntryVisit& visit) const {
  store_.for_each_part([&](const EntryStore::RowPart& part) { visit(part.row, part.columns, part.values); });
  require_intact(store_, group);
}

// ---------------------------------------------------------------- blocks

namespace {

/// Entries of a row of a block, without values where all are 1. A message of one: row, and twice the number of entries, and 1 if all values are 1;
/// columns two by two; the values, unless all are 1.
struct BlockRun {
  int owner = 0;
  std::int64_t row = 0;
  std::size_t count = 0;
  const void* columns = nullptr;  // those of the matrix
  const void* values = nullptr;

  [[nodiscard]] std::size_t words_of_columns() const { return (count + 1) / 2; }
  [[nodiscard]] std::size_t word_count() const {
    return 1 + words_of_columns() + (values == nullptr ? 0 : count);
  }
};

void append_run(const BlockRun& run, std::vector<std::uint64_t>& words) {
  const auto begin = words.size();
  words.resize(begin + run.word_count());
  auto* const message = words.data() + begin;
  message[0] = pair_of(run.row, 2 * static_cast<std::int64_t>(run.count) + (run.values == nullptr ? 1 : 0));
  std::memcpy(message + 1, run.columns, run.count * sizeof(std::int32_t));
  if (run.values != nullptr)
    std::memcpy(message + 1 + run.words_of_columns(), run.values, run.count * sizeof(double));
}

BlockRun run_of(const std::uint64_t* message) {
  BlockRun run{.row = high_of(message[0]),
               .count = static_cast<std::size_t>(low_of(message[0])) / 2,
               .columns = message + 1};
  if (low_of(message[0]) % 2 == 0) run.values = message + 1 + run.words_of_columns();
  return run;
}

/// Where the row has its next entries, which is where row_starts are from then on.
void place_run(const BlockRun& run, std::int32_t first_column, kernels::CsrBlock& block) {
  auto& next = block.row_starts[static_cast<std::size_t>(run.row)];
  auto* const columns = block.columns.data() + next;
  auto* const values = block.values.data() + next;
  std::memcpy(columns, run.columns, run.count * sizeof(std::int32_t));
  for (std::size_t k = 0; k < run.count; ++k) columns[k] -= first_column;
  if (run.values == nullptr) {
    std::fill_n(values, run.count, 1.0);
  } else {
    std::memcpy(values, run.values, run.count * sizeof(double));
  }
  next += static_cast<std::int64_t>(run.count);
}

/// Cuts the rows of a bucket at the borders of the column blocks.
template <typename Visit>
void for_each_run(const EntryStore& store, std::size_t bucket, const comm::BlockLayout& layout,
                  const Visit& visit) {
  store.for_each_part(bucket, [&](const EntryStore::RowPart& part) {
    const int process_row = layout.row_block_of(part.row);
    const auto row = part.row - layout.row_block(process_row).begin;
    for (std::size_t begin = 0; begin < part.columns.size();) {
      const int process_column = layout.column_block_of(part.columns[begin]);
      const auto block_end = layout.column_block(process_column).end;
      std::size_t end = begin + 1;
      while (end < part.columns.size() && part.columns[end] < block_end) ++end;
      visit(BlockRun{.owner = layout.grid().rank_at(process_row, process_column),
                     .row = row,
                     .count = end - begin,
                     .columns = part.columns.data() + begin,
                     .values = part.is_all_ones ? nullptr : part.values.data() + begin});
      begin = end;
    }
  });
}

/// The buckets in an order in which the blocks of all process rows grow alike, each from its first row on. In the
/// order of rows those of the first process row would be whole while half of the store or more is still there.
std::vector<std::size_t> buckets_in_turns(const EntryStore& store, const comm::BlockLayout& layout) {
  const auto share_before = [&](std::size_t bucket) {
    const auto row = store.first_row(bucket);
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
  {
    WordRounds lengths(group, [&](std::span<const std::uint64_t> words, int /*rank*/) {
      for (const auto word : words) starts[static_cast<std::size_t>(high_of(word)) + 1] += low_of(word);
    });
    for (std::size_t bucket = 0; bucket < store.bucket_count(); ++bucket) {
      for_each_run(store, bucket, layout, [&](const BlockRun& run) {
        lengths.to(run.owner, 1).push_back(pair_of(run.row, static_cast<std::int64_t>(run.count)));
      });
    }
    lengths.finish();
    require_intact(store, group);
  }
  block.make_room_by_lengths();
  WordRounds entries(group, [&](std::span<const std::uint64_t> words, int /*rank*/) {
    while (!words.empty()) {
      const auto run = run_of(words.data());
      place_run(run, first_column, block);
      words = words.subspan(run.word_count());
    }
  });
  for (const auto bucket : buckets_in_turns(store, layout)) {
    for_each_run(store, bucket, layout, [&](const BlockRun& run) {
      if (run.owner == group.rank()) {
        place_run(run, first_column, block);
      } else {
        append_run(run, entries.to(run.owner, run.word_count()));
      }
    });
    if (after_bucket) after_bucket(bucket);
  }
  entries.finish();
  require_intact(store, group);
  // Each row's start has come to its end, which is the start of the next one.
  std::ranges::copy_backward(starts.first(starts.size() - 1), starts.end());
  starts.front() = 0;
  return block;
}

std::int64_t StoredMatrix::working_bytes(const comm::BlockLayout& layout, const Strips& /*strips*/) const {
  return distribution_bytes(order(), nonzero_count_, store_.values(), layout.grid().rank_count());
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
