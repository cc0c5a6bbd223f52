#pragma once

// q = A p for a Laplacian on a box of points, without a matrix: each rank has a box of the points, gets the points
// around it from other ranks (its halo), and computes.

#include <algorithm>

#include "cg/base/process_memory.hpp"
#include "cg/matrix/stencil.hpp"
#include "cg/solver/operators/matrix_free.hpp"
#include "comm/halo.hpp"
#include "kernels/stencil_lines.hpp"

namespace cg2d {

/// The halo that a stencil reads.
comm::HaloShape halo_shape(const Stencil& stencil);

/// How a stencil is applied on one rank.
struct StencilOperatorOptions {
  /// Results are written past the caches. Empty: where p and q are too large for them.
  std::optional<bool> streams{};
  std::optional<kernels::InstructionSet> instruction_set{};  ///< empty: the widest
};

/// Applies a stencil to one rank's box of points. The rank's piece of a vector are the points of its box, x first,
/// then y, then z: on one rank the rows of the assembled matrix in their order.
///
/// Points that need no other rank's are computed while the halo is under way:
///
///     halo        start: the points at the faces leave
///     interior    lines of points (along x) whose neighbours are here, but for the ends that need the halo;
///                 between shares of them the exchange makes progress
///     halo        finish
///     boundary    the other lines, and these ends
///
/// Which operations compute a point depends on its place in the box alone, never on threads or timing: results
/// repeat their bits on the same cut. The group must outlive it.
class StencilOperator final : public MatrixFreeSystem {
 public:
  /// Collective. Throws as MatrixFreeRow::make().
  StencilOperator(const Stencil& stencil, const MatrixFreeInput& input,
                  const StencilOperatorOptions& options = {});

  [[nodiscard]] PhaseTimer& timer() override { return timer_; }
  comm::Traffic sent(comm::Operation operation) const override {
    return operation == comm::Operation::halo ? halo_->sent() : sums_->sent(operation);
  }
  int64_t order() const override { return stencil_.order(); }
  int64_t row_of(size_t element) const override;
  std::optional<double> diagonal() const override { return stencil_.diagonal(); }
  std::string arrangement() const override { return "domain " + layout_.grid().name(); }
  std::string_view kernel() const override { return "stencil"; }

  size_t local_size() const override { return q_.size(); }
  [[nodiscard]] Piece operand() override { return halo_->operand(); }
  void apply() override;
  ConstPiece result() const override { return q_; }
  /// While the points of a line are in the first-level cache; not where the domain is cut along x.
  std::optional<double> own_product() const override {
    if (!sums_by_the_way()) return std::nullopt;
    double sum = 0.0;
    for (const auto& product : products_) sum += product.value;
    return sum;
  }
  void sum_over_ranks(std::span<double> values) override { sums_->sum_scalars(values); }

  bool streams() const { return streams_; }
  /// The least that one product moves between memory and processor: p read once and q written once.
  int64_t product_byte_count() const { return 2 * static_cast<int64_t>(q_.size() * sizeof(double)); }
  /// Additions and the multiplication of each point, with all its neighbours; two more for p . q where it is made by the way.
  VectorWork product_work(Phase phase) const override;

 private:
  /// A line of points along x, by its place in the box.
  struct Line {
    int64_t y;
    int64_t z;
  };
  Line line_at(int64_t number) const { return {.y = number % box_.extent(1), .z = number / box_.extent(1)}; }
  /// Whether a product adds up p . q, too.
  bool sums_by_the_way() const { return !goes_on(0, -1) && !goes_on(0, 1); }
  /// Whether the lines around it are all in this rank's box, or outside of the domain.
  bool is_inner(const Line& line) const { return inner_[1].contains(line.y) && inner_[2].contains(line.z); }

  /// p . q of the points of a thread; a cache line apart from the others'.
  struct alignas(64) ThreadSum {
    double value = 0.0;
  };
  static void add_product(ThreadSum& sum, const double* p, int64_t point_count, const double* q);

  void compute_interior();
  /// Inner lines by their numbers, in runs of lines that follow each other in memory. They are numbered block by block: so many lines of a plane,
  /// then the same ones of the next plane. Three planes of a block stay in the second-level cache, and p is read from memory once.
  void compute_inner_lines(const comm::IndexRange& numbers, ThreadSum& sum, kernels::StreamWriter* writer);
  void compute_run(const Line& first, int64_t count, ThreadSum& sum, kernels::StreamWriter* writer);
  /// Where the points of the plane after a line are fetched ahead from; nullptr: nowhere.
  const double* fetched_ahead(const Line& first, int64_t point_count) const;
  void compute_boundary_line(const Line& line, ThreadSum& sum);

  /// Calls compute(range, sum of the thread) for ranges of numbers, on the threads, that together are one of several shares of 0 ... count-1:
  /// each thread takes the same part of all numbers in every product, and of it the share.
  template <typename Compute>
  void on_threads(int64_t count, int64_t share, int64_t share_count, const Compute& compute);

  /// A part of the halo, whose pointer is moved so that points count as those of the box.
  struct HaloLines {
    const double* first = nullptr;  // none: outside of the domain
    int64_t line_stride = 0;
    int64_t plane_stride = 0;
  };
  /// Lines are followed by the next ones of their plane; outside of the domain by as many zeros as there are points
  /// in a run of lines, or in one line.
  static constexpr int64_t longest_run = 1024;

  /// Whether the domain goes on beyond the box; step: -1 or 1.
  bool goes_on(size_t dimension, int step) const {
    const auto& range = box_.ranges[dimension];
    return step < 0 ? range.begin > 0 : range.end < stencil_.extents[dimension];
  }
  int step_of(size_t dimension, int64_t place) const {
    return place < 0 ? -1 : place >= box_.extent(dimension) ? 1 : 0;
  }
  static size_t index_of(int x, int y, int z) {
    return static_cast<size_t>(x + 1 + 3 * (y + 1 + 3 * (z + 1)));
  }
  /// Takes the halo as the exchange gives it.
  void set_halo(std::span<const comm::HaloView> views);
  /// Point 0 of a line along x, in the box or one step around it. y, z: from the box's first point, within -1 ... extent.
  const double* points_of(int64_t y, int64_t z) const;
  /// The point beyond an end of that line; step: -1 or 1.
  double point_beyond(int step, int64_t y, int64_t z) const;
  kernels::StencilLines lines_around(const Line& line) const {
    kernels::StencilLines lines{};
    for (int z = -1; z <= 1; ++z) {
      for (int y = -1; y <= 1; ++y) {
        if (stencil_.has_corners() || y == 0 || z == 0)
          lines[kernels::stencil_line(y, z)] = points_of(line.y + y, line.z + z);
      }
    }
    return lines;
  }
  /// The neighbours beyond an end of a line; step: -1 or 1.
  double beyond(int step, const Line& line) const {
    if (!goes_on(0, step)) return 0.0;
    if (!stencil_.has_corners()) return point_beyond(step, line.y, line.z);
    double sum = 0.0;
    for (int z = -1; z <= 1; ++z) {
      for (int y = -1; y <= 1; ++y) sum += point_beyond(step, line.y + y, line.z + z);
    }
    return sum;
  }
  [[nodiscard]] double* result_at(const Line& line) {
    return q_.data() + box_.extent(0) * (line.y + box_.extent(1) * line.z);
  }

  Stencil stencil_;
  comm::DomainLayout layout_;
  std::unique_ptr<comm::HaloExchange> halo_;
  std::unique_ptr<comm::Communicator> sums_;  // only sums over all ranks
  PhaseTimer timer_;
  comm::Box box_;  // the points of this rank
  ConstPiece operand_;
  HugePageVector zeros_;
  std::array<HaloLines, 27> halo_parts_{};  // by step along x, y and z
  kernels::StencilKernel kernel_;
  int thread_count_;
  bool streams_;
  int64_t block_lines_ = 1;  // lines of a plane in a block of inner lines
  HugePageVector q_;
  std::array<comm::IndexRange, comm::dimension_count>
      inner_{};                          // lines that need no halo, by place along y and z
  std::vector<int64_t> boundary_lines_;  // with points that need the halo
  int64_t share_count_ = 1;              // shares of the interior
  std::vector<ThreadSum> products_;      // each thread's p . A p in the last apply()
};

}  // namespace cg2d
