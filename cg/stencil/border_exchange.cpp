#include "cg/stencil/border_exchange.hpp"

#include <algorithm>
#include <cassert>

namespace cg2d {

BorderExchange::BorderExchange(comm::RankGroup& group, const PlaneLayout& layout, std::int64_t plane_count,
                               int depth)
    : layout_(layout), depth_(depth), endpoint_(group, sent_) {
  assert(group.size() == 1 || plane_count >= depth);
  lower_.first_own = 0;
  lower_.first_foreign = -depth;
  upper_.first_own = plane_count - depth;
  upper_.first_foreign = plane_count;
  if (group.rank() > 0) connect(lower_, group.rank() - 1);
  if (group.rank() + 1 < group.size()) connect(upper_, group.rank() + 1);
}

std::int64_t BorderExchange::byte_count(const PlaneLayout& layout, int depth, int neighbour_count) {
  return 2 * std::int64_t{neighbour_count} * depth * layout.byte_count();
}

void BorderExchange::connect(Side& side, int partner) {
  const auto plane_size = static_cast<std::size_t>(layout_.size());
  const auto size = plane_size * static_cast<std::size_t>(depth_);
  side.partner = partner;
  side.kept = kernels::PageBuffer<double>(size);
  side.received = kernels::PageBuffer<double>(size);
  for (std::size_t k = 0; k < static_cast<std::size_t>(depth_); ++k) {
    const auto sent = side.kept.span().subspan(k * plane_size, plane_size);
    const auto received = side.received.span().subspan(k * plane_size, plane_size);
    side.sends.push_back(
        comm::Transfer::send(endpoint_.handle(), sent, comm::whole(sent), partner, comm::Operation::halo));
    side.receives.push_back(comm::Transfer::receive(endpoint_.handle(), received, comm::whole(received),
                                                    partner, comm::Operation::halo));
  }
}

void BorderExchange::keep(std::int64_t z, const double* plane) {
  for (auto* side : {&lower_, &upper_}) {
    if (side->keeps(z, depth_))
      std::copy_n(plane, layout_.size(), side->kept.data() + (z - side->first_own) * layout_.size());
  }
}

comm::IndexRange BorderExchange::nearest(bool is_lower, bool is_received, int depth_now) const {
  if (is_lower == is_received) return {.begin = depth_ - depth_now, .end = depth_};
  return {.begin = 0, .end = depth_now};
}

void BorderExchange::exchange(int depth_now) {
  const auto for_all = [&](bool is_received, const auto& action) {
    for (const bool is_lower : {true, false}) {
      auto& side = is_lower ? lower_ : upper_;
      if (side.partner < 0) continue;
      const auto range = nearest(is_lower, is_received, depth_now);
      auto& transfers = is_received ? side.receives : side.sends;
      for (auto k = range.begin; k < range.end; ++k) action(transfers[static_cast<std::size_t>(k)]);
    }
  };
  for_all(true, [](auto& receive) { receive.start(); });
  for_all(false, [&](auto& send) { endpoint_.start_send(comm::Operation::halo, send); });
  for_all(false, [&](auto& send) { endpoint_.remind(send); });
  for_all(true, [&](auto& receive) { endpoint_.wait_for_receive(receive); });
  for_all(false, [&](auto& send) { endpoint_.wait_for_send(send); });
}

const double* BorderExchange::received(std::int64_t z) const {
  const auto& side = z < 0 ? lower_ : upper_;
  return side.received.data() + (z - side.first_foreign) * layout_.size();
}

}  // namespace cg2d
