#pragma once

// The exchange of halos: how a stencil on a box of points gets the points of other ranks that it reads.
//
//     operand()   this rank's box of points, which the caller writes
//     start()     the other ranks may have it
//     (the caller works on points that need no halo, and lets the exchange make progress now and then)
//     finish()    the points of the other ranks are readable
//     views()     (the caller works on the others)
//     done()      they are not read any more

#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <span>
#include <vector>

#include "comm/domain_layout.hpp"
#include "comm/messages.hpp"

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

  /// Messages and bytes that this rank has sent so far: one message for each of its halo_parts(), but none to a rank that reads in
  /// place; with MPI's collective one for the whole exchange.
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

// ---------------------------------------------------------------- by messages

/// The halos of the transports "two-sided" and "put", and those of "shared" between nodes. One message each way for each part. A part of the operand
/// that is consecutive is sent from where it is, others are packed; what is received is read where it has come.
class HaloMessages {
 public:
  /// `operand`: this rank's box `box`. All must outlive the messages. Collective as MessageLink::prepare().
  HaloMessages(MessageLink& link, const std::vector<HaloPart>& parts, std::span<double> operand,
               const Box& box, std::pmr::memory_resource& memory);

  void start();
  /// Looks once at what is outstanding.
  void progress();
  /// Returns when all points have come, and what was sent has left.
  void finish();
  /// The points that have come, by part.
  const std::vector<HaloView>& views() const { return views_; }

 private:
  struct Sent {
    Box part;                 // part of the operand
    Buffer packed;            // empty: the part is consecutive
    bool has_answer = false;  // the points of the same partner have come
  };

  void find_views();

  std::span<const double> operand_;
  Box box_;
  std::vector<Sent> sent_;
  std::vector<HaloView> views_;
  std::unique_ptr<Messages> messages_;
};

/// An exchange of nothing but messages. `rank`: this rank's number among those of the link. Collective over them.
std::unique_ptr<HaloExchange> make_message_halo(const MakeLink& make_link, int rank,
                                                const DomainLayout& layout, const HaloOptions& options);

}  // namespace cg2d::comm
