#pragma once

// The operations that a transport prepares for a communicator whose data move between fixed buffers.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/schedule.hpp"
#include "comm/waiter.hpp"

namespace cg2d::comm {

/// One operation between buffers that stay where they are: made once, run many times. Collective over all
/// ranks of the group, whether they have anything to move or not.
class PreparedOperation : public Interface {
 public:
  /// Throws MpiError.
  virtual void run() = 0;
  /// run() in two halves, with other operations between them; an operation that cannot do so runs in the
  /// first one. The first half waits for nobody where it can. Each throws MpiError.
  virtual void begin_run() { run(); }
  virtual void end_run() {}
};

/// A gather that can also be run in parts, those of collection_parts(): begin(), wait_for_part() in rising
/// order, finish(). Each throws MpiError.
///
///     call             waits for
///     begin            nobody
///     wait_for_part    the messages of the first `part` steps of the schedule
///     progress         nobody
///     finish           all messages, and that this rank's own have left: its piece may be written again
class PreparedGather : public PreparedOperation {
 public:
  virtual void begin() = 0;
  virtual void wait_for_part(size_t part) = 0;
  /// Between begin() and finish(): makes progress on pending messages.
  virtual void progress() = 0;
  virtual void finish() = 0;
};

/// A collective operation over a block of pieces, one piece per member of a group of ranks.
struct BlockCollective {
  Operation operation;  ///< its messages are counted as this one's
  SumForm form;         ///< form of a sum
  Schedule schedule;    ///< this member's
  GroupPieces pieces;
  std::vector<int> ranks;  ///< ranks of the members, in the order of the pieces
  int member = 0;          ///< this rank's place among them
  std::span<double> block;
};

/// One piece to another rank, and one from a rank. Either may be empty: then nothing is sent or received.
struct PieceExchange {
  Operation operation;
  std::span<double> sent;
  int destination = 0;
  std::span<double> received;
  int source = 0;
};

/// Prepares operations. Everything is collective over all ranks of the communicator's group, in the same
/// order. Must outlive what it has made.
class OperationMaker : public Interface {
 public:
  /// Memory that the transport can reach, which lives as long as the maker. Its contents are unspecified.
  virtual std::span<double> allocate(size_t count) = 0;
  /// From each member's own piece to all pieces of the block.
  virtual std::unique_ptr<PreparedGather> gather(const BlockCollective& collective) = 0;
  /// From partial sums of the whole block to the sum of this member's piece, or of the whole block, as the
  /// form says.
  virtual std::unique_ptr<PreparedOperation> sum(const BlockCollective& collective) = 0;
  virtual std::unique_ptr<PreparedOperation> move(const PieceExchange& pieces) = 0;
};

/// Adds packed[0], packed[1], ... to the elements of the ranges of the block, range after range.
void add_to_ranges(std::span<const double> packed, const std::vector<IndexRange>& ranges,
                   std::span<double> block);

/// Makes the maker of a transport, which counts in `sent` what its operations send.
using MakeOperations = std::function<std::unique_ptr<OperationMaker>(TrafficCounts& sent)>;

/// One rank among those of a communicator, and the waits for the others.
struct RankPlace {
  int rank;
  Waiter& waiter;
};

/// A communicator of that name from a transport's prepared operations. Collective over the ranks of the layout's grid.
std::unique_ptr<Communicator> make_buffered_communicator(std::string_view name, const RankPlace& place,
                                                         const BlockLayout& layout,
                                                         const CommunicatorOptions& options,
                                                         const MakeOperations& make_operations);

}  // namespace cg2d::comm
