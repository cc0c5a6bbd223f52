#pragma once

// Halos by persistent messages: those of the transport "two-sided", and those of "shared" between nodes.

#include <cstddef>
#include <deque>
#include <memory>
#include <memory_resource>
#include <span>
#include <vector>

#include "comm/buffer.hpp"
#include "comm/halo.hpp"
#include "comm/transfer.hpp"

namespace cg2d::comm {

/// One message each way for each part. A part of the operand that is consecutive is sent from where it is, others
/// are packed; what is received is read where it has come.
class HaloMessages {
 public:
  /// `operand`: this rank's box `box`. All must outlive the messages. The endpoint is the group's.
  HaloMessages(const Endpoint& endpoint, const std::vector<HaloPart>& parts, std::span<double> operand,
               const Box& box, std::pmr::memory_resource& memory);

  void start();
  /// Looks once at what is outstanding.
  void progress();
  /// Returns when all points have come, and what was sent has left.
  void finish();
  /// The points that have come, by part.
  const std::vector<HaloView>& views() const { return views_; }

 private:
  struct Message {
    Box part;       // part of the operand
    Buffer packed;  // empty: the part is consecutive
    Buffer received;
    Transfer send;
    Transfer receive;
    bool has_arrived = false;
  };

  const Endpoint& endpoint_;
  std::span<const double> operand_;
  Box box_;
  std::vector<Message> messages_;
  std::vector<HaloView> views_;
};

}  // namespace cg2d::comm
