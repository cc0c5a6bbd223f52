// Steps of the heat equation, compared with their closed form at the end.

#include <cmath>
#include <limits>
#include <numbers>

#include "cg/base/agreement.hpp"
#include "cg/base/storage/crc32c.hpp"
#include "cg/stencil/stencil_method.hpp"
#include "cg/stencil/wavefront.hpp"
#include "kernels/stencil_lines.hpp"

namespace cg2d {
namespace {

/// sin(pi wave (k + 1) / (length + 1)). The angle is reduced in whole numbers, so that large ones lose nothing.
double sine_at(int64_t length, int64_t wave, int64_t k) {
  const auto half = length + 1;
  const auto angle = wave * (k + 1) % (2 * half);
  return std::sin(std::numbers::pi * static_cast<double>(angle) / static_cast<double>(half));
}

std::vector<double> sine_wave(int64_t length, int64_t wave) {
  std::vector<double> values(static_cast<size_t>(length));
  for (int64_t k = 0; k < length; ++k) values[static_cast<size_t>(k)] = sine_at(length, wave, k);
  return values;
}

constexpr int64_t kept_count = 2;  // planes of a step
/// Zeros before the first line: its point -1.
constexpr int64_t margin = 8;

int64_t passed_size(const PlaneLayout& layout, const FrontSize& size) {
  return margin + 2 * int64_t{size.most_steps} * (size.planes_at_once + kept_count) * layout.stride();
}
int64_t new_size(const PlaneLayout& layout, const FrontSize& size) {
  return 2 * int64_t{size.planes_at_once} * layout.stride();
}

}  // namespace

HeatField::HeatField(const comm::Extents& shape) : layout_(shape), plane_count_(shape[2]) {
  constexpr comm::Extents smoothest{1, 1, 1};
  constexpr comm::Extents divisors{16, 12, 20};  // different ones, so that an exchange of directions shows
  comm::Extents several{};
  for (size_t k = 0; k < several.size(); ++k) several[k] = std::min(1 + shape[k] / divisors[k], shape[k]);
  double amplitude = 1.0;
  for (const auto& waves : {smoothest, several, shape}) {
    auto& mode = modes_.emplace_back(Mode{.amplitude = amplitude,
                                          .decay = 1.0,
                                          .along_x = sine_wave(shape[0], waves[0]),
                                          .along_y = sine_wave(shape[1], waves[1]),
                                          .wave_z = waves[2]});
    for (size_t k = 0; k < shape.size(); ++k) {
      const double half_sine = std::sin(std::numbers::pi * static_cast<double>(waves[k]) /
                                        (2.0 * static_cast<double>(shape[k] + 1)));
      mode.decay -= 4.0 * heat_side_weight * half_sine * half_sine;
    }
    amplitude /= 2.0;
  }
}

std::vector<double> HeatField::plane_weights(int64_t z, int step_count) const {
  std::vector<double> weights;
  for (const auto& mode : modes_)
    weights.push_back(mode.amplitude * std::pow(mode.decay, step_count) *
                      sine_at(plane_count_, mode.wave_z, z));
  return weights;
}

void HeatField::fill_line(int64_t y, const std::vector<double>& weights, double* line) const {
  std::fill_n(line, layout_.line_length, 0.0);
  for (size_t number = 0; number < modes_.size(); ++number) {
    const double weight = weights[number] * modes_[number].along_y[static_cast<size_t>(y)];
    const double* const wave = modes_[number].along_x.data();
    for (int64_t x = 0; x < layout_.line_length; ++x) line[x] += weight * wave[x];
  }
}

void HeatField::fill_start(int64_t z, double* plane) const {
  const auto weights = plane_weights(z, 0);
  for (int64_t y = 0; y < layout_.line_count; ++y) fill_line(y, weights, plane + layout_.line(y));
}

PlaneFigures HeatField::compare(int64_t z, int step_count, const double* plane) const {
  const auto weights = plane_weights(z, step_count);
  const auto length = static_cast<size_t>(layout_.line_length);
  std::vector<double> expected(length);
  PlaneFigures figures;
  for (int64_t y = 0; y < layout_.line_count; ++y) {
    const std::span line(plane + layout_.line(y), length);
    fill_line(y, weights, expected.data());
    double sum = 0.0;
    for (size_t x = 0; x < length; ++x) {
      sum += line[x];
      const double error = std::abs(line[x] - expected[x]);
      if (std::isnan(error) || error > figures.largest_error) figures.largest_error = error;  // a NaN stays
    }
    figures.sum += sum;
    figures.checksum = crc32c(std::as_bytes(line), figures.checksum);
  }
  return figures;
}

double HeatField::tolerance(int step_count) const {
  constexpr double roundings_per_step = 16.0;
  constexpr double roundings_of_start = 32.0;
  double bound = 0.0;  // of all points at any time
  for (const auto& mode : modes_) bound += mode.amplitude;
  return (roundings_per_step * step_count + roundings_of_start) * std::numeric_limits<double>::epsilon() *
         bound;
}

Wavefront::Wavefront(const PlaneLayout& layout, const FrontSize& size, kernels::HeatLoop loop)
    : layout_(layout),
      loop_(loop),
      planes_at_once_(size.planes_at_once),
      active_(static_cast<size_t>(size.most_steps) + 1),
      kept_(written_zeros(kept_count * size.most_steps * layout.size())),
      passed_(written_zeros(passed_size(layout, size))),
      new_(written_zeros(new_size(layout, size))),
      zeros_(static_cast<size_t>(layout.stride())),
      line_planes_(static_cast<size_t>(size.planes_at_once + kept_count)) {}

int64_t Wavefront::byte_count(const PlaneLayout& layout, const FrontSize& size) {
  return kept_count * size.most_steps * layout.byte_count() +
         (passed_size(layout, size) + new_size(layout, size)) * int64_t{sizeof(double)};
}

double* Wavefront::kept_line(int step, int number, int64_t y) {
  return kept_.data() + (kept_count * step + number) * layout_.size() + layout_.line(y);
}

/// plane: 0 ... n+1.
double* Wavefront::passed_line(int step, int64_t y, int64_t plane) {
  return passed_.data() + margin +
         ((2 * int64_t{step} + (y & 1)) * (planes_at_once_ + kept_count) + plane) * layout_.stride();
}

/// Below the first plane of the domain there are zeros.
void Wavefront::begin(const SkewedPass& pass, const WavefrontBorders& borders) {
  pass_ = pass;
  borders_ = borders;
  if (!pass.is_first()) return;
  std::fill_n(kept_.data(), kept_count * pass.step_count * layout_.size(), 0.0);
}

comm::IndexRange Wavefront::places_of(int step, const comm::IndexRange& planes) const {
  const auto within = [&](int64_t z) {
    return std::clamp<int64_t>(place(first_, step, z), 0, planes_at_once_);
  };
  return {.begin = within(planes.begin), .end = within(planes.end)};
}

void Wavefront::advance(int64_t first, std::span<const double* const> given, std::span<double* const> made) {
  first_ = first;
  given_ = given;
  made_ = made;
  const int step_count = pass_.step_count;
  for (int step = 0; step <= step_count; ++step)
    active_[static_cast<size_t>(step)] = places_of(step, pass_.planes(step));
  // Before the first line there are zeros.
  for (int step = 0; step < step_count; ++step)
    std::fill_n(passed_line(step, -1, 0), (planes_at_once_ + kept_count) * layout_.stride(), 0.0);
  for (int64_t front_y = 0; front_y < layout_.line_count + step_count; ++front_y) {
    show_line(0, front_y);
    for (const double* const plane : given) {
      if (plane != nullptr && front_y + 1 < layout_.line_count)
        kernels::fetch_ahead(plane + layout_.line(front_y + 1), layout_.line_length);
    }
    for (int step = 1; step <= step_count && line_y_ >= 0; ++step) {
      if (line_y_ <= layout_.line_count) {
        make_line(step);
        pass_on(step);
        keep(step - 1);
      }
      show_line(step, line_y_ - 1);
    }
    if (borders_.look) borders_.look();
  }
}

/// Line y-1 of a step from the lines y-2, y-1 and y of the step before; the last one is where line_planes_ say, and takes the place of the first.
void Wavefront::make_line(int step) {
  const auto y = line_y_ - 1;
  const auto& active = active_[static_cast<size_t>(step)];
  if (y < 0 || active.size() <= 0) return;
  // The lines of the kept planes that the next step takes are in memory, those of the others in caches.
  for (int number = 0; step < pass_.step_count && number < kept_count; ++number)
    kernels::fetch_ahead(kept_line(step, number, y), layout_.line_length);
  for (auto plane = active.begin; plane < active.end; ++plane)
    loop_({.previous = passed_line(step - 1, y + 1, plane + 1),
           .lower = passed_line(step - 1, y, plane),
           .middle = passed_line(step - 1, y, plane + 1),
           .upper = passed_line(step - 1, y, plane + 2),
           .next = line_planes_[static_cast<size_t>(plane + 1)]},
          heat_weights, layout_.line_length, target_line(step, plane, y));
}

/// Where a step makes its line y of a plane.
double* Wavefront::target_line(int step, int64_t plane, int64_t y) {
  if (step == pass_.step_count) return made_[static_cast<size_t>(plane)] + layout_.line(y);
  return new_.data() + (step % 2 * planes_at_once_ + plane) * layout_.stride();
}

/// The line y of a plane that a step has just made; those of step 0 are given.
const double* Wavefront::line_of(int step, int64_t plane, int64_t y) {
  return step == 0 ? given_[static_cast<size_t>(plane)] + layout_.line(y) : target_line(step, plane, y);
}

/// Moves what the loop has not moved to where this step finds the lines of the step before.
void Wavefront::pass_on(int step) {
  const auto& active = active_[static_cast<size_t>(step)];
  if (active.size() <= 0 || line_y_ >= layout_.line_count) return;
  for (int64_t plane = 0; plane < planes_at_once_ + kept_count; ++plane) {
    if (line_y_ > 0 && active.contains(plane - 1)) continue;  // moved by the loop
    std::copy_n(line_planes_[static_cast<size_t>(plane)], layout_.line_length,
                passed_line(step - 1, line_y_, plane));
  }
}

/// The last two planes of a step, if it computes one of them. They take the place of those kept so far, which nobody needs any more.
void Wavefront::keep(int step) {
  const auto& active = active_[static_cast<size_t>(step)];
  const auto n = planes_at_once_;
  if (line_y_ >= layout_.line_count ||
      (n >= kept_count && (active.size() <= 0 || active.end + kept_count <= n)))
    return;
  for (int number = 0; number < kept_count; ++number)
    std::copy_n(line_planes_[static_cast<size_t>(n + number)], layout_.line_length,
                kept_line(step, number, line_y_));
}

/// Line y of a step is there: the next step finds it by line_planes_, and the rank before gets what it borrows. After the last line of a plane
/// there are zeros.
void Wavefront::show_line(int step, int64_t y) {
  line_y_ = y;
  std::ranges::fill(line_planes_, zeros_.data());
  if (step == pass_.step_count || y < 0 || y >= layout_.line_count) return;
  // Where such a plane's line is among the lent or the borrowed planes of all steps.
  const auto border_line = [&](const comm::IndexRange& planes, int64_t plane) {
    const auto number = plane - place(first_, step, planes.begin);
    return SkewedPass::border_place(step, number) * layout_.size() + layout_.line(y);
  };
  const auto lent = pass_.lent(step);
  for (auto [plane, end] = places_of(step, lent); plane < end; ++plane)
    std::copy_n(line_of(step, plane, y), layout_.line_length, borders_.lent + border_line(lent, plane));
  for (int number = 0; number < kept_count; ++number)
    line_planes_[static_cast<size_t>(number)] = kept_line(step, number, y);
  for (auto [plane, end] = active_[static_cast<size_t>(step)]; plane < end; ++plane)
    line_planes_[static_cast<size_t>(plane + kept_count)] = line_of(step, plane, y);
  const auto borrowed = pass_.borrowed(step);
  for (auto [plane, end] = places_of(step, borrowed); plane < end; ++plane)
    line_planes_[static_cast<size_t>(plane + kept_count)] = borders_.borrowed + border_line(borrowed, plane);
}

// ---------------------------------------------------------------- method

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
    if (received_count_ < receive_count_) static_cast<void>(receives_->has_arrived(receive_count_ - 1));
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
