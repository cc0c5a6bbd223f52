#pragma once

// The protocol of the transport "put", without MPI: messages that are written into the receiver's memory.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "comm/domain_layout.hpp"
#include "comm/messages.hpp"

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
///     notify(flag, number)        wait_for(sender, flag, number) returns, and the values are seen
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
  /// Returns when the flag of this rank, of which `sender` has notified it, has that number, and all that the sender completed before it is seen.
  virtual void wait_for(int sender, int64_t flag, uint64_t number) = 0;
  /// Whether wait_for() would return at once; makes progress on pending messages.
  [[nodiscard]] virtual bool has(int64_t flag, uint64_t number) = 0;

  /// Returns when all ranks have called it.
  virtual void wait_for_all() = 0;
  /// The slots that every rank gave. Collective.
  virtual std::vector<std::vector<PutSlot>> gather(const std::vector<PutSlot>& mine) = 0;
};

/// Elements of memory that the operations of a communicator, or the exchange of a halo, take on this rank.
int64_t put_memory_size(const BlockLayout& layout, int rank, const CommunicatorOptions& options);
int64_t put_halo_memory_size(const DomainLayout& layout, int rank, const HaloShape& shape);

/// Messages in the memory of a port: each goes straight into the receiver's buffer or, where that has none, into memory for this message; then the
/// receiver is notified. That is all it waits for. Nobody asks before it writes:
///
/// 1. A flag gets a number only after the values that it announces are complete.
/// 2. An operation runs again only when all ranks are done with what its last run wrote. A rank that has come
///    through a sum of scalars knows that all others have begun it, so they are done with all before it.
///    Where no sum of scalars lies between two runs, a barrier does.
/// 3. A sum of scalars has two buffers and two flags for each message, used in turns. A rank that begins sum
///    n + 2 has come through sum n + 1, which all ranks have begun: so all have come through sum n, whose
///    buffers are written now.
///    It is complete when it begins: a sum in two halves would end no reading of what came after its beginning,
///    so that each product in between would need barriers.
/// 4. So has a halo. A rank that starts exchange n + 2 has finished n + 1, for which its partner has put points
///    there, so has started n + 1, so is done with n. (A rank is a partner of its partners: halo_parts().)
/// 5. So a flag holds the awaited number or an older one. The wait compares for equality, and a number of
///    which only some bytes are there does no harm.
class PutLink final : public MessageLink {
 public:
  /// `rank`: the number of this rank among those of the port.
  PutLink(std::unique_ptr<PutPort> port, int rank, TrafficCounts& sent);

  std::span<double> allocate(size_t count) override;
  /// Received messages with a buffer have one that allocate() gave, and come from the same ranges of the sender's. Collective over the port's ranks.
  std::unique_ptr<Messages> prepare(Operation operation, const std::vector<Message>& sends,
                                    const std::vector<Message>& receives) override;

  /// The state that all messages share.
  struct Shared {
    std::unique_ptr<PutPort> port;
    int rank = 0;
    TrafficCounts& sent;
    uint64_t scalar_sums = 0;  ///< that this rank has come through
    int64_t used = 0;          ///< elements of the port's memory that are given away
  };

 private:
  Shared shared_;
};

}  // namespace cg2d::comm
