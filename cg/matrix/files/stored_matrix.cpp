#include "cg/matrix/files/stored_matrix.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "cg/base/errors.hpp"
#include "cg/base/values.hpp"
#include "comm/node_map.hpp"

namespace cg2d {
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
  constexpr int64_t words_per_entry =
      4;  // short rows: two words of their part, and one and a half of the entry
  const auto share = entry_count / rank_count + 1;
  // Of all ranks together; a chunk of each bucket is not full.
  const auto open_chunks = std::min(RowShares(order, rank_count).bucket_count(), entry_count);
  const auto bytes =
      stored_bytes(order, entry_count) + static_cast<int64_t>(ScratchChunks::chunk_bytes) * open_chunks;
  return {.order = order,
          .entry_count = entry_count,
          .working_bytes = word_round_bytes(rank_count, words_per_entry * share) + bytes / rank_count,
          .making_bytes = bytes + rank_count * word_round_bytes(rank_count, 2 * share)};
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

// ---------------------------------------------------------------- survey

StoredMatrix::StoredMatrix(EntryStore store, std::string name, std::optional<RandomPermutation> permutation,
                           comm::RankGroup& group)
    : store_(std::move(store)) {
  permutation_ = permutation;
  survey(std::move(name), store_.rows(), group);
  count_own_nonzeros(group);
}

void StoredMatrix::visit_entries(comm::RankGroup& group, const EntryVisit& visit) const {
  agree_on(group, [&] { store_.for_each_part(visit); });
}

// ---------------------------------------------------------------- blocks

namespace {

/// A message of a part of a row of a block: row and number of entries; columns two by two; the values.
size_t word_count_of(const RowPart& part) {
  const auto count = part.columns.size();
  return 1 + (count + 1) / 2 + count;
}

void append_part(const RowPart& part, std::vector<uint64_t>& words) {
  const auto begin = words.size();
  words.resize(begin + word_count_of(part));
  auto* const message = words.data() + begin;
  message[0] = pair_of(part.row, std::ssize(part.columns));
  std::memcpy(message + 1, part.columns.data(), part.columns.size_bytes());
  std::memcpy(message + 1 + (part.columns.size() + 1) / 2, part.values.data(), part.values.size_bytes());
}

/// Its columns and values are to be copied only: they lie in words.
RowPart part_of(const uint64_t* message) {
  const auto count = static_cast<size_t>(low_of(message[0]));
  return {.row = high_of(message[0]),
          .columns = {reinterpret_cast<const int32_t*>(message + 1), count},
          .values = {reinterpret_cast<const double*>(message + 1 + (count + 1) / 2), count}};
}

/// Where the row has its next entries, which is where row_starts are from then on.
void place_part(const RowPart& part, int32_t first_column, kernels::CsrBlock& block) {
  auto& next = block.row_starts[static_cast<size_t>(part.row)];
  auto* const columns = block.columns.data() + next;
  std::memcpy(columns, part.columns.data(), part.columns.size_bytes());
  for (size_t k = 0; k < part.columns.size(); ++k) columns[k] -= first_column;
  std::memcpy(block.values.data() + next, part.values.data(), part.values.size_bytes());
  next += std::ssize(part.columns);
}

}  // namespace

/// In two rounds: lengths of the block's rows, so that the block is allocated as it is, then their entries, each to its place. Those of a row come from one
/// rank, in their order.
kernels::CsrBlock block_of_rows(const EntryStore& store, const comm::BlockLayout& layout,
                                comm::RankGroup& group) {
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
  WordRounds entries(group, [&](WordRounds::Words words, int /*sender*/) {
    while (!words.empty()) {
      const auto part = part_of(words.data());
      place_part(part, first_column, block);
      words = words.subspan(word_count_of(part));
    }
  });
  agreement.attempt([&] {
    store.for_each_part([&](const RowPart& of_row) {
      for_each_block_part(layout, of_row, [&](int owner, const RowPart& part) {
        if (owner == group.rank()) {
          place_part(part, first_column, block);
          entries.count_own(word_count_of(part));
        } else {
          append_part(part, entries.to(owner, word_count_of(part)));
        }
      });
    });
  });
  entries.finish();
  agreement.reach();
  // Each row's start has come to its end, which is the start of the next one.
  std::ranges::copy_backward(starts.first(starts.size() - 1), starts.end());
  starts.front() = 0;
  return block;
}

void StoredMatrix::count_own_nonzeros(comm::RankGroup& group) {
  most_own_nonzeros_ = group.maximum(std::accumulate(row_lengths_.begin(), row_lengths_.end(), int64_t{0}));
}

int64_t StoredMatrix::working_bytes(const comm::BlockLayout& layout, const Strips& /*strips*/) const {
  const auto rank_count = layout.grid().rank_count();
  return expected_matrix(order(), most_own_nonzeros_ * rank_count, rank_count).working_bytes;
}

SourceFacts StoredMatrix::build_strips(const comm::BlockLayout& layout, comm::RankGroup& group,
                                       int /*thread_count*/, const Strips& /*strips*/,
                                       const StripSink& sink) const {
  sink(block_of_rows(store_, layout, group));
  return {};
}

kernels::CsrBlock StoredMatrix::take(const comm::BlockLayout& layout, comm::RankGroup& group) {
  const auto store = std::move(store_);
  return block_of_rows(store, layout, group);
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
StoredMatrix::Asymmetry StoredMatrix::find_asymmetry(std::optional<double> tolerance,
                                                     comm::RankGroup& group) const {
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
    found.take(
        {.first = !tolerance || pair.difference > *tolerance ? pair : Asymmetry::Pair{}, .largest = pair});
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
  const auto found = find_asymmetry(std::nullopt, group);
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
  survey(facts_.key.name, store_.rows(), group);
  count_own_nonzeros(group);
}

}  // namespace cg2d
