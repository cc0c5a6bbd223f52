#include "cg/operators/stencil_operator.hpp"

#include <algorithm>

namespace cg2d {
namespace {

// Between shares of the interior the exchange makes progress: messages that MPI passes on or copies only inside of
// its calls would wait until the end otherwise. About 50 us.
constexpr std::int64_t points_per_share = 1 << 16;

// p and q together; smaller ones may be in the last-level cache when the solver reads q next.
constexpr std::int64_t least_streamed_bytes = std::int64_t{32} << 20;

/// Part number `part` of 0 ... count-1, cut into part_count parts.
comm::IndexRange part_of_count(std::int64_t count, std::int64_t part, std::int64_t part_count) {
  return {.begin = count * part / part_count, .end = count * (part + 1) / part_count};
}

}  // namespace

comm::HaloShape halo_shape(const Stencil& stencil) {
  return {.width = 1, .has_corners = stencil.has_corners()};
}

StencilOperator::StencilOperator(const Stencil& stencil, const comm::Box& box, comm::HaloExchange& halo,
                                 comm::Communicator& sums, PhaseTimer& timer, const StencilOptions& options)
    : halo_(halo),
      sums_(sums),
      timer_(timer),
      points_(stencil.extents, box),
      kernel_(kernels::stencil_kernel(stencil.point_count, options.instruction_set)),
      point_count_(stencil.point_count),
      has_corners_(stencil.has_corners()),
      thread_count_(options.thread_count),
      q_(static_cast<std::size_t>(box.size())) {
  streams_ = options.streams.value_or(product_byte_count() >= least_streamed_bytes);
  points_.set_operand(halo.operand());
  if (box.is_empty()) return;
  const bool has_ends = points_.goes_on(0, -1) || points_.goes_on(0, 1);
  for (std::int64_t number = 0; number < box.extent(1) * box.extent(2); ++number) {
    if (has_ends || !is_inner(line_at(number))) boundary_lines_.push_back(number);
  }
  if (!boundary_lines_.empty()) share_count_ = (box.size() + points_per_share - 1) / points_per_share;
}

std::span<const Phase> StencilOperator::phases() const {
  static constexpr std::array order{Phase::halo, Phase::interior, Phase::boundary};
  return order;
}

void StencilOperator::apply() {
  {
    const auto timed = timer_.scope(Phase::halo);
    halo_.start();
  }
  {
    const auto timed = timer_.scope_that_hides(Phase::halo, Phase::interior);
    compute_interior();
  }
  {
    const auto timed = timer_.scope(Phase::halo);
    halo_.finish();
  }
  const auto timed = timer_.scope(Phase::boundary);
  points_.set_halo(halo_.views());
  compute_boundary();
  halo_.done();
}

bool StencilOperator::is_inner(const Line& line) const {
  const auto needs_halo = [&](std::size_t dimension, std::int64_t place) {
    return (place == 0 && points_.goes_on(dimension, -1)) ||
           (place == box().extent(dimension) - 1 && points_.goes_on(dimension, 1));
  };
  return !needs_halo(1, line.y) && !needs_halo(2, line.z);
}

template <typename Compute>
void StencilOperator::on_threads(std::int64_t count, const Share& share, const Compute& compute) const {
#pragma omp parallel for num_threads(thread_count_) schedule(static, 1) if (thread_count_ > 1)
  for (int thread = 0; thread < thread_count_; ++thread) {
    const auto mine = part_of_count(count, thread, thread_count_);
    const auto now = part_of_count(mine.size(), share.number, share.count);
    kernels::StreamWriter writer;
    for (auto number = mine.begin + now.begin; number < mine.begin + now.end; ++number)
      compute(number, writer);
  }
}

void StencilOperator::compute_interior() {
  if (box().is_empty()) return;
  for (Share share{.number = 0, .count = share_count_}; share.number < share_count_; ++share.number) {
    on_threads(box().extent(1) * box().extent(2), share,
               [&](std::int64_t number, kernels::StreamWriter& writer) {
                 const auto line = line_at(number);
                 if (is_inner(line)) compute_interior_line(line, writer);
               });
    halo_.progress();
  }
}

void StencilOperator::compute_boundary() {
  on_threads(std::ssize(boundary_lines_), {}, [&](std::int64_t number, kernels::StreamWriter&) {
    compute_boundary_line(line_at(boundary_lines_[static_cast<std::size_t>(number)]));
  });
}

/// The ends are computed here where the domain ends there, too.
void StencilOperator::compute_interior_line(const Line& line, kernels::StreamWriter& writer) {
  const auto length = box().extent(0);
  const bool has_begin = !points_.goes_on(0, -1);
  const bool has_end = !points_.goes_on(0, 1);
  const auto lines = lines_around(line);
  auto* const used_writer = streams_ ? &writer : nullptr;
  const auto end_point = [&](std::int64_t x) {
    const double left = x > 0 ? kernel_.side(lines, x - 1) : 0.0;
    const double right = x + 1 < length ? kernel_.side(lines, x + 1) : 0.0;
    double* const q = result_at(line, x);
    *(streams_ ? writer.room(q, 1) : q) = kernel_.point(lines, x, left, right);
  };
  if (length == 1) {
    if (has_begin && has_end) end_point(0);
    return;
  }
  if (has_begin) end_point(0);
  compute_points(lines, {.begin = 1, .end = length - 1}, result_at(line, 1), used_writer);
  if (has_end) end_point(length - 1);
}

/// All of a line that is not inner; of the others the ends where the domain goes on.
void StencilOperator::compute_boundary_line(const Line& line) {
  const auto length = box().extent(0);
  const bool is_whole = !is_inner(line);
  const auto lines = lines_around(line);
  const auto end_point = [&](std::int64_t x) {
    const double left = x > 0 ? kernel_.side(lines, x - 1) : beyond(-1, line);
    const double right = x + 1 < length ? kernel_.side(lines, x + 1) : beyond(1, line);
    *result_at(line, x) = kernel_.point(lines, x, left, right);
  };
  if (is_whole || points_.goes_on(0, -1) || (length == 1 && points_.goes_on(0, 1))) end_point(0);
  if (length == 1) return;
  if (is_whole) compute_points(lines, {.begin = 1, .end = length - 1}, result_at(line, 1), nullptr);
  if (is_whole || points_.goes_on(0, 1)) end_point(length - 1);
}

kernels::StencilLines StencilOperator::lines_around(const Line& line) const {
  kernels::StencilLines lines{};
  for (int z = -1; z <= 1; ++z) {
    for (int y = -1; y <= 1; ++y) {
      if (has_corners_ || y == 0 || z == 0)
        lines[kernels::stencil_line(y, z)] = points_.line(line.y + y, line.z + z);
    }
  }
  return lines;
}

double StencilOperator::beyond(int step, const Line& line) const {
  if (!points_.goes_on(0, step)) return 0.0;
  if (!has_corners_) return points_.beyond(step, line.y, line.z);
  double sum = 0.0;
  for (int z = -1; z <= 1; ++z) {
    for (int y = -1; y <= 1; ++y) sum += points_.beyond(step, line.y + y, line.z + z);
  }
  return sum;
}

double* StencilOperator::result_at(const Line& line, std::int64_t x) {
  return q_.data() + x + box().extent(0) * (line.y + box().extent(1) * line.z);
}

void StencilOperator::compute_points(const kernels::StencilLines& lines, const comm::IndexRange& points,
                                     double* q, kernels::StreamWriter* writer) const {
  if (writer == nullptr) {
    kernel_.loop(lines, points.begin, points.end, q);
    return;
  }
  for (auto begin = points.begin; begin < points.end; begin += kernels::StreamWriter::largest_room) {
    const auto end = std::min(points.end, begin + kernels::StreamWriter::largest_room);
    kernel_.loop(lines, begin, end, writer->room(q + (begin - points.begin), end - begin));
  }
}

}  // namespace cg2d
