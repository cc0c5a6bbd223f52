// Conjugate gradients in s-step form: one pass over p, r and x makes s steps.

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "cg/base/agreement.hpp"
#include "cg/base/errors.hpp"
#include "cg/base/storage/crc32c.hpp"
#include "cg/stencil/cg_coordinates.hpp"
#include "cg/stencil/power_front.hpp"
#include "cg/stencil/stencil_method.hpp"
#include "comm/transfer.hpp"
#include "kernels/page_buffer.hpp"

namespace cg2d {
namespace {

/// The vectors of a basis become more and more alike: CG then takes more iterations, 1 % more with a temporal block of 4 steps, 12 % with 8, and 40 %
/// with 16 (laplace3d 64x64x64 to 1e-8). More steps than 16 lose more than they gain; a trial, which does not see this, stops at 8.
constexpr int longest_basis = 16;
constexpr int longest_tried_basis = 8;
/// The difference between the residual of x and that of the recurrences, in comparison with b, that rounding explains.
constexpr double rounding_tolerance = 1e-10;

/// A line of the store is p, a zero, r, a zero, and x.
struct CgLayout {
  PlaneLayout domain;
  PlaneLayout stored;

  explicit CgLayout(const comm::Extents& shape)
      : domain(shape), stored({3 * shape[0] + 2, shape[1], shape[2]}) {}
  [[nodiscard]] std::int64_t r() const { return domain.line_length + 1; }
  [[nodiscard]] std::int64_t x() const { return 2 * (domain.line_length + 1); }
};

/// Every element of b, as `cg2d solve --operator laplace3d --rhs ones` has it.
constexpr double every_b = 1.0;

/// The sums of products of all steps in each plane of a slab, which a PowerFront's lines are added to.
class PlaneSums {
 public:
  void begin(const comm::IndexRange& slab, int step_count) {
    slab_ = slab;
    step_count_ = step_count;
    sums_.assign(static_cast<std::size_t>(slab.size() * (step_count + 1)), {});
  }
  void add(const PowerFront::Line& line, const kernels::PowerLoops& loops, std::int64_t point_count) {
    if (!slab_.contains(line.z)) return;
    const auto index = (line.z - slab_.begin) * (step_count_ + 1) + line.step;
    loops.add_sums(line.now, line.before, point_count, sums_[static_cast<std::size_t>(index)]);
  }
  /// Adds up those of all ranks, plane by plane: the same bits for every number of ranks. Collective.
  [[nodiscard]] std::vector<kernels::PowerSums> over_all_planes(comm::RankGroup& group) const {
    std::vector<kernels::PowerSums> total(static_cast<std::size_t>(step_count_) + 1);
    std::size_t index = 0;
    for (const auto& rank : group.gather_all(std::span<const kernels::PowerSums>(sums_))) {
      for (const auto& sums : rank) {
        auto& target = total[index++ % total.size()];
        for (const auto member : members) target.*member += sums.*member;
      }
    }
    return total;
  }

 private:
  static constexpr std::array members{&kernels::PowerSums::pp,        &kernels::PowerSums::rr,
                                      &kernels::PowerSums::pr,        &kernels::PowerSums::pp_before,
                                      &kernels::PowerSums::rr_before, &kernels::PowerSums::pr_before};
  comm::IndexRange slab_{};
  int step_count_ = 0;
  std::vector<kernels::PowerSums> sums_;
};

/// A pass moves along z with two fronts, one behind the other. The first one makes the polynomials of p and r once more, and adds them up to the
/// new p, r and x, by the coordinates that the pass before led to. The second one makes the polynomials of the new p and r, and the sums of
/// their products.
class CgPass {
 public:
  CgPass(const CgLayout& layout, const MethodPlan& plan)
      : layout_(layout),
        slab_(plan.share),
        loops_(kernels::power_loops()),
        new_planes_kept_(plan.planes_at_once + plan.block),
        update_(layout.domain, layout.stored, front_options(plan.block, plan.planes_at_once)),
        basis_(layout.domain, layout.stored, front_options(plan.block, plan.planes_at_once)),
        new_planes_(static_cast<std::size_t>(new_planes_kept_ * layout.stored.size())) {
    std::ranges::fill(new_planes_.span(), 0.0);  // the system's part of it belongs to no pass
  }

  static PowerFront::Options front_options(int block, int planes_at_once) {
    return {.most_steps = block, .planes_at_once = planes_at_once};
  }
  static std::int64_t byte_count(const CgLayout& layout, int block, int planes_at_once) {
    return 2 * PowerFront::byte_count(layout.domain, front_options(block, planes_at_once)) +
           (planes_at_once + block) * layout.stored.byte_count();
  }

  /// weights: of the polynomials 0 ... s of this pass. next_step_count: polynomials of the next one.
  void begin(std::int64_t domain_planes, std::vector<kernels::PowerWeights> weights, int next_step_count) {
    weights_ = std::move(weights);
    basis_pass_ = {.domain_planes = domain_planes, .slab = slab_, .step_count = next_step_count};
    update_pass_ = {
        .domain_planes = domain_planes, .slab = basis_pass_.planes(0), .step_count = step_count()};
    update_.begin(update_pass_);
    basis_.begin(basis_pass_);
    sums_.begin(slab_, next_step_count);
  }
  [[nodiscard]] int step_count() const { return static_cast<int>(std::ssize(weights_)) - 1; }
  [[nodiscard]] int next_step_count() const { return basis_pass_.step_count; }
  [[nodiscard]] comm::IndexRange given_planes() const { return update_pass_.planes(0); }
  [[nodiscard]] comm::IndexRange wavefront_steps() const {
    return {.begin = given_planes().begin, .end = slab_.end + basis_pass_.step_count + step_count()};
  }
  [[nodiscard]] const PlaneSums& sums() const { return sums_; }

  void advance(std::int64_t first, std::span<const double* const> given, std::span<double* const> made) {
    update_.advance(first, given, [&](const PowerFront::Line& line) {
      if (line.step == 0) begin_new_line(line, given[static_cast<std::size_t>(line.z - first)]);
      if (!update_pass_.slab.contains(line.z)) return;
      double* const target = new_plane(line.z) + layout_.stored.line(line.y);
      loops_.combine(line.now, weights_[static_cast<std::size_t>(line.step)], layout_.domain.line_length,
                     {.p = target, .r = target + layout_.r(), .x = target + layout_.x()});
    });
    const auto first_made = first - step_count();
    std::vector<const double*> of_basis(made.size());
    for (std::size_t k = 0; k < made.size(); ++k) {
      const auto z = first_made + static_cast<std::int64_t>(k);
      if (update_pass_.slab.contains(z)) of_basis[k] = new_plane(z);
      if (made[k] != nullptr) copy_lines(new_plane(z), made[k]);
    }
    make_sums(first_made, of_basis);
  }
  /// The second front alone, over planes that are there.
  void make_sums(std::int64_t first, std::span<const double* const> planes) {
    basis_.advance(first, planes, [&](const PowerFront::Line& line) {
      sums_.add(line, loops_, layout_.domain.line_length);
    });
  }

 private:
  [[nodiscard]] double* new_plane(std::int64_t z) {
    return new_planes_.data() + z % new_planes_kept_ * layout_.stored.size();
  }
  /// x is what it was, and p and r are sums of polynomials alone.
  void begin_new_line(const PowerFront::Line& line, const double* given) {
    if (!update_pass_.slab.contains(line.z)) return;
    const auto begin = layout_.stored.line(line.y);
    double* const target = new_plane(line.z) + begin;
    std::fill_n(target, layout_.x(), 0.0);
    std::copy_n(given + begin + layout_.x(), layout_.domain.line_length, target + layout_.x());
  }
  void copy_lines(const double* source, double* target) const {
    for (std::int64_t y = 0; y < layout_.stored.line_count; ++y)
      std::copy_n(source + layout_.stored.line(y), layout_.stored.line_length,
                  target + layout_.stored.line(y));
  }

  CgLayout layout_;
  comm::IndexRange slab_;
  kernels::PowerLoops loops_;
  std::int64_t new_planes_kept_;
  PowerFront update_;
  PowerFront basis_;
  kernels::PageBuffer<double> new_planes_;
  std::vector<kernels::PowerWeights> weights_;
  SlabPass update_pass_;
  SlabPass basis_pass_;
  PlaneSums sums_;
};

/// A rank's first and last planes are kept in memory when they are made, so that an exchange needs no reading. Ranks follow each other
/// along z; each slab has at least `depth` planes.
class BorderExchange {
 public:
  /// depth: planes that are exchanged at most, the steps of the longest pass. Collective. Throws MpiError, std::bad_alloc.
  BorderExchange(comm::RankGroup& group, comm::TrafficCounts& sent, const PlaneLayout& layout,
                 std::int64_t plane_count, int depth)
      : layout_(layout), depth_(static_cast<std::size_t>(depth)), endpoint_(group, sent) {
    assert(group.size() == 1 || plane_count >= depth);
    if (group.rank() > 0) sides_.emplace_back(endpoint_, layout, group.rank() - 1, 0, -depth, depth);
    if (group.rank() + 1 < group.size())
      sides_.emplace_back(endpoint_, layout, group.rank() + 1, plane_count - depth, plane_count, depth);
  }
  /// Memory of such an object.
  static std::int64_t byte_count(const PlaneLayout& layout, int depth, int neighbour_count) {
    return 2 * std::int64_t{neighbour_count} * depth * layout.byte_count();
  }

  /// Whether a neighbour needs plane z of the slab.
  [[nodiscard]] bool keeps(std::int64_t z) const {
    return std::ranges::any_of(sides_, [z](const Side& side) { return side.own.contains(z); });
  }
  /// Keeps plane z of the slab, if a neighbour needs it.
  void keep(std::int64_t z, const double* plane) {
    for (auto& side : sides_) {
      if (side.own.contains(z))
        std::copy_n(plane, layout_.size(), side.kept.data() + (z - side.own.begin) * layout_.size());
    }
  }
  /// Sends what was kept last and receives the same of the neighbours: the planes that are not further away than `depth_now`. Collective.
  /// Throws MpiError.
  void exchange(int depth_now) {
    const auto count = static_cast<std::size_t>(depth_now);
    const auto for_all = [&](std::vector<comm::Transfer> PlaneMessages::*messages, const auto& action) {
      for (auto& side : sides_) {
        // The planes in buffers are in the order of z: of the lower neighbour the last ones are nearest, and to it the first ones.
        const bool are_last = (side.foreign.begin < 0) == (messages == &PlaneMessages::receives);
        const auto nearest = are_last ? depth_ - count : 0;
        for (auto& message : std::span(side.messages.*messages).subspan(nearest, count)) action(message);
      }
    };
    for_all(&PlaneMessages::receives, [](auto& receive) { receive.start(); });
    for_all(&PlaneMessages::sends, [&](auto& send) { endpoint_.start_send(comm::Operation::halo, send); });
    for_all(&PlaneMessages::sends, [&](auto& send) { endpoint_.remind(send); });
    for_all(&PlaneMessages::receives, [&](auto& receive) { endpoint_.wait_for_receive(receive); });
    for_all(&PlaneMessages::sends, [&](auto& send) { endpoint_.wait_for_send(send); });
  }
  /// A plane that the last exchange brought: plane z of the slab's own count, -depth_now ... -1, or plane_count ... plane_count+depth_now-1.
  [[nodiscard]] const double* received(std::int64_t z) const {
    const auto& side = z < 0 ? sides_.front() : sides_.back();
    return side.received.data() + (z - side.foreign.begin) * layout_.size();
  }

 private:
  /// A neighbour, by the planes of the slab's own count in its buffers.
  struct Side {
    Side(const comm::Endpoint& endpoint, const PlaneLayout& layout, int partner, std::int64_t first_own,
         std::int64_t first_foreign, int depth)
        : own{.begin = first_own, .end = first_own + depth},
          foreign{.begin = first_foreign, .end = first_foreign + depth},
          kept(static_cast<std::size_t>(depth * layout.size())),
          received(kept.size()),
          messages(endpoint, partner, kept.span(), received.span(), layout.size()) {}

    comm::IndexRange own;
    comm::IndexRange foreign;
    kernels::PageBuffer<double> kept;
    kernels::PageBuffer<double> received;
    PlaneMessages messages;
  };

  PlaneLayout layout_;
  std::size_t depth_;
  comm::Endpoint endpoint_;
  std::deque<Side> sides_;  // which do not move
};

class SStepCgMethod final : public StencilMethod {
 public:
  explicit SStepCgMethod(const StencilOptions& options)
      // More planes at once take more memory for each step: n + 2 planes of four vectors. Two planes of a neighbour for each step: one for the
      // sums of the new vectors, one for making these.
      : StencilMethod(MethodTraits{.layout = CgLayout(options.shape).stored,
                                   .most_steps = std::min(options.step_count, longest_basis),
                                   .most_tried_steps = std::min(options.step_count, longest_tried_basis),
                                   .most_planes_at_once = 4,
                                   .planes_per_step = 2}),
        shape_(options.shape),
        step_limit_(options.step_count),
        layout_(shape_),
        norm_(every_b * std::sqrt(static_cast<double>(comm::whole_domain(shape_).size()))),
        tolerance_(options.tolerance) {}

  [[nodiscard]] std::int64_t computed_planes(std::int64_t plane_count, int neighbour_count,
                                             int step_count) const override {
    // Half of it in each front; the first one goes s planes beyond the slab of the second one.
    const std::int64_t steps = step_count;
    return steps * plane_count + neighbour_count * (steps * (2 * steps - 1) / 2);
  }
  [[nodiscard]] std::int64_t byte_count(int block, int planes_at_once, int neighbour_count) const override {
    return CgPass::byte_count(layout_, block, planes_at_once) +
           BorderExchange::byte_count(layout_.stored, traits().planes_per_step * block, neighbour_count);
  }
  /// x = 0, so that p and r are b.
  void fill_start(std::int64_t /*z*/, double* plane) const override {
    for (std::int64_t y = 0; y < shape_[1]; ++y) {
      double* const line = plane + layout_.stored.line(y);
      std::fill_n(line, layout_.stored.line_length, 0.0);
      std::fill_n(line, shape_[0], every_b);
      std::fill_n(line + layout_.r(), shape_[0], every_b);
    }
  }
  [[nodiscard]] TrialAdvance trial_advance(int block, int planes_at_once) const override {
    // Wavefront steps in the middle of a slab, where every step of both fronts has all planes to compute; the last one is followed by the first.
    constexpr std::int64_t wavefront_step_count = 64;
    constexpr std::int64_t far = std::int64_t{1} << 40;
    const std::int64_t n = planes_at_once;
    const MethodPlan plan{
        .share = {.begin = far, .end = far + wavefront_step_count * n + 2 * std::int64_t{block}},
        .block = block,
        .planes_at_once = planes_at_once};
    const auto pass = std::make_shared<CgPass>(layout_, plan);
    pass->begin(3 * far, std::vector<kernels::PowerWeights>(static_cast<std::size_t>(block) + 1), block);
    return [pass, n, begin = far + 2 * std::int64_t{block}, wavefront_step = std::int64_t{0}](
               auto given, auto made) mutable {
      pass->advance(begin + wavefront_step * n, given, made);
      wavefront_step = (wavefront_step + 1) % wavefront_step_count;
    };
  }

  void make_ready(const MethodPlan& plan, comm::RankGroup& group) override {
    plan_ = plan;
    slab_ = plan.share;
    border_ = std::make_unique<BorderExchange>(group, sent_, layout_.stored, slab_.size(),
                                               traits().planes_per_step * plan.block);
    agree_on(group, [&] {
      pass_ = std::make_unique<CgPass>(layout_, plan);
      keep_start_values();
      sum_start_values();
    });
  }
  StencilPass begin_pass(int done_count, comm::RankGroup& group) override {
    std::vector<kernels::PowerSums> sums;
    communicate([&] { sums = pass_->sums().over_all_planes(group); });
    const int step_count = steps_of(sums, done_count);
    exchange_depth_ = step_count > 0 ? pass_->step_count() + pass_->next_step_count() : 1;
    return {.step_count = step_count,
            .sweep = {.domain_planes = shape_[2]},
            .read = slab_,
            .written = slab_,
            .wavefront_steps = pass_->wavefront_steps()};
  }
  void exchange() override {
    communicate([&] { border_->exchange(exchange_depth_); });
  }
  void advance(std::int64_t first, std::span<const double* const> given,
               std::span<double* const> made) override {
    std::vector<const double*> all_given(given.begin(), given.end());
    for (std::size_t k = 0; k < given.size(); ++k) {
      const auto z = first + static_cast<std::int64_t>(k);
      if (!slab_.contains(z) && pass_->given_planes().contains(z))
        all_given[k] = border_->received(z - slab_.begin);
    }
    pass_->advance(first, all_given, made);
    for (std::size_t k = 0; k < made.size(); ++k) {
      const auto z = first + static_cast<std::int64_t>(k) - pass_->step_count();
      if (made[k] != nullptr) border_->keep(z - slab_.begin, made[k]);
    }
  }

  [[nodiscard]] std::vector<PlaneFigures> check(const std::function<const double*()>& next) const override {
    const auto x_at = [&](std::int64_t z) {
      if (z < 0 || z >= shape_[2])
        return std::vector<double>(static_cast<std::size_t>(layout_.domain.size()));
      return x_of(slab_.contains(z) ? next() : border_->received(z - slab_.begin));
    };
    std::vector<PlaneFigures> planes;
    auto lower = x_at(slab_.begin - 1);
    auto middle = x_at(slab_.begin);
    for (auto z = slab_.begin; z < slab_.end; ++z) {
      auto upper = x_at(z + 1);
      planes.push_back(figures_of(lower, middle, upper));
      lower = std::exchange(middle, std::move(upper));
    }
    return planes;
  }
  void judge(std::span<const PlaneFigures> planes, StencilReport& report) const override {
    double square_sum = 0.0;
    for (const auto& plane : planes) square_sum += plane.squared_residual;
    const double true_residual = std::sqrt(square_sum) / norm_;
    report.solve = {.iterations = report.step_count,
                    .residual = residual_,
                    .true_residual = true_residual,
                    .wanted_residual = tolerance_,
                    .residuals = residuals_};
    report.domain.largest_error = std::abs(true_residual - residual_);
    report.domain.tolerance = rounding_tolerance;
  }

 private:
  /// Keeps the start values of planes that neighbours need at first.
  void keep_start_values() {
    std::vector<double> plane(static_cast<std::size_t>(layout_.stored.size()));
    for (std::int64_t z = 0; z < slab_.size(); ++z) {
      if (!border_->keeps(z)) continue;
      fill_start(slab_.begin + z, plane.data());
      border_->keep(z, plane.data());
    }
  }
  /// Start values are known everywhere: no rank waits for another.
  void sum_start_values() {
    pass_->begin(shape_[2], {{}}, steps_after(0));
    kernels::PageBuffer<double> room(static_cast<std::size_t>(plan_.planes_at_once * layout_.stored.size()));
    const auto planes = pass_->given_planes();
    const auto wavefront_steps = pass_->wavefront_steps();
    for (auto first = wavefront_steps.begin; first < wavefront_steps.end; first += plan_.planes_at_once) {
      std::vector<const double*> given(static_cast<std::size_t>(plan_.planes_at_once));
      for (std::int64_t k = 0; k < plan_.planes_at_once; ++k) {
        if (!planes.contains(first + k)) continue;
        double* const plane = room.data() + k * layout_.stored.size();
        fill_start(first + k, plane);
        given[static_cast<std::size_t>(k)] = plane;
      }
      pass_->make_sums(first, given);
    }
  }
  /// The steps of the next pass, which is begun; 0: there is none.
  [[nodiscard]] int steps_of(const std::vector<kernels::PowerSums>& sums, int done_count) {
    residual_ = std::sqrt(sums.front().rr) / norm_;
    if (std::isnan(residual_))
      throw RunError(ExitCode::not_finite, "s-step CG: a sum of products is not a number");
    const int asked = steps_after(done_count);
    if (asked == 0 || residual_ <= tolerance_ || residual_ == 0.0) return 0;
    auto steps = step_in_coordinates(
        sums, {.step_count = asked, .wanted_square_sum = std::pow(tolerance_ * norm_, 2)});
    if (steps.step_count == 0) return 0;  // no digit can be gained any more
    for (const double square_sum : steps.square_sums) residuals_.push_back(std::sqrt(square_sum) / norm_);
    steps.weights.resize(static_cast<std::size_t>(steps.step_count) + 1);
    pass_->begin(shape_[2], std::move(steps.weights), steps_after(done_count + steps.step_count));
    return steps.step_count;
  }
  [[nodiscard]] int steps_after(int done_count) const {
    return std::min(plan_.block, step_limit_ - done_count);
  }
  [[nodiscard]] std::vector<double> x_of(const double* plane) const {
    std::vector<double> x(static_cast<std::size_t>(layout_.domain.size()));
    for (std::int64_t y = 0; y < shape_[1]; ++y)
      std::copy_n(plane + layout_.stored.line(y) + layout_.x(), shape_[0], x.data() + layout_.domain.line(y));
    return x;
  }
  [[nodiscard]] PlaneFigures figures_of(const std::vector<double>& lower, const std::vector<double>& middle,
                                        const std::vector<double>& upper) const {
    PlaneFigures figures;
    for (std::int64_t y = 0; y < shape_[1]; ++y) {
      const auto begin = static_cast<std::size_t>(layout_.domain.line(y));
      const auto count = static_cast<std::size_t>(shape_[0]);
      const auto stride = static_cast<std::size_t>(layout_.domain.stride());
      for (std::size_t k = 0; k < count; ++k) {
        const auto place = begin + k;
        const double before = y > 0 ? middle[place - stride] : 0.0;
        const double after = y + 1 < shape_[1] ? middle[place + stride] : 0.0;
        const double neighbours =
            middle[place - 1] + middle[place + 1] + before + after + lower[place] + upper[place];
        const double residual = every_b - (6.0 * middle[place] - neighbours);
        figures.squared_residual += residual * residual;
        figures.sum += middle[place];
      }
      figures.checksum = crc32c(std::as_bytes(std::span(middle).subspan(begin, count)), figures.checksum);
    }
    return figures;
  }

  comm::Extents shape_;
  int step_limit_;
  CgLayout layout_;
  double norm_;
  double tolerance_;
  std::unique_ptr<CgPass> pass_;
  std::unique_ptr<BorderExchange> border_;
  int exchange_depth_ = 1;         // depth for the pass, or for the check after the last one
  double residual_ = 0.0;          // relative, as the recurrences have it
  std::vector<double> residuals_;  // relative residual after each step, as the recurrences have it
};

}  // namespace

std::unique_ptr<StencilMethod> make_s_step_cg_method(const StencilOptions& options) {
  return std::make_unique<SStepCgMethod>(options);
}

}  // namespace cg2d
