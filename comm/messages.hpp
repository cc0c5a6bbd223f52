#pragma once

// Messages that a transport prepares between buffers that stay where they are, and the operations that are made of them.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "comm/block_layout.hpp"
#include "comm/communicator.hpp"
#include "comm/prepared_operation.hpp"

namespace cg2d::comm {

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

/// Prepares messages, and operations of them by the schedules. Must outlive what it has made.
class MessageLink : public OperationMaker {
 public:
  /// Collective where OperationMaker's operations are.
  virtual std::unique_ptr<Messages> prepare(Operation operation, const std::vector<Message>& sends,
                                            const std::vector<Message>& receives) = 0;

  std::unique_ptr<PreparedOperation> collective(const BlockCollective& collective) override;
  std::unique_ptr<PreparedOperation> move(const PieceExchange& pieces) override;
};

/// Makes a link, which counts in `sent` what it sends.
using MakeLink = std::function<std::unique_ptr<MessageLink>(TrafficCounts& sent)>;

}  // namespace cg2d::comm
