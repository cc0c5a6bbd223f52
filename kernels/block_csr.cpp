#include "kernels/block_csr.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "kernels/parallel_parts.hpp"

namespace cg2d::kernels {
namespace {

/// Whether rows of a sample have columns in common with rows next to them, with those that they have entries with, or two of
/// these with each other.
class RowSample {
 public:
  /// least_share: of the columns of the shorter row.
  RowSample(const CsrBlock& block, const SharedIndices& shared, double least_share)
      : block_(block), shared_(shared), least_share_(least_share) {}

  bool shows_equals() const {
    constexpr int64_t row_count = 32;
    int seen = 0;
    int with_equal = 0;
    for (int64_t k = 0; k < row_count; ++k) {
      const auto row = block_.row_count * (2 * k + 1) / (2 * row_count);
      if (!has_fit_length(block_.columns_of(row))) continue;
      ++seen;
      if (has_equal(row)) ++with_equal;
    }
    return 4 * with_equal > seen;
  }

 private:
  using Columns = std::span<const int32_t>;

  /// Shorter ones are alike by chance, and longer ones would take more time than a product.
  static bool has_fit_length(Columns columns) { return 4 <= columns.size() && columns.size() <= 512; }

  bool has_equal(int64_t row) const {
    constexpr int near_rows = 3;
    constexpr size_t most_columns = 24;  // of those that are looked at
    const auto last = std::min(row + near_rows, block_.row_count - 1);
    for (auto other = row + 1; other <= last; ++other) {
      if (are_alike(row, other)) return true;
    }
    const auto columns = block_.columns_of(row);
    const auto count = std::min(columns.size(), most_columns);
    for (size_t k = 0; k < count; ++k) {
      const auto column = columns.size() * k / count;
      const auto other = shared_.row_of(columns[column]);
      if (!other) continue;
      if (are_alike(row, *other)) return true;
      const auto next = column + 1 < columns.size() ? shared_.row_of(columns[column + 1]) : std::nullopt;
      if (next && are_alike(*other, *next)) return true;
    }
    return false;
  }

  bool are_alike(int64_t row, int64_t other) const {
    const auto a = block_.columns_of(row);
    const auto b = block_.columns_of(other);
    if (row == other || !has_fit_length(a) || !has_fit_length(b)) return false;
    size_t common = 0;
    for (auto x = a.begin(), y = b.begin(); x != a.end() && y != b.end();) {
      if (*x == *y) ++common;
      const bool is_next_of_a = *x <= *y;
      const bool is_next_of_b = *y <= *x;
      if (is_next_of_a) ++x;
      if (is_next_of_b) ++y;
    }
    return static_cast<double>(common) >= least_share_ * static_cast<double>(std::min(a.size(), b.size()));
  }

  const CsrBlock& block_;
  const SharedIndices& shared_;
  double least_share_;
};

/// SplitMix64, as a function of its state.
uint64_t hash_of(uint64_t index) {
  uint64_t hash = (index + 1) * 0x9e3779b97f4a7c15;
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9;
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111eb;
  return hash ^ (hash >> 31);
}

/// For each index the sum of its neighbours' hashes, the same for equal ones in whatever order its entries are stored. An index that
/// is row and column is a neighbour of itself: so its equals, which are its neighbours, have the same sum.
std::vector<uint64_t> neighbour_sums(const CsrBlock& half, const SharedIndices& indices, int thread_count) {
  const auto count = static_cast<size_t>(indices.total_count());
  const auto borders = split_rows_by_nonzeros(half.row_starts.span(), thread_count);
  std::vector<std::vector<uint64_t>> sums(static_cast<size_t>(thread_count));
  make_on_threads(thread_count, [&](size_t thread) {
    auto& own = sums[thread];
    own.resize(count);
    for (auto row = borders[thread]; row < borders[thread + 1]; ++row) {
      const auto index = indices.of_row(row);
      const auto hash = hash_of(static_cast<uint64_t>(index));
      uint64_t sum = indices.is_shared(index) ? hash : 0;
      for (const auto column : half.columns_of(row)) {
        if (column == index) continue;
        sum += hash_of(static_cast<uint64_t>(column));
        own[static_cast<size_t>(column)] += hash;
      }
      own[static_cast<size_t>(index)] += sum;
    }
  });
  for (size_t thread = 1; thread < sums.size(); ++thread) {
    for (size_t k = 0; k < count; ++k) sums[0][k] += sums[thread][k];
  }
  return std::move(sums.front());
}

/// Indices in groups of equal ones.
struct Groups {
  std::vector<uint32_t> of_index;
  size_t count = 0;
  std::vector<uint32_t> sizes;  // of those with entries

  Groups(const std::vector<uint64_t>& sums, const SharedIndices& indices) : of_index(sums.size()) {
    std::vector<uint32_t> order(sums.size());
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::sort(order, [&](uint32_t a, uint32_t b) { return sums[a] < sums[b]; });
    for (size_t k = 0; k < order.size(); ++k) {
      const auto index = order[k];
      const bool has_entries = sums[index] != (indices.is_shared(index) ? hash_of(index) : 0);
      if (k == 0 || sums[index] != sums[order[k - 1]]) {
        ++count;
        if (has_entries) sizes.push_back(0);
      }
      of_index[index] = static_cast<uint32_t>(count - 1);
      if (has_entries) ++sizes.back();
    }
  }

  /// The size of blocks that takes the least time; 0: none is worth it. Empty places are stored twice over, in rows and columns, and an entry costs
  /// about a third of what a block does beside its entries.
  int best_size() const {
    constexpr double most_places_of_index = 1.12;  // 1.25 elements for an entry
    constexpr double cost_of_block = 3.0;          // in entries
    int best = 0;
    double least = std::numeric_limits<double>::max();
    const auto index_count = static_cast<double>(std::accumulate(sizes.begin(), sizes.end(), size_t{0}));
    for (int size = least_supervariable; size <= largest_supervariable; ++size) {
      const auto own = static_cast<uint32_t>(size);
      size_t places = 0;
      for (const auto group : sizes) places += size_t{own} * ((group + own - 1) / own);
      const double filled = static_cast<double>(places) / index_count;
      const double cost = filled * filled * (1.0 + cost_of_block / (size * size));
      if (filled > most_places_of_index || cost >= least) continue;
      least = cost;
      best = size;
    }
    return best;
  }

  /// Members in rising order, in the order of the first ones.
  std::vector<uint32_t> members(size_t size) const {
    struct Open {
      size_t next = 0;  // place of the next member
      size_t rest = 0;  // places that are left
    };
    std::vector<Open> open(count);
    std::vector<uint32_t> members;
    for (size_t index = 0; index < of_index.size(); ++index) {
      auto& own = open[of_index[index]];
      if (own.rest == 0) {
        own = {.next = members.size(), .rest = size};
        members.resize(members.size() + size, Supervariables::no_member);
      }
      members[own.next++] = static_cast<uint32_t>(index);
      --own.rest;
    }
    return members;
  }
};

/// The neighbours of each supervariable: those whose first members have an entry with its first one.
class Neighbours {
 public:
  Neighbours(const CsrBlock& half, const SharedIndices& indices, const Supervariables& all)
      : starts_(all.count() + 1) {
    const auto first_member = [&](size_t k) { return all.members[static_cast<size_t>(all.size) * k]; };
    std::vector<uint32_t> numbers(static_cast<size_t>(indices.total_count()), Supervariables::no_member);
    for (size_t k = 0; k < all.count(); ++k) numbers[first_member(k)] = static_cast<uint32_t>(k);
    const auto for_each_pair = [&](const auto& visit) {
      for (size_t k = 0; k < all.count(); ++k) {
        const auto row = indices.row_of(int64_t{first_member(k)});
        if (!row) continue;
        for (const auto column : half.columns_of(*row)) {
          const auto other = numbers[static_cast<size_t>(column)];
          if (other != Supervariables::no_member && other != k) visit(k, size_t{other});
        }
      }
    };
    for_each_pair([&](size_t a, size_t b) {
      ++starts_[a + 1];
      ++starts_[b + 1];
    });
    std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
    others_.resize(starts_.back());
    auto next = starts_;
    for_each_pair([&](size_t a, size_t b) {
      others_[next[a]++] = static_cast<uint32_t>(b);
      others_[next[b]++] = static_cast<uint32_t>(a);
    });
  }

  size_t count() const { return starts_.size() - 1; }
  std::span<const uint32_t> of(size_t k) const {
    return std::span(others_).subspan(starts_[k], starts_[k + 1] - starts_[k]);
  }
  /// Of two neighbours; position: of each, in the order that is asked about.
  double mean_distance(const std::vector<uint32_t>& position) const {
    double sum = 0.0;
    for (size_t k = 0; k < count(); ++k) {
      for (const auto other : of(k)) sum += std::abs(static_cast<double>(position[k]) - position[other]);
    }
    return sum / std::max(static_cast<double>(others_.size()), 1.0);
  }

 private:
  std::vector<size_t> starts_;
  std::vector<uint32_t> others_;
};

/// The order of Cuthill and McKee: each part of the graph from one of its ends, the neighbours of each in turn.
std::vector<uint32_t> cuthill_mckee(const Neighbours& neighbours) {
  std::vector<uint32_t> order;
  std::vector<uint8_t> visits(
      neighbours.count());  // 1: a first search was here, to find an end; 2: it is in the order
  const auto search = [&](uint32_t start, uint8_t visit, std::vector<uint32_t>& found) {
    auto next = found.size();
    found.push_back(start);
    visits[start] = visit;
    for (; next < found.size(); ++next) {
      for (const auto other : neighbours.of(found[next])) {
        if (visits[other] >= visit) continue;
        visits[other] = visit;
        found.push_back(other);
      }
    }
  };
  std::vector<uint32_t> part;
  for (uint32_t k = 0; k < neighbours.count(); ++k) {
    if (visits[k] != 0) continue;
    part.clear();
    search(k, 1, part);
    search(part.back(), 2, order);
  }
  return order;
}

/// In another order where neighbours lie far from each other: a cache then keeps what the next ones need.
void bring_neighbours_together(const CsrBlock& half, const SharedIndices& indices, Supervariables& all) {
  constexpr size_t fewest = 4096;  // 64 bytes each; fewer are in the second-level cache anyway
  if (all.count() < fewest) return;
  const Neighbours neighbours(half, indices, all);
  std::vector<uint32_t> position(all.count());
  std::iota(position.begin(), position.end(), 0U);
  const double distance = neighbours.mean_distance(position);
  if (distance < fewest / 2.0) return;
  const auto order = cuthill_mckee(neighbours);
  for (size_t k = 0; k < order.size(); ++k) position[order[k]] = static_cast<uint32_t>(k);
  if (neighbours.mean_distance(position) > distance / 2.0) return;
  const auto size = static_cast<size_t>(all.size);
  std::vector<uint32_t> members(all.members.size());
  for (size_t k = 0; k < order.size(); ++k)
    std::copy_n(&all.members[size * order[k]], size, &members[size * k]);
  all.members = std::move(members);
}

}  // namespace

bool shows_supervariables(const CsrBlock& whole, const SharedIndices& shared) {
  return RowSample(whole, shared, 0.9).shows_equals();
}

std::optional<Supervariables> find_supervariables(const CsrBlock& half, const SharedIndices& indices,
                                                  int thread_count) {
  // Of equal rows with half storage some have almost the same half, some hardly an entry in common.
  constexpr double least_share = 0.45;
  if (indices.total_count() >= Supervariables::no_member ||
      !RowSample(half, indices, least_share).shows_equals())
    return std::nullopt;
  const Groups groups(neighbour_sums(half, indices, thread_count), indices);
  Supervariables all;
  all.size = groups.best_size();
  if (all.size == 0) return std::nullopt;
  all.members = groups.members(static_cast<size_t>(all.size));
  bring_neighbours_together(half, indices, all);
  return all;
}

// ---------------------------------------------------------------- the format

namespace {

/// Collects the entries of each row of blocks, and places them.
class Builder {
  /// The supervariable of an index, and its place there.
  class Seat {
   public:
    Seat() = default;
    Seat(size_t owner, size_t place) : word_(static_cast<uint32_t>(8 * owner + place)) {}
    uint32_t owner() const { return word_ / 8; }
    uint32_t place() const { return word_ % 8; }

   private:
    uint32_t word_;
  };

 public:
  static constexpr size_t most_rows = std::numeric_limits<uint32_t>::max() / 8;  // with a place behind it

  Builder(const CsrBlock& half, const SharedIndices& indices, const Supervariables& all)
      : half_(half),
        indices_(indices),
        members_(all.members),
        size_(static_cast<size_t>(all.size)),
        count_(all.count()),
        seats_(static_cast<size_t>(indices.total_count())),
        mirrored_starts_(count_ + 1) {
    for (size_t k = 0; k < members_.size(); ++k) {
      if (members_[k] == Supervariables::no_member) continue;
      seats_[members_[k]] = Seat(k / size_, k % size_);
    }
    list_mirrored();
  }

  std::optional<BlockCsr> build(int thread_count) {
    BlockCsr made;
    made.size = static_cast<int>(size_);
    made.row_starts = PageBuffer<int64_t>(count_ + 1);
    std::vector<std::vector<uint32_t>> columns(static_cast<size_t>(thread_count));
    const auto border = [&](size_t k) { return count_ * k / static_cast<size_t>(thread_count); };
    make_on_threads(thread_count, [&](size_t thread) {
      columns[thread] = find_blocks(border(thread), border(thread + 1), made.row_starts);
    });
    std::partial_sum(made.row_starts.data(), made.row_starts.data() + count_ + 1, made.row_starts.data());
    const auto block_count = static_cast<size_t>(made.row_starts[count_]);
    const auto value_count = block_count * size_ * size_;
    if (3 * value_count > 4 * static_cast<size_t>(half_.nonzero_count())) return std::nullopt;
    made.columns = PageBuffer<uint32_t>(block_count + spare_block_values);
    made.values = PageBuffer<double>(value_count + spare_block_values);
    make_on_threads(thread_count, [&](size_t thread) {
      place_entries(border(thread), border(thread + 1), columns[thread], made);
    });
    return made;
  }

 private:
  /// An entry in the row of another supervariable than the one whose blocks have it: its column's.
  struct Mirrored {
    double value;
    Seat seat;       // of the column
    uint32_t index;  // of the row
  };

  void list_mirrored() {
    const auto for_each = [this](const auto& visit) {
      size_t entry = 0;
      for (int64_t row = 0; row < half_.row_count; ++row) {
        const auto index = static_cast<size_t>(indices_.of_row(row));
        const auto owner = seats_[index].owner();
        const auto end = static_cast<size_t>(half_.row_starts[static_cast<size_t>(row) + 1]);
        for (; entry < end; ++entry) {
          const auto other = seats_[static_cast<size_t>(half_.columns[entry])];
          if (other.owner() < owner) visit(other, index, entry);
        }
      }
    };
    for_each([&](Seat column, size_t, size_t) { ++mirrored_starts_[column.owner() + 1]; });
    std::partial_sum(mirrored_starts_.begin(), mirrored_starts_.end(), mirrored_starts_.begin());
    mirrored_ = PageBuffer<Mirrored>(mirrored_starts_.back());
    auto next = mirrored_starts_;
    for_each([&](Seat column, size_t index, size_t entry) {
      mirrored_[next[column.owner()]++] = {
          .value = half_.values[entry], .seat = column, .index = static_cast<uint32_t>(index)};
    });
  }

  /// visit(place of the row's index, the other index' seat, value) for the entries of a row of blocks.
  template <typename Visit>
  void for_each_entry(size_t owner, const Visit& visit) const {
    for (size_t place = 0; place < size_; ++place) {
      const auto index = members_[owner * size_ + place];
      if (index == Supervariables::no_member) break;
      const auto row = indices_.row_of(index);
      if (!row) continue;
      const auto end = static_cast<size_t>(half_.row_starts[static_cast<size_t>(*row) + 1]);
      for (auto entry = static_cast<size_t>(half_.row_starts[static_cast<size_t>(*row)]); entry < end;
           ++entry) {
        const auto other = seats_[static_cast<size_t>(half_.columns[entry])];
        if (other.owner() >= owner) visit(place, other, half_.values[entry]);
      }
    }
    for (auto k = mirrored_starts_[owner]; k < mirrored_starts_[owner + 1]; ++k) {
      const auto& entry = mirrored_[k];
      visit(size_t{entry.seat.place()}, seats_[entry.index], entry.value);
    }
  }

  /// Rows [begin, end): the columns of their blocks, rising, and how many each has, behind its place.
  std::vector<uint32_t> find_blocks(size_t begin, size_t end, PageBuffer<int64_t>& counts) const {
    std::vector<uint32_t> last_row(count_, Supervariables::no_member);  // that has a block with it
    std::vector<uint32_t> columns;
    for (auto owner = begin; owner < end; ++owner) {
      const auto first = columns.size();
      for_each_entry(owner, [&](size_t, Seat other, double) {
        if (last_row[other.owner()] == owner) return;
        last_row[other.owner()] = static_cast<uint32_t>(owner);
        columns.push_back(other.owner());
      });
      std::sort(columns.begin() + static_cast<ptrdiff_t>(first), columns.end());
      counts[owner + 1] = static_cast<int64_t>(columns.size() - first);
    }
    return columns;
  }

  void place_entries(size_t begin, size_t end, const std::vector<uint32_t>& columns, BlockCsr& made) const {
    std::vector<double*> block_of(count_);
    const auto first = static_cast<size_t>(made.row_starts[begin]);
    for (auto owner = begin; owner < end; ++owner) {
      for (auto k = static_cast<size_t>(made.row_starts[owner]);
           k < static_cast<size_t>(made.row_starts[owner + 1]); ++k) {
        const auto column = columns[k - first];
        made.columns[k] = column;
        block_of[column] = made.values.data() + k * size_ * size_;
      }
      for_each_entry(owner, [&](size_t place, Seat other, double value) {
        block_of[other.owner()][place * size_ + other.place()] = value;
      });
    }
  }

  const CsrBlock& half_;
  const SharedIndices& indices_;
  const std::vector<uint32_t>& members_;
  size_t size_;
  size_t count_;
  std::vector<Seat> seats_;  // of each index
  std::vector<size_t> mirrored_starts_;
  PageBuffer<Mirrored> mirrored_;
};

}  // namespace

std::vector<StoredArray> BlockCsr::stored_arrays() {
  return {stored_array(ArrayKind::values, values), stored_array(ArrayKind::structure, row_starts),
          stored_array(ArrayKind::columns, columns)};
}

bool BlockCsr::has_columns_in_range(int64_t first_row, int64_t last_row) const {
  const auto first = static_cast<size_t>(row_starts[static_cast<size_t>(first_row)]);
  const auto end = static_cast<size_t>(row_starts[static_cast<size_t>(last_row)]);
  return std::ranges::all_of(columns.span().subspan(first, end - first),
                             [this](uint32_t column) { return column < row_count(); });
}

std::optional<BlockCsr> make_block_csr(const CsrBlock& half, const SharedIndices& indices,
                                       const Supervariables& supervariables, int thread_count) {
  if (supervariables.count() > Builder::most_rows) return std::nullopt;
  return Builder(half, indices, supervariables).build(thread_count);
}

}  // namespace cg2d::kernels
