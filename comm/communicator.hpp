#pragma once

// How one block of q = A p gets its operand and hands over its partial sums: the interface of all transports.
//
// Rank (i, j) of a Px x Py grid; p, q and all other vectors are cut into Px * Py pieces (see
// block_layout.hpp).
//
//                     before                                    after
//   collect   my column piece of p in piece()          column block j of p in column_block()
//   (multiply, elsewhere: reads column_block(), writes partial())
//   sum       partial sums of row block i in partial()  my row piece of q, inside the transport
//   shuffle   my row piece of q                         my column piece of q in result()
//
// Where only one entry of each mirrored pair of a symmetric matrix is stored, a product needs the same the
// other way round as well (CommunicatorOptions::mirrored):
//
//   collect_rows   my column piece of p in piece()                row block i of p in row_block()
//   (multiply: reads column_block() and row_block(), writes partial() and column_partial())
//   sum_columns    partial sums of column block j in              my column piece of them in column_result()
//                  column_partial()

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "comm/block_layout.hpp"
#include "comm/rank_group.hpp"
#include "comm/schedule.hpp"

namespace cg2d::comm {

/// The operations of a communicator, for its counts.
enum class Operation { collect, sum, shuffle, dot };
inline constexpr int operation_count = 4;

/// What one rank has sent, operation by operation.
class TrafficCounts {
 public:
  void add(Operation operation, std::int64_t byte_count) {
    sent_[static_cast<std::size_t>(operation)] += {.message_count = 1, .byte_count = byte_count};
  }
  [[nodiscard]] Traffic of(Operation operation) const { return sent_[static_cast<std::size_t>(operation)]; }

 private:
  std::array<Traffic, operation_count> sent_{};
};

/// Moves the pieces of one layout. Buffers and requests are made once, by the constructors of the
/// implementations; collect, sum, shuffle and sum_scalars are collective over the group, must be called in
/// the same order by all ranks, and throw MpiError. Not thread-safe.
class Communicator {
 public:
  /// The most numbers that one sum_scalars takes.
  static constexpr std::size_t largest_scalar_count = 4;

  Communicator() = default;
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  Communicator(Communicator&&) = delete;
  Communicator& operator=(Communicator&&) = delete;

  /// The transport's name, as in the table.
  [[nodiscard]] virtual std::string_view name() const = 0;

  /// My column piece of the operand p: the part of column_block() that the caller writes before collect(). To
  /// be called before it is written again behind a collect(), for others may still read it; not needed if all
  /// ranks have come through a sum_scalars() since. Behind this call column_block() and row_block() hold
  /// nothing for sure.
  [[nodiscard]] virtual std::span<double> piece() = 0;
  /// Column block j of p, layout.column_block(j).size() doubles; whole after collect().
  [[nodiscard]] virtual std::span<const double> column_block() const = 0;
  /// Partial sums of row block i, layout.row_block(i).size() doubles; the caller writes them before sum(),
  /// which leaves unspecified values there. To be called before they are written again, as piece().
  [[nodiscard]] virtual std::span<double> partial() = 0;
  /// My column piece of q after shuffle(), as long as piece(). Valid until partial() is written again.
  [[nodiscard]] virtual std::span<const double> result() const = 0;

  /// Gathers column block j of p over the process column. Cost: collection_traffic().
  virtual void collect() = 0;
  /// The same in parts, to work on what is there while the rest is under way: begin_collect(), then
  /// wait_for_part() for every part of collection_parts(), in their order. Until the last part is there
  /// nothing else may be called but collect_rows() and the accessors, without piece(). What this rank sends
  /// may leave later still: wait_for_part(number of parts) waits for that, or the next piece(), sum() or
  /// sum_scalars(). All ranks do this alike, also where among the parts they call collect_rows().
  virtual void begin_collect() = 0;
  /// Behind this call column_block() is whole in the ranges of the parts 0 ... part; part 0 is there at once.
  virtual void wait_for_part(std::size_t part) = 0;
  /// Between begin_collect() and the last part: lets what is under way go on, and returns at once. Many
  /// implementations of MPI move long messages, and pass on what has come, only inside of their calls.
  virtual void progress() {}
  /// Sums the partial results over the process row, in a fixed order. Cost: summation_traffic().
  virtual void sum() = 0;
  /// Moves each row piece of q to its column owner. Cost: shuffle_traffic(), at most one message.
  virtual void shuffle() = 0;
  /// Row block i of p, layout.row_block(i).size() doubles; whole after collect_rows(). Empty unless mirrored.
  [[nodiscard]] virtual std::span<const double> row_block() const = 0;
  /// Partial sums of column block j, layout.column_block(j).size() doubles; the caller writes them before
  /// sum_columns(), which leaves unspecified values there. Empty unless mirrored.
  [[nodiscard]] virtual std::span<double> column_partial() = 0;
  /// My column piece of the sums after sum_columns(), as long as piece(). Valid until column_partial() is
  /// written again.
  [[nodiscard]] virtual std::span<const double> column_result() const = 0;

  /// Sends each column piece to the owner of the row piece, the shuffle backwards, and gathers row block i of
  /// p over the process row. Only when mirrored. Cost: mirrored_collection_traffic() and
  /// mirrored_shuffle_traffic().
  virtual void collect_rows() = 0;
  /// Sums the partial results over the process column, in a fixed order: no shuffle is needed. Only when
  /// mirrored. Cost: mirrored_summation_traffic().
  virtual void sum_columns() = 0;

  /// Sums at most largest_scalar_count numbers over all ranks: the same bits on every rank, the same on every
  /// run. Cost: dot_traffic().
  virtual void sum_scalars(std::span<double> values) = 0;

  /// What this rank has sent so far in one kind of operation.
  [[nodiscard]] Traffic sent(Operation operation) const { return sent_.of(operation); }
  /// Ticks spent waiting for other ranks so far (0 without a tick source).
  [[nodiscard]] virtual std::uint64_t waited_ticks() const = 0;

 protected:
  [[nodiscard]] TrafficCounts& sent_counts() { return sent_; }

 private:
  TrafficCounts sent_;
};

struct CommunicatorOptions {
  SumForm sum_form = SumForm::reduce_scatter;
  bool mirrored = false;  // collect_rows and sum_columns, too
  /// For transports that tell nodes apart: how many ranks make a node, on each host in the order of the
  /// ranks; 0: as many as the host has. To try on one machine what happens on several.
  int ranks_per_node = 0;
};

/// What sent() of a transport tells.
enum class CountedTraffic {
  messages,       ///< as the schedules have them, which also fix the order of sums
  calls,          ///< of MPI's collectives, and the bytes handed over to them
  between_nodes,  ///< messages from node to node; inside a node nothing is sent
};

/// One transport. A new one is one file that defines a row, and its entry in transport_table().
struct TransportRow {
  std::string_view name;
  std::string_view description;
  CountedTraffic counts = CountedTraffic::messages;
  bool tells_nodes_apart = false;  ///< CommunicatorOptions::ranks_per_node changes what it does
  /// Why the transport can't serve this group here; empty when it can. Collective.
  std::string (*why_unavailable)(RankGroup& group);
  /// Collective. The group must outlive the communicator. Throws MpiError.
  std::unique_ptr<Communicator> (*make)(RankGroup& group, const BlockLayout& layout,
                                        const CommunicatorOptions& options);
};

/// All transports.
std::span<const TransportRow> transport_table();
/// The row of that name, or nullptr.
const TransportRow* find_transport(std::string_view name);
/// What runs when no transport is named.
const TransportRow& default_transport();

}  // namespace cg2d::comm
