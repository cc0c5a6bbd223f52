// Steps of the heat equation, compared with their closed form at the end.

#include <cmath>

#include "cg/base/agreement.hpp"
#include "cg/stencil/stencil_method.hpp"
#include "cg/stencil/wavefront.hpp"

namespace cg2d {
namespace {

/// Ranks follow each other along z. Border planes of each step but the last, two for the rank before and two of the next rank in the
/// direction of the pass, are sent and received while others are computed: a rank makes the former early and needs the latter late.
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

  int64_t computed_planes(int64_t plane_count, int /*neighbour_count*/, int step_count) const override {
    return plane_count * step_count;
  }
  int64_t byte_count(const FrontSize& size, int neighbour_count) const override {
    const auto border_size = neighbour_count > 0 ? border_size_for(size) : 0;
    return Wavefront::byte_count(layout(), size) + 2 * border_size * int64_t{sizeof(double)};
  }
  comm::IndexRange stored_planes(const comm::IndexRange& share, int block) const override {
    return {.begin = moved(share, -planes_below(block)).begin,
            .end = moved(share, block - planes_below(block)).end};
  }
  void fill_start(int64_t z, double* plane) const override { field_.fill_start(z, plane); }
  TrialAdvance trial_advance(const FrontSize& size) const override {
    constexpr int64_t far = int64_t{1} << 40;  // so many planes that every step has some to compute
    const int block = size.most_steps;
    const auto wavefront = std::make_shared<Wavefront>(layout(), size);
    wavefront->begin({.domain_planes = 3 * far, .slab = {.begin = far, .end = 2 * far}, .step_count = block});
    // Where every step has begun, and nothing is lent any more.
    const auto first = far + 2 * int64_t{block} + SkewedPass::border_planes;
    return [wavefront, first](auto given, auto made) { wavefront->advance(first, given, made); };
  }

  void make_ready(const comm::IndexRange& share, const FrontSize& size, comm::RankGroup& group) override {
    size_ = size;
    slab_ = moved(share, -planes_below(size.most_steps));
    endpoint_ = std::make_unique<comm::Endpoint>(group, sent_);
    const auto connect = [&](int partner) -> std::unique_ptr<comm::Messages> {
      if (partner < 0 || partner >= group.size()) return nullptr;
      return plane_messages(*endpoint_, partner, lent_.span(), borrowed_.span(),
                            SkewedPass::border_planes * layout().size());
    };
    agree_on(group, [&] {
      lent_ = written_zeros(group.size() > 1 ? border_size_for(size) : 0);
      borrowed_ = written_zeros(std::ssize(lent_.span()));
      below_ = connect(group.rank() - 1);
      above_ = connect(group.rank() + 1);
      wavefront_ = std::make_unique<Wavefront>(layout(), size);
    });
  }
  /// Passes go up and down by turns, so that slabs come back.
  StencilPass begin_pass(int done_count, comm::RankGroup& /*group*/) override {
    sweep_.is_downward = !sweep_.is_downward;
    pass_ = {.domain_planes = sweep_.domain_planes,
             .slab = sweep_.numbers_of(slab_),
             .step_count = std::min(size_.most_steps, step_count_ - done_count)};
    if (pass_.step_count == 0) return {};
    wavefront_->begin(pass_,
                      {.lent = lent_.data(), .borrowed = borrowed_.data(), .look = [this] { look(); }});
    const auto written = pass_.planes(pass_.step_count);
    slab_ = sweep_.numbers_of(written);
    return {.step_count = pass_.step_count,
            .sweep = sweep_,
            .read = pass_.slab,
            .written = written,
            .wavefront_steps = wavefront_->wavefront_steps()};
  }
  /// Messages of the next rank may arrive from now on.
  void exchange() override {
    sends_ = (sweep_.is_downward ? above_ : below_).get();
    receives_ = (sweep_.is_downward ? below_ : above_).get();
    send_count_ = sends_ != nullptr ? static_cast<size_t>(pass_.step_count) : 0;
    receive_count_ = receives_ != nullptr ? static_cast<size_t>(pass_.step_count) : 0;
    sent_count_ = 0;
    received_count_ = 0;
    for (size_t step = 0; step < receive_count_; ++step) receives_->start_receive(step);
  }
  void advance(int64_t first, std::span<const double* const> given, std::span<double* const> made) override {
    const auto is_reached = [&](size_t step, int64_t z) {
      return Wavefront::place(first, static_cast<int>(step), z) < size_.planes_at_once;
    };
    communicate([&] {
      while (received_count_ < receive_count_ &&
             is_reached(received_count_, pass_.borrowed(static_cast<int>(received_count_)).begin))
        receive_next();
    });
    wavefront_->advance(first, given, made);
    while (sent_count_ < send_count_ &&
           is_reached(sent_count_, pass_.lent(static_cast<int>(sent_count_)).end - 1))
      send_next();
  }
  /// Sends what has not been sent, whatever it holds, and waits for everything under way.
  void end_pass() override {
    communicate([&] {
      while (sent_count_ < send_count_) send_next();
      for (size_t step = 0; step < send_count_; ++step) sends_->remind(step);
      while (received_count_ < receive_count_) receive_next();
      for (size_t step = 0; step < send_count_; ++step) sends_->wait_for_send(step);
    });
  }

  std::vector<PlaneFigures> check(PlaneStore& store) const override {
    std::vector<PlaneFigures> planes;
    for (auto z = slab_.begin; z < slab_.end; ++z)
      planes.push_back(field_.compare(z, step_count_, store.next()));
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
  /// Doubles of the planes of all steps that are lent, or borrowed.
  int64_t border_size_for(const FrontSize& size) const {
    return SkewedPass::border_place(size.most_steps, 0) * layout().size();
  }
  void send_next() { sends_->start_send(sent_count_++); }
  void receive_next() { receives_->wait_for_receive(received_count_++); }
  /// Called now and then. One look lets MPI work on all messages of the rank.
  void look() const {
    if (receive_count_ > 0) static_cast<void>(receives_->has_arrived(receive_count_ - 1));
    if (sent_count_ > 0 && !sends_->has_left(sent_count_ - 1)) sends_->remind(sent_count_ - 1);
  }
  /// Slabs begin so far below the shares of ranks, and a pass brings them as far above: first and last rank compute as much as others.
  static int planes_below(int block) { return block / 2; }
  /// Planes moved by so many steps upwards; less than 0: downwards.
  comm::IndexRange moved(const comm::IndexRange& planes, int steps) const {
    return SkewedPass{.domain_planes = sweep_.domain_planes, .slab = planes}.planes(steps);
  }

  int step_count_;
  HeatField field_;
  FrontSize size_;
  std::unique_ptr<Wavefront> wavefront_;
  Sweep sweep_;  // of the last pass
  SkewedPass pass_;
  std::unique_ptr<comm::Endpoint> endpoint_;
  kernels::PageBuffer<double> lent_;
  kernels::PageBuffer<double> borrowed_;
  std::unique_ptr<comm::Messages> below_;  // by step
  std::unique_ptr<comm::Messages> above_;
  // The messages of this pass, by step:
  comm::Messages* sends_ = nullptr;     // to the rank before
  comm::Messages* receives_ = nullptr;  // from the next rank
  size_t send_count_ = 0;
  size_t receive_count_ = 0;
  size_t sent_count_ = 0;
  size_t received_count_ = 0;
};

}  // namespace

std::unique_ptr<StencilMethod> make_heat_method(const StencilOptions& options) {
  return std::make_unique<HeatMethod>(options);
}

}  // namespace cg2d
