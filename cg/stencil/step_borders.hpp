#pragma once

// The planes that ranks hand each other during a pass whose slabs move on with the steps (SkewedPass).

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cg/stencil/plane_layout.hpp"
#include "comm/rank_group.hpp"
#include "comm/transfer.hpp"
#include "kernels/page_buffer.hpp"

namespace cg2d {

/// Border planes of each step but the last: two for the rank before, and two of the next rank, in the
/// direction of the pass. A rank makes the former early and needs the latter late, so that messages are
/// hidden behind computing. Ranks follow each other along z.
class StepBorders {
 public:
  /// depth: steps of the longest pass. Collective. Throws MpiError, std::bad_alloc.
  StepBorders(comm::RankGroup& group, const PlaneLayout& layout, int depth);
  /// Memory of such an object.
  static std::int64_t byte_count(const PlaneLayout& layout, int depth, bool has_neighbours);

  /// A pass begins: messages of the next rank may arrive. Throws MpiError, as everything here that moves data.
  void begin(const Sweep& sweep, int step_count);
  /// Number 0 and 1, in the direction of the pass: the rank's own, which it fills.
  [[nodiscard]] double* lent(int step, std::int64_t number) { return plane(lent_, step, number); }
  /// Planes 0 and 1 of the next rank: after wait_for(step).
  [[nodiscard]] const double* borrowed(int step, std::int64_t number) {
    return plane(borrowed_, step, number);
  }
  /// The steps of this pass whose lent planes have been sent; those of the next one are complete.
  [[nodiscard]] int sent_steps() const { return sent_steps_; }
  void send_next();
  void wait_for(int step);
  /// To be called now and then: lets MPI work on what is under way.
  void look();
  /// The pass is over, or has failed on this rank: sends what has not been sent, whatever it holds, and waits for everything under way, so that
  /// no other rank waits for ever.
  void finish();

  [[nodiscard]] double waited_s() const { return waited_s_; }
  [[nodiscard]] std::int64_t sent_bytes() const { return sent_.of(comm::Operation::halo).byte_count; }

 private:
  /// Messages by step.
  struct Side {
    std::vector<comm::Transfer> sends{};
    std::vector<comm::Transfer> receives{};
  };
  void connect(Side& side, int partner);
  /// action(message) for each step of the pass, first to last; none where there is no such side.
  template <typename Action>
  void for_each(std::vector<comm::Transfer> Side::*messages, Side* side, const Action& action) {
    for (std::size_t step = 0; side != nullptr && step < static_cast<std::size_t>(step_count_); ++step)
      action((side->*messages)[step]);
  }
  [[nodiscard]] double* plane(kernels::PageBuffer<double>& planes, int step, std::int64_t number) const {
    return planes.data() + SkewedPass::border_place(step, number) * layout_.size();
  }

  PlaneLayout layout_;
  int depth_;
  comm::TrafficCounts sent_;
  comm::Endpoint endpoint_;
  kernels::PageBuffer<double> lent_;
  kernels::PageBuffer<double> borrowed_;
  std::array<Side, 2> sides_;  // below and above
  Side* before_ = nullptr;     // in the direction of the pass
  Side* after_ = nullptr;
  int step_count_ = 0;  // steps of the pass
  int sent_steps_ = 0;
  double waited_s_ = 0.0;
};

}  // namespace cg2d
