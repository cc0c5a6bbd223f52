#include "cg/stencil/step_borders.hpp"

#include <algorithm>

#include "cg/base/sample.hpp"

namespace cg2d {
namespace {

/// Doubles of all lent planes, or all borrowed ones.
std::int64_t size_of_all(const PlaneLayout& layout, int depth, bool has_neighbours) {
  return has_neighbours ? SkewedPass::border_place(depth, 0) * layout.size() : 0;
}

}  // namespace

StepBorders::StepBorders(comm::RankGroup& group, const PlaneLayout& layout, int depth)
    : layout_(layout),
      depth_(depth),
      endpoint_(group, sent_),
      lent_(static_cast<std::size_t>(size_of_all(layout, depth, group.size() > 1))),
      borrowed_(lent_.size()) {
  // The system's part of it belongs to no pass.
  for (auto* const buffer : {&lent_, &borrowed_}) std::ranges::fill(buffer->span(), 0.0);
  if (group.rank() > 0) connect(sides_[0], group.rank() - 1);
  if (group.rank() + 1 < group.size()) connect(sides_[1], group.rank() + 1);
}

std::int64_t StepBorders::byte_count(const PlaneLayout& layout, int depth, bool has_neighbours) {
  return 2 * size_of_all(layout, depth, has_neighbours) * std::int64_t{sizeof(double)};
}

void StepBorders::connect(Side& side, int partner) {
  const auto size = static_cast<std::size_t>(SkewedPass::border_planes * layout_.size());
  for (std::size_t step = 0; step < static_cast<std::size_t>(depth_); ++step) {
    const auto lent = lent_.span().subspan(step * size, size);
    const auto borrowed = borrowed_.span().subspan(step * size, size);
    side.sends.push_back(
        comm::Transfer::send(endpoint_.handle(), lent, comm::whole(lent), partner, comm::Operation::halo));
    side.receives.push_back(comm::Transfer::receive(endpoint_.handle(), borrowed, comm::whole(borrowed),
                                                    partner, comm::Operation::halo));
  }
}

void StepBorders::begin(const Sweep& sweep, int step_count) {
  const auto side_or_none = [&](bool is_above) {
    auto& side = sides_.at(is_above ? 1 : 0);
    return side.sends.empty() ? nullptr : &side;
  };
  before_ = side_or_none(sweep.is_downward);
  after_ = side_or_none(!sweep.is_downward);
  step_count_ = step_count;
  sent_steps_ = 0;
  for_each(&Side::receives, after_, [](auto& receive) { receive.start(); });
}

void StepBorders::send_next() {
  endpoint_.start_send(comm::Operation::halo, before_->sends[static_cast<std::size_t>(sent_steps_)]);
  ++sent_steps_;
}

void StepBorders::wait_for(int step) {
  const Stopwatch stopwatch;
  endpoint_.wait_for_receive(after_->receives[static_cast<std::size_t>(step)]);
  waited_s_ += stopwatch.seconds();
}

/// One look lets MPI work on all messages of the rank.
void StepBorders::look() {
  const auto last = [](int count) { return static_cast<std::size_t>(count) - 1; };
  if (after_ != nullptr && step_count_ > 0)
    static_cast<void>(endpoint_.has_arrived(after_->receives[last(step_count_)]));
  if (before_ != nullptr && sent_steps_ > 0) endpoint_.push(before_->sends[last(sent_steps_)]);
}

void StepBorders::finish() {
  const Stopwatch stopwatch;
  while (before_ != nullptr && sent_steps_ < step_count_) send_next();
  for_each(&Side::sends, before_, [&](const auto& send) { endpoint_.remind(send); });
  for_each(&Side::receives, after_, [&](const auto& receive) { endpoint_.wait_for_receive(receive); });
  for_each(&Side::sends, before_, [&](const auto& send) { endpoint_.wait_for_send(send); });
  step_count_ = 0;
  waited_s_ += stopwatch.seconds();
}

}  // namespace cg2d
