#include "comm/put_halo.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>
#include <vector>

#include "comm/buffer.hpp"

namespace cg2d::comm {
namespace {

constexpr size_t halo_turns = 2;

class PutHalo final : public HaloExchange {
 public:
  PutHalo(std::unique_ptr<PutPort> port, int rank, const DomainLayout& layout, const HaloOptions& options)
      : port_(std::move(port)),
        box_(layout.box(rank)),
        operand_(*options.memory, static_cast<size_t>(box_.size())) {
    for (const auto& part : halo_parts(layout, rank, options.shape)) {
      const auto packed_count = is_consecutive(box_, part.sent) ? 0 : part.sent.size();
      messages_.push_back(
          {.part = part, .packed = Buffer(*options.memory, static_cast<size_t>(packed_count))});
    }
    find_targets(port_->gather(make_room(port_->memory())), rank);
  }

  [[nodiscard]] std::span<double> operand() override { return operand_.span(); }
  void start() override {
    ++number_;
    for (auto& message : messages_) {
      const auto& part = message.part;
      std::span<const double> points = message.packed.span();
      if (points.empty()) {
        points = operand_.span().subspan(static_cast<size_t>(offset_of_part(box_, part.sent)),
                                         static_cast<size_t>(part.sent.size()));
      } else {
        pack_part(operand_.span(), box_, part.sent, message.packed.span());
      }
      port_->put(part.partner, message.target[turn()], points);
      port_->complete(part.partner);
      port_->notify(part.partner, message.target_flag[turn()], number_);
      sent_counts().add(Operation::halo, static_cast<int64_t>(points.size_bytes()));
    }
  }
  void progress() override {
    for (const auto& message : messages_) {
      if (!port_->has(message.flag[turn()], number_)) return;
    }
  }
  void finish() override {
    for (const auto& message : messages_) {
      port_->expect(message.part.partner);
      port_->wait_for(message.flag[turn()], number_);
    }
  }
  std::span<const HaloView> views() const override { return views_[turn()]; }

 private:
  /// One part, with what depends on the turn.
  struct Message {
    HaloPart part;
    Buffer packed;                                  // empty: the part is consecutive
    std::array<int64_t, halo_turns> target{};       // offset of the points in the partner's memory
    std::array<int64_t, halo_turns> target_flag{};  // offset of the flag in the partner's memory
    std::array<int64_t, halo_turns> flag{};         // offset of the flag of what this rank receives
  };

  size_t turn() const { return static_cast<size_t>(number_ % halo_turns); }
  /// Gives away room for what is received, as slots for the partners.
  std::vector<PutSlot> make_room(std::span<double> memory) {
    std::vector<PutSlot> slots;
    int64_t used = 0;
    for (auto& message : messages_) {
      for (size_t turn = 0; turn < halo_turns; ++turn) {
        const auto& received = message.part.received;
        const auto offset = used;
        used += whole_lines(received.size());
        message.flag[turn] = used;
        used += whole_lines(1);
        assert(used <= std::ssize(memory));
        slots.push_back({.sender = message.part.partner, .offset = offset, .flag = message.flag[turn]});
        views_[turn].push_back(HaloView::of(received, memory.data() + offset, received));
      }
    }
    return slots;
  }
  void find_targets(const std::vector<std::vector<PutSlot>>& slots, int rank) {
    for (auto& message : messages_) {
      const auto& theirs = slots[static_cast<size_t>(message.part.partner)];
      auto slot = std::ranges::find(theirs, rank, &PutSlot::sender);
      for (size_t turn = 0; turn < halo_turns; ++turn, ++slot) {
        assert(slot != theirs.end() && slot->sender == rank);
        message.target[turn] = slot->offset;
        message.target_flag[turn] = slot->flag;
      }
    }
  }

  std::unique_ptr<PutPort> port_;
  Box box_;
  Buffer operand_;
  std::vector<Message> messages_;
  std::array<std::vector<HaloView>, halo_turns> views_;
  uint64_t number_ = 0;  // number of the exchange
};

}  // namespace

int64_t put_halo_memory_size(const DomainLayout& layout, int rank, const HaloShape& shape) {
  int64_t size = 0;
  for (const auto& part : halo_parts(layout, rank, shape))
    size += int64_t{halo_turns} * (whole_lines(part.received.size()) + whole_lines(1));
  return size;
}

std::unique_ptr<HaloExchange> make_put_halo(std::unique_ptr<PutPort> port, int rank,
                                            const DomainLayout& layout, const HaloOptions& options) {
  return std::make_unique<PutHalo>(std::move(port), rank, layout, options);
}

}  // namespace cg2d::comm
