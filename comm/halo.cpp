#include "comm/halo.hpp"

#include <algorithm>
#include <cassert>

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

HaloMessages::HaloMessages(MessageLink& link, const std::vector<HaloPart>& parts, std::span<double> operand,
                           const Box& box, std::pmr::memory_resource& memory)
    : operand_(operand), box_(box) {
  std::vector<Message> sends;
  std::vector<Message> receives;
  for (const auto& part : parts) {
    const auto count = static_cast<size_t>(part.sent.size());
    const bool is_packed = !is_consecutive(box, part.sent);
    const auto& packed =
        sent_.emplace_back(Sent{.part = part.sent, .packed = Buffer(memory, is_packed ? count : 0)}).packed;
    const auto points = is_packed
                            ? packed.span()
                            : operand.subspan(static_cast<size_t>(offset_of_part(box, part.sent)), count);
    sends.push_back({.partner = part.partner, .buffer = points, .ranges = whole(points)});
    receives.push_back({.partner = part.partner, .ranges = {{.begin = 0, .end = part.received.size()}}});
    views_.push_back(HaloView::of(part.received, nullptr, part.received));
  }
  messages_ = link.prepare(Operation::halo, sends, receives);
  find_views();
}

/// Where messages come may change with each exchange.
void HaloMessages::find_views() {
  for (size_t k = 0; k < views_.size(); ++k) views_[k].first = messages_->received(k).data();
}

void HaloMessages::start() {
  messages_->begin();
  for (size_t k = 0; k < sent_.size(); ++k) {
    messages_->start_receive(k);
    sent_[k].has_answer = false;
  }
  for (size_t k = 0; k < sent_.size(); ++k) {
    const auto packed = sent_[k].packed.span();
    if (!packed.empty()) pack_part(operand_, box_, sent_[k].part, packed);
    messages_->start_send(k);
  }
}

void HaloMessages::progress() {
  for (size_t k = 0; k < sent_.size(); ++k) {
    if (!sent_[k].has_answer) sent_[k].has_answer = messages_->has_arrived(k);
  }
}

void HaloMessages::finish() {
  for (size_t k = 0; k < sent_.size(); ++k) messages_->remind(k);
  for (size_t k = 0; k < sent_.size(); ++k) {
    if (!sent_[k].has_answer) messages_->wait_for_receive(k);
  }
  find_views();
  for (size_t k = 0; k < sent_.size(); ++k) messages_->wait_for_send(k);
  messages_->end();
}

namespace {

class MessageHalo final : public HaloExchange {
 public:
  MessageHalo(const MakeLink& make_link, int rank, const DomainLayout& layout, const HaloOptions& options)
      : link_(make_link(sent_counts())),
        operand_(*options.memory, static_cast<size_t>(layout.box(rank).size())),
        messages_(*link_, halo_parts(layout, rank, options.shape), operand_.span(), layout.box(rank),
                  *options.memory) {}

  [[nodiscard]] std::span<double> operand() override { return operand_.span(); }
  void start() override { messages_.start(); }
  void progress() override { messages_.progress(); }
  void finish() override { messages_.finish(); }
  std::span<const HaloView> views() const override { return messages_.views(); }

 private:
  std::unique_ptr<MessageLink> link_;
  Buffer operand_;
  HaloMessages messages_;
};

}  // namespace

std::unique_ptr<HaloExchange> make_message_halo(const MakeLink& make_link, int rank,
                                                const DomainLayout& layout, const HaloOptions& options) {
  return std::make_unique<MessageHalo>(make_link, rank, layout, options);
}

}  // namespace cg2d::comm
