// Vectors in memory that the ranks of a node share: a collection moves nothing inside a node, since a rank
// reads its neighbours' pieces where they are, and a summation reads the partial sums of the process row
// directly. Between nodes go messages, one for each pair of nodes and operation.
//
// Who waits for what. Counters (SharedCounter) only grow; the number of an operation says what to wait for.
//
//     collect       the ranks here of my process column have written their pieces; the messages have come
//     collect_rows  so have those of every process column that my row block touches
//     sum           the ranks here of the process row that has my column piece have written their partial
//                   sums; the messages have come (shared_sum.cpp)
//     sum_columns   so have the ranks of my process column
//     sum_scalars   all ranks have written their numbers
//
// What may be written again. A rank that has come through sum_scalars() knows that all others have begun it,
// so nobody reads what was read before it, and what was sent before it has left. Without one in between,
// piece() and partial() wait until every reader of this node says that it is done (RankControl), a number of
// each rank's own; so does a rank before it lets a message into the node's memory.

#include "comm/shared_memory.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "comm/all_reduce_order.hpp"
#include "comm/node_exchange.hpp"
#include "comm/shared_areas.hpp"
#include "comm/shared_sum.hpp"

namespace cg2d::comm {
namespace {

/// The first rank of each node.
std::vector<int> first_ranks_of(const NodeMap& nodes) {
  std::vector<int> ranks;
  ranks.reserve(static_cast<std::size_t>(nodes.node_count()));
  for (int node = 0; node < nodes.node_count(); ++node) ranks.push_back(nodes.ranks_of(node).front());
  return ranks;
}

class SharedMemory final : public Communicator {
 public:
  SharedMemory(SharedPlace place, const BlockLayout& layout, const CommunicatorOptions& options)
      : place_(std::move(place)),
        layout_(layout),
        mirrored_(options.mirrored),
        areas_(layout, place_.nodes, place_.nodes.node_of(place_.rank), mirrored_),
        stand_{.layout = layout_,
               .nodes = place_.nodes,
               .areas = areas_,
               .rank = place_.rank,
               .waiter = place_.waiter},
        order_(static_cast<int>(stand_.local_ranks().size())) {
    areas_.set_parts(place_.parts);
    if (place_.make_link) link_ = place_.make_link(sent_counts());
    my_piece_ = layout.piece(layout.column_piece_of(place_.rank));
    column_ = layout.grid().column_of(place_.rank);
    row_ = layout.grid().row_of(place_.rank);
    local_counts_ = ranks_on_node(layout_, place_.nodes, SummedOver::process_column, stand_.node());
    sum_ = std::make_unique<SharedSum>(stand_, SummedOver::process_row, link_.get());
    if (mirrored_) column_sum_ = std::make_unique<SharedSum>(stand_, SummedOver::process_column, link_.get());
    if (place_.nodes.node_count() == 1) return;
    prepare_collection();
    const auto leaders = first_ranks_of(place_.nodes);
    if (stand_.place() == 0) {
      for (std::size_t count = 1; count <= largest_scalar_count; ++count) {
        node_sums_.push_back(link_->prepare_sum(std::span(node_sum_values_).first(count), leaders));
      }
    }
  }

  [[nodiscard]] std::string_view name() const override { return "shared"; }
  [[nodiscard]] std::uint64_t waited_ticks() const override { return place_.waiter.waited_ticks(); }

  [[nodiscard]] std::span<double> piece() override {
    finish_reading_operand();
    wait_for_readers_of_operand();
    return part_of_operand(my_piece_);
  }
  [[nodiscard]] std::span<const double> column_block() const override {
    return part_of_operand(layout_.column_block(column_));
  }
  [[nodiscard]] std::span<const double> row_block() const override {
    return mirrored_ ? part_of_operand(layout_.row_block(row_)) : std::span<const double>();
  }
  [[nodiscard]] std::span<double> partial() override { return sum_->partial(scalar_sums_); }
  [[nodiscard]] std::span<double> column_partial() override {
    return mirrored_ ? column_sum_->partial(scalar_sums_) : std::span<double>();
  }
  [[nodiscard]] std::span<const double> result() const override { return sum_->result(); }
  [[nodiscard]] std::span<const double> column_result() const override {
    return mirrored_ ? column_sum_->result() : std::span<const double>();
  }

  void collect() override {
    begin_collect();
    finish_collection();
  }
  void begin_collect() override {
    finish_reading_operand();
    if (exchange_ && exchange_->carries()) wait_for_readers_of_operand();
    ++collections_;
    reads_operand_ = true;
    scalars_at_collection_ = scalar_sums_;
    areas_.operand_ready(column_).add(local_count(column_));
    is_collecting_ = true;
    if (!exchange_) return;
    exchange_->start_receives();
    exchange_->send([this](std::size_t message) {
      for (const int column : sent_columns_[message]) wait_for_column(column);
    });
  }
  /// My own piece is there at once, and all others when the last of them is.
  void wait_for_part(std::size_t part) override {
    if (part > 0) finish_collection();
  }
  void collect_rows() override {
    // Pieces of other nodes come with the collection's messages.
    if (place_.nodes.node_count() > 1) finish_collection();
    const auto block = layout_.row_block(row_);
    if (block.size() == 0) return;
    const int last = layout_.column_block_of(block.end - 1);
    for (int column = layout_.column_block_of(block.begin); column <= last; ++column) wait_for_column(column);
  }

  void sum() override {
    finish_reading_operand();
    sum_->run(scalar_sums_);
  }
  void shuffle() override {}  // the sum was made where it belongs
  void sum_columns() override {
    finish_reading_operand();
    column_sum_->run(scalar_sums_);
  }

  void sum_scalars(std::span<double> values) override {
    assert(!values.empty() && values.size() <= largest_scalar_count);
    finish_reading_operand();
    const auto turn = static_cast<std::size_t>(scalar_sums_ % 2);
    ++scalar_sums_;
    std::ranges::copy(values, slot_of(stand_.place(), turn).values.begin());
    announce_numbers(turn);
    if (place_.nodes.node_count() == 1) {
      wait_for_numbers(turn);
      add_local_numbers(turn, values);
      return;
    }
    auto& control = areas_.node_control();
    auto& sums = control.scalar_sums[turn].values;
    if (stand_.place() == 0) {
      wait_for_numbers(turn);
      add_local_numbers(turn, std::span(node_sum_values_).first(values.size()));
      node_sums_[values.size() - 1]->run();
      std::copy_n(node_sum_values_.begin(), values.size(), sums.begin());
      control.scalars_summed.add(1);
    }
    control.scalars_summed.wait_for(scalar_sums_, place_.waiter);
    std::copy_n(sums.begin(), values.size(), values.begin());
  }

 private:
  [[nodiscard]] std::span<double> part_of_operand(const IndexRange& range) const {
    return areas_.operand().subspan(static_cast<std::size_t>(range.begin),
                                    static_cast<std::size_t>(range.size()));
  }

  [[nodiscard]] std::uint64_t local_count(int column) const {
    return local_counts_[static_cast<std::size_t>(column)];
  }

  void prepare_collection() {
    const int here = stand_.node();
    const auto ranges = [&](int from, int to) {
      return collected_ranges(layout_, place_.nodes, mirrored_, from, to);
    };
    exchange_.emplace(stand_, Operation::collect,
                      NodeExchange::Way{.buffer = areas_.operand(),
                                        .ranges = [&](int there) { return ranges(here, there); }},
                      NodeExchange::Way{.buffer = areas_.operand(),
                                        .ranges = [&](int there) { return ranges(there, here); }},
                      areas_.node_control().operand_arrived, *link_);
    for (const auto& sent : exchange_->sent()) sent_columns_.push_back(columns_of(sent));
  }
  /// The process columns whose ranks write these parts of p.
  [[nodiscard]] std::vector<int> columns_of(const std::vector<IndexRange>& ranges) const {
    std::vector<int> columns;
    for (const auto& range : ranges) {
      for (int column = layout_.column_block_of(range.begin);
           column <= layout_.column_block_of(range.end - 1); ++column) {
        if (columns.empty() || columns.back() != column) columns.push_back(column);
      }
    }
    return columns;
  }

  /// Until the column's ranks of this node have written their pieces.
  void wait_for_column(int column) {
    areas_.operand_ready(column).wait_for(local_count(column) * collections_, place_.waiter);
  }

  void finish_collection() {
    if (!is_collecting_) return;
    is_collecting_ = false;
    if (exchange_) exchange_->receive();
    wait_for_column(column_);
    if (!exchange_) return;
    exchange_->wait_until_arrived(collections_);
    exchange_->wait_for_sends();
  }
  void finish_reading_operand() {
    finish_collection();
    if (!reads_operand_) return;
    reads_operand_ = false;
    areas_.control(stand_.place()).operands_done.store(collections_, std::memory_order_release);
  }
  void wait_for_readers_of_operand() {
    if (scalar_sums_ > scalars_at_collection_) return;
    wait_until_all_are_done(
        stand_, collections_,
        [](const RankControl& control) -> const auto& { return control.operands_done; });
  }

  [[nodiscard]] ScalarSlot& slot_of(int place, std::size_t turn) const {
    return areas_.control(place).scalars[turn];
  }
  [[nodiscard]] int local_rank_count() const { return static_cast<int>(stand_.local_ranks().size()); }
  /// A rank that sleeps can be woken by a counter only; the others look at each slot, which costs one
  /// transfer of a cache line where a counter costs three (to count, to see the count, to fetch the numbers).
  void announce_numbers(std::size_t turn) {
    if (place_.ranks_sleep) {
      areas_.node_control().scalars_ready.add(static_cast<std::uint64_t>(local_rank_count()));
    } else {
      slot_of(stand_.place(), turn).sum_number.store(scalar_sums_, std::memory_order_release);
    }
  }
  void wait_for_numbers(std::size_t turn) {
    if (place_.ranks_sleep) {
      const auto ranks = static_cast<std::uint64_t>(local_rank_count());
      areas_.node_control().scalars_ready.wait_for(ranks * scalar_sums_, place_.waiter);
      return;
    }
    int place = 0;
    place_.waiter.wait_until([&] {
      while (place < local_rank_count() && has_numbers(place, turn)) ++place;
      return place == local_rank_count();
    });
  }
  [[nodiscard]] bool has_numbers(int place, std::size_t turn) const {
    return slot_of(place, turn).sum_number.load(std::memory_order_acquire) == scalar_sums_;
  }
  void add_local_numbers(std::size_t turn, std::span<double> sums) {
    for (std::size_t k = 0; k < sums.size(); ++k) {
      sums[k] =
          order_.sum([&](std::size_t place) { return slot_of(static_cast<int>(place), turn).values[k]; });
    }
  }

  SharedPlace place_;
  BlockLayout layout_;
  bool mirrored_;
  SharedAreas areas_;
  SharedStand stand_;
  AllReduceOrder order_;
  std::unique_ptr<NodeLink> link_;
  IndexRange my_piece_;
  int column_ = 0;
  int row_ = 0;
  std::vector<std::uint64_t> local_counts_;  // of each process column: ranks of this node
  std::unique_ptr<SharedSum> sum_;
  std::unique_ptr<SharedSum> column_sum_;  // only when mirrored

  std::optional<NodeExchange> exchange_;        // of the collection, where there are other nodes
  std::vector<std::vector<int>> sent_columns_;  // whose pieces are in each message that this rank sends

  std::array<double, largest_scalar_count> node_sum_values_{};
  std::vector<std::unique_ptr<PreparedOperation>> node_sums_;  // by count, on the first rank of each node

  std::uint64_t collections_ = 0;
  std::uint64_t scalar_sums_ = 0;
  std::uint64_t scalars_at_collection_ = 0;  // scalar sums in front of the last collection
  bool reads_operand_ = false;
  bool is_collecting_ = false;  // the other pieces have not been waited for
};

}  // namespace

std::size_t shared_part_byte_count(const BlockLayout& layout, const NodeMap& nodes, int rank,
                                   const CommunicatorOptions& options) {
  return SharedAreas(layout, nodes, nodes.node_of(rank), options.mirrored).byte_count(nodes.place_of(rank));
}

std::unique_ptr<Communicator> make_shared_communicator(SharedPlace place, const BlockLayout& layout,
                                                       const CommunicatorOptions& options) {
  return std::make_unique<SharedMemory>(std::move(place), layout, options);
}

}  // namespace cg2d::comm
