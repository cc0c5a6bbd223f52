// Steps of the heat equation, compared with their closed form at the end.

#include <algorithm>
#include <cmath>
#include <memory>
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
/// hidden behind computing. Ranks follow each other along z.
class StepBorders {
 public:
  /// depth: steps of the longest pass. Collective. Throws MpiError, std::bad_alloc.
  StepBorders(comm::RankGroup& group, comm::TrafficCounts& sent, const PlaneLayout& layout, int depth)
      : layout_(layout),
        endpoint_(group, sent),
        lent_(static_cast<std::size_t>(size_of_all(layout, depth, group.size() > 1))),
        borrowed_(lent_.size()) {
    // The system's part of it belongs to no pass.
    for (auto* const buffer : {&lent_, &borrowed_}) std::ranges::fill(buffer->span(), 0.0);
    if (group.rank() > 0) connect(below_, group.rank() - 1);
    if (group.rank() + 1 < group.size()) connect(above_, group.rank() + 1);
  }
  /// Memory of such an object.
  static std::int64_t byte_count(const PlaneLayout& layout, int depth, bool has_neighbours) {
    return 2 * size_of_all(layout, depth, has_neighbours) * std::int64_t{sizeof(double)};
  }

  /// A pass begins: messages of the next rank may arrive. Throws MpiError, as everything here that moves data.
  void begin(const Sweep& sweep, int step_count) {
    before_ = sweep.is_downward ? above_.get() : below_.get();
    after_ = sweep.is_downward ? below_.get() : above_.get();
    step_count_ = step_count;
    sent_steps_ = 0;
    for_each(&PlaneMessages::receives, after_, [](auto& receive) { receive.start(); });
  }
  /// Number 0 and 1, in the direction of the pass: the rank's own, which it fills.
  [[nodiscard]] double* lent(int step, std::int64_t number) { return plane(lent_, step, number); }
  /// Planes 0 and 1 of the next rank: after wait_for(step).
  [[nodiscard]] const double* borrowed(int step, std::int64_t number) {
    return plane(borrowed_, step, number);
  }
  /// The steps of this pass whose lent planes have been sent; those of the next one are complete.
  [[nodiscard]] int sent_steps() const { return sent_steps_; }
  void send_next() {
    endpoint_.start_send(comm::Operation::halo, before_->sends[static_cast<std::size_t>(sent_steps_)]);
    ++sent_steps_;
  }
  void wait_for(int step) { endpoint_.wait_for_receive(after_->receives[static_cast<std::size_t>(step)]); }
  /// To be called now and then: lets MPI work on what is under way.
  /// One look lets MPI work on all messages of the rank.
  void look() {
    const auto last = [](int count) { return static_cast<std::size_t>(count) - 1; };
    if (after_ != nullptr && step_count_ > 0)
      static_cast<void>(endpoint_.has_arrived(after_->receives[last(step_count_)]));
    if (before_ != nullptr && sent_steps_ > 0) endpoint_.push(before_->sends[last(sent_steps_)]);
  }
  /// The pass is over, or has failed on this rank: sends what has not been sent, whatever it holds, and waits for everything under way, so that
  /// no other rank waits for ever.
  void finish() {
    while (before_ != nullptr && sent_steps_ < step_count_) send_next();
    for_each(&PlaneMessages::sends, before_, [&](const auto& send) { endpoint_.remind(send); });
    for_each(&PlaneMessages::receives, after_,
             [&](const auto& receive) { endpoint_.wait_for_receive(receive); });
    for_each(&PlaneMessages::sends, before_, [&](const auto& send) { endpoint_.wait_for_send(send); });
    step_count_ = 0;
  }

 private:
  /// Doubles of all lent planes, or all borrowed ones.
  static std::int64_t size_of_all(const PlaneLayout& layout, int depth, bool has_neighbours) {
    return has_neighbours ? SkewedPass::border_place(depth, 0) * layout.size() : 0;
  }
  void connect(std::unique_ptr<PlaneMessages>& side, int partner) {
    side = std::make_unique<PlaneMessages>(endpoint_, partner, lent_.span(), borrowed_.span(),
                                           SkewedPass::border_planes * layout_.size());
  }
  /// action(message) for each step of the pass, first to last; none where there is no such side.
  template <typename Action>
  void for_each(std::vector<comm::Transfer> PlaneMessages::*messages, PlaneMessages* side,
                const Action& action) {
    for (std::size_t step = 0; side != nullptr && step < static_cast<std::size_t>(step_count_); ++step)
      action((side->*messages)[step]);
  }
  [[nodiscard]] double* plane(kernels::PageBuffer<double>& planes, int step, std::int64_t number) const {
    return planes.data() + SkewedPass::border_place(step, number) * layout_.size();
  }

  PlaneLayout layout_;
  comm::Endpoint endpoint_;
  kernels::PageBuffer<double> lent_;
  kernels::PageBuffer<double> borrowed_;
  std::unique_ptr<PlaneMessages> below_;  // by step
  std::unique_ptr<PlaneMessages> above_;
  PlaneMessages* before_ = nullptr;  // in the direction of the pass
  PlaneMessages* after_ = nullptr;
  int step_count_ = 0;  // steps of the pass
  int sent_steps_ = 0;
};

class HeatMethod final : public StencilMethod {
 public:
  explicit HeatMethod(const StencilOptions& options)
      // With each of 8, 4 and 2 planes at once the kept planes of all steps are moved half as often as with half of it.
      : StencilMethod(MethodTraits{.layout = PlaneLayout(options.shape),
                                   .most_steps = options.step_count,
                                   .most_tried_steps = std::min(options.step_count, 128),
                                   .most_planes_at_once = 8}),
        plane_count_(options.shape[2]),
        step_count_(options.step_count),
        field_(options.shape) {}

  [[nodiscard]] std::int64_t computed_planes(std::int64_t plane_count, int /*neighbour_count*/,
                                             int step_count) const override {
    return plane_count * step_count;
  }
  [[nodiscard]] std::int64_t byte_count(int block, int planes_at_once, int neighbour_count) const override {
    return Wavefront::byte_count(layout(), {.most_steps = block, .planes_at_once = planes_at_once}) +
           StepBorders::byte_count(layout(), block, neighbour_count > 0);
  }
  [[nodiscard]] comm::IndexRange stored_planes(const comm::IndexRange& share, int block) const override {
    const auto lowest = moved(share, -planes_below(block));
    const auto highest = moved(share, block - planes_below(block));
    return {.begin = lowest.begin, .end = highest.end};
  }
  void fill_start(std::int64_t z, double* plane) const override { field_.fill(z, 0, plane); }
  [[nodiscard]] TrialAdvance trial_advance(int block, int planes_at_once) const override {
    constexpr std::int64_t far = std::int64_t{1} << 40;  // so many planes that every step has some to compute
    const auto wavefront = std::make_shared<Wavefront>(
        layout(), Wavefront::Options{.most_steps = block, .planes_at_once = planes_at_once});
    wavefront->begin({.domain_planes = 3 * far, .slab = {.begin = far, .end = 2 * far}, .step_count = block});
    // Where every step has begun, and nothing is lent any more.
    return [wavefront, planes_at_once, first = far + 2 * std::int64_t{block} + SkewedPass::border_planes](
               auto given, auto made) mutable {
      wavefront->advance(first, given, made);
      first += planes_at_once;
    };
  }

  void make_ready(const MethodPlan& plan, comm::RankGroup& group) override {
    plan_ = plan;
    slab_ = moved(plan.share, -planes_below(plan.block));
    borders_ = std::make_unique<StepBorders>(group, sent_, layout(), plan.block);
    agree_on(group, [&] {
      wavefront_ = std::make_unique<Wavefront>(
          layout(), Wavefront::Options{.most_steps = plan.block, .planes_at_once = plan.planes_at_once});
    });
  }
  /// Passes go up and down by turns, so that slabs come back.
  StencilPass begin_pass(int done_count, comm::RankGroup& /*group*/) override {
    sweep_ = {.domain_planes = plane_count_, .is_downward = is_next_downward_};
    pass_ = {.domain_planes = plane_count_,
             .slab = sweep_.numbers_of(slab_),
             .step_count = std::min(plan_.block, step_count_ - done_count)};
    if (pass_.step_count == 0) return {};
    is_next_downward_ = !is_next_downward_;
    wavefront_->begin(pass_, {.lent = borders_->lent(0, 0),
                              .borrowed = borders_->borrowed(0, 0),
                              .look = [this] { borders_->look(); }});
    borrowed_steps_ = 0;
    const auto before = slab_;
    slab_ = sweep_.numbers_of(pass_.planes(pass_.step_count));
    return {.step_count = pass_.step_count,
            .sweep = sweep_,
            .read = before,
            .written = slab_,
            .wavefront_steps = wavefront_->wavefront_steps()};
  }
  void exchange() override { borders_->begin(sweep_, pass_.step_count); }
  void advance(std::int64_t first, std::span<const double* const> given,
               std::span<double* const> made) override {
    lend_given(first, given);
    wavefront_->advance(first, borrow(first, given), made);
    send_lent(first);
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
    return SkewedPass{.domain_planes = plane_count_, .slab = planes}.planes(steps);
  }
  [[nodiscard]] bool is_in_wavefront_step(std::int64_t first, int step, std::int64_t z) const {
    return Wavefront::place(first, step, z) < plan_.planes_at_once;
  }
  /// Waits for the planes of the next rank that this wavefront step reads. Returns what is given, with those among them.
  std::span<const double* const> borrow(std::int64_t first, std::span<const double* const> given) {
    given_.assign(given.begin(), given.end());
    if (pass_.is_last()) return given_;
    for (; borrowed_steps_ < pass_.step_count; ++borrowed_steps_) {
      if (!is_in_wavefront_step(first, borrowed_steps_, pass_.borrowed(borrowed_steps_).begin)) break;
      communicate([&] { borders_->wait_for(borrowed_steps_); });
    }
    const auto borrowed = pass_.borrowed(0);
    for (std::size_t k = 0; k < given.size(); ++k) {
      if (const auto z = first + static_cast<std::int64_t>(k); borrowed.contains(z))
        given_[k] = borders_->borrowed(0, z - borrowed.begin);
    }
    return given_;
  }
  /// Lends the planes of step 0; the others are made where they are lent from.
  void lend_given(std::int64_t first, std::span<const double* const> given) {
    const auto lent = pass_.lent(0);
    for (std::size_t k = 0; k < given.size(); ++k) {
      if (const auto z = first + static_cast<std::int64_t>(k); lent.contains(z))
        std::copy_n(given[k], layout().size(), borders_->lent(0, z - lent.begin));
    }
  }
  void send_lent(std::int64_t first) {
    if (pass_.is_first()) return;
    for (int step = borders_->sent_steps(); step < pass_.step_count; ++step) {
      if (!is_in_wavefront_step(first, step, pass_.lent(step).end - 1)) break;
      borders_->send_next();
    }
  }

  std::int64_t plane_count_;
  int step_count_;
  HeatField field_;
  std::unique_ptr<Wavefront> wavefront_;
  std::unique_ptr<StepBorders> borders_;
  bool is_next_downward_ = false;
  Sweep sweep_;
  SkewedPass pass_;
  int borrowed_steps_ = 0;  // steps of this pass whose borrowed planes have been waited for
  std::vector<const double*> given_;
};

}  // namespace

std::unique_ptr<StencilMethod> make_heat_method(const StencilOptions& options) {
  return std::make_unique<HeatMethod>(options);
}

}  // namespace cg2d
