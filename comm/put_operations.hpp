#pragma once

// The protocol of the transport "put", without MPI: schedules whose pieces are written into the receiver's
// memory.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "comm/prepared_operation.hpp"

namespace cg2d::comm {

/// A place where a rank lets another one write.
struct PutSlot {
  int64_t sender = 0;
  int64_t offset = 0;    ///< in the receiver's memory
  int64_t is_block = 0;  ///< 1: the block begins there, and values go to their ranges of it; 0: packed
  int64_t flag = 0;      ///< the notification's place there
};

/// One rank's way into the memory of the others. Memory is counted in elements of 8 bytes; a flag is one.
///
///     sender                      receiver
///     put, put, ...
///     complete                    (the values are in its memory)
///     notify(flag, number)        wait_for(flag, number) returns, and the values are seen
class PutPort : public Interface {
 public:
  /// This rank's memory, which the others can write; zeros at first.
  [[nodiscard]] virtual std::span<double> memory() = 0;

  /// Begins to write the values there. They must stay until complete().
  virtual void put(int rank, int64_t offset, std::span<const double> values) = 0;
  /// Returns when the values that were put to that rank are in its memory.
  virtual void complete(int rank) = 0;
  /// Writes the number to a flag of that rank, and wakes it.
  virtual void notify(int rank, int64_t flag, uint64_t number) = 0;
  /// The next wait_for() is for that rank: see Waiter::expect().
  virtual void expect(int /*rank*/) {}
  /// Returns when the flag of this rank has that number, and all that its sender completed before it is seen.
  virtual void wait_for(int64_t flag, uint64_t number) = 0;
  /// Whether wait_for() would return at once; makes progress on pending messages.
  [[nodiscard]] virtual bool has(int64_t flag, uint64_t number) = 0;

  /// Returns when all ranks have called it.
  virtual void wait_for_all() = 0;
  /// The slots that every rank gave. Collective.
  virtual std::vector<std::vector<PutSlot>> gather(const std::vector<PutSlot>& mine) = 0;
};

/// The elements that so many take: everything has cache lines of its own, so that polling a flag does not slow down writing data.
inline int64_t whole_lines(int64_t count) {
  constexpr int64_t elements_per_line = 8;
  return (count + elements_per_line - 1) / elements_per_line * elements_per_line;
}

/// Elements of memory that the operations of a communicator take on this rank.
int64_t put_memory_size(const BlockLayout& layout, int rank, const CommunicatorOptions& options);

/// Operations in the memory of a port, which must outlive them.
///
/// Each step of a schedule puts its ranges straight into the receiver's block or, where they are to be added,
/// into a buffer of that step; completes them all at once; and notifies the receiver. That is all the
/// receiver waits for. Nobody asks before it writes:
///
/// 1. A flag gets a number only after the values that it announces are complete.
/// 2. An operation runs again only when all ranks are done with what its last run wrote. A rank that has come
///    through a sum of scalars knows that all others have begun it, so they are done with all before it.
///    Where no sum of scalars lies between two runs, a barrier does.
/// 3. A sum of scalars has two buffers and two flags for each step, used in turns. A rank that begins sum
///    n + 2 has come through sum n + 1, which all ranks have begun: so all have come through sum n, whose
///    buffers are written now.
/// 4. So a flag holds the awaited number or an older one. The wait compares for equality, and a number of
///    which only some bytes are there does no harm.
class PutOperations : public OperationMaker {
 public:
  /// `rank`: the number of this rank among those of the port.
  PutOperations(PutPort& port, int rank, TrafficCounts& sent);

  std::span<double> allocate(size_t count) override;
  std::unique_ptr<PreparedGather> gather(const BlockCollective& collective) override;
  std::unique_ptr<PreparedOperation> sum(const BlockCollective& collective) override;
  std::unique_ptr<PreparedOperation> move(const PieceExchange& pieces) override;

  /// The state that all operations of a communicator share.
  struct Shared {
    PutPort& port;
    int rank = 0;
    TrafficCounts& sent;
    uint64_t scalar_sums = 0;  ///< that this rank has come through
    int64_t used = 0;          ///< elements of the port's memory that are given away
  };

 private:
  Shared shared_;
};

}  // namespace cg2d::comm
