#pragma once

// The transport "put" without MPI: schedules whose pieces are written into the receiver's memory.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "comm/prepared_operation.hpp"

namespace cg2d::comm {

/// Where a rank lets another one write.
struct PutSlot {
  std::int64_t sender = 0;
  std::int64_t offset = 0;    ///< in the receiver's memory
  std::int64_t is_block = 0;  ///< 1: there begins the block, of which the values are parts; 0: they follow
  std::int64_t flag = 0;      ///< the notification's place there
};

/// One rank's way into the memory of the others. Memory is counted in elements of 8 bytes; a flag is one.
class PutPort {
 public:
  PutPort() = default;
  virtual ~PutPort() = default;
  PutPort(const PutPort&) = delete;
  PutPort& operator=(const PutPort&) = delete;
  PutPort(PutPort&&) = delete;
  PutPort& operator=(PutPort&&) = delete;

  /// This rank's memory, which the others can write; zeros at first.
  [[nodiscard]] virtual std::span<double> memory() = 0;

  /// Begins to write the values there. They must stay until complete().
  virtual void put(int rank, std::int64_t offset, std::span<const double> values) = 0;
  /// Behind this what was put to that rank is in its memory.
  virtual void complete(int rank) = 0;
  /// Writes the number to a flag of that rank, and wakes it.
  virtual void notify(int rank, std::int64_t flag, std::uint64_t number) = 0;
  /// Returns when the flag of this rank has that number. What its sender completed before is seen behind it.
  virtual void wait_for(std::int64_t flag, std::uint64_t number) = 0;
  /// Whether wait_for() would return at once; lets what is under way go on.
  [[nodiscard]] virtual bool has(std::int64_t flag, std::uint64_t number) = 0;

  /// Returns when all ranks have called it.
  virtual void wait_for_all() = 0;
  /// What every rank gave. Collective.
  virtual std::vector<std::vector<PutSlot>> gather(const std::vector<PutSlot>& mine) = 0;
};

/// Elements of memory that the operations of a communicator take on this rank.
std::int64_t put_memory_size(const BlockLayout& layout, int rank, const CommunicatorOptions& options);

/// Operations in the memory of a port, which must outlive them.
///
/// Each step of a schedule puts its ranges straight into the receiver's block, or where they are to be added
/// into a buffer of that step; completes them all at once; and notifies the receiver, which waits for nothing
/// else. Nobody asks before it writes:
///
/// - A number is in a flag only behind the completion of what it tells of.
/// - An operation may run again when all ranks are done with what it wrote. Who has come through a sum of
///   scalars knows that: all others have begun it. Without one in between there is a barrier instead.
/// - Sums of scalars themselves have two buffers and two flags for each step, in turns: who begins the next
///   one but one has come through the next one, which all have begun, so all are through this one.
/// - So a flag has the awaited number, or an older one: it is compared for equality, and a number that is
/// seen
///   before all its bytes are there does no harm.
class PutOperations final : public OperationMaker {
 public:
  /// `rank`: this one's number among those of the port.
  PutOperations(PutPort& port, int rank, TrafficCounts& sent);

  std::span<double> allocate(std::size_t count) override;
  std::unique_ptr<PreparedGather> gather(const GroupTask& task) override;
  std::unique_ptr<PreparedOperation> sum(const GroupTask& task) override;
  std::unique_ptr<PreparedOperation> move(const MoveTask& task) override;

  /// What all operations of a communicator share.
  struct Shared {
    PutPort& port;
    int rank = 0;
    TrafficCounts& sent;
    std::uint64_t scalar_sums = 0;  ///< that this rank has come through
    std::int64_t used = 0;          ///< elements of the port's memory that are given away
  };

 private:
  Shared shared_;
};

}  // namespace cg2d::comm
