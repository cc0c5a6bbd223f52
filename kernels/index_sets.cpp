#include "kernels/index_sets.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "kernels/parallel_parts.hpp"

namespace cg2d::kernels {

SharedIndices::SharedIndices(const CsrBlock& block, std::optional<int64_t> column_of_row_0)
    : row_count(block.row_count), column_count(block.column_count) {
  if (!column_of_row_0) return;
  first_row = std::max<int64_t>(-*column_of_row_0, 0);
  first_column = std::max<int64_t>(*column_of_row_0, 0);
  count = std::max<int64_t>(std::min(block.column_count - first_column, block.row_count - first_row), 0);
}

namespace {

constexpr auto no_entry = IndexSets::no_entry;
/// A set that has fewer new pairs than this share of its pairs stores too many zeros.
constexpr int new_pairs_of_four = 3;

/// The entries between shared indices, in rows of the lesser index: the greater ones rising, each with a mark.
class PairPattern {
 public:
  PairPattern(const CsrBlock& half, const SharedIndices& shared, int thread_count)
      : half_(half),
        shared_(shared),
        starts_(static_cast<size_t>(shared.count) + 1),
        diagonal_(static_cast<size_t>(shared.count), no_entry) {
    // Pairs of a row's own entries come first, in rising order; behind them those of later rows, in rising order, too.
    std::vector<int64_t> own(static_cast<size_t>(shared.count));
    for_each_part(thread_count, [&](const RowRange& part) {
      for_each_entry(part, [&](size_t row, size_t column, uint32_t entry) {
        if (row == column) {
          diagonal_[row] = entry;
        } else {
          ++starts_[std::min(row, column) + 1];
          if (row < column) ++own[row];
        }
      });
    });
    for (size_t row = 0; row + 1 < starts_.size(); ++row) starts_[row + 1] += starts_[row];
    greater_ = PageBuffer<uint32_t>(static_cast<size_t>(starts_.back()));
    entries_ = PageBuffer<uint32_t>(static_cast<size_t>(starts_.back()));
    for_each_part(thread_count, [&](const RowRange& part) { fill(part, own); });
  }

  size_t index_count() const { return diagonal_.size(); }
  size_t pair_count() const { return greater_.size(); }
  size_t begin(size_t lesser) const { return static_cast<size_t>(starts_[lesser]); }
  size_t end(size_t lesser) const { return static_cast<size_t>(starts_[lesser + 1]); }
  size_t row_length(size_t lesser) const { return end(lesser) - begin(lesser); }
  uint32_t greater(size_t place) const { return greater_[place] & ~done_bit; }
  /// The place of a pair, if it is an entry. Cost: the logarithm of the row's length.
  std::optional<size_t> find(uint32_t lesser, uint32_t greater) const {
    const auto row = greater_.span().subspan(begin(lesser), row_length(lesser));
    const auto found =
        std::ranges::lower_bound(row, greater, {}, [](uint32_t pair) { return pair & ~done_bit; });
    if (found == row.end() || (*found & ~done_bit) != greater) return std::nullopt;
    return begin(lesser) + static_cast<size_t>(found - row.begin());
  }
  bool is_done(size_t place) const { return (greater_[place] & done_bit) != 0; }
  void set_done(size_t place) { greater_[place] |= done_bit; }
  uint32_t entry(size_t place) const { return entries_[place]; }
  /// The entry on the diagonal, for the one that asks first.
  uint32_t take_diagonal(uint32_t index) { return std::exchange(diagonal_[index], no_entry); }
  /// Fetches the beginning of a row.
  void prefetch_row(uint32_t lesser) const {
    constexpr size_t fetched = 128;  // 8 lines
    constexpr size_t pairs_per_line = 16;
    const auto* const row = greater_.data() + begin(lesser);
    for (size_t k = 0; k < fetched; k += pairs_per_line) __builtin_prefetch(row + k);
  }

 private:
  static constexpr uint32_t done_bit = uint32_t{1} << 31;

  /// Each thread takes the pairs whose lesser index is in its part: about equally many rows for all.
  template <typename Visit>
  void for_each_part(int thread_count, const Visit& visit) const {
    make_on_threads(thread_count, [&](size_t thread) {
      const auto border = [&](size_t k) { return shared_.count * static_cast<int64_t>(k) / thread_count; };
      visit(RowRange{border(thread), border(thread + 1)});
    });
  }

  /// The entries of pairs whose lesser index is in the part, in rows.
  template <typename Visit>
  void for_each_entry(const RowRange& part, const Visit& visit) const {
    for (int64_t index = part.begin; index < shared_.count; ++index) {
      const auto row = static_cast<size_t>(shared_.first_row + index);
      const auto end = static_cast<size_t>(half_.row_starts[row + 1]);
      for (auto entry = static_cast<size_t>(half_.row_starts[row]); entry < end; ++entry) {
        const auto column = half_.columns[entry] - shared_.first_column;
        const auto lesser = std::min(index, column);
        if (lesser < part.begin || lesser >= part.end || column >= shared_.count) continue;
        visit(static_cast<size_t>(index), static_cast<size_t>(column), static_cast<uint32_t>(entry + 1));
      }
    }
  }

  void fill(const RowRange& part, const std::vector<int64_t>& own) {
    const auto first = static_cast<size_t>(part.begin);
    const auto row_count = static_cast<size_t>(part.end - part.begin);
    std::vector<int64_t> next_own(row_count);
    std::vector<int64_t> next_other(row_count);
    for (size_t k = 0; k < row_count; ++k) {
      next_own[k] = starts_[first + k];
      next_other[k] = starts_[first + k] + own[first + k];
    }
    for_each_entry(part, [&](size_t row, size_t column, uint32_t entry) {
      if (row == column) return;
      auto& next = row < column ? next_own[row - first] : next_other[column - first];
      const auto place = static_cast<size_t>(next++);
      greater_[place] = static_cast<uint32_t>(std::max(row, column));
      entries_[place] = entry;
    });
    std::vector<std::pair<uint32_t, uint32_t>> merged;
    for (size_t k = 0; k < row_count; ++k) merge_row(first + k, own[first + k], merged);
  }

  /// Own entries and those of later rows, in rising order. merged: room.
  void merge_row(size_t row, int64_t own_count, std::vector<std::pair<uint32_t, uint32_t>>& merged) {
    const auto middle = begin(row) + static_cast<size_t>(own_count);
    if (own_count == 0 || middle == end(row)) return;
    merged.clear();
    auto own = begin(row);
    auto other = middle;
    while (own < middle || other < end(row)) {
      const bool takes_own = other == end(row) || (own < middle && greater_[own] < greater_[other]);
      const auto place = takes_own ? own++ : other++;
      merged.emplace_back(greater_[place], entries_[place]);
    }
    auto place = begin(row);
    for (const auto& [greater, entry] : merged) {
      greater_[place] = greater;
      entries_[place++] = entry;
    }
  }

  const CsrBlock& half_;
  const SharedIndices& shared_;
  std::vector<int64_t> starts_;
  std::vector<uint32_t> diagonal_;
  PageBuffer<uint32_t> greater_;
  PageBuffer<uint32_t> entries_;
};

/// Numbers of some indices, found by a look into a table that the first-level cache keeps: almost all other indices have none there.
class IndexTable {
 public:
  static constexpr size_t most_indices = 64;
  static constexpr int none = -1;

  void add(uint32_t index) {
    auto& slot = slots_[index % slots_.size()];
    slot = slot == 0 ? static_cast<uint8_t>(count_ + 1) : several;
    indices_[count_++] = index;
  }
  void clear() {
    for (size_t k = 0; k < count_; ++k) slots_[indices_[k] % slots_.size()] = 0;
    count_ = 0;
  }
  bool has_room() const { return count_ < most_indices; }
  int number_of(uint32_t index) const {
    const auto slot = slots_[index % slots_.size()];
    if (slot == 0) return none;
    if (slot != several) return indices_[slot - 1U] == index ? slot - 1 : none;
    const auto* const end = indices_.data() + count_;
    const auto* const found = std::find(indices_.data(), end, index);
    return found == end ? none : static_cast<int>(found - indices_.data());
  }

 private:
  static constexpr uint8_t several = 255;

  std::array<uint8_t, 4096> slots_{};  // number + 1
  std::array<uint32_t, most_indices> indices_{};
  size_t count_ = 0;
};

/// Grows sets one after the other, each from the first pair that is in none.
class SetFinder {
 public:
  SetFinder(const CsrBlock& half, const SharedIndices& shared, int thread_count, int most_members)
      : pattern_(half, shared, thread_count), most_members_(most_members), marks_(pattern_.index_count()) {}

  IndexSets find() {
    found_.entries.reserve(pattern_.pair_count() + pattern_.pair_count() / 8);
    for (size_t index = 0; index < pattern_.index_count(); ++index) {
      grow_from(static_cast<uint32_t>(index));
      if (index == pattern_.index_count() / look_after && !is_worth_it(pattern_.end(index))) return {};
    }
    if (!is_worth_it(pattern_.pair_count())) return {};
    name_entries();
    return std::move(found_);
  }

 private:
  static constexpr size_t look_after = 16;  // gives up after this part of the indices
  /// A row that is so many times as long as what is looked for in it is searched, not read: that of an index with pairs everywhere.
  static constexpr size_t long_row = 16;

  struct Mark {
    uint32_t stamp = 0;  // index + 1 that has a pair with this one
    uint32_t offset = 0;
  };
  /// An index that has pairs with the first two members.
  struct Candidate {
    uint32_t index = 0;
    int new_count = 0;               // of its pairs with the first two members
    std::array<size_t, 2> places{};  // of these pairs
    uint64_t neighbours = 0;         // candidates that it has a pair with
  };

  /// Sets hold three quarters of the pairs, below which the remainder's kernel has most to do anyway, and zeros are a fifth of what they
  /// store at most.
  bool is_worth_it(size_t pair_count) const {
    const auto stored = found_.entries.size() - found_.members.size();
    return taken_pairs_ >= pair_count / 4 * 3 && 4 * stored <= 5 * taken_pairs_;
  }

  void grow_from(uint32_t index) {
    const auto begin = pattern_.begin(index);
    const auto end = pattern_.end(index);
    bool is_marked = false;
    for (auto place = begin; place < end; ++place) {
      if (pattern_.is_done(place)) continue;
      if (!std::exchange(is_marked, true)) {
        for (auto other = begin; other < end; ++other)
          marks_[pattern_.greater(other)] = {index + 1, static_cast<uint32_t>(other - begin)};
      }
      grow_from_pair(index, place);
    }
  }

  void grow_from_pair(uint32_t index, size_t place) {
    collect_candidates(index, place);
    if (candidates_.size() + 2 < least_index_set) {
      pattern_.set_done(place);  // for the remainder
      return;
    }
    find_neighbours();
    start_set(index, place);
    for (const int new_count : {2, 1}) {
      for (size_t k = 0; k < candidates_.size() && size_ < most_members_; ++k) {
        if (candidates_[k].new_count == new_count) try_candidate(k);
      }
    }
    const auto pair_count = size_ * (size_ - 1) / 2;
    if (size_ < least_index_set || 4 * new_pairs_ < new_pairs_of_four * pair_count) {
      pattern_.set_done(place);
      return;
    }
    take_set();
  }

  /// Indices above the second member that have a pair with both, one of these in no set at least.
  void collect_candidates(uint32_t index, size_t second_place) {
    candidates_.clear();
    table_.clear();
    const auto second = pattern_.greater(second_place);
    const auto first_begin = pattern_.begin(index);
    const auto first_end = pattern_.end(index);
    if (pattern_.row_length(second) > long_row * (first_end - second_place)) {
      for (auto first = second_place + 1; first < first_end && table_.has_room(); ++first) {
        if (const auto place = pattern_.find(second, pattern_.greater(first))) consider(first, *place);
      }
      return;
    }
    for (auto place = pattern_.begin(second); place < pattern_.end(second) && table_.has_room(); ++place) {
      const auto& mark = marks_[pattern_.greater(place)];
      if (mark.stamp == index + 1) consider(first_begin + mark.offset, place);
    }
  }

  /// A candidate, by the places of its pairs with the first two members.
  void consider(size_t first, size_t second) {
    const int new_count = (pattern_.is_done(first) ? 0 : 1) + (pattern_.is_done(second) ? 0 : 1);
    if (new_count == 0) return;
    const auto candidate = pattern_.greater(second);
    pattern_.prefetch_row(candidate);
    candidates_.push_back({.index = candidate, .new_count = new_count, .places = {first, second}});
    table_.add(candidate);
  }

  /// Which candidates have pairs with each other, and where: one pass over the row of each, if it is no long one.
  void find_neighbours() {
    for (size_t k = 0; k < candidates_.size(); ++k) {
      const auto index = candidates_[k].index;
      if (pattern_.row_length(index) > long_row * IndexTable::most_indices) {
        for (auto other = k + 1; other < candidates_.size(); ++other) {
          if (const auto place = pattern_.find(index, candidates_[other].index)) join(k, other, *place);
        }
        continue;
      }
      for (auto place = pattern_.begin(index); place < pattern_.end(index); ++place) {
        const int other = table_.number_of(pattern_.greater(place));
        if (other != IndexTable::none) join(k, static_cast<size_t>(other), place);
      }
    }
  }

  /// Two candidates have a pair. number < other.
  void join(size_t number, size_t other, size_t place) {
    candidates_[number].neighbours |= uint64_t{1} << other;
    candidates_[other].neighbours |= uint64_t{1} << number;
    places_of_candidates_[number][other] = place;
  }

  void start_set(uint32_t index, size_t place) {
    members_[0] = index;
    members_[1] = pattern_.greater(place);
    places_[0][1] = places_[1][0] = place;
    size_ = 2;
    new_pairs_ = 1;
    chosen_ = 0;
  }

  /// Adds it if it has pairs with all members, half of them at least in no set.
  void try_candidate(size_t number) {
    const auto& candidate = candidates_[number];
    if ((chosen_ & ~candidate.neighbours) != 0) return;
    std::array<size_t, largest_index_set> places{};
    std::ranges::copy(candidate.places, places.begin());
    int new_count = candidate.new_count;
    for (size_t member = 2; member < static_cast<size_t>(size_); ++member) {
      const auto [lesser, greater] = std::minmax(number, numbers_[member]);
      places[member] = places_of_candidates_[lesser][greater];
      if (!pattern_.is_done(places[member])) ++new_count;
    }
    if (2 * new_count < size_) return;
    const auto own = static_cast<size_t>(size_++);
    members_[own] = candidate.index;
    numbers_[own] = number;
    chosen_ |= uint64_t{1} << number;
    for (size_t member = 0; member < own; ++member)
      places_[own][member] = places_[member][own] = places[member];
    new_pairs_ += new_count;
  }

  void take_set() {
    const auto size = static_cast<size_t>(size_);
    order_.resize(size);
    std::iota(order_.begin(), order_.end(), size_t{0});
    std::ranges::sort(order_, {}, [this](size_t member) { return members_[member]; });
    found_.sizes.push_back(static_cast<uint8_t>(size_));
    for (const auto member : order_) found_.members.push_back(members_[member]);
    found_.entries.resize(found_.entries.size() + size);
    for (size_t column = 0; column < size; ++column) {
      for (size_t row = column + 1; row < size; ++row) {
        const auto place = places_[order_[column]][order_[row]];
        found_.entries.push_back(pattern_.is_done(place) ? no_entry : static_cast<uint32_t>(place + 1));
        pattern_.set_done(place);
      }
    }
    taken_pairs_ += static_cast<size_t>(new_pairs_);
  }

  /// The places of pairs become entries of the block; waiting for memory, so many at once.
  void name_entries() {
    const auto* member = found_.members.data();
    auto* entry = found_.entries.data();
    for (const auto size : found_.sizes) {
      for (int k = 0; k < size; ++k) *entry++ = pattern_.take_diagonal(*member++);
      for (auto* const end = entry + packed_size(size) - size; entry < end; ++entry) {
        if (*entry != no_entry) *entry = pattern_.entry(*entry - 1);
      }
    }
  }

  PairPattern pattern_;
  int most_members_;
  std::vector<Mark> marks_;
  IndexSets found_;
  size_t taken_pairs_ = 0;
  // The set that grows, and the places of its pairs.
  int size_ = 0;
  int new_pairs_ = 0;
  std::array<uint32_t, largest_index_set> members_{};
  std::array<size_t, largest_index_set> numbers_{};  // of the members among the candidates
  std::array<std::array<size_t, largest_index_set>, largest_index_set> places_{};
  uint64_t chosen_ = 0;  // candidates
  std::vector<Candidate> candidates_;
  std::array<std::array<size_t, IndexTable::most_indices>, IndexTable::most_indices> places_of_candidates_{};
  IndexTable table_;
  std::vector<size_t> order_;
};

/// Whether sets grow from the rows of a sample, by the columns that these rows store: half of a set, about.
class Sample {
 public:
  Sample(const CsrBlock& half, const SharedIndices& shared) : half_(half), shared_(shared) {}

  [[nodiscard]] bool shows_sets() {
    constexpr int64_t row_count = 32;
    // Of a set of four a row and one more have half an index, on average, and sets of random rows hardly any.
    constexpr double least_mean = 1.75;
    size_t member_count = 0;
    for (int64_t k = 0; k < row_count; ++k)
      member_count += members_from(static_cast<int32_t>(shared_.count * (2 * k + 1) / (2 * row_count)));
    return static_cast<double>(member_count) >= least_mean * row_count;
  }

 private:
  std::span<const int32_t> columns_of(int32_t index) const {
    return half_.columns_of(shared_.first_row + index);
  }
  bool has_pair(int32_t a, int32_t b) const {
    const auto first_column = static_cast<int32_t>(shared_.first_column);
    return std::ranges::binary_search(columns_of(a), first_column + b) ||
           std::ranges::binary_search(columns_of(b), first_column + a);
  }

  /// Of a set that grows from the row and one of its columns, without the row.
  size_t members_from(int32_t index) {
    indices_.clear();
    for (const auto column : columns_of(index)) {
      const auto other = column - shared_.first_column;
      if (0 <= other && other < shared_.count && other != index)
        indices_.push_back(static_cast<int32_t>(other));
    }
    if (indices_.empty()) return 0;
    members_.assign(1, indices_[indices_.size() / 2]);
    for (const auto candidate : indices_) {
      const auto is_pair = [&](int32_t member) { return candidate != member && has_pair(candidate, member); };
      if (std::ranges::all_of(members_, is_pair)) members_.push_back(candidate);
    }
    return members_.size();
  }

  const CsrBlock& half_;
  const SharedIndices& shared_;
  std::vector<int32_t> indices_;
  std::vector<int32_t> members_;
};

/// Entries between shared indices.
int64_t shared_entry_count(const CsrBlock& half, const SharedIndices& shared) {
  if (shared.count == half.row_count && shared.count == half.column_count) return half.nonzero_count();
  const auto entry_of = [&](int64_t row) {
    return static_cast<size_t>(half.row_starts[static_cast<size_t>(row)]);
  };
  const auto first = entry_of(shared.first_row);
  const auto columns = half.columns.span().subspan(first, entry_of(shared.first_row + shared.count) - first);
  return std::ranges::count_if(columns, [&](int64_t column) { return shared.is_shared(column); });
}

}  // namespace

IndexSets find_index_sets(const CsrBlock& half, const SharedIndices& shared, int thread_count,
                          int most_members) {
  const bool is_countable = half.nonzero_count() < std::numeric_limits<uint32_t>::max();
  if (shared.count < least_index_set || !is_countable || !Sample(half, shared).shows_sets()) return {};
  // The kernel of the others goes over all vectors, too.
  if (4 * shared_entry_count(half, shared) < 3 * half.nonzero_count()) return {};
  return SetFinder(half, shared, thread_count, most_members).find();
}

std::vector<bool> entries_in_sets(const CsrBlock& half, const IndexSets& sets) {
  std::vector<bool> is_in_set(static_cast<size_t>(half.nonzero_count()) + 1);
  for (const auto entry : sets.entries) is_in_set[entry] = true;
  return is_in_set;
}

void add_single_entries(const CsrBlock& half, const SharedIndices& shared, IndexSets& sets,
                        std::vector<bool>& is_in_set) {
  IndexSets single;
  for (int64_t row = 0; row < half.row_count; ++row) {
    const auto index = row - shared.first_row;
    const auto end = static_cast<size_t>(half.row_starts[static_cast<size_t>(row) + 1]);
    for (auto entry = static_cast<size_t>(half.row_starts[static_cast<size_t>(row)]); entry < end; ++entry) {
      const auto other = half.columns[entry] - shared.first_column;
      if (is_in_set[entry + 1] || index < 0 || index >= shared.count || other < 0 || other >= shared.count)
        continue;
      if (single.sizes.size() == static_cast<size_t>(shared.count)) return;
      single.sizes.push_back(index == other ? 1 : 2);
      single.members.push_back(static_cast<uint32_t>(std::min(index, other)));
      if (index != other) {
        single.members.push_back(static_cast<uint32_t>(std::max(index, other)));
        single.entries.insert(single.entries.end(), 2, no_entry);
      }
      single.entries.push_back(static_cast<uint32_t>(entry + 1));
    }
  }
  for (const auto entry : single.entries) is_in_set[entry] = true;
  sets.sizes.insert(sets.sizes.end(), single.sizes.begin(), single.sizes.end());
  sets.members.insert(sets.members.end(), single.members.begin(), single.members.end());
  sets.entries.insert(sets.entries.end(), single.entries.begin(), single.entries.end());
}

}  // namespace cg2d::kernels
