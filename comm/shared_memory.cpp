// Vectors in memory that the ranks of a node share. A collection moves nothing inside a node, since a rank
// reads its neighbours' pieces where they are; a summation reads the partial sums of the process row
// directly. Between nodes there is one message for each pair of nodes and operation.
//
// Counters (SharedCounter) only grow. Operation number n of its kind waits for n times the ranks named here:
//
//     operation       waits until these have written                      and, with several nodes, until
//     collect         the node's ranks of my process column: pieces       the messages have come
//     collect_rows    the same of every process column that my row        the collection's messages have come
//                     block touches
//     sum             the node's ranks of the process row that has my     the messages have come
//                     column piece: partial sums (shared_sum.cpp)
//     sum_columns     the node's ranks of my process column: partial      the messages have come
//                     sums
//     sum_scalars     all ranks of the node: numbers                      the first rank has all nodes' sums
//
// Memory is written again under these invariants:
//
// 1. A rank that has come through sum_scalars() knows that all others have begun it. So nobody reads what was
//    written before it, and what was sent before it has left.
// 2. Without a sum_scalars() in between, piece() and partial() wait until every rank of this node says that
//    it has read (RankControl: a number of its own for each kind of operation).
// 3. So does a rank before it lets a message into the node's memory. Readers on other nodes have copies.
//    A sum that is in two halves ends the reading of what was written before it began (ScalarSumCounts).
// 4. Numbers of sum_scalars() have two slots, in turns: a rank that writes sum n + 2 has come through sum n +
//    1, which all have begun, so all have come through sum n.

#include "comm/shared_memory.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "comm/shared_areas.hpp"
#include "comm/shared_sum.hpp"

namespace cg2d::comm {
namespace {

class SharedMemory final : public Communicator, private MirroredExchange {
 public:
  SharedMemory(NodePlace place, const SharedPeers& peers, const BlockLayout& layout,
               const CommunicatorOptions& options)
      : place_(std::move(place)),
        ranks_sleep_(peers.ranks_sleep),
        layout_(layout),
        mirrored_(options.mirrored),
        areas_(layout, place_.nodes, place_.nodes.node_of(place_.rank), mirrored_),
        stand_{.layout = layout_,
               .nodes = place_.nodes,
               .areas = areas_,
               .rank = place_.rank,
               .waiter = place_.waiter},
        numbers_(stand_.local_ranks().size()) {
    areas_.set_parts(place_.parts);
    if (place_.nodes.node_count() > 1) link_ = peers.make_link(sent_counts());
    my_piece_ = layout.own_piece(place_.rank);
    column_ = layout.grid().column_of(place_.rank);
    row_ = layout.grid().row_of(place_.rank);
    local_counts_ = ranks_on_node(layout_, place_.nodes, Line::process_column, stand_.node());
    const auto make_sum = [&](Line over) {
      return std::make_unique<SharedSum>(stand_, over, link_.get(), *options.memory);
    };
    sum_ = make_sum(Line::process_row);
    if (mirrored_) column_sum_ = make_sum(Line::process_column);
    if (place_.nodes.node_count() == 1) return;
    prepare_collection();
    if (stand_.place() == 0) {
      std::vector<int> leaders;
      for (int node = 0; node < place_.nodes.node_count(); ++node)
        leaders.push_back(place_.nodes.ranks_of(node).front());
      for (const auto count : scalar_counts) {
        node_sums_.push_back(
            link_->collective(scalar_sum(leaders, stand_.node(), std::span(node_sum_values_).first(count))));
      }
    }
  }

  std::string_view name() const override { return "shared"; }

  [[nodiscard]] std::span<double> piece() override {
    assert(!is_collecting());
    finish_reading_operand();
    wait_for_readers_of_operand();
    return part_of_operand(my_piece_);
  }
  std::span<const double> column_block() const override {
    return part_of_operand(layout_.column_block(column_));
  }
  [[nodiscard]] std::span<double> partial() override { return sum_->partial(scalar_sums_); }
  std::span<const double> result() const override { return sum_->result(); }
  [[nodiscard]] MirroredExchange* mirror() override { return mirrored_ ? this : nullptr; }

  void collect() override {
    assert(!is_collecting());
    start_collection();
    finish_collection();
  }
  void sum() override {
    assert(!is_collecting());
    finish_reading_operand();
    sum_->run(scalar_sums_);
  }
  void shuffle() override {}  // the sum was made where it belongs
  void sum_scalars(std::span<double> values) override {
    start_scalar_sum(values);
    finish_scalar_sum(values);
  }

 protected:
  void start_collection() override {
    finish_reading_operand();
    if (exchange_ && exchange_->carries()) wait_for_readers_of_operand();
    ++collections_;
    reads_operand_ = true;
    scalars_at_collection_ = scalar_sums_.begun;
    areas_.operand_ready(column_).add_one(local_count(column_));
    has_all_pieces_ = false;
    if (!exchange_) return;
    exchange_->start_receives();
    exchange_->send([this](size_t message) {
      for (const auto& range : exchange_->sent()[message]) wait_for_columns_of(range);
    });
  }
  /// My own piece is here at once, and all others when the last of them is.
  void wait_for_collected(size_t part) override {
    if (part > 0) finish_collection();
  }
  void finish_collection() override {
    if (has_all_pieces_) return;
    has_all_pieces_ = true;
    if (exchange_) exchange_->receive();
    wait_for_column(column_);
    if (!exchange_) return;
    exchange_->wait_until_arrived(collections_);
    exchange_->wait_for_sends();
  }
  void start_scalar_sum(std::span<double> values) override {
    assert(!is_collecting() && !is_summing_scalars());
    finish_reading_operand();
    const auto turn = turn_of(scalar_sums_.begun);
    ++scalar_sums_.begun;
    std::ranges::copy(values, slot_of(stand_.place(), turn).values.begin());
    announce_numbers(turn);
  }
  void finish_scalar_sum(std::span<double> values) override {
    add_numbers(turn_of(scalar_sums_.finished), values);
    ++scalar_sums_.finished;
  }

 private:
  static size_t turn_of(uint64_t earlier_sums) { return static_cast<size_t>(earlier_sums % 2); }

  std::span<const double> row_block() const override { return part_of_operand(layout_.row_block(row_)); }
  [[nodiscard]] std::span<double> column_partial() override { return column_sum_->partial(scalar_sums_); }
  std::span<const double> column_result() const override { return column_sum_->result(); }
  void collect_rows() override {
    // Pieces of other nodes come with the collection's messages.
    if (place_.nodes.node_count() > 1) finish_collection();
    wait_for_columns_of(layout_.row_block(row_));
  }
  void sum_columns() override {
    assert(!is_collecting());
    finish_reading_operand();
    column_sum_->run(scalar_sums_);
  }

  std::span<double> part_of_operand(const IndexRange& range) const {
    return areas_.operand().subspan(static_cast<size_t>(range.begin), static_cast<size_t>(range.size()));
  }

  uint64_t local_count(int column) const { return local_counts_[static_cast<size_t>(column)]; }

  void prepare_collection() {
    NodeExchange::Way sent{.buffer = areas_.operand()};
    NodeExchange::Way received{.buffer = areas_.operand()};
    for (int there = 0; there < place_.nodes.node_count(); ++there) {
      sent.ranges.push_back(collected_ranges(layout_, place_.nodes, mirrored_, stand_.node(), there));
      received.ranges.push_back(collected_ranges(layout_, place_.nodes, mirrored_, there, stand_.node()));
    }
    exchange_.emplace(stand_, Operation::collect, sent, received, areas_.node_control().operand_arrived,
                      *link_);
  }

  /// Returns when the column's ranks of this node have written their pieces.
  void wait_for_column(int column) {
    areas_.operand_ready(column).wait_for(local_count(column) * collections_, place_.waiter);
  }

  /// The same for all columns whose ranks write this part of p.
  void wait_for_columns_of(const IndexRange& range) {
    if (range.size() == 0) return;
    const int last = layout_.column_block_of(range.end - 1);
    for (int column = layout_.column_block_of(range.begin); column <= last; ++column) wait_for_column(column);
  }

  /// Tells the node's ranks that this one has read the operand.
  void finish_reading_operand() {
    if (!reads_operand_) return;
    reads_operand_ = false;
    stand_.announce_done(operands_read, collections_);
  }
  void wait_for_readers_of_operand() {
    if (scalar_sums_.finished > scalars_at_collection_) return;
    stand_.wait_until_all_are_done(operands_read, collections_);
  }

  ScalarSlot& slot_of(int place, size_t turn) const { return areas_.control(place).scalars[turn]; }
  int local_rank_count() const { return static_cast<int>(stand_.local_ranks().size()); }
  void add_numbers(size_t turn, std::span<double> values) {
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
      node_sums_[place_of_count(values.size())]->run();
      std::copy_n(node_sum_values_.begin(), values.size(), sums.begin());
      control.scalars_summed.add_one(1);
    }
    control.scalars_summed.wait_for(scalar_sums_.begun, place_.waiter);
    std::copy_n(sums.begin(), values.size(), values.begin());
  }
  /// Only a counter wakes a rank that sleeps. Ranks that do not sleep look at each slot: that costs one
  /// transfer of a cache line, a counter costs three (to count, to see the count, to fetch the numbers).
  void announce_numbers(size_t turn) {
    if (ranks_sleep_) {
      areas_.node_control().scalars_ready.add_one(static_cast<uint64_t>(local_rank_count()));
    } else {
      slot_of(stand_.place(), turn).sum_number.store(scalar_sums_.begun, std::memory_order_release);
    }
  }
  void wait_for_numbers(size_t turn) {
    if (ranks_sleep_) {
      const auto ranks = static_cast<uint64_t>(local_rank_count());
      areas_.node_control().scalars_ready.wait_for(ranks * scalar_sums_.begun, place_.waiter);
      return;
    }
    int place = 0;
    place_.waiter.wait_until([&] {
      while (place < local_rank_count() && has_numbers(place, turn)) ++place;
      return place == local_rank_count();
    });
  }
  bool has_numbers(int place, size_t turn) const {
    return slot_of(place, turn).sum_number.load(std::memory_order_acquire) == scalar_sums_.begun;
  }
  void add_local_numbers(size_t turn, std::span<double> sums) {
    for (size_t k = 0; k < sums.size(); ++k) {
      for (size_t place = 0; place < numbers_.size(); ++place)
        numbers_[place] = slot_of(static_cast<int>(place), turn).values[k];
      sums[k] = sum_as_all_reduce(numbers_);
    }
  }

  NodePlace place_;
  bool ranks_sleep_;
  BlockLayout layout_;
  bool mirrored_;
  SharedAreas areas_;
  SharedStand stand_;
  std::vector<double> numbers_;        // of the node's ranks, while they are added up
  std::unique_ptr<MessageLink> link_;  // where there are other nodes
  IndexRange my_piece_;
  int column_ = 0;
  int row_ = 0;
  std::vector<uint64_t> local_counts_;  // ranks of this node, by process column
  std::unique_ptr<SharedSum> sum_;
  std::unique_ptr<SharedSum> column_sum_;  // only when mirrored

  std::optional<NodeExchange> exchange_;  // messages of the collection, where there are other nodes

  std::array<double, largest_scalar_count> node_sum_values_{};
  std::vector<std::unique_ptr<PreparedOperation>>
      node_sums_;  // by place_of_count(), on the first rank of each node

  uint64_t collections_ = 0;
  ScalarSumCounts scalar_sums_;
  uint64_t scalars_at_collection_ = 0;  // begun before the last collection
  bool reads_operand_ = false;
  bool has_all_pieces_ = true;  // whether all pieces of the last collection have come
};

}  // namespace

size_t shared_part_byte_count(const BlockLayout& layout, const NodeMap& nodes, int rank,
                              const CommunicatorOptions& options) {
  return SharedAreas(layout, nodes, nodes.node_of(rank), options.mirrored).byte_count(nodes.place_of(rank));
}

std::unique_ptr<Communicator> make_shared_communicator(NodePlace place, const SharedPeers& peers,
                                                       const BlockLayout& layout,
                                                       const CommunicatorOptions& options) {
  return std::make_unique<SharedMemory>(std::move(place), peers, layout, options);
}

}  // namespace cg2d::comm
