// Round trips by memory that the two ranks share: the sender copies the variables into the receiver's part, and counts
// up there; the receiver copies them out. Both copies are needed to move the bytes: what is written and not read may stay
// in the sender's cache. SharedCounter says why copies before the count are seen after the wait.

#include <array>
#include <cstring>
#include <vector>

#include "comm/pingpong.hpp"
#include "comm/shared_counter.hpp"
#include "comm/shared_segment.hpp"

namespace cg2d::comm {
namespace {

constexpr std::array shared_methods{
    PingPongMethod{.name = "shared",
                   .description = "memcpy of each variable into shared memory, a counter, memcpy out of it"},
};

/// The beginning of each rank's part; the variables follow it.
struct PartHead {
  SharedCounter arrived;
};

size_t shared_byte_count(const VariableShape& largest) {
  return sizeof(PartHead) + largest.memory_byte_count();
}

class SharedPingPong final : public PingPong {
 public:
  SharedPingPong(RankGroup& pair, const VariableShape& largest)
      : PingPong(largest),
        waiter_(pair.waiter()),
        segment_(pair, std::array{0, 1}, shared_byte_count(largest)) {
    if (!segment_.is_there()) throw SharedMemoryError(2 * static_cast<int64_t>(shared_byte_count(largest)));
    mine_ = segment_.part(static_cast<size_t>(pair.rank()));
    partners_ = segment_.part(static_cast<size_t>(1 - pair.rank()));
  }

  void send(size_t /*method*/, const VariableShape& shape) override {
    copy_variables(own_outgoing(), partners_ + sizeof(PartHead), shape);
    head(partners_).arrived.add_one(1);
  }

  void receive(size_t /*method*/, const VariableShape& shape) override {
    head(mine_).arrived.wait_for(++received_, waiter_);
    copy_variables(mine_ + sizeof(PartHead), own_incoming(), shape);
  }

 private:
  static PartHead& head(std::byte* part) { return *reinterpret_cast<PartHead*>(part); }

  Waiter& waiter_;
  SharedSegment segment_;
  std::byte* mine_ = nullptr;
  std::byte* partners_ = nullptr;
  uint64_t received_ = 0;
};

}  // namespace

PingPongRow shared_pingpong() {
  return {.methods = shared_methods,
          .shares_memory = true,
          .why_unavailable = &why_not_mapped,
          .make = [](RankGroup& pair, const VariableShape& largest) -> std::unique_ptr<PingPong> {
            return std::make_unique<SharedPingPong>(pair, largest);
          }};
}

}  // namespace cg2d::comm
