// Steps of the heat equation, compared with their closed form at the end.

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cg/base/agreement.hpp"
#include "cg/stencil/heat_field.hpp"
#include "cg/stencil/stencil_method.hpp"
#include "cg/stencil/wavefront.hpp"
#include "comm/transfer.hpp"
#include "kernels/page_buffer.hpp"

namespace cg2d {
namespace {

/// Border planes of each step but the last: two for the rank before, and two of the next rank, in the
/// direction of the pass. A rank makes the former early and needs the latter late, so that messages are
/// hidden behind computing. Ranks follow each other along z. Everything here that moves data throws MpiError.
class StepBorders {
 public:
  /// depth: steps of the longest pass. Collective. Throws MpiError, std::bad_alloc.
  StepBorders(comm::RankGroup& group, comm::TrafficCounts& sent, const PlaneLayout& layout, int depth)
      : endpoint_(group, sent),
        lent_(static_cast<std::size_t>(size_of_all(layout, depth, group.size() > 1))),
        borrowed_(lent_.size()) {
    // The system's part of it belongs to no pass.
    for (auto* const buffer : {&lent_, &borrowed_}) std::ranges::fill(buffer->span(), 0.0);
    const auto connect = [&](std::optional<PlaneMessages>& side, int partner) {
      side.emplace(endpoint_, partner, lent_.span(), borrowed_.span(),
                   SkewedPass::border_planes * layout.size());
    };
    if (group.rank() > 0) connect(below_, group.rank() - 1);
    if (group.rank() + 1 < group.size()) connect(above_, group.rank() + 1);
  }
  /// Memory of such an object.
  static std::int64_t byte_count(const PlaneLayout& layout, int depth, bool has_neighbours) {
    return 2 * size_of_all(layout, depth, has_neighbours) * std::int64_t{sizeof(double)};
  }

  /// A pass begins: messages of the next rank may arrive.
  void begin(const Sweep& sweep, int step_count) {
    const auto of_pass = [&](std::optional<PlaneMessages>& side,
                             std::vector<comm::Transfer> PlaneMessages::*messages) {
      return side ? std::span((*side).*messages).first(static_cast<std::size_t>(step_count))
                  : std::span<comm::Transfer>();
    };
    sends_ = of_pass(sweep.is_downward ? above_ : below_, &PlaneMessages::sends);
    receives_ = of_pass(sweep.is_downward ? below_ : above_, &PlaneMessages::receives);
    sent_count_ = 0;
    received_count_ = 0;
    for (auto& receive : receives_) receive.start();
  }
  /// The rank's own planes, which the pass fills, and those of the next rank, which are there once their step was waited for.
  [[nodiscard]] WavefrontBorders planes() {
    return {.lent = lent_.data(), .borrowed = borrowed_.data(), .look = [this] { look(); }};
  }
  /// Sends the lent planes of the next steps for which is_made(step).
  template <typename IsMade>
  void send_while(const IsMade& is_made) {
    for (; sent_count_ < sends_.size() && is_made(static_cast<int>(sent_count_)); ++sent_count_)
      endpoint_.start_send(comm::Operation::halo, sends_[sent_count_]);
  }
  /// Waits for the borrowed planes of the next steps for which is_needed(step).
  template <typename IsNeeded>
  void wait_while(const IsNeeded& is_needed) {
    for (; received_count_ < receives_.size() && is_needed(static_cast<int>(received_count_));
         ++received_count_)
      endpoint_.wait_for_receive(receives_[received_count_]);
  }
  /// The pass is over, or has failed on this rank: sends what has not been sent, whatever it holds, and waits for everything under way, so that
  /// no other rank waits for ever.
  void finish() {
    const auto always = [](int /*step*/) { return true; };
    send_while(always);
    for (const auto& send : sends_) endpoint_.remind(send);
    wait_while(always);
    for (const auto& send : sends_) endpoint_.wait_for_send(send);
  }

 private:
  /// Doubles of all lent planes, or all borrowed ones.
  static std::int64_t size_of_all(const PlaneLayout& layout, int depth, bool has_neighbours) {
    return has_neighbours ? SkewedPass::border_place(depth, 0) * layout.size() : 0;
  }
  /// Called now and then. One look lets MPI work on all messages of the rank.
  void look() const {
    if (!receives_.empty()) static_cast<void>(endpoint_.has_arrived(receives_.back()));
    if (sent_count_ > 0) endpoint_.push(sends_[sent_count_ - 1]);
  }

  comm::Endpoint endpoint_;
  kernels::PageBuffer<double> lent_;
  kernels::PageBuffer<double> borrowed_;
  std::optional<PlaneMessages> below_;  // by step
  std::optional<PlaneMessages> above_;
  // The messages of this pass, by step:
  std::span<comm::Transfer> sends_;     // to the rank before
  std::span<comm::Transfer> receives_;  // from the next rank
  std::size_t sent_count_ = 0;
  std::size_t received_count_ = 0;
};

class HeatMethod final : public StencilMethod {
 public:
  explicit HeatMethod(const StencilOptions& options)
      // With each of 8, 4 and 2 planes at once the kept planes of all steps are moved half as often as with half of it.
      : StencilMethod(MethodTraits{.layout = PlaneLayout(options.shape),
                                   .most_steps = options.step_count,
                                   .most_tried_steps = std::min(options.step_count, 128),
                                   .most_planes_at_once = 8}),
        step_count_(options.step_count),
        field_(options.shape),
        sweep_{.domain_planes = options.shape[2], .is_downward = true} {}

  [[nodiscard]] std::int64_t computed_planes(std::int64_t plane_count, int /*neighbour_count*/,
                                             int step_count) const override {
    return plane_count * step_count;
  }
  [[nodiscard]] std::int64_t byte_count(const FrontSize& size, int neighbour_count) const override {
    return Wavefront::byte_count(layout(), size) +
           StepBorders::byte_count(layout(), size.most_steps, neighbour_count > 0);
  }
  [[nodiscard]] comm::IndexRange stored_planes(const comm::IndexRange& share, int block) const override {
    const auto lowest = moved(share, -planes_below(block));
    const auto highest = moved(share, block - planes_below(block));
    return {.begin = lowest.begin, .end = highest.end};
  }
  void fill_start(std::int64_t z, double* plane) const override { field_.fill_start(z, plane); }
  [[nodiscard]] TrialAdvance trial_advance(const FrontSize& size) const override {
    constexpr std::int64_t far = std::int64_t{1} << 40;  // so many planes that every step has some to compute
    const int block = size.most_steps;
    const auto wavefront = std::make_shared<Wavefront>(layout(), size);
    wavefront->begin({.domain_planes = 3 * far, .slab = {.begin = far, .end = 2 * far}, .step_count = block});
    // Where every step has begun, and nothing is lent any more.
    return
        [wavefront, n = size.planes_at_once,
         first = far + 2 * std::int64_t{block} + SkewedPass::border_planes](auto given, auto made) mutable {
          wavefront->advance(first, given, made);
          first += n;
        };
  }

  void make_ready(const comm::IndexRange& share, const FrontSize& size, comm::RankGroup& group) override {
    size_ = size;
    slab_ = moved(share, -planes_below(size.most_steps));
    borders_ = std::make_unique<StepBorders>(group, sent_, layout(), size.most_steps);
    agree_on(group, [&] { wavefront_ = std::make_unique<Wavefront>(layout(), size); });
  }
  /// Passes go up and down by turns, so that slabs come back.
  StencilPass begin_pass(int done_count, comm::RankGroup& /*group*/) override {
    sweep_.is_downward = !sweep_.is_downward;
    pass_ = {.domain_planes = sweep_.domain_planes,
             .slab = sweep_.numbers_of(slab_),
             .step_count = std::min(size_.most_steps, step_count_ - done_count)};
    if (pass_.step_count == 0) return {};
    wavefront_->begin(pass_, borders_->planes());
    const auto written = pass_.planes(pass_.step_count);
    slab_ = sweep_.numbers_of(written);
    return {.step_count = pass_.step_count,
            .sweep = sweep_,
            .read = pass_.slab,
            .written = written,
            .wavefront_steps = wavefront_->wavefront_steps()};
  }
  void exchange() override { borders_->begin(sweep_, pass_.step_count); }
  void advance(std::int64_t first, std::span<const double* const> given,
               std::span<double* const> made) override {
    const auto is_reached = [&](int step, std::int64_t z) {
      return Wavefront::place(first, step, z) < size_.planes_at_once;
    };
    communicate([&] {
      borders_->wait_while([&](int step) { return is_reached(step, pass_.borrowed(step).begin); });
    });
    wavefront_->advance(first, given, made);
    borders_->send_while([&](int step) { return is_reached(step, pass_.lent(step).end - 1); });
  }
  void end_pass() override {
    communicate([&] { borders_->finish(); });
  }

  [[nodiscard]] std::vector<PlaneFigures> check(const std::function<const double*()>& next) const override {
    std::vector<PlaneFigures> planes;
    for (auto z = slab_.begin; z < slab_.end; ++z) planes.push_back(field_.compare(z, step_count_, next()));
    return planes;
  }
  void judge(std::span<const PlaneFigures> planes, StencilReport& report) const override {
    auto& domain = report.domain;
    domain.tolerance = field_.tolerance(step_count_);
    for (const auto& plane : planes) {
      if (std::isnan(plane.largest_error) || plane.largest_error > domain.largest_error)
        domain.largest_error = plane.largest_error;
    }
  }

 private:
  /// Slabs begin so far below the shares of ranks, and a pass brings them as far above: first and last rank compute as much as others.
  static int planes_below(int block) { return block / 2; }
  /// Planes moved by so many steps upwards; less than 0: downwards.
  [[nodiscard]] comm::IndexRange moved(const comm::IndexRange& planes, int steps) const {
    return SkewedPass{.domain_planes = sweep_.domain_planes, .slab = planes}.planes(steps);
  }

  int step_count_;
  HeatField field_;
  FrontSize size_;
  std::unique_ptr<Wavefront> wavefront_;
  std::unique_ptr<StepBorders> borders_;
  Sweep sweep_;  // of the last pass
  SkewedPass pass_;
};

}  // namespace

std::unique_ptr<StencilMethod> make_heat_method(const StencilOptions& options) {
  return std::make_unique<HeatMethod>(options);
}

}  // namespace cg2d
