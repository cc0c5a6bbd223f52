#pragma once

// Operations between buffers that stay where they are, the messages that most are made of, and the communicator of transports that prepare such.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <memory_resource>
#include <span>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/waiter.hpp"

namespace cg2d::comm {

// ---------------------------------------------------------------- memory

/// Gives the memory of a Buffer back.
struct GiveBack {
  static constexpr size_t alignment = 64;

  std::pmr::memory_resource* memory = nullptr;
  size_t size = 0;  ///< in doubles
  void operator()(double* data) const { memory->deallocate(data, size * sizeof(double), alignment); }
};

/// Doubles of a memory resource, which must outlive them. Begins on a cache line. Making one writes nothing:
/// the contents are unspecified until they are written, and the system places each page near the thread that
/// does so.
class Buffer {
 public:
  Buffer() = default;
  /// Throws what the resource throws: std::bad_alloc.
  Buffer(std::pmr::memory_resource& memory, size_t size)
      : data_(size == 0 ? nullptr
                        : static_cast<double*>(memory.allocate(size * sizeof(double), GiveBack::alignment)),
              GiveBack{.memory = &memory, .size = size}) {}

  std::span<double> span() const { return {data_.get(), data_.get_deleter().size}; }

 private:
  std::unique_ptr<double[], GiveBack> data_;
};

// ---------------------------------------------------------------- operations

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

/// Adds packed[0], packed[1], ... to the elements of the ranges of the block, range after range.
void add_to_ranges(std::span<const double> packed, const std::vector<IndexRange>& ranges,
                   std::span<double> block);

/// The sum over these ranks, of which this one is `member`, of as many numbers as the block has.
BlockCollective scalar_sum(const std::vector<int>& ranks, int member, std::span<double> block);

// ---------------------------------------------------------------- messages

/// One message to or from one rank: these ranges of the buffer, in their order, none of them empty. Without ranges there is no message.
struct Message {
  int partner = 0;
  std::span<double>
      buffer{};  ///< of a received message, none: it comes into memory of the transport (Messages::received)
  std::vector<IndexRange> ranges{};

  int64_t element_count() const;
};

/// All of a buffer as the ranges of a message.
std::vector<IndexRange> whole(std::span<const double> buffer);

/// The messages of one rank in one operation, made once and used in many runs. Messages between two ranks arrive in the order in which they were
/// sent. `which`: the index in the list that they were made from. Everything throws MpiError.
///
///     sender                  receiver
///     begin                   begin
///     start_send              start_receive
///     wait_for_send           wait_for_receive, or has_arrived until it is true
///     end                     end
class Messages : public Interface {
 public:
  /// Begins a run on this rank. Returns when messages may be sent: where they are written without being asked for, no rank reads any more what
  /// the last run wrote.
  virtual void begin() {}
  /// Whether a run in two halves is complete after the first one.
  virtual bool runs_at_once() const { return false; }
  /// From here on the message may be written.
  virtual void start_receive(size_t which) = 0;
  /// The data must be there, and stay until wait_for_send().
  virtual void start_send(size_t which) = 0;
  /// Looks once, which lets MPI work. Where it is true, the data are seen, and wait_for_receive() need not be called.
  virtual bool has_arrived(size_t which) = 0;
  virtual void wait_for_receive(size_t which) = 0;
  virtual void wait_for_send(size_t which) = 0;
  /// Looks once for a send, which lets MPI work.
  virtual bool has_left(size_t /*which*/) { return true; }
  /// For a send that was started a while ago: its receiver may sleep because it needs calls of MPI on this
  /// rank to fetch the message, which this rank makes from now on.
  virtual void remind(size_t /*which*/) {}
  /// Ends the run, all of whose messages have come to this rank.
  virtual void end() {}

  /// The data of a received message that was made without a buffer; until the next run begins.
  virtual std::span<const double> received(size_t which) const = 0;
};

/// Prepares messages, and operations, of messages by the schedules where a transport has no other way. Everything is collective over all ranks of the
/// communicator's group, in the same order. Must outlive what it has made.
class MessageLink : public Interface {
 public:
  /// Memory that the transport can reach, which lives as long as the link. Its contents are unspecified.
  virtual std::span<double> allocate(size_t count) = 0;
  virtual std::unique_ptr<Messages> prepare(Operation operation, const std::vector<Message>& sends,
                                            const std::vector<Message>& receives) = 0;
  /// A gather: from each member's own piece to all pieces of the block. A sum: from partial sums of the whole block to the sum of this member's
  /// piece, or of the whole block, as the form says.
  virtual std::unique_ptr<PreparedOperation> collective(const BlockCollective& collective);
  std::unique_ptr<PreparedOperation> move(const PieceExchange& pieces);
};

/// Makes a link, which counts in `sent` what it sends.
using MakeLink = std::function<std::unique_ptr<MessageLink>(TrafficCounts& sent)>;

// ---------------------------------------------------------------- communicator

/// One rank among those of a communicator, and the waits for the others.
struct RankPlace {
  int rank;
  Waiter& waiter;
};

/// A communicator of that name from the operations that a transport's link prepares. Collective over the ranks of the layout's grid.
std::unique_ptr<Communicator> make_buffered_communicator(std::string_view name, const RankPlace& place,
                                                         const BlockLayout& layout,
                                                         const CommunicatorOptions& options,
                                                         const MakeLink& make_link);

}  // namespace cg2d::comm
