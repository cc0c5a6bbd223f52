#pragma once

// The exchange of halos: how a stencil on a box of points gets the points of other ranks that it reads.
//
//     operand()   this rank's box of points, which the caller writes
//     start()     the other ranks may have it
//     (the caller works on points that need no halo, and lets the exchange make progress now and then)
//     finish()    the points of the other ranks are readable
//     views()     (the caller works on the others)
//     done()      they are not read any more

#include <cstdint>
#include <memory>
#include <memory_resource>
#include <span>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/halo_plan.hpp"

namespace cg2d::comm {

/// The points of the halo that one other rank owns, where they can be read.
struct HaloView {
  Box box;                        ///< in numbers of the whole domain
  const double* first = nullptr;  ///< its first point; the next one along x follows
  int64_t line_stride = 0;        ///< from a point to the next one along y
  int64_t plane_stride = 0;       ///< from a point to the next one along z

  /// A box of points that is stored x first, then y, then z, from `memory` on.
  static HaloView of(const Box& part, const double* memory, const Box& stored) {
    return {.box = part,
            .first = memory + offset_of_part(stored, part),
            .line_stride = stored.extent(0),
            .plane_stride = stored.extent(0) * stored.extent(1)};
  }
};

/// The exchange of one rank's halo. Buffers and requests are made once, by the constructors of the
/// implementations. Not thread-safe. Every operation but the accessors throws MpiError.
///
/// 1. start() and finish() are called by all ranks, once each for every exchange, and done() after finish().
///    How far each rank has come in between is its own affair: ranks wait for their partners only.
/// 2. The operand stays as it is from start() to done().
/// 3. After done() other ranks may still read this rank's operand. operand() waits for them, so it is called again
///    before the operand is written again, unless all ranks have come through a sum over all of them since.
/// 4. What views() gives is valid from finish() to done(), and may lie elsewhere in each exchange.
class HaloExchange : public Interface {
 public:
  /// This rank's box, stored x first, then y, then z.
  [[nodiscard]] virtual std::span<double> operand() = 0;
  virtual void start() = 0;
  /// Between start() and finish(): makes progress on pending messages; waits for no rank.
  virtual void progress() {}
  virtual void finish() = 0;
  /// By rising owners, as halo_parts().
  virtual std::span<const HaloView> views() const = 0;
  virtual void done() {}

  /// Messages and bytes that this rank has sent so far: one message for each of its halo_parts(), but none to a rank that reads in place.
  Traffic sent() const { return sent_.of(Operation::halo); }

 protected:
  [[nodiscard]] TrafficCounts& sent_counts() { return sent_; }

 private:
  TrafficCounts sent_;
};

/// The options of an exchange, beside its layout.
struct HaloOptions {
  HaloShape shape{};
  int ranks_per_node = 0;  ///< as in CommunicatorOptions
  /// Gives the buffers of this rank; must outlive the exchange. Nothing is written to them before the first
  /// exchange.
  std::pmr::memory_resource* memory = std::pmr::new_delete_resource();
};

/// Points of a rank's box, packed: stored x first, then y, then z, without gaps. `box`: of the operand.
void pack_part(std::span<const double> operand, const Box& box, const Box& part, std::span<double> packed);

/// That of the transport "native".
std::unique_ptr<HaloExchange> make_native_halo(RankGroup& group, const DomainLayout& layout,
                                               const HaloOptions& options);

}  // namespace cg2d::comm
