#include "comm/halo_messages.hpp"

#include <algorithm>
#include <cassert>

#include "comm/rank_group.hpp"

namespace cg2d::comm {

void pack_part(std::span<const double> operand, const Box& box, const Box& part, std::span<double> packed) {
  assert(std::ssize(packed) == part.size());
  const auto view = HaloView::of(part, operand.data(), box);
  const auto length = part.extent(0);
  double* target = packed.data();
  for (int64_t z = 0; z < part.extent(2); ++z) {
    const double* line = view.first + z * view.plane_stride;
    for (int64_t y = 0; y < part.extent(1); ++y, line += view.line_stride)
      target = std::copy_n(line, length, target);
  }
}

HaloMessages::HaloMessages(const Endpoint& endpoint, const std::vector<HaloPart>& parts,
                           std::span<double> operand, const Box& box, std::pmr::memory_resource& memory)
    : endpoint_(endpoint), operand_(operand), box_(box) {
  for (const auto& part : parts) {
    const auto sent_count = static_cast<size_t>(part.sent.size());
    const bool is_packed = !is_consecutive(box, part.sent);
    auto& message =
        messages_.emplace_back(Message{.part = part.sent,
                                       .packed = Buffer(memory, is_packed ? sent_count : 0),
                                       .received = Buffer(memory, static_cast<size_t>(part.received.size())),
                                       .send = {},
                                       .receive = {}});
    const auto sent = is_packed
                          ? message.packed.span()
                          : operand.subspan(static_cast<size_t>(offset_of_part(box, part.sent)), sent_count);
    const auto received = message.received.span();
    message.send = Transfer::send(endpoint.handle(), sent, whole(sent), part.partner, Operation::halo);
    message.receive =
        Transfer::receive(endpoint.handle(), received, whole(received), part.partner, Operation::halo);
    views_.push_back(HaloView::of(part.received, received.data(), part.received));
  }
}

void HaloMessages::start() {
  for (auto& message : messages_) {
    message.receive.start();
    message.has_arrived = false;
  }
  for (auto& message : messages_) {
    if (!message.packed.span().empty()) pack_part(operand_, box_, message.part, message.packed.span());
    endpoint_.start_send(Operation::halo, message.send);
  }
}

void HaloMessages::progress() {
  for (auto& message : messages_) {
    if (!message.has_arrived) message.has_arrived = endpoint_.has_arrived(message.receive);
  }
}

void HaloMessages::finish() {
  for (const auto& message : messages_) endpoint_.remind(message.send);
  for (auto& message : messages_) {
    if (!message.has_arrived) endpoint_.wait_for_receive(message.receive);
    message.has_arrived = true;
  }
  for (const auto& message : messages_) endpoint_.wait_for_send(message.send);
}

namespace {

class TwoSidedHalo final : public HaloExchange {
 public:
  TwoSidedHalo(RankGroup& group, const DomainLayout& layout, const HaloOptions& options)
      : endpoint_(group, sent_counts()),
        operand_(*options.memory, static_cast<size_t>(layout.box(group.rank()).size())),
        messages_(endpoint_, halo_parts(layout, group.rank(), options.shape), operand_.span(),
                  layout.box(group.rank()), *options.memory) {}

  [[nodiscard]] std::span<double> operand() override { return operand_.span(); }
  void start() override { messages_.start(); }
  void progress() override { messages_.progress(); }
  void finish() override { messages_.finish(); }
  std::span<const HaloView> views() const override { return messages_.views(); }

 private:
  Endpoint endpoint_;
  Buffer operand_;
  HaloMessages messages_;
};

}  // namespace

std::unique_ptr<HaloExchange> make_two_sided_halo(RankGroup& group, const DomainLayout& layout,
                                                  const HaloOptions& options) {
  return std::make_unique<TwoSidedHalo>(group, layout, options);
}

}  // namespace cg2d::comm
