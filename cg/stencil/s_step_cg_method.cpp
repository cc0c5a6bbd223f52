// Conjugate gradients in s-step form: one pass over p, r and x makes s steps.

#include <array>
#include <cassert>
#include <cmath>
#include <deque>

#include "cg/base/agreement.hpp"
#include "cg/base/storage/crc32c.hpp"
#include "cg/stencil/power_front.hpp"
#include "cg/stencil/stencil_method.hpp"

namespace cg2d {
namespace {

constexpr double weight_of_first = 1.0 / 6.0;   // weight of T_1
constexpr double weight_of_others = 1.0 / 3.0;  // weight of T_2, T_3, ...

/// Lines of p, a zero, and r.
PlaneLayout pair_layout(const PlaneLayout& domain) {
  return PlaneLayout({2 * domain.line_length + 1, domain.line_count, 1});
}

/// A step reads planes z-1, z and z+1 of the step before, for n planes.
constexpr int more_planes = 2;

/// A product of rᵀr that is smaller than that in comparison with the first one has lost its digits in the products of the basis.
constexpr double digits_used_up = 1e-13;

/// <T_0 ., T_k .> for k = 0 ... 2s, from the sums of T_j with T_j and with T_j-1.
std::vector<double> moments_of(std::span<const kernels::PowerSums> sums, double kernels::PowerSums::*same,
                               double kernels::PowerSums::*before) {
  std::vector<double> moments{sums.front().*same};
  for (size_t j = 1; j < sums.size(); ++j) {
    const double odd = sums[j].*before;
    moments.push_back(j == 1 ? odd : 2.0 * odd - moments[1]);
    moments.push_back(2.0 * (sums[j].*same) - moments[0]);
  }
  return moments;
}

/// A vector in the basis T_0 p ... T_s p, T_0 r ... T_s r.
struct BasisVector {
  std::vector<double> p;
  std::vector<double> r;
};

/// this = this * own + other * factor.
void combine(BasisVector& target, double own, const BasisVector& other, double factor) {
  for (size_t j = 0; j < target.p.size(); ++j) {
    target.p[j] = own * target.p[j] + factor * other.p[j];
    target.r[j] = own * target.r[j] + factor * other.r[j];
  }
}

/// A T_0 = 6 T_0 + 6 T_1; A T_j = 6 T_j + 3 (T_j+1 + T_j-1). The last coordinate must be 0: its product is not in the basis.
std::vector<double> times_operator(const std::vector<double>& x) {
  std::vector<double> product(x.size());
  for (size_t j = 0; j < x.size(); ++j) {
    product[j] += 6.0 * x[j];
    if (j + 1 < x.size()) product[j + 1] += (j == 0 ? 6.0 : 3.0) * x[j];
    if (j > 0) product[j - 1] += 3.0 * x[j];
  }
  return product;
}

}  // namespace

PowerFront::PowerFront(const PlaneLayout& domain, const PlaneLayout& given, const FrontSize& size)
    : point_count_(domain.line_length),
      given_(given),
      layout_(pair_layout(domain)),
      planes_kept_(size.planes_at_once + more_planes),
      planes_(written_zeros((size.most_steps + 1) * planes_kept_ * layout_.size())),
      zeros_(static_cast<size_t>(layout_.stride())) {}

int64_t PowerFront::byte_count(const PlaneLayout& domain, const FrontSize& size) {
  return int64_t{size.most_steps + 1} * (size.planes_at_once + more_planes) *
         pair_layout(domain).byte_count();
}

double* PowerFront::line(int step, int64_t z, int64_t y) {
  return planes_.data() + (step * planes_kept_ + z % planes_kept_) * layout_.size() + layout_.line(y);
}

const double* PowerFront::line_or_zeros(int step, int64_t z, int64_t y) {
  const bool is_inside = step >= 0 && 0 <= z && z < pass_.domain_planes && 0 <= y && y < layout_.line_count;
  return is_inside ? line(step, z, y) : zeros_.data();
}

kernels::LinePair PowerFront::pair_of(const double* line) const {
  return {.p = line, .r = line + point_count_ + 1};
}

void PowerFront::advance(int64_t first, std::span<const double* const> given, const Visit& visit) {
  const auto n = std::ssize(given);
  for (int64_t front = 0; front < layout_.line_count + pass_.step_count; ++front) {
    for (int64_t k = 0; k < n && front < layout_.line_count; ++k) {
      const double* const plane = given[static_cast<size_t>(k)];
      if (plane == nullptr) continue;
      double* const target = line(0, first + k, front);
      std::copy_n(plane + given_.line(front), layout_.line_length, target);
      visit(
          {.step = 0, .z = first + k, .y = front, .now = pair_of(target), .before = pair_of(zeros_.data())});
    }
    for (int step = 1; step <= pass_.step_count && step <= front; ++step) {
      const auto y = front - step;
      if (y >= layout_.line_count) continue;
      const auto planes = pass_.planes(step);
      const auto begin = std::max(planes.begin, first - step);
      const auto end = std::min(planes.end, first - step + n);
      for (auto z = begin; z < end; ++z) make_line(step, z, y, visit);
    }
  }
}

void PowerFront::make_line(int step, int64_t z, int64_t y, const Visit& visit) {
  double* const target = line(step, z, y);
  const double* const before = line(step - 1, z, y);
  loops_.step({.previous = line_or_zeros(step - 1, z, y - 1),
               .lower = line_or_zeros(step - 1, z - 1, y),
               .middle = before,
               .upper = line_or_zeros(step - 1, z + 1, y),
               .next = line_or_zeros(step - 1, z, y + 1),
               .before = line_or_zeros(step - 2, z, y)},
              step == 1 ? weight_of_first : weight_of_others, layout_.line_length, target);
  target[point_count_] = 0.0;  // between p and r
  visit({.step = step, .z = z, .y = y, .now = pair_of(target), .before = pair_of(before)});
}

CoordinateSteps step_in_coordinates(std::span<const kernels::PowerSums> sums, int step_count,
                                    double wanted_square_sum) {
  using Sums = kernels::PowerSums;
  const auto pp = moments_of(sums, &Sums::pp, &Sums::pp_before);
  const auto rr = moments_of(sums, &Sums::rr, &Sums::rr_before);
  const auto pr = moments_of(sums, &Sums::pr, &Sums::pr_before);
  const auto dot = [&](const BasisVector& one, const BasisVector& other) {
    double sum = 0.0;
    for (size_t i = 0; i < sums.size(); ++i) {
      for (size_t j = 0; j < sums.size(); ++j) {
        const auto product = [&](const std::vector<double>& moments) {
          return 0.5 * (moments[i + j] + moments[i > j ? i - j : j - i]);
        };
        sum += one.p[i] * other.p[j] * product(pp) + one.r[i] * other.r[j] * product(rr) +
               (one.p[i] * other.r[j] + one.r[i] * other.p[j]) * product(pr);
      }
    }
    return sum;
  };
  const std::vector<double> zeros(sums.size());
  BasisVector p{zeros, zeros};
  auto r = p;
  auto x = p;
  p.p[0] = 1.0;
  r.r[0] = 1.0;
  CoordinateSteps result;
  const double first_rho = sums.front().rr;
  double rho = first_rho;
  while (result.step_count < step_count && rho > wanted_square_sum) {
    const BasisVector product{times_operator(p.p), times_operator(p.r)};
    const double curvature = dot(p, product);
    if (!(curvature > 0.0)) break;
    const double alpha = rho / curvature;
    combine(x, 1.0, p, alpha);
    combine(r, 1.0, product, -alpha);
    const double new_rho = dot(r, r);
    const bool is_exact = new_rho > digits_used_up * first_rho;
    result.square_sums.push_back(is_exact ? new_rho : 0.0);
    ++result.step_count;
    combine(p, is_exact ? new_rho / rho : 0.0, r, 1.0);
    if (!is_exact) break;
    rho = new_rho;
  }
  for (size_t j = 0; j < zeros.size(); ++j)
    result.weights.push_back({.p = {p.p[j], p.r[j]}, .r = {r.p[j], r.r[j]}, .x = {x.p[j], x.r[j]}});
  return result;
}

// ---------------------------------------------------------------- method

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
  int64_t r() const { return domain.line_length + 1; }
  int64_t x() const { return 2 * (domain.line_length + 1); }
};

/// Every element of b, as `cg2d solve --operator laplace3d --rhs ones` has it.
constexpr double every_b = 1.0;

/// A pass moves along z with two fronts, one behind the other. The first one makes the polynomials of p and r once more, and adds them up to the
/// new p, r and x, by the coordinates that the pass before led to. The second one makes the polynomials of the new p and r, and the sums of
/// their products.
class CgPass {
 public:
  CgPass(const CgLayout& layout, const comm::IndexRange& slab, const FrontSize& size)
      : layout_(layout),
        slab_(slab),
        new_planes_kept_(size.planes_at_once + size.most_steps),
        update_(layout.domain, layout.stored, size),
        basis_(layout.domain, layout.stored, size),
        new_planes_(written_zeros(new_planes_kept_ * layout.stored.size())) {}
  static int64_t byte_count(const CgLayout& layout, const FrontSize& size) {
    return 2 * PowerFront::byte_count(layout.domain, size) +
           (size.planes_at_once + size.most_steps) * layout.stored.byte_count();
  }

  /// weights: of the polynomials 0 ... s of this pass. next_step_count: polynomials of the next one.
  void begin(int64_t domain_planes, std::vector<kernels::PowerWeights> weights, int next_step_count) {
    weights_ = std::move(weights);
    basis_.begin({.domain_planes = domain_planes, .slab = slab_, .step_count = next_step_count});
    update_.begin(
        {.domain_planes = domain_planes, .slab = basis_.pass().planes(0), .step_count = step_count()});
    sums_.assign(static_cast<size_t>(slab_.size() * (next_step_count + 1)), {});
  }
  int step_count() const { return static_cast<int>(std::ssize(weights_)) - 1; }
  int next_step_count() const { return basis_.pass().step_count; }
  comm::IndexRange given_planes() const { return update_.pass().planes(0); }
  comm::IndexRange wavefront_steps() const {
    return {.begin = given_planes().begin, .end = slab_.end + next_step_count() + step_count()};
  }

  void advance(int64_t first, std::span<const double* const> given, std::span<double* const> made) {
    update_.advance(first, given, [&](const PowerFront::Line& line) {
      if (!update_.pass().slab.contains(line.z)) return;
      const auto begin = layout_.stored.line(line.y);
      double* const target = new_plane(line.z) + begin;
      if (line.step == 0) {  // x is what it was, and p and r are sums of polynomials alone
        const double* const plane = given[static_cast<size_t>(line.z - first)];
        std::fill_n(target, layout_.x(), 0.0);
        std::copy_n(plane + begin + layout_.x(), layout_.domain.line_length, target + layout_.x());
      }
      loops_.combine(line.now, weights_[static_cast<size_t>(line.step)], layout_.domain.line_length,
                     {.p = target, .r = target + layout_.r(), .x = target + layout_.x()});
    });
    const auto first_made = first - step_count();
    std::vector<const double*> of_basis(made.size());
    for (size_t k = 0; k < made.size(); ++k) {
      const auto z = first_made + static_cast<int64_t>(k);
      if (update_.pass().slab.contains(z)) of_basis[k] = new_plane(z);
      if (made[k] != nullptr) std::copy_n(new_plane(z), layout_.stored.size(), made[k]);
    }
    make_sums(first_made, of_basis);
  }
  /// The second front alone, over planes that are there.
  void make_sums(int64_t first, std::span<const double* const> planes) {
    basis_.advance(first, planes, [&](const PowerFront::Line& line) {
      if (!slab_.contains(line.z)) return;
      const auto index = (line.z - slab_.begin) * (next_step_count() + 1) + line.step;
      loops_.add_sums(line.now, line.before, layout_.domain.line_length, sums_[static_cast<size_t>(index)]);
    });
  }
  /// The sums of products of each step, added up over the planes of all ranks, plane by plane: the same bits for every number of ranks.
  /// Collective.
  std::vector<kernels::PowerSums> sums_over_ranks(comm::RankGroup& group) const {
    using Sums = kernels::PowerSums;
    constexpr std::array members{&Sums::pp,        &Sums::rr,        &Sums::pr,
                                 &Sums::pp_before, &Sums::rr_before, &Sums::pr_before};
    std::vector<Sums> total(static_cast<size_t>(next_step_count()) + 1);
    size_t index = 0;
    for (const auto& rank : group.gather_all(std::span<const Sums>(sums_))) {
      for (const auto& sums : rank) {
        auto& target = total[index++ % total.size()];
        for (const auto member : members) target.*member += sums.*member;
      }
    }
    return total;
  }

 private:
  [[nodiscard]] double* new_plane(int64_t z) {
    return new_planes_.data() + z % new_planes_kept_ * layout_.stored.size();
  }

  CgLayout layout_;
  comm::IndexRange slab_;
  kernels::PowerLoops loops_ = kernels::power_loops();
  int64_t new_planes_kept_;
  PowerFront update_;
  PowerFront basis_;
  kernels::PageBuffer<double> new_planes_;
  std::vector<kernels::PowerWeights> weights_;
  std::vector<kernels::PowerSums> sums_;  // of each plane of the slab, by step
};

/// A neighbour, with the planes that are exchanged with it, in the order of their distance from the border. A rank's first and last planes are
/// kept in memory when they are made, so that an exchange needs no reading.
struct Side {
  Side(comm::Endpoint& endpoint, const PlaneLayout& layout, int partner, int depth)
      : kept(static_cast<size_t>(depth * layout.size())),
        received(kept.size()),
        messages(plane_messages(endpoint, partner, kept.span(), received.span(), layout.size())) {}

  /// From the slab's plane at the border; -1 is the neighbour's.
  int64_t distance(int64_t z) const { return inwards * (z - nearest); }

  kernels::PageBuffer<double> kept;
  kernels::PageBuffer<double> received;
  std::unique_ptr<comm::Messages> messages;
  int64_t nearest = 0;  // the slab's plane at the border
  int inwards = 1;      // to the next plane of the slab
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
        solve_{.wanted_residual = options.tolerance} {}

  int64_t computed_planes(int64_t plane_count, int neighbour_count, int step_count) const override {
    // Half of it in each front; the first one goes s planes beyond the slab of the second one.
    const int64_t steps = step_count;
    return steps * plane_count + neighbour_count * (steps * (2 * steps - 1) / 2);
  }
  int64_t byte_count(const FrontSize& size, int neighbour_count) const override {
    return CgPass::byte_count(layout_, size) +
           2 * int64_t{neighbour_count} * depth_for(size) * layout_.stored.byte_count();
  }
  /// x = 0, so that p and r are b.
  void fill_start(int64_t /*z*/, double* plane) const override {
    for (int64_t y = 0; y < shape_[1]; ++y) {
      double* const line = plane + layout_.stored.line(y);
      std::fill_n(line, layout_.stored.line_length, 0.0);
      std::fill_n(line, shape_[0], every_b);
      std::fill_n(line + layout_.r(), shape_[0], every_b);
    }
  }
  TrialAdvance trial_advance(const FrontSize& size) const override {
    // Where every step of both fronts has all planes to compute.
    constexpr int64_t far = int64_t{1} << 40;
    const int block = size.most_steps;
    const auto first = far + 2 * int64_t{block};
    const comm::IndexRange slab{.begin = far, .end = first + size.planes_at_once};
    const auto pass = std::make_shared<CgPass>(layout_, slab, size);
    pass->begin(3 * far, std::vector<kernels::PowerWeights>(static_cast<size_t>(block) + 1), block);
    return [pass, first](auto given, auto made) { pass->advance(first, given, made); };
  }

  void make_ready(const comm::IndexRange& share, const FrontSize& size, comm::RankGroup& group) override {
    size_ = size;
    slab_ = share;
    assert(group.size() == 1 || slab_.size() >= depth_for(size));
    endpoint_ = std::make_unique<comm::Endpoint>(group, sent_);
    agree_on(group, [&] {
      for (const int step : {-1, 1}) {
        const int partner = group.rank() + step;
        if (partner < 0 || partner == group.size()) continue;
        auto& side = sides_.emplace_back(*endpoint_, layout(), partner, depth_for(size));
        side.nearest = step < 0 ? slab_.begin : slab_.end - 1;
        side.inwards = -step;
      }
      pass_ = std::make_unique<CgPass>(layout_, slab_, size);
    });
  }
  StencilPass begin_pass(int done_count, comm::RankGroup& group) override {
    if (done_count == 0) agree_on(group, [&] { sum_start_values(); });
    std::vector<kernels::PowerSums> sums;
    communicate([&] { sums = pass_->sums_over_ranks(group); });
    const int step_count = steps_of(sums, done_count);
    exchange_depth_ =
        step_count > 0 ? static_cast<size_t>(pass_->step_count() + pass_->next_step_count()) : 1;
    return {.step_count = step_count,
            .sweep = {.domain_planes = shape_[2]},
            .read = slab_,
            .written = slab_,
            .wavefront_steps = pass_->wavefront_steps()};
  }
  /// Sends what was kept last, and receives the same of the neighbours.
  void exchange() override {
    const auto for_all = [&](const auto& action) {
      for (auto& side : sides_)
        for (size_t step = 0; step < exchange_depth_; ++step) action(*side.messages, step);
    };
    communicate([&] {
      for_all([](auto& messages, size_t step) { messages.start_receive(step); });
      for_all([](auto& messages, size_t step) { messages.start_send(step); });
      for_all([](auto& messages, size_t step) { messages.remind(step); });
      for_all([](auto& messages, size_t step) { messages.wait_for_receive(step); });
      for_all([](auto& messages, size_t step) { messages.wait_for_send(step); });
    });
  }
  void advance(int64_t first, std::span<const double* const> given, std::span<double* const> made) override {
    std::vector all_given(given.begin(), given.end());
    for (auto z = first; z < first + std::ssize(given); ++z) {
      if (!slab_.contains(z) && pass_->given_planes().contains(z))
        all_given[static_cast<size_t>(z - first)] = received(z);
    }
    pass_->advance(first, all_given, made);
    auto z = first - pass_->step_count();
    for (const double* const plane : made) {
      if (plane != nullptr) keep(z, plane);
      ++z;
    }
  }

  std::vector<PlaneFigures> check(PlaneStore& store) const override {
    const auto x_at = [&](int64_t z) {
      std::vector<double> x(static_cast<size_t>(layout_.domain.size()));
      if (z < 0 || z >= shape_[2]) return x;
      const double* const plane = (slab_.contains(z) ? store.next() : received(z)) + layout_.x();
      for (int64_t y = 0; y < shape_[1]; ++y)
        std::copy_n(plane + layout_.stored.line(y), shape_[0], x.data() + layout_.domain.line(y));
      return x;
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
    auto& solve = report.solve.emplace(solve_);
    solve.iterations = report.step_count;
    solve.true_residual = std::sqrt(square_sum) / norm_;
    report.domain.largest_error = std::abs(solve.true_residual - solve.residual);
    report.domain.tolerance = rounding_tolerance;
  }

 private:
  int depth_for(const FrontSize& size) const { return traits().planes_per_step * size.most_steps; }
  /// Keeps plane z, if it is one of the slab that a neighbour needs.
  void keep(int64_t z, const double* plane) {
    for (auto& side : sides_) {
      if (const auto distance = side.distance(z); 0 <= distance && distance < depth_for(size_))
        std::copy_n(plane, layout().size(), side.kept.data() + distance * layout().size());
    }
  }
  /// Plane z of a neighbour, which the last exchange brought.
  const double* received(int64_t z) const {
    const auto& side = sides_.front().distance(z) < 0 ? sides_.front() : sides_.back();
    return side.received.data() - (side.distance(z) + 1) * layout().size();
  }
  /// Start values are known everywhere, and alike in all planes: no rank waits for another. Those that neighbours need at first are kept.
  void sum_start_values() {
    pass_->begin(shape_[2], {{}}, steps_after(0));
    kernels::PageBuffer<double> plane(static_cast<size_t>(layout().size()));
    fill_start(0, plane.data());
    const auto wavefront_steps = pass_->wavefront_steps();
    for (auto first = wavefront_steps.begin; first < wavefront_steps.end; first += size_.planes_at_once) {
      std::vector<const double*> given(static_cast<size_t>(size_.planes_at_once));
      for (auto z = first; z < first + size_.planes_at_once; ++z) {
        if (!pass_->given_planes().contains(z)) continue;
        given[static_cast<size_t>(z - first)] = plane.data();
        keep(z, plane.data());
      }
      pass_->make_sums(first, given);
    }
  }
  /// The steps of the next pass, which is begun; 0: there is none.
  [[nodiscard]] int steps_of(const std::vector<kernels::PowerSums>& sums, int done_count) {
    const double residual = std::sqrt(sums.front().rr) / norm_;
    const double wanted = solve_.wanted_residual;
    solve_.residual = residual;
    // Where coordinates had lost the digits of the last one, it is known only now.
    if (auto& known = solve_.residuals; !known.empty() && known.back() == 0.0) known.back() = residual;
    if (std::isnan(residual))
      throw RunError(ExitCode::not_finite, "s-step CG: a sum of products is not a number");
    const int asked = steps_after(done_count);
    if (asked == 0 || residual <= wanted || residual == 0.0) return 0;
    auto steps = step_in_coordinates(sums, asked, std::pow(wanted * norm_, 2));
    if (steps.step_count == 0) return 0;  // no digit can be gained any more
    for (const double square_sum : steps.square_sums)
      solve_.residuals.push_back(std::sqrt(square_sum) / norm_);
    steps.weights.resize(static_cast<size_t>(steps.step_count) + 1);
    pass_->begin(shape_[2], std::move(steps.weights), steps_after(done_count + steps.step_count));
    return steps.step_count;
  }
  int steps_after(int done_count) const { return std::min(size_.most_steps, step_limit_ - done_count); }
  PlaneFigures figures_of(const std::vector<double>& lower, const std::vector<double>& middle,
                          const std::vector<double>& upper) const {
    PlaneFigures figures;
    const auto stride = layout_.domain.stride();
    for (int64_t y = 0; y < shape_[1]; ++y) {
      const auto begin = layout_.domain.line(y);
      const double* const line = middle.data() + begin;
      const double* const line_below = lower.data() + begin;
      const double* const line_above = upper.data() + begin;
      for (int64_t x = 0; x < shape_[0]; ++x) {
        const double before = y > 0 ? line[x - stride] : 0.0;
        const double after = y + 1 < shape_[1] ? line[x + stride] : 0.0;
        const double neighbours = line[x - 1] + line[x + 1] + before + after + line_below[x] + line_above[x];
        const double residual = every_b - (6.0 * line[x] - neighbours);
        figures.squared_residual += residual * residual;
        figures.sum += line[x];
      }
      figures.checksum =
          crc32c(std::as_bytes(std::span(line, static_cast<size_t>(shape_[0]))), figures.checksum);
    }
    return figures;
  }

  comm::Extents shape_;
  int step_limit_;
  CgLayout layout_;
  double norm_;
  StencilSolve solve_;  // so far
  FrontSize size_;
  std::unique_ptr<CgPass> pass_;
  std::unique_ptr<comm::Endpoint> endpoint_;
  std::deque<Side> sides_;     // which do not move
  size_t exchange_depth_ = 1;  // planes for the pass, or for the check after the last one
};

}  // namespace

std::unique_ptr<StencilMethod> make_s_step_cg_method(const StencilOptions& options) {
  return std::make_unique<SStepCgMethod>(options);
}

}  // namespace cg2d
