#pragma once

// Halos by messages: those of the transports "two-sided" and "put", and those of "shared" between nodes.

#include <cstddef>
#include <memory>
#include <memory_resource>
#include <span>
#include <vector>

#include "comm/buffer.hpp"
#include "comm/halo.hpp"
#include "comm/messages.hpp"

namespace cg2d::comm {

/// One message each way for each part. A part of the operand that is consecutive is sent from where it is, others
/// are packed; what is received is read where it has come.
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
