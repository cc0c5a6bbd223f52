#include "cg/solver/operators/stencil_operator.hpp"

#include <cblas.h>

#include <cassert>

#include "cg/base/errors.hpp"
#include "cg/solver/communicator_setup.hpp"

namespace cg2d {
namespace {

// Between shares of the interior the exchange makes progress: messages that MPI passes on or copies only inside of
// its calls would wait until the end otherwise. About 50 us.
constexpr int64_t points_per_share = 1 << 16;

// p and q together; smaller ones may be in the last-level cache when the solver reads q next.
constexpr int64_t least_streamed_bytes = int64_t{32} << 20;

// Points of the plane (in two dimensions: the line) after a line come from memory. Where boxes are large, they are
// fetched so far ahead, in such portions. Loop alone, p and q in memory, Zen 5 (one core of a VM, 2026-11-22), medians of 5 in turns: 128^3 points
// 1.29 ns per point without, 0.64 with (portions of 256, streamed; stored 1.03 and 0.77). Portions of 1024: 0.76.
constexpr int64_t fetch_distance = 2048;
constexpr int64_t points_per_fetch = 256;

// p and q together; smaller ones are in the second-level cache.
constexpr int64_t least_fetched_bytes = int64_t{2} << 20;

// Three planes of a block of inner lines: half of the second-level cache of most processors.
constexpr int64_t bytes_per_block = int64_t{512} << 10;

comm::DomainLayout domain_layout(const Stencil& stencil, const MatrixFreeInput& input) {
  const int rank_count = input.group.size();
  const auto grid =
      input.domain_grid ? *input.domain_grid : comm::best_domain_grid(stencil.extents, rank_count);
  if (grid.rank_count() != rank_count) {
    throw InputError("{}: the cut {} is of {} ranks, there are {}", stencil.name(), grid.name(),
                     grid.rank_count(), rank_count);
  }
  return {stencil.extents, grid};
}

}  // namespace

comm::HaloShape halo_shape(const Stencil& stencil) {
  return {.width = 1, .has_corners = stencil.has_corners()};
}

void StencilOperator::set_halo(std::span<const comm::HaloView> views) {
  for (const auto& view : views) {
    std::array<int64_t, comm::dimension_count> begin{};
    for (size_t k = 0; k < begin.size(); ++k) begin[k] = view.box.ranges[k].begin - box_.ranges[k].begin;
    assert(view.box.extent(0) == 1 || begin[0] == 0);
    halo_parts_[index_of(step_of(0, begin[0]), step_of(1, begin[1]), step_of(2, begin[2]))] = {
        .first = view.first - begin[1] * view.line_stride - begin[2] * view.plane_stride,
        .line_stride = view.line_stride,
        .plane_stride = view.plane_stride};
  }
}

const double* StencilOperator::points_of(int64_t y, int64_t z) const {
  const int y_step = step_of(1, y);
  const int z_step = step_of(2, z);
  if (y_step == 0 && z_step == 0) return operand_.data() + box_.extent(0) * (y + box_.extent(1) * z);
  const auto& part = halo_parts_[index_of(0, y_step, z_step)];
  return part.first == nullptr ? zeros_.data() : part.first + y * part.line_stride + z * part.plane_stride;
}

double StencilOperator::point_beyond(int step, int64_t y, int64_t z) const {
  const auto& part = halo_parts_[index_of(step, step_of(1, y), step_of(2, z))];
  return part.first == nullptr ? 0.0 : part.first[y * part.line_stride + z * part.plane_stride];
}

StencilOperator::StencilOperator(const Stencil& stencil, const MatrixFreeInput& input,
                                 const StencilOperatorOptions& options)
    : stencil_(stencil),
      layout_(domain_layout(stencil, input)),
      halo_(make_halo(transport_of(input.configuration, input.group), input.group, layout_,
                      {.shape = halo_shape(stencil), .ranks_per_node = input.configuration.ranks_per_node})),
      sums_(make_communicator(transport_of(input.configuration, input.group), input.group,
                              comm::BlockLayout::even(0, {.columns = 1, .rows = input.group.size()}),
                              {.ranks_per_node = input.configuration.ranks_per_node})),
      timer_(input.times_phases, input.group.waiter()),
      box_(layout_.box(input.group.rank())),
      operand_(halo_->operand()),
      zeros_(static_cast<size_t>(std::max(box_.extent(0), longest_run))),
      kernel_(kernels::stencil_kernel(stencil.point_count, options.instruction_set)),
      thread_count_(input.configuration.thread_count),
      q_(static_cast<size_t>(box_.size())),
      products_(static_cast<size_t>(thread_count_)) {
  streams_ = options.streams.value_or(product_byte_count() >= least_streamed_bytes);
  if (box_.is_empty()) return;
  for (size_t k = 1; k < inner_.size(); ++k) {
    const int64_t begin = goes_on(k, -1) ? 1 : 0;
    inner_[k] = {.begin = begin, .end = std::max(begin, box_.extent(k) - (goes_on(k, 1) ? 1 : 0))};
  }
  const bool has_ends = goes_on(0, -1) || goes_on(0, 1);
  for (int64_t number = 0; number < box_.extent(1) * box_.extent(2); ++number) {
    if (has_ends || !is_inner(line_at(number))) boundary_lines_.push_back(number);
  }
  const auto line_bytes = 3 * box_.extent(0) * static_cast<int64_t>(sizeof(double));
  block_lines_ = std::clamp<int64_t>(bytes_per_block / line_bytes, 1, std::max<int64_t>(1, inner_[1].size()));
  if (!boundary_lines_.empty()) share_count_ = (box_.size() + points_per_share - 1) / points_per_share;
}

int64_t StencilOperator::row_of(size_t element) const {
  const auto number = static_cast<int64_t>(element);
  const auto line = number / box_.extent(0);
  return box_.ranges[0].begin + number % box_.extent(0) +
         stencil_.extents[0] * (box_.ranges[1].begin + line % box_.extent(1) +
                                stencil_.extents[1] * (box_.ranges[2].begin + line / box_.extent(1)));
}

/// Ends of inner lines that the boundary computes count with the interior, which has their lines.
VectorWork StencilOperator::product_work(Phase phase) const {
  const auto all = static_cast<int64_t>(q_.size());
  const auto inner = all > 0 ? inner_[1].size() * inner_[2].size() * box_.extent(0) : 0;
  const auto points = phase == Phase::interior ? inner : phase == Phase::boundary ? all - inner : 0;
  return {.call_count = points > 0 ? 1 : 0,
          .byte_count = 2 * points * static_cast<int64_t>(sizeof(double)),
          .flop_count = points * (stencil_.point_count + (sums_by_the_way() ? 2 : 0))};
}

void StencilOperator::apply() {
  std::ranges::fill(products_, ThreadSum{});
  {
    const auto timed = timer_.scope(Phase::halo);
    halo_->start();
  }
  {
    const auto timed = timer_.scope_that_hides(Phase::halo, Phase::interior);
    compute_interior();
  }
  {
    const auto timed = timer_.scope(Phase::halo);
    halo_->finish();
  }
  const auto timed = timer_.scope(Phase::boundary);
  set_halo(halo_->views());
  on_threads(std::ssize(boundary_lines_), 0, 1, [&](const comm::IndexRange& numbers, ThreadSum& sum) {
    for (auto number = numbers.begin; number < numbers.end; ++number)
      compute_boundary_line(line_at(boundary_lines_[static_cast<size_t>(number)]), sum);
  });
  halo_->done();
}

void StencilOperator::add_product(ThreadSum& sum, const double* p, int64_t point_count, const double* q) {
  sum.value += cblas_ddot(static_cast<int>(point_count), p, 1, q, 1);
}

template <typename Compute>
void StencilOperator::on_threads(int64_t count, int64_t share, int64_t share_count, const Compute& compute) {
#pragma omp parallel for num_threads(thread_count_) schedule(static, 1) if (thread_count_ > 1)
  for (int thread = 0; thread < thread_count_; ++thread) {
    const auto mine = comm::share_of(count, thread, thread_count_);
    compute(comm::share_of(mine, share, share_count), products_[static_cast<size_t>(thread)]);
  }
}

void StencilOperator::compute_interior() {
  if (box_.is_empty()) return;
  for (int64_t share = 0; share < share_count_; ++share) {
    on_threads(inner_[1].size() * inner_[2].size(), share, share_count_,
               [&](const comm::IndexRange& numbers, ThreadSum& sum) {
                 if (!streams_) return compute_inner_lines(numbers, sum, nullptr);
                 kernels::StreamWriter writer;
                 compute_inner_lines(numbers, sum, &writer);
               });
    halo_->progress();
  }
}

void StencilOperator::compute_inner_lines(const comm::IndexRange& numbers, ThreadSum& sum,
                                          kernels::StreamWriter* writer) {
  const auto most_lines = std::max<int64_t>(1, longest_run / box_.extent(0));
  const auto last_y = box_.extent(1) - 1;
  const auto depth = inner_[2].size();
  for (auto number = numbers.begin; number < numbers.end;) {
    const auto first_y = number / (block_lines_ * depth) * block_lines_;
    const auto lines = std::min(block_lines_, inner_[1].size() - first_y);
    const auto place = number - first_y * depth;
    Line line{.y = inner_[1].begin + first_y + place % lines, .z = inner_[2].begin + place / lines};
    auto left = std::min(lines - place % lines, numbers.end - number);
    number += left;
    while (left > 0) {
      // The lines beside the first and the last one of a plane do not follow in memory.
      const bool is_at_edge = line.y == 0 || line.y == last_y;
      const auto count = is_at_edge ? 1 : std::min({left, most_lines, last_y - line.y});
      compute_run(line, count, sum, writer);
      line.y += count;
      left -= count;
    }
  }
}

/// The ends are computed here where the domain ends there, too; in the others the boundary overwrites what is
/// written here. A line that is longer than the writer's room is written in parts.
void StencilOperator::compute_run(const Line& first, int64_t count, ThreadSum& sum,
                                  kernels::StreamWriter* writer) {
  const auto length = box_.extent(0);
  const auto lines = lines_around(first);
  const auto total = count * length;
  const double* const ahead = fetched_ahead(first, total);
  const auto part = writer == nullptr ? total : std::min(total, kernels::StreamWriter::largest_room);
  for (int64_t begin = 0; begin < total; begin += part) {
    const auto end = std::min(total, begin + part);
    double* const q =
        writer == nullptr ? result_at(first) : writer->room(result_at(first) + begin, end - begin);
    for (auto at = begin; at < end; at += points_per_fetch) {
      const auto next = std::min(end, at + points_per_fetch);
      if (ahead != nullptr) kernels::fetch_ahead(ahead + at, next - at);
      const auto first_point = std::max<int64_t>(at, 1);
      kernel_.loop(lines, first_point, std::min(next, total - 1), q + (first_point - begin));
    }
    if (part == total) {
      kernel_.ends(lines,
                   {.length = length, .count = count, .begins = !goes_on(0, -1), .ends = !goes_on(0, 1)}, q);
    } else {
      if (begin == 0) q[0] = kernel_.point(lines, 0, 0.0, kernel_.side(lines, 1));
      if (end == length)
        q[length - 1 - begin] = kernel_.point(lines, length - 1, kernel_.side(lines, length - 2), 0.0);
    }
    add_product(sum, lines[kernels::middle_line] + begin, end - begin, q);
  }
}

const double* StencilOperator::fetched_ahead(const Line& first, int64_t point_count) const {
  // In two dimensions it is the line after it.
  const auto lines_ahead = box_.extent(2) > 1 ? box_.extent(1) : 1;
  const auto begin = fetch_distance + box_.extent(0) * (first.y + box_.extent(1) * first.z + lines_ahead);
  const bool is_large = product_byte_count() >= least_fetched_bytes;
  return is_large && begin + point_count <= std::ssize(operand_) ? operand_.data() + begin : nullptr;
}

/// All of a line that is not inner; of the others the ends where the domain goes on.
void StencilOperator::compute_boundary_line(const Line& line, ThreadSum& sum) {
  const auto length = box_.extent(0);
  const bool is_whole = !is_inner(line);
  const auto lines = lines_around(line);
  double* const q = result_at(line);
  const auto end_point = [&](int64_t x) {
    const double left = x > 0 ? kernel_.side(lines, x - 1) : beyond(-1, line);
    const double right = x + 1 < length ? kernel_.side(lines, x + 1) : beyond(1, line);
    q[x] = kernel_.point(lines, x, left, right);
  };
  if (is_whole && length > 2) kernel_.loop(lines, 1, length - 1, q + 1);
  if (is_whole || goes_on(0, -1) || (length == 1 && goes_on(0, 1))) end_point(0);
  if (length > 1 && (is_whole || goes_on(0, 1))) end_point(length - 1);
  add_product(sum, points_of(line.y, line.z), length, q);
}

MatrixFreeRow laplacian_operator(std::string_view name, std::string_view arguments) {
  static constexpr std::array phases{Phase::halo, Phase::interior, Phase::boundary};
  return {
      .name = name,
      .arguments = arguments,
      .phases = phases,
      .size_of = [](std::string_view text) -> MatrixFreeSize {
        return {.order = stencil_from(text).order(),
                .bytes_per_row = 3 * sizeof(double)};  // p with its halo, and q
      },
      .make = [](std::string_view text, const MatrixFreeInput& input) -> std::unique_ptr<MatrixFreeSystem> {
        return std::make_unique<StencilOperator>(stencil_from(text), input);
      }};
}

}  // namespace cg2d
