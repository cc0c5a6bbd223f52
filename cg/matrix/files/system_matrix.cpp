#include "cg/matrix/files/system_matrix.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>

#include "cg/base/values.hpp"
#include "comm/node_map.hpp"

namespace cg2d {

void SystemMatrix::set_facts(std::string name, int64_t order, comm::RankGroup& group) {
  const int64_t longest = row_lengths_.empty() ? 0 : *std::ranges::max_element(row_lengths_);
  std::vector<int64_t> rows_by_length(static_cast<size_t>(group.maximum(longest)) + 1);
  for (const auto length : row_lengths_) ++rows_by_length[length];
  group.sums(rows_by_length);
  facts_ = counted_facts({.name = std::move(name),
                          .order = order,
                          .pattern_hash = mixed_bits(pattern_sum_ ^ static_cast<uint64_t>(order))},
                         rows_by_length);
}

std::string Symmetrization::text() const {
  if (largest_difference == 0.0) return "both triangles were equal";
  return fmt::format("the largest difference was {:.3g} of sqrt(a_ii a_jj), at ({}, {})", largest_difference,
                     row + 1, column + 1);
}

void SystemMatrix::require_positive_diagonal(comm::RankGroup& group) const {
  struct Entry {
    int64_t row = 0;  // in the original order
    double value = 0.0;
  };
  Entry lowest{.row = order()};
  for (size_t local = 0; local < diagonal_.size(); ++local) {
    if (diagonal_[local] > 0.0) continue;
    if (const auto row = original(row_at(local)); row < lowest.row)
      lowest = {.row = row, .value = diagonal_[local]};
  }
  const auto first = std::ranges::min(group.gather_one(lowest), {}, &Entry::row);
  if (first.row >= order()) return;
  throw RunError(ExitCode::not_positive_definite,
                 "{}: not positive definite: the diagonal entry of row {} is {}; it must be greater than 0 "
                 "(if -A is meant, change the sign of A and b)",
                 facts_.key.name, first.row + 1, first.value);
}

// ---------------------------------------------------------------- survey

namespace {

/// An entry that is no number, in the original order.
struct NotFinite {
  static constexpr int64_t none = std::numeric_limits<int64_t>::max();
  int64_t row = none;
  int64_t column = none;
  double value = 0.0;
  /// The first entry has the least. The lower triangle of the two places of a pair comes first, which files of symmetric matrices have.
  std::tuple<int64_t, int64_t, bool> key() const {
    return {std::max(row, column), std::min(row, column), row < column};
  }
};

}  // namespace

/// A pair of mirrored entries that are equal leaves nothing in the sum of asymmetry: one is added, the other one taken off. Zeros that are
/// stored count as if they were not.
void SystemMatrix::survey(std::string name, const comm::IndexRange& own_rows, comm::RankGroup& group) {
  own_rows_ = own_rows;
  row_lengths_.assign(static_cast<size_t>(own_rows.size()), 0);
  diagonal_.assign(row_lengths_.size(), 0.0);
  int64_t nonzero_count = 0;
  uint64_t pattern_sum = 0;
  uint64_t asymmetry_sum = 0;
  NotFinite not_finite;
  visit_entries(group, [&](const RowPart& part) {
    const auto [row, columns, values] = part;
    const auto local = local_row(row);
    row_lengths_[local] += static_cast<uint32_t>(columns.size());
    nonzero_count += std::ssize(columns);
    for (size_t k = 0; k < columns.size(); ++k) {
      const int64_t column = columns[k];
      const double value = values[k];
      if (!std::isfinite(value)) {
        const NotFinite entry{.row = original(row), .column = original(column), .value = value};
        if (entry.key() < not_finite.key()) not_finite = entry;
      }
      const auto place = hash_of_pair(row, column);
      pattern_sum += place;
      if (column == row) {
        diagonal_[local] = value;
      } else if (value != 0.0) {
        // A value of 1, as all of a pattern have it, needs no mixing of its own.
        const auto entry = value == 1.0 ? place : mixed_bits(place ^ std::bit_cast<uint64_t>(value));
        asymmetry_sum += column < row ? entry : -entry;
      }
    }
  });
  const auto first = std::ranges::min(group.gather_one(not_finite), {}, &NotFinite::key);
  if (first.row != NotFinite::none)
    throw RunError(
        ExitCode::not_finite,
        "{}: not finite: the sum of the duplicates at entry ({}, {}) is {}: it leaves the range of "
        "double precision; scale the matrix and b",
        name, first.row + 1, first.column + 1, first.value);
  const auto order = group.sum(own_rows.size());
  nonzeros_before_ = group.sum_of_lower_ranks(nonzero_count);
  nonzero_count_ = group.sum(nonzero_count);
  pattern_sum_ = sum_of_words(group, pattern_sum);
  set_facts(std::move(name), order, group);
  asymmetry_sum_ = sum_of_words(group, asymmetry_sum);
}

// ---------------------------------------------------------------- cuts

namespace {

/// Cuts a part of a row at the borders of the column blocks: calls visit(owner, part) for that of each block, rows counted from the first
/// of the block.
template <typename Visit>
void for_each_block_part(const comm::BlockLayout& layout, const RowPart& part, const Visit& visit) {
  const auto [row, columns, values] = part;
  const int process_row = layout.row_block_of(row);
  const auto local_row = row - layout.row_block(process_row).begin;
  for (size_t begin = 0; begin < columns.size();) {
    const int process_column = layout.column_block_of(columns[begin]);
    const auto block_end = layout.column_block(process_column).end;
    size_t end = columns.back() < block_end ? columns.size() : begin + 1;
    while (end < columns.size() && columns[end] < block_end) ++end;
    visit(layout.grid().rank_at(process_row, process_column),
          RowPart{.row = local_row,
                  .columns = columns.subspan(begin, end - begin),
                  .values = values.empty() ? values : values.subspan(begin, end - begin)});
    begin = end;
  }
}

}  // namespace

std::vector<int64_t> SystemMatrix::nonzeros_of_blocks(const comm::BlockLayout& layout,
                                                      comm::RankGroup& group) const {
  const auto grid = layout.grid();
  std::vector<int64_t> counts(static_cast<size_t>(grid.rank_count()));
  if (grid.columns == 1) {  // the lengths of rows tell it
    for (size_t local = 0; local < row_lengths_.size(); ++local)
      counts[static_cast<size_t>(grid.rank_at(layout.row_block_of(row_at(local)), 0))] += row_lengths_[local];
  } else {
    visit_entries(group, [&](const RowPart& of_row) {
      for_each_block_part(layout, of_row, [&](int owner, const RowPart& part) {
        counts[static_cast<size_t>(owner)] += std::ssize(part.columns);
      });
    });
  }
  group.sums(counts);
  return counts;
}

HugePageVector SystemMatrix::diagonal(const comm::BlockLayout& layout, comm::RankGroup& group) const {
  return scattered(layout, group, [&](const auto& put) {
    for (size_t local = 0; local < diagonal_.size(); ++local) put(row_at(local), diagonal_[local]);
  });
}

/// A border is the number of rows whose middle of weight lies before its goal.
std::vector<int64_t> SystemMatrix::balanced_piece_starts(std::span<const double> shares,
                                                         comm::RankGroup& group) const {
  const auto before = comm::sums_before(shares);
  const auto piece_count = shares.size();
  std::vector<int64_t> rows_before(piece_count + 1);
  size_t piece = 1;
  auto nonzeros_before = nonzeros_before_;
  for (size_t local = 0; local < row_lengths_.size(); ++local) {
    const double middle = static_cast<double>(nonzeros_before) + 0.5 * row_lengths_[local];
    for (; piece < piece_count; ++piece) {
      if (middle < static_cast<double>(nonzero_count_) * before[piece] / before.back()) break;
      rows_before[piece] = static_cast<int64_t>(local);
    }
    nonzeros_before += row_lengths_[local];
  }
  for (; piece <= piece_count; ++piece) rows_before[piece] = std::ssize(row_lengths_);
  group.sums(rows_before);
  return rows_before;
}

uint64_t sum_of_words(comm::RankGroup& group, uint64_t word) {
  return static_cast<uint64_t>(group.sum(static_cast<int64_t>(word)));
}

// ---------------------------------------------------------------- collection

EntryCollector::EntryCollector(int64_t order, comm::RankGroup& group, std::unique_ptr<ScratchChunks> scratch)
    : agreement_(group),
      store_(RowShares(order, group.size()), group.rank(), std::move(scratch)),
      rounds_(group, [this](WordRounds::Words words, int sender) {
        // A rank that has no more room goes on without it: the others wait for it to take what they send.
        agreement_.attempt([&, origin = store_.origin_of(sender)] {
          for (size_t k = 0; k < words.size(); k += 2)
            store_.add(high_of(words[k]), static_cast<int32_t>(low_of(words[k])),
                       std::bit_cast<double>(words[k + 1]), origin);
        });
      }) {}

void EntryCollector::add(int64_t row, int64_t column, double value) {
  auto& buffer = rounds_.to(store_.shares().owner_of(row), 2);
  buffer.push_back(pair_of(row, column));
  buffer.push_back(std::bit_cast<uint64_t>(value));
}

EntryStore EntryCollector::finish() {
  rounds_.finish();
  agreement_.attempt([&] { store_.seal(); });
  agreement_.reach();
  return std::move(store_);
}

// ---------------------------------------------------------------- memory

int64_t stored_bytes(int64_t order, int64_t entry_count) {
  constexpr int64_t bytes_per_row = 18;  // measured; lengths and the diagonal take 12
  return stored_entry_bytes * entry_count + bytes_per_row * order;
}

/// Working memory: messages, and all rows of a rank, which are there until its block is whole.
ExpectedMatrix expected_matrix(int64_t order, int64_t entry_count, int rank_count) {
  const auto message_bytes = word_round_bytes(rank_count, 2 * (entry_count / rank_count + 1));
  // Of all ranks together; a chunk of each bucket is not full.
  const auto open_chunks = std::min(RowShares(order, rank_count).bucket_count(), entry_count);
  const auto bytes =
      stored_bytes(order, entry_count) + static_cast<int64_t>(ScratchChunks::chunk_bytes) * open_chunks;
  return {.order = order,
          .entry_count = entry_count,
          .working_bytes = message_bytes + bytes / rank_count,
          .leaving_bytes = stored_entry_bytes * (entry_count / rank_count),
          .making_bytes = bytes + rank_count * message_bytes};
}

void require_memory(const MemoryCheck& check, const std::string& name, const ExpectedMatrix& matrix,
                    comm::RankGroup& group) {
  if (check) return check(matrix);
  const auto nodes = comm::make_node_map(group, 0);
  agree_on(group, [&] {
    const auto rank_count = static_cast<int>(nodes.ranks_of(nodes.node_of(group.rank())).size());
    const auto growth = std::max<int64_t>(0, planned_process_bytes(1) - resident_bytes());
    const auto needed = (matrix.making_bytes / group.size() + growth) * rank_count;
    const auto room = memory_room(rank_count);
    if (needed <= room.available_bytes) return;
    throw RunError(ExitCode::memory,
                   "{}: not enough memory: storing its rows takes {} on the node of rank {} ({}), {} "
                   "are available; {}take more nodes",
                   name, format_bytes(needed), group.rank(), format_count(rank_count, "rank"),
                   format_bytes(std::max<int64_t>(room.available_bytes, 0)),
                   enough_limit_text(room, needed - room.available_bytes, rank_count));
  });
}

// ---------------------------------------------------------------- stored rows

StoredMatrix::StoredMatrix(EntryStore store, std::string name, std::optional<RandomPermutation> permutation,
                           comm::RankGroup& group)
    : store_(std::move(store)) {
  permutation_ = permutation;
  survey_store(std::move(name), group);
}

void StoredMatrix::survey_store(std::string name, comm::RankGroup& group) {
  survey(std::move(name), store_.rows(), group);
  most_own_nonzeros_ = group.maximum(std::accumulate(row_lengths_.begin(), row_lengths_.end(), int64_t{0}));
}

void StoredMatrix::visit_entries(comm::RankGroup& group, const EntryVisit& visit) const {
  agree_on(group, [&] { store_.for_each_part(visit); });
}

/// In two rounds: lengths of the block's rows, so that the block is allocated as it is, then their entries, two words each, to their places. Those of
/// a row come from one rank, in their order.
kernels::CsrBlock block_of_rows(const EntryStore& store, const comm::BlockLayout& layout,
                                comm::RankGroup& group, const std::function<void(size_t)>& visited) {
  const auto columns = layout.columns_of(group.rank());
  const auto first_column = static_cast<int32_t>(columns.begin);
  auto block = kernels::CsrBlock::with_room(layout.rows_of(group.rank()).size(), columns.size());
  const auto starts = block.row_starts.span();
  Agreement agreement(group);
  {
    WordRounds lengths(group, [&](WordRounds::Words words, int /*sender*/) {
      for (const auto word : words) starts[static_cast<size_t>(high_of(word)) + 1] += low_of(word);
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
  // A row's start is where its next entry goes.
  WordRounds entries(group, [&](WordRounds::Words words, int /*sender*/) {
    for (size_t k = 0; k < words.size(); k += 2) {
      const auto place = static_cast<size_t>(starts[static_cast<size_t>(high_of(words[k]))]++);
      block.columns[place] = static_cast<int32_t>(low_of(words[k])) - first_column;
      block.values[place] = std::bit_cast<double>(words[k + 1]);
    }
  });
  const auto send_row = [&](const RowPart& of_row) {
    for_each_block_part(layout, of_row, [&](int owner, const RowPart& part) {
      const auto count = part.columns.size();
      if (owner == group.rank()) {
        auto& next = starts[static_cast<size_t>(part.row)];
        std::ranges::transform(part.columns, block.columns.data() + next,
                               [first_column](int32_t column) { return column - first_column; });
        std::ranges::copy(part.values, block.values.data() + next);
        next += std::ssize(part.columns);
        entries.count_own(2 * count);
      } else {
        auto& words = entries.to(owner, 2 * count);
        for (size_t k = 0; k < count; ++k)
          words.insert(words.end(),
                       {pair_of(part.row, part.columns[k]), std::bit_cast<uint64_t>(part.values[k])});
      }
    });
  };
  agreement.attempt([&] {
    for (size_t bucket = 0; bucket < store.bucket_count(); ++bucket) {
      store.for_each_part(bucket, send_row);
      visited(bucket);
    }
  });
  entries.finish();
  agreement.reach();
  // Each row's start has come to its end, which is the start of the next one.
  std::ranges::copy_backward(starts.first(starts.size() - 1), starts.end());
  starts.front() = 0;
  return block;
}

int64_t StoredMatrix::working_bytes(const comm::BlockLayout& layout, const Strips& /*strips*/) const {
  const auto rank_count = layout.grid().rank_count();
  return expected_matrix(order(), most_own_nonzeros_ * rank_count, rank_count).working_bytes;
}

SourceFacts StoredMatrix::build_strips(const comm::BlockLayout& layout, comm::RankGroup& group,
                                       int /*thread_count*/, const Strips& /*strips*/,
                                       const StripSink& sink) const {
  sink(block_of_rows(store_, layout, group, [](size_t) {}));
  return {};
}

kernels::CsrBlock StoredMatrix::take(const comm::BlockLayout& layout, comm::RankGroup& group) {
  auto store = std::move(store_);
  return block_of_rows(store, layout, group, [&](size_t bucket) { store.drop(bucket); });
}

// ---------------------------------------------------------------- symmetry

/// The comparison of all pairs of mirrored entries.
struct StoredMatrix::Asymmetry {
  /// Values in single precision, or printed with seven digits, are so far apart.
  static constexpr double most_by_rounding = 1e-6;

  /// Mirrored entries that differ; indices from 0, in the original order, row > column.
  struct Pair {
    static constexpr int64_t none = std::numeric_limits<int64_t>::max();
    int64_t row = none;
    int64_t column = 0;
    double lower = 0.0;       ///< the entry (row, column); 0 where there is none
    double upper = 0.0;       ///< the entry (column, row)
    double difference = 0.0;  ///< |a_ij - a_ji| / sqrt(|a_ii a_jj|); infinite beside a diagonal entry of 0

    /// "entry (2, 1) is 0.5, entry (1, 2) is 0".
    std::string values_text() const {
      return fmt::format("entry ({0}, {1}) is {2}, entry ({1}, {0}) is {3}", row + 1, column + 1, lower,
                         upper);
    }
  };

  Pair first;              ///< in the order of rows, of those beyond the tolerance
  Pair largest;            ///< largest difference of all pairs; the first of several that differ as much
  bool has_lower = false;  ///< whether triangles have entries that are not 0
  bool has_upper = false;

  void take(const Asymmetry& other) {
    const auto place = [](const Pair& pair) { return std::pair(pair.row, pair.column); };
    const auto order = [&](const Pair& pair) { return std::pair(-pair.difference, place(pair)); };
    if (place(other.first) < place(first)) first = other.first;
    if (order(other.largest) < order(largest)) largest = other.largest;
    has_lower |= other.has_lower;
    has_upper |= other.has_upper;
  }
  /// Whether it looks like one triangle of a symmetric matrix.
  bool is_one_triangle() const { return largest.difference > most_by_rounding && has_lower != has_upper; }
  /// The end of a sentence for a matrix that is not symmetric: the option that helps, where rounding explains the largest
  /// difference, or one triangle is empty; else empty.
  std::string way_on_text() const {
    if (is_one_triangle())
      return fmt::format(
          "; its {} triangle is empty: where the other one stands for both, --mirror of cg2d solve and "
          "convert mirrors it",
          has_lower ? "upper" : "lower");
    if (largest.difference > most_by_rounding) return {};
    double tolerance = 1e-15;
    for (int exponent = -14; tolerance < largest.difference; ++exponent) tolerance = std::pow(10.0, exponent);
    return fmt::format(
        "; no pair differs by more than {:.3g} of sqrt(a_ii a_jj): --symmetrize {:g} of cg2d solve and "
        "convert takes the means",
        largest.difference, tolerance);
  }
};

/// Each entry beside the diagonal goes, with the diagonal entry of its row, to the rank that stores its mirror image, and is compared there. The result is the same
/// whatever the number of ranks.
StoredMatrix::Asymmetry StoredMatrix::find_asymmetry(double tolerance, comm::RankGroup& group) const {
  constexpr size_t word_count = 3;
  Asymmetry found;
  const auto compare = [&](int64_t row, int64_t column, double value, double diagonal) {
    const double mirrored = store_.value_at(column, static_cast<int32_t>(row)).value_or(0.0);
    Asymmetry::Pair pair{.row = original(row), .column = original(column), .lower = value, .upper = mirrored};
    (pair.row > pair.column ? found.has_lower : found.has_upper) |= value != 0.0;
    if (mirrored == value) return;
    // Without overflow on the way.
    const double scale = std::sqrt(std::abs(diagonal)) * std::sqrt(std::abs(diagonal_[local_row(column)]));
    pair.difference = scale == 0.0 ? std::numeric_limits<double>::infinity()
                                   : 2.0 * (std::abs(0.5 * value - 0.5 * mirrored) / scale);
    if (pair.row < pair.column) {
      std::swap(pair.row, pair.column);
      std::swap(pair.lower, pair.upper);
    }
    found.take({.first = pair.difference > tolerance ? pair : Asymmetry::Pair{}, .largest = pair});
  };
  Agreement agreement(group);
  WordRounds rounds(group, [&](WordRounds::Words words, int /*sender*/) {
    agreement.attempt([&] {
      for (; !words.empty(); words = words.subspan(word_count))
        compare(high_of(words[0]), low_of(words[0]), std::bit_cast<double>(words[1]),
                std::bit_cast<double>(words[2]));
    });
  });
  agreement.attempt([&] {
    store_.for_each_part([&](const RowPart& part) {
      const auto diagonal = std::bit_cast<uint64_t>(diagonal_[local_row(part.row)]);
      for (size_t k = 0; k < part.columns.size(); ++k) {
        if (part.columns[k] == part.row) continue;
        auto& buffer = rounds.to(store_.shares().owner_of(part.columns[k]), word_count);
        buffer.insert(buffer.end(), {pair_of(part.row, part.columns[k]),
                                     std::bit_cast<uint64_t>(part.values[k]), diagonal});
      }
    });
  });
  rounds.finish();
  agreement.reach();
  for (const auto& theirs : group.gather_one(found)) found.take(theirs);
  return found;
}

void StoredMatrix::require_symmetric(comm::RankGroup& group) const {
  if (asymmetry_sum_ == 0) return;
  const auto found = find_asymmetry(-1.0, group);
  throw RunError(ExitCode::bad_data, "{}: not symmetric: {}; conjugate gradients need equal ones{}",
                 facts_.key.name, found.first.values_text(), found.way_on_text());
}

/// The means are (A + A^T) / 2, with the same bits whatever the number of ranks; values below 4.5e-308 may lose their last bit.
void StoredMatrix::symmetrize(double tolerance, std::unique_ptr<ScratchChunks> scratch,
                              comm::RankGroup& group) {
  symmetrization_ = Symmetrization{.tolerance = tolerance};
  if (asymmetry_sum_ == 0) return;
  const auto found = find_asymmetry(tolerance, group);
  const auto& first = found.first;
  const auto& largest = found.largest;
  if (found.is_one_triangle())
    throw RunError(ExitCode::bad_data, "{}: not symmetric: {}, of which --symmetrize takes the mean{}",
                   facts_.key.name, largest.values_text(), found.way_on_text());
  if (first.row != Asymmetry::Pair::none)
    throw RunError(ExitCode::bad_data, "{}: not symmetric, to --symmetrize {}: {}; they differ {}",
                   facts_.key.name, tolerance, first.values_text(),
                   std::isfinite(first.difference)
                       ? fmt::format("by {:.3g} of sqrt(a_ii a_jj)", first.difference)
                       : std::string("beside a diagonal entry that is 0 or nearly so"));
  symmetrization_ = {.tolerance = tolerance,
                     .largest_difference = largest.difference,
                     .row = largest.row,
                     .column = largest.column};
  EntryCollector collector(order(), group, std::move(scratch));
  collector.attempt([&] {
    store_.for_each_part([&](const RowPart& part) {
      for (size_t k = 0; k < part.columns.size(); ++k) {
        const double half = 0.5 * part.values[k];  // the sum of two halves does not overflow
        collector.add(part.row, part.columns[k], half);
        collector.add(part.columns[k], part.row, half);
      }
    });
  });
  store_ = collector.finish();
  survey_store(facts_.key.name, group);
}

}  // namespace cg2d
