#pragma once

// The interface of all transports: how one block of q = A p gets its operand and hands over its partial sums.
//
// Rank (i, j) of a Px x Py grid; p, q and all other vectors are cut into Px * Py pieces (block_layout.hpp).
//
//                     before                              after
//     collect         my column piece of p in piece()     column block j of p in column_block()
//     (multiply: reads column_block(), writes partial())
//     sum             partial sums of row block i in      my row piece of q, inside the transport
//                     partial()
//     shuffle         my row piece of q                   my column piece of q in result()
//
// Storing one entry of each mirrored pair of a symmetric matrix needs the same in the other direction as well
// (CommunicatorOptions::mirrored, Communicator::mirror()):
//
//     collect_rows    my column piece of p in piece()     row block i of p in row_block()
//     (multiply: also reads row_block(), also writes column_partial())
//     sum_columns     partial sums of column block j in   my column piece of them in column_result()
//                     column_partial()

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <memory_resource>
#include <span>
#include <string>
#include <string_view>

#include "comm/block_layout.hpp"
#include "comm/interface.hpp"
#include "comm/schedule.hpp"

namespace cg2d::comm {

class DomainLayout;
class HaloExchange;
class RankGroup;
struct HaloOptions;

/// The operations of a communicator, and the exchange of a halo (halo.hpp), for the counts.
enum class Operation { collect, sum, shuffle, dot, halo };
inline constexpr int operation_count = 5;

/// Messages and bytes that one rank has sent, by operation.
class TrafficCounts {
 public:
  void add(Operation operation, int64_t byte_count) {
    sent_[static_cast<size_t>(operation)] += {.message_count = 1, .byte_count = byte_count};
  }
  Traffic of(Operation operation) const { return sent_[static_cast<size_t>(operation)]; }

 private:
  std::array<Traffic, operation_count> sent_{};
};

/// The second direction, which half-stored matrices need. Belongs to a communicator, and obeys its invariants
/// (see Communicator) with these operations and buffers:
///
///     operation       reads             writes            returns when
///     collect_rows    piece()           row_block()       row_block() is whole on this rank
///     sum_columns     column_partial()  column_result()   column_result() is whole on this rank
///
/// 1. collect_rows() follows collect() or the beginning of a Collection, and gathers the same pieces. While a Collection is
///    under way all ranks call it after the same part.
/// 2. column_partial() is called again before its memory is written again: other ranks may still read it.
class MirroredExchange : public Interface {
 public:
  /// Row block i of p, layout.row_block(i).size() doubles; whole after collect_rows().
  virtual std::span<const double> row_block() const = 0;
  /// Partial sums of column block j, layout.column_block(j).size() doubles; written by the caller before
  /// sum_columns(), which leaves their contents unspecified.
  [[nodiscard]] virtual std::span<double> column_partial() = 0;
  /// My column piece of the sums after sum_columns(), as long as piece(). Valid until column_partial() is
  /// written again.
  virtual std::span<const double> column_result() const = 0;

  /// Sends each column piece to the owner of the row piece, the shuffle backwards, and gathers row block i of
  /// p over the process row. Collective. Cost: collection_traffic() over
  /// Line::process_row, and mirrored_shuffle_traffic().
  virtual void collect_rows() = 0;
  /// Sums the partial results over the process column, in a fixed order; no shuffle is needed. Collective.
  /// Cost: summation_traffic() over Line::process_column.
  virtual void sum_columns() = 0;
};

class Communicator;

/// An operation of a communicator that has begun and is finished later, once. One that goes without it is a bug (asserted), unless an exception is
/// on its way: then the communicator is of no more use. It lives on the stack, or in the object that waits for it, and allocates nothing.
class UnderWay {
 public:
  UnderWay(const UnderWay&) = delete;
  UnderWay& operator=(const UnderWay&) = delete;

 protected:
  explicit UnderWay(Communicator& communicator) : communicator_(communicator) {}
  ~UnderWay() { assert(is_finished_ || std::uncaught_exceptions() > exception_count_); }

  Communicator& communicator_;
  bool is_finished_ = false;

 private:
  [[maybe_unused]] int exception_count_ = std::uncaught_exceptions();  // on their way when it began
};

/// A Communicator::collect() in parts, which is under way: to work on the parts of the column block that are here. All ranks of the group begin and
/// finish it alike; how far each has come in between is its own affair. Cost: collection_traffic().
///
/// 1. Parts are those of collection_parts(), waited for in rising order; part 0 is here at once.
/// 2. finish() ends the collection, with all parts waited for or not.
/// 3. Until finish() no other member of the communicator is called but its accessors without piece(), and
///    MirroredExchange::collect_rows().
class [[nodiscard]] Collection : UnderWay {
 public:
  explicit Collection(Communicator& communicator);

  /// Returns when column_block() is whole in the ranges of the parts 0 ... part. Throws MpiError.
  void wait_for_part(size_t part);
  /// Makes progress on pending operations; waits for no rank. Many implementations of MPI move long messages,
  /// and pass on what has come, only inside of their calls. Throws MpiError.
  void progress();
  /// Returns when column_block() is whole and what this rank sends has left. Throws MpiError.
  void finish();

 private:
  size_t next_part_ = 0;
};

/// A Communicator::sum_scalars() with other operations in between, the same ones on all ranks: the same bits. How far it gets meanwhile is the
/// transport's affair; one that cannot do better completes it at the beginning. Cost: dot_traffic().
///
/// 1. finish() ends it; then the values are the sums.
/// 2. Until finish() no other sum of scalars begins; all other operations may run.
class [[nodiscard]] ScalarSum : UnderWay {
 public:
  /// values: as in sum_scalars(). They must live until finish().
  ScalarSum(Communicator& communicator, std::span<double> values);

  /// Returns when the sums are on this rank. Throws MpiError.
  void finish();

 private:
  std::span<double> values_;
};

/// Moves the pieces of one layout. Buffers and requests are made once, by the constructors of the
/// implementations. Not thread-safe.
///
///     operation       reads      writes           returns when
///     collect         piece()    column_block()   column_block() is whole on this rank
///     sum, shuffle    partial()  result()         result() is whole on this rank
///     sum_scalars     values     values           the sums are on this rank
///
/// 1. Every operation is collective over the group: all ranks call the same operations in the same order.
///    Each throws MpiError.
/// 2. Returning says nothing of the other ranks: they may still read this rank's buffers. So piece() and
///    partial() are called again before their memory is written again. They wait for the readers where there
///    may be some.
/// 3. A sum_scalars() on all ranks ends all reading of what was written before it. Where one lies between two
///    uses of a buffer, piece() and partial() need not be called again. One that began earlier and is finished
///    in between does not count.
/// 4. After piece() the contents of column_block() and row_block() are unspecified; so are those of partial()
///    after sum().
/// 5. The same calls with the same values give the same bits in every run.
class Communicator : public Interface {
 public:
  /// How many numbers one sum_scalars takes: each of these counts is prepared for.
  static constexpr std::array<size_t, 7> scalar_counts{1, 2, 3, 4, 8, 16, 32};
  static constexpr size_t largest_scalar_count = scalar_counts.back();
  /// The place of a count in scalar_counts.
  static constexpr size_t place_of_count(size_t count) {
    size_t place = 0;
    while (place + 1 < scalar_counts.size() && scalar_counts[place] < count) ++place;
    assert(scalar_counts[place] == count);
    return place;
  }

  /// The transport's name, as in the table.
  virtual std::string_view name() const = 0;

  /// My column piece of the operand p, a part of column_block(); written by the caller before collect().
  [[nodiscard]] virtual std::span<double> piece() = 0;
  /// Column block j of p, layout.column_block(j).size() doubles; whole after collect().
  virtual std::span<const double> column_block() const = 0;
  /// Partial sums of row block i, layout.row_block(i).size() doubles; written by the caller before sum().
  [[nodiscard]] virtual std::span<double> partial() = 0;
  /// My column piece of q after shuffle(), as long as piece(). Valid until partial() is written again.
  virtual std::span<const double> result() const = 0;

  /// Gathers column block j of p over the process column. Cost: collection_traffic().
  virtual void collect() = 0;
  /// Sums the partial results over the process row, in a fixed order. Cost: summation_traffic().
  virtual void sum() = 0;
  /// Moves each row piece of q to its column owner. Cost: shuffle_traffic(), at most one message.
  virtual void shuffle() = 0;
  /// Sums as many numbers as one of scalar_counts says over all ranks: the same bits on every rank. Cost:
  /// dot_traffic().
  virtual void sum_scalars(std::span<double> values) = 0;

  /// The largest of one number of each rank, on every rank, whatever the transport: by MPI's own all-reduce, which counts
  /// as one message of Operation::dot; a rank alone sends none. group: that of the communicator.
  [[nodiscard]] double maximum(RankGroup& group, double value);

  /// The second direction; nullptr unless the communicator was made with CommunicatorOptions::mirrored.
  [[nodiscard]] virtual MirroredExchange* mirror() { return nullptr; }

  /// Messages and bytes that this rank has sent so far in one kind of operation.
  Traffic sent(Operation operation) const { return sent_.of(operation); }

 protected:
  [[nodiscard]] TrafficCounts& sent_counts() { return sent_; }
  /// Whether a Collection, or a ScalarSum, is under way.
  bool is_collecting() const { return is_collecting_; }
  bool is_summing_scalars() const { return is_summing_scalars_; }

  /// The members of Collection, as the transport has them; called in the order that its invariants say.
  virtual void start_collection() = 0;
  virtual void wait_for_collected(size_t part) = 0;
  virtual void progress_collection() {}
  virtual void finish_collection() = 0;
  /// The members of ScalarSum, as the transport has them.
  virtual void start_scalar_sum(std::span<double> values) { sum_scalars(values); }
  virtual void finish_scalar_sum(std::span<double> /*values*/) {}

 private:
  friend class Collection;
  friend class ScalarSum;

  TrafficCounts sent_;
  bool is_collecting_ = false;
  bool is_summing_scalars_ = false;
};

/// The options of a communicator, beside its layout.
struct CommunicatorOptions {
  SumForm sum_form = SumForm::reduce_scatter;  ///< one that the transport has
  bool mirrored = false;                       ///< with a mirror()
  /// For transports that tell nodes apart: the number of ranks that make a node, on each host in the order of
  /// the ranks; 0: as many as the host has. Shows on one machine what happens on several.
  int ranks_per_node = 0;
  /// Gives the buffers of this rank; must outlive the communicator. Nothing is written to them before the
  /// first operation, so each page can be placed by the thread that first uses it.
  std::pmr::memory_resource* memory = std::pmr::new_delete_resource();
};

inline constexpr std::array all_sum_forms{SumForm::reduce_scatter, SumForm::whole_block};

/// One transport, with the properties that callers need. A new one is one file that defines a row, and
/// its entry in transport_table().
struct TransportRow {
  std::string_view name;
  std::string_view description;
  /// MPI's own collectives move the data: sent() counts calls and the bytes handed over, and MPI has its own order of additions.
  bool uses_collectives = false;
  /// Inside a node ranks read each other's vectors: sent() counts the messages between nodes alone. Scalars are added in the order of
  /// all_reduce_schedule() inside each node, then over the nodes.
  bool reads_in_place = false;
  /// The forms of the sum that it has, the default first.
  std::span<const SumForm> sum_forms = all_sum_forms;
  /// Vectors lie in memory that the ranks of a node share, not in that of the options: CommunicatorOptions::ranks_per_node matters.
  bool shares_memory = false;
  /// Between nodes a rank waits inside of MPI until its target calls MPI, and keeps its core meanwhile: slow
  /// where ranks outnumber cores.
  bool needs_calls_of_target = false;
  /// Taken by default where all ranks are on one node and share its memory. One row's.
  bool is_default_on_a_node = false;
  /// Why the transport can't serve this group here; empty when it can. Collective.
  std::string (*why_unavailable)(RankGroup& group) = [](RankGroup&) { return std::string(); };
  /// Collective. The group must outlive the communicator. Throws MpiError.
  std::unique_ptr<Communicator> (*make)(RankGroup& group, const BlockLayout& layout,
                                        const CommunicatorOptions& options) = nullptr;
  /// The exchange of halos over this transport. Collective. The group must outlive it. Throws MpiError,
  /// SharedMemoryError.
  std::unique_ptr<HaloExchange> (*make_halo)(RankGroup& group, const DomainLayout& layout,
                                             const HaloOptions& options) = nullptr;

  bool has(SumForm form) const;
  /// Its messages are those of the schedules, which also fix the order of all additions.
  bool follows_schedules() const { return !uses_collectives && !reads_in_place; }
};

/// All transports; the first one serves everywhere.
std::span<const TransportRow> transport_table();
/// The row of that name, or nullptr.
const TransportRow* find_transport(std::string_view name);
/// The transport that serves everywhere.
const TransportRow& default_transport();
/// The one of a group for which nobody has chosen: by the nodes, see is_default_on_a_node. `ranks_per_node`: as
/// CommunicatorOptions has it. Collective; the same on every rank. Throws MpiError.
const TransportRow& default_transport(RankGroup& group, int ranks_per_node);

}  // namespace cg2d::comm
