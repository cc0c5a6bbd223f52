#pragma once

// The operations that a transport prepares for a communicator whose data move between fixed buffers.

#include <cstddef>
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
/// ranks of the group, whether they have anything to move or not. Throws MpiError.
///
/// Either run(), or begin() and finish() with other operations in between, and for a gather also wait_for_part() in rising order, for the
/// parts of collection_parts():
///
///     call             waits for
///     begin            nobody, where it can
///     wait_for_part    the messages of the first `part` steps of the schedule
///     progress         nobody
///     finish           all messages, and that this rank's own have left: its piece may be written again
class PreparedOperation : public Interface {
 public:
  virtual void run() {
    begin();
    finish();
  }
  virtual void begin() = 0;
  virtual void wait_for_part(size_t /*part*/) {}
  /// Between begin() and finish() of a gather: makes progress on pending messages.
  virtual void progress() {}
  virtual void finish() = 0;
};

/// A collective operation over a block of pieces, one piece per member of a group of ranks.
struct BlockCollective {
  Operation operation;  ///< collect: a gather; else a sum. Its messages are counted as this one's
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
  /// A gather: from each member's own piece to all pieces of the block. A sum: from partial sums of the whole block to the sum of this member's
  /// piece, or of the whole block, as the form says.
  virtual std::unique_ptr<PreparedOperation> collective(const BlockCollective& collective) = 0;
  virtual std::unique_ptr<PreparedOperation> move(const PieceExchange& pieces) = 0;
};

/// Adds packed[0], packed[1], ... to the elements of the ranges of the block, range after range.
void add_to_ranges(std::span<const double> packed, const std::vector<IndexRange>& ranges,
                   std::span<double> block);

/// The sum over these ranks, of which this one is `member`, of as many numbers as the block has.
BlockCollective scalar_sum(const std::vector<int>& ranks, int member, std::span<double> block);

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
