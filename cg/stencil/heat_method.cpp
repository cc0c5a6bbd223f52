// Steps of the heat equation, compared with their closed form at the end.

#include <algorithm>
#include <cmath>

#include "cg/stencil/block_choice.hpp"
#include "cg/stencil/heat_field.hpp"
#include "cg/stencil/stencil_method.hpp"
#include "cg/stencil/wavefront.hpp"

namespace cg2d {
namespace {

class HeatMethod final : public StencilMethod {
 public:
  explicit HeatMethod(const StencilOptions& options)
      : shape_(options.shape), step_count_(options.step_count), layout_(shape_), field_(shape_) {}

  [[nodiscard]] const PlaneLayout& layout() const override { return layout_; }
  [[nodiscard]] int most_steps() const override { return step_count_; }
  [[nodiscard]] int most_tried_steps() const override { return std::min(step_count_, 128); }
  /// With each of 8, 4 and 2 the kept planes of all steps are moved half as often as with half of it.
  [[nodiscard]] int most_planes_per_moment() const override { return 8; }
  [[nodiscard]] int border_depth(int block) const override { return block; }
  [[nodiscard]] std::int64_t computed_planes(std::int64_t plane_count, int neighbour_count,
                                             int step_count) const override {
    return cg2d::computed_planes(plane_count, neighbour_count, step_count);
  }
  [[nodiscard]] std::int64_t byte_count(int block, int planes_per_moment) const override {
    return Wavefront::byte_count(layout_, {.most_steps = block, .planes_per_moment = planes_per_moment});
  }
  void fill_start(std::int64_t z, double* plane) const override { field_.fill(z, 0, plane); }
  [[nodiscard]] TrialMoment trial_moment(int block, int planes_per_moment) const override;

  void make_ready(const MethodPlan& plan) override {
    plan_ = plan;
    wavefront_ = std::make_unique<Wavefront>(
        layout_, Wavefront::Options{.most_steps = plan.block, .planes_per_moment = plan.planes_per_moment});
  }
  int begin_pass(int done_count, comm::RankGroup& /*group*/) override {
    pass_ = {.domain_planes = shape_[2],
             .slab = plan_.slab,
             .step_count = std::min(plan_.block, step_count_ - done_count)};
    if (pass_.step_count > 0) wavefront_->begin(pass_);
    return pass_.step_count;
  }
  [[nodiscard]] comm::IndexRange given_planes() const override { return pass_.planes(0); }
  [[nodiscard]] int pass_depth() const override { return pass_.step_count; }
  [[nodiscard]] comm::IndexRange moments() const override { return wavefront_->moments(); }
  void advance(std::int64_t first, std::span<const double* const> given,
               std::span<double* const> made) override {
    wavefront_->advance(first, given, made);
  }

  [[nodiscard]] std::vector<PlaneFigures> check(
      const std::function<const double*()>& next,
      const std::function<const double*(std::int64_t z)>& /*beyond*/) const override {
    std::vector<PlaneFigures> planes;
    for (auto z = plan_.slab.begin; z < plan_.slab.end; ++z)
      planes.push_back(field_.compare(z, step_count_, next()));
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
  comm::Extents shape_;
  int step_count_;
  PlaneLayout layout_;
  HeatField field_;
  MethodPlan plan_;
  std::unique_ptr<Wavefront> wavefront_;
  SlabPass pass_;
};

StencilMethod::TrialMoment HeatMethod::trial_moment(int block, int planes_per_moment) const {
  constexpr std::int64_t far = std::int64_t{1} << 40;  // so many planes that every step has some to compute
  const auto wavefront = std::make_shared<Wavefront>(
      layout_, Wavefront::Options{.most_steps = block, .planes_per_moment = planes_per_moment});
  wavefront->begin({.domain_planes = 3 * far, .slab = {.begin = far, .end = 2 * far}, .step_count = block});
  return [wavefront, planes_per_moment, first = far + block](auto given, auto made) mutable {
    wavefront->advance(first, given, made);
    first += planes_per_moment;
  };
}

}  // namespace

std::unique_ptr<StencilMethod> make_heat_method(const StencilOptions& options) {
  return std::make_unique<HeatMethod>(options);
}

}  // namespace cg2d
