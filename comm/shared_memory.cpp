// Vectors in memory that the ranks of a node share: a collection moves nothing, since a rank reads its
// neighbours' pieces where they are, and a summation reads the partial sums of the process row directly.
//
// What lies where, for all ranks of the node:
//
//     operand    all of p, piece after piece: column and row blocks are parts of it
//     partials   each rank's partial sums of its row block, and of its column block when mirrored
//     results    each rank's piece of q, its own memory
//
// Who waits for what. Counters (SharedCounter) only grow; the number of an operation says what to wait for.
//
//     collect       the ranks of my process column have written their pieces
//     collect_rows  so have those of every process column that my row block touches
//     sum           the ranks of the process row that has my column piece have written their partial sums
//     sum_columns   so have the ranks of my process column
//     sum_scalars   all ranks have written their numbers
//
// What may be written again. A rank that has come through sum_scalars() knows that all others have begun it,
// so nobody reads what was read before it. Without one in between, piece() and partial() wait until every
// reader says that it is done (`done`, a number of each rank's own).

#include "comm/shared_memory.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <cstdint>
#include <utility>
#include <vector>

#include "comm/huge_page_vector.hpp"
#include "comm/schedule.hpp"
#include "comm/shared_counter.hpp"

namespace cg2d::comm {
namespace {

std::size_t size_of(const IndexRange& range) { return static_cast<std::size_t>(range.size()); }

/// The numbers of one sum_scalars; two in turns, so that a fast rank's next ones do not land in these.
struct alignas(64) ScalarSlot {
  std::array<double, Communicator::largest_scalar_count> values;
};

/// What a rank says for itself, in cache lines of its own.
struct alignas(64) RankFlags {
  std::atomic<std::uint64_t> operands_done;         ///< products whose operand it has read
  std::atomic<std::uint64_t> partials_done;         ///< sums over process rows whose partial sums it has read
  std::atomic<std::uint64_t> column_partials_done;  ///< and over process columns
};

/// Control of one rank; that of process columns and rows is held by their first ranks.
struct RankControl {
  RankFlags flags;
  std::array<ScalarSlot, 2> scalars;
  SharedCounter operand_ready;         ///< of a process column: pieces written
  SharedCounter partial_ready;         ///< of a process row
  SharedCounter column_partial_ready;  ///< of a process column
  SharedCounter scalars_ready;         ///< rank 0: of all ranks
};

/// The additions of an all-reduce by messages, in the order in which they make rank 0's sum: so the bits are
/// the same.
class AllReduceOrder {
 public:
  explicit AllReduceOrder(int rank_count) : numbers_(static_cast<std::size_t>(rank_count)) {
    for (int rank = 0; rank < rank_count; ++rank) schedules_.push_back(all_reduce_schedule(rank_count, rank));
    result_ = place_after(0, schedules_.front().steps.size());
  }

  /// Of one number of each rank.
  template <typename NumberOf>
  double sum(std::size_t rank_count, const NumberOf& number_of) {
    for (std::size_t rank = 0; rank < rank_count; ++rank) numbers_[rank] = number_of(rank);
    for (std::size_t k = 0; k < additions_.size(); ++k)
      numbers_[rank_count + k] = numbers_[additions_[k].first] + numbers_[additions_[k].second];
    return numbers_[result_];
  }

 private:
  /// Where the number is that a rank holds behind so many of its steps.
  std::size_t place_after(int rank, std::size_t step_count) {
    if (step_count == 0) return static_cast<std::size_t>(rank);
    const auto& steps = schedules_[static_cast<std::size_t>(rank)].steps;
    const auto& step = steps[step_count - 1];
    if (step.receive_from == ScheduleStep::no_partner) return place_after(rank, step_count - 1);
    const auto earlier =
        std::count_if(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(step_count) - 1,
                      [&](const auto& other) { return other.receive_from == step.receive_from; });
    const auto received = place_after(step.receive_from, step_of_message(step.receive_from, rank, earlier));
    if (step.combine == Combine::place) return received;
    return place_of_sum(place_after(rank, step_count - 1), received);
  }
  /// The step in which a rank sends another one a message, `earlier` ones before it.
  [[nodiscard]] std::size_t step_of_message(int from, int to, std::ptrdiff_t earlier) const {
    const auto& steps = schedules_[static_cast<std::size_t>(from)].steps;
    std::size_t k = 0;
    while (steps[k].send_to != to || earlier-- > 0) ++k;
    return k;
  }
  /// Both partners of a step make the same sum, since a + b = b + a: one place for both.
  std::size_t place_of_sum(std::size_t left, std::size_t right) {
    const std::pair<std::size_t, std::size_t> addition = std::minmax(left, right);
    const auto found = std::ranges::find(additions_, addition);
    if (found != additions_.end())
      return schedules_.size() + static_cast<std::size_t>(found - additions_.begin());
    additions_.push_back(addition);
    numbers_.push_back(0.0);
    return numbers_.size() - 1;
  }

  std::vector<Schedule> schedules_;
  std::vector<double> numbers_;  // of the ranks, then the sums
  std::vector<std::pair<std::size_t, std::size_t>> additions_;
  std::size_t result_ = 0;
};

/// Where a rank's partial sums and control are in its part of the window.
struct PartPlan {
  std::size_t partial_offset = 0;
  std::size_t column_partial_offset = 0;
  std::size_t operand_offset = 0;  ///< of rank 0 only
  std::size_t byte_count = 0;

  PartPlan(const BlockLayout& layout, int rank, bool mirrored) {
    const auto grid = layout.grid();
    byte_count = sizeof(RankControl);
    partial_offset = add(size_of(layout.row_block(grid.row_of(rank))));
    column_partial_offset = add(mirrored ? size_of(layout.column_block(grid.column_of(rank))) : 0);
    operand_offset = add(rank == 0 ? static_cast<std::size_t>(layout.size()) : 0);
  }

 private:
  /// Pages of their own: each is first touched, and so placed, by the rank that writes it.
  std::size_t add(std::size_t element_count) {
    constexpr std::size_t page_bytes = 4096;
    const auto begin = (byte_count + page_bytes - 1) / page_bytes * page_bytes;
    byte_count = begin + element_count * sizeof(double);
    return begin;
  }
};

class SharedMemory final : public Communicator {
 public:
  SharedMemory(SharedPlace place, const BlockLayout& layout, const CommunicatorOptions& options)
      : place_(std::move(place)),
        layout_(layout),
        mirrored_(options.mirrored),
        order_(layout.grid().rank_count()) {
    for (auto* const part : place_.parts) controls_.push_back(reinterpret_cast<RankControl*>(part));
    const int rank = place_.rank;
    const auto grid = layout.grid();
    const PartPlan first(layout, 0, mirrored_);
    operand_ = {reinterpret_cast<double*>(place_.parts.front() + first.operand_offset),
                static_cast<std::size_t>(layout.size())};
    my_piece_ = layout.piece(layout.column_piece_of(rank));
    column_ = grid.column_of(rank);
    row_ = grid.row_of(rank);
    // A product's piece comes from the process row that has it among its own.
    source_row_ = grid.row_of(layout.shuffle_source(rank));
    for (int column = 0; column < grid.columns; ++column) {
      const int owner = grid.rank_at(source_row_, column);
      const auto offset = my_piece_.begin - layout.row_block(source_row_).begin;
      sources_.push_back(partial_of(owner).data() + offset);
    }
    if (mirrored_) {
      for (int row = 0; row < grid.rows; ++row) {
        const int owner = grid.rank_at(row, column_);
        const auto offset = my_piece_.begin - layout.column_block(column_).begin;
        column_sources_.push_back(column_partial_of(owner).data() + offset);
      }
      column_result_.resize(size_of(my_piece_));
    }
    sums_in_place_ = grid.columns == 1;
    if (!sums_in_place_) result_.resize(size_of(my_piece_));
    partial_ = partial_of(rank);
    column_partial_ = column_partial_of(rank);
  }

  [[nodiscard]] std::string_view name() const override { return "shared"; }
  [[nodiscard]] std::uint64_t waited_ticks() const override { return place_.waiter.waited_ticks(); }

  [[nodiscard]] std::span<double> piece() override {
    finish_reading_operand();
    if (scalar_sums_ == scalars_at_collection_) {
      for (const auto* control : controls_) wait_until_done(control->flags.operands_done, collections_);
    }
    return piece_span();
  }
  [[nodiscard]] std::span<const double> column_block() const override {
    return part_of_operand(layout_.column_block(column_));
  }
  [[nodiscard]] std::span<const double> row_block() const override {
    return mirrored_ ? part_of_operand(layout_.row_block(row_)) : std::span<const double>();
  }
  [[nodiscard]] std::span<double> partial() override {
    wait_for_readers(&RankFlags::partials_done, sums_);
    return partial_;
  }
  [[nodiscard]] std::span<double> column_partial() override {
    wait_for_readers(&RankFlags::column_partials_done, column_sums_);
    return column_partial_;
  }
  [[nodiscard]] std::span<const double> result() const override {
    if (sums_in_place_) return {sources_.front(), size_of(my_piece_)};
    return result_;
  }
  [[nodiscard]] std::span<const double> column_result() const override { return column_result_; }

  void collect() override {
    begin_collect();
    wait_for_part(1);
  }
  void begin_collect() override {
    finish_reading_operand();
    ++collections_;
    reads_operand_ = true;
    scalars_at_collection_ = scalar_sums_;
    first_of_column(column_).operand_ready.add(static_cast<std::uint64_t>(layout_.grid().rows));
  }
  /// My own piece is there at once, and all others when the last of them is.
  void wait_for_part(std::size_t part) override {
    if (part == 0) return;
    const auto rows = static_cast<std::uint64_t>(layout_.grid().rows);
    first_of_column(column_).operand_ready.wait_for(rows * collections_, place_.waiter);
  }
  void collect_rows() override {
    const auto rows = static_cast<std::uint64_t>(layout_.grid().rows);
    const auto block = layout_.row_block(row_);
    if (block.size() == 0) return;
    const int last = layout_.column_block_of(block.end - 1);
    for (int column = layout_.column_block_of(block.begin); column <= last; ++column) {
      first_of_column(column).operand_ready.wait_for(rows * collections_, place_.waiter);
    }
  }

  void sum() override {
    finish_reading_operand();
    if (sums_in_place_) return;
    ++sums_;
    scalars_at_sum_ = scalar_sums_;
    const auto columns = static_cast<std::uint64_t>(layout_.grid().columns);
    first_of_row(row_).partial_ready.add(columns);
    first_of_row(source_row_).partial_ready.wait_for(columns * sums_, place_.waiter);
    add_up(sources_, result_);
    mine().flags.partials_done.store(sums_, std::memory_order_release);
  }
  void shuffle() override {}  // the sum was made where it belongs
  void sum_columns() override {
    finish_reading_operand();
    ++column_sums_;
    scalars_at_sum_ = scalar_sums_;
    const auto rows = static_cast<std::uint64_t>(layout_.grid().rows);
    auto& ready = first_of_column(column_).column_partial_ready;
    ready.add(rows);
    ready.wait_for(rows * column_sums_, place_.waiter);
    add_up(column_sources_, column_result_);
    mine().flags.column_partials_done.store(column_sums_, std::memory_order_release);
  }

  void sum_scalars(std::span<double> values) override {
    assert(!values.empty() && values.size() <= largest_scalar_count);
    finish_reading_operand();
    const auto turn = static_cast<std::size_t>(scalar_sums_ % 2);
    ++scalar_sums_;
    std::ranges::copy(values, mine().scalars[turn].values.begin());
    const auto ranks = static_cast<std::uint64_t>(layout_.grid().rank_count());
    auto& ready = controls_.front()->scalars_ready;
    ready.add(ranks);
    ready.wait_for(ranks * scalar_sums_, place_.waiter);
    for (std::size_t k = 0; k < values.size(); ++k) {
      values[k] = order_.sum(controls_.size(),
                             [&](std::size_t rank) { return controls_[rank]->scalars[turn].values[k]; });
    }
  }

 private:
  [[nodiscard]] RankControl& mine() { return *controls_[static_cast<std::size_t>(place_.rank)]; }
  [[nodiscard]] RankControl& first_of_column(int column) {
    return *controls_[static_cast<std::size_t>(layout_.grid().rank_at(0, column))];
  }
  [[nodiscard]] RankControl& first_of_row(int row) {
    return *controls_[static_cast<std::size_t>(layout_.grid().rank_at(row, 0))];
  }

  [[nodiscard]] std::span<double> piece_span() const { return part_of_operand(my_piece_); }
  [[nodiscard]] std::span<double> part_of_operand(const IndexRange& range) const {
    return operand_.subspan(static_cast<std::size_t>(range.begin), size_of(range));
  }
  [[nodiscard]] std::span<double> partial_of(int rank) const {
    const PartPlan plan(layout_, rank, mirrored_);
    return {reinterpret_cast<double*>(place_.parts[static_cast<std::size_t>(rank)] + plan.partial_offset),
            size_of(layout_.row_block(layout_.grid().row_of(rank)))};
  }
  [[nodiscard]] std::span<double> column_partial_of(int rank) const {
    if (!mirrored_) return {};
    const PartPlan plan(layout_, rank, mirrored_);
    return {
        reinterpret_cast<double*>(place_.parts[static_cast<std::size_t>(rank)] + plan.column_partial_offset),
        size_of(layout_.column_block(layout_.grid().column_of(rank)))};
  }

  void finish_reading_operand() {
    if (!reads_operand_) return;
    reads_operand_ = false;
    mine().flags.operands_done.store(collections_, std::memory_order_release);
  }
  /// Before partial sums are written: they may still be read, also by ranks of other process rows.
  void wait_for_readers(std::atomic<std::uint64_t> RankFlags::*done, std::uint64_t number) {
    if (scalar_sums_ > scalars_at_sum_) return;
    for (const auto* control : controls_) wait_until_done(control->flags.*done, number);
  }
  void wait_until_done(const std::atomic<std::uint64_t>& done, std::uint64_t number) {
    place_.waiter.wait_until([&] { return done.load(std::memory_order_acquire) >= number; });
  }

  static void add_up(const std::vector<const double*>& sources, HugePageVector& sum) {
    const auto count = sum.size();
    if (sources.size() == 1) {
      std::copy_n(sources.front(), count, sum.begin());
      return;
    }
    const double* const first = sources[0];
    const double* const second = sources[1];
    double* const target = sum.data();
#pragma omp simd
    for (std::size_t k = 0; k < count; ++k) target[k] = first[k] + second[k];
    for (std::size_t source = 2; source < sources.size(); ++source) {
      const double* const next = sources[source];
#pragma omp simd
      for (std::size_t k = 0; k < count; ++k) target[k] += next[k];
    }
  }

  SharedPlace place_;
  BlockLayout layout_;
  bool mirrored_;
  AllReduceOrder order_;
  std::vector<RankControl*> controls_;  // of every rank
  std::span<double> operand_;           // all of p
  std::span<double> partial_;           // mine
  std::span<double> column_partial_;
  IndexRange my_piece_;
  int column_ = 0;
  int row_ = 0;
  int source_row_ = 0;                         // whose sums my piece of q is
  std::vector<const double*> sources_;         // my piece in the partial sums of that process row
  std::vector<const double*> column_sources_;  // my piece in the partial sums of my process column
  HugePageVector result_;
  HugePageVector column_result_;
  bool sums_in_place_ = false;  // one process column: the partial sums are the sums

  std::uint64_t collections_ = 0;
  std::uint64_t sums_ = 0;
  std::uint64_t column_sums_ = 0;
  std::uint64_t scalar_sums_ = 0;
  std::uint64_t scalars_at_collection_ = 0;  // scalar sums in front of the last collection
  std::uint64_t scalars_at_sum_ = 0;         // and of the last sum
  bool reads_operand_ = false;
};

}  // namespace

std::size_t shared_part_byte_count(const BlockLayout& layout, int rank, const CommunicatorOptions& options) {
  return PartPlan(layout, rank, options.mirrored).byte_count;
}

std::unique_ptr<Communicator> make_shared_communicator(SharedPlace place, const BlockLayout& layout,
                                                       const CommunicatorOptions& options) {
  return std::make_unique<SharedMemory>(std::move(place), layout, options);
}

}  // namespace cg2d::comm
