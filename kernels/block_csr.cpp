#include "kernels/block_csr.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "kernels/parallel_parts.hpp"

namespace cg2d::kernels {
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
