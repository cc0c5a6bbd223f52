// Exchange number n:
//
//     start()     counts: this rank's points are there; sends them to partners on other nodes
//     finish()    waits until the partners on this node have counted n, and for the messages of the others
//     done()      announces that this rank has read exchange n
//     operand()   waits until the partners on this node have announced n
//
// 1. A counter is counted up after the points are written (release), and waited for before they are read
//    (acquire).
// 2. "Done" is stored after the points were read (release), and waited for before they are written again
//    (acquire). Where the caller does without operand(), a sum over all ranks says the same (HaloExchange).

#include "comm/shared_memory.hpp"

#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>

#include "comm/halo.hpp"
#include "comm/shared_counter.hpp"

namespace cg2d::comm {
namespace {

/// The numbers that a rank announces, in cache lines of their own.
struct HaloControl {
  SharedCounter ready;                       ///< exchanges whose points are there
  alignas(64) std::atomic<uint64_t> done{};  ///< exchanges that this rank has read
};

/// The points begin on a page of their own: they are first touched, and so placed, by the rank that writes them.
constexpr size_t points_offset = 4096;
static_assert(sizeof(HaloControl) <= points_offset);

class SharedHalo final : public HaloExchange {
 public:
  SharedHalo(NodePlace place, const MakeLink& make_link, const DomainLayout& layout,
             const HaloOptions& options)
      : place_(std::move(place)), operand_(points_of(layout, place_.rank)) {
    std::vector<HaloPart> sent_parts;
    for (const auto& part : halo_parts(layout, place_.rank, options.shape)) {
      if (is_near(part.partner)) {
        near_.push_back(&control_of(part.partner));
        views_.push_back(
            HaloView::of(part.received, points_of(layout, part.partner).data(), layout.box(part.partner)));
      } else {
        sent_parts.push_back(part);
        views_.push_back({.box = part.received});
      }
    }
    if (place_.nodes.node_count() == 1) return;
    link_ = make_link(sent_counts());
    messages_.emplace(*link_, sent_parts, operand_, layout.box(place_.rank), *options.memory);
    auto received = messages_->views().begin();
    for (auto& view : views_) {
      if (view.first == nullptr) view = *received++;
    }
  }

  [[nodiscard]] std::span<double> operand() override {
    for (const auto* control : near_)
      place_.waiter.wait_until([&] { return control->done.load(std::memory_order_acquire) >= number_; });
    return operand_;
  }
  void start() override {
    ++number_;
    control_of(place_.rank).ready.add_one(1);
    if (messages_) messages_->start();
  }
  void progress() override {
    if (messages_) messages_->progress();
  }
  void finish() override {
    for (auto* control : near_) control->ready.wait_for(number_, place_.waiter);
    if (messages_) messages_->finish();
  }
  std::span<const HaloView> views() const override { return views_; }
  void done() override { control_of(place_.rank).done.store(number_, std::memory_order_release); }

 private:
  bool is_near(int rank) const { return place_.nodes.node_of(rank) == place_.nodes.node_of(place_.rank); }
  std::byte* part_of_rank(int rank) const {
    return place_.parts[static_cast<size_t>(place_.nodes.place_of(rank))];
  }
  HaloControl& control_of(int rank) const { return *reinterpret_cast<HaloControl*>(part_of_rank(rank)); }
  std::span<double> points_of(const DomainLayout& layout, int rank) const {
    return {reinterpret_cast<double*>(part_of_rank(rank) + points_offset),
            static_cast<size_t>(layout.box(rank).size())};
  }

  NodePlace place_;
  std::span<double> operand_;
  std::vector<HaloControl*> near_;  // control words of the partners on this node
  std::vector<HaloView> views_;
  std::unique_ptr<MessageLink> link_;     // only with several nodes
  std::optional<HaloMessages> messages_;  // only with several nodes
  uint64_t number_ = 0;                   // number of the exchange
};

}  // namespace

size_t shared_halo_byte_count(const DomainLayout& layout, int rank) {
  return points_offset + static_cast<size_t>(layout.box(rank).size()) * sizeof(double);
}

std::unique_ptr<HaloExchange> make_shared_halo(NodePlace place, const MakeLink& make_link,
                                               const DomainLayout& layout, const HaloOptions& options) {
  return std::make_unique<SharedHalo>(std::move(place), make_link, layout, options);
}

}  // namespace cg2d::comm
