#pragma once

// Planes of points in memory and in files, their figures, the planes that a rank computes in one pass, and where those of a rank's slab are
// between passes: in memory or in a file. No MPI.

#include <algorithm>

#include "cg/panels/panel_io.hpp"
#include "comm/domain_layout.hpp"
#include "kernels/page_buffer.hpp"

namespace cg2d {

/// One plane (x, y) of the domain: lines of points along x, with at least one zero before and after each line, which is the boundary.
/// Lines begin on cache lines.
struct PlaneLayout {
  int64_t line_length = 1;  ///< points along x
  int64_t line_count = 1;   ///< points along y

  explicit PlaneLayout(const comm::Extents& shape) : line_length(shape[0]), line_count(shape[1]) {}

  /// From a line to the next one, doubles.
  int64_t stride() const { return rounded(line_length + 1, doubles_per_cache_line); }
  /// The first point of a line, doubles from the begin of the plane. Line `line_count` is the end of the last line.
  int64_t line(int64_t y) const { return doubles_per_cache_line + y * stride(); }
  int64_t size() const { return rounded(line(line_count), panel_alignment / int64_t{sizeof(double)}); }
  int64_t byte_count() const { return size() * int64_t{sizeof(double)}; }

 private:
  static constexpr int64_t doubles_per_cache_line = 8;
  static int64_t rounded(int64_t value, int64_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
  }
};

/// Zeros that are written: the system's part of making memory belongs to no pass. Throws std::bad_alloc.
inline kernels::PageBuffer<double> written_zeros(int64_t count) {
  kernels::PageBuffer<double> zeros(static_cast<size_t>(count));
  std::ranges::fill(zeros.span(), 0.0);
  return zeros;
}

/// The passes that a front is made for.
struct FrontSize {
  int most_steps = 1;      ///< of a pass
  int planes_at_once = 1;  ///< that a pass moves on by
};

/// One plane of a result.
struct PlaneFigures {
  double sum = 0.0;             ///< sum of all points, line by line
  double largest_error = 0;     ///< heat: largest difference from the closed form; NaN if a point is NaN
  double squared_residual = 0;  ///< s-step CG: of this plane's equations
  uint32_t checksum{};          ///< CRC-32C of the points, without the zeros around the lines
};

/// One pass over a rank's slab that stays where it is: several steps. Planes near the slab that other ranks have are computed here, too:
/// fewer with each step, so that what the last step reads is there.
///
///     step 0 (given)   z0-2  z0-1 | z0 ... z1-1 | z1  z1+1
///     step 1                 z0-1 | z0 ... z1-1 | z1
///     step 2                      | z0 ... z1-1 |
struct SlabPass {
  int64_t domain_planes = 0;  ///< planes of all ranks
  comm::IndexRange slab{};    ///< the rank's own
  int step_count = 0;

  /// The planes that a step computes; those of step 0 are given.
  comm::IndexRange planes(int step) const {
    const int64_t beyond = step_count - step;
    return {.begin = std::max<int64_t>(slab.begin - beyond, 0),
            .end = std::min(slab.end + beyond, domain_planes)};
  }
};

/// One pass over a slab that moves on with the steps, a plane with each, to where the next rank's slab begins: no plane is computed twice. What
/// a step needs of the next rank are the first two planes that this makes of the step before, and it makes them early in the pass. Planes are
/// numbered in the direction of the pass.
///
///     step 0 (given)   z0 z0+1 ... z1-1 | z1   z1+1
///     step 1              z0+1 ... z1-1   z1 | z1+1 z1+2
///     step 2                   ... z1-1   z1   z1+1 |
struct SkewedPass {
  /// Planes of the next rank that a step reads.
  static constexpr int64_t border_planes = 2;

  int64_t domain_planes = 0;  ///< planes of all ranks
  comm::IndexRange slab{};    ///< the rank's own before the pass
  int step_count = 0;

  bool is_first() const { return slab.begin == 0; }
  bool is_last() const { return slab.end == domain_planes; }
  /// The planes that a step computes; those of step 0 are given. The domain's ends do not move.
  comm::IndexRange planes(int step) const {
    return {.begin = is_first() ? 0 : slab.begin + step, .end = is_last() ? domain_planes : slab.end + step};
  }
  /// The planes of a step but the last that come from the next rank.
  comm::IndexRange borrowed(int step) const {
    const auto begin = planes(step).end;
    return {.begin = begin, .end = begin + (is_last() || step == step_count ? 0 : border_planes)};
  }
  /// The planes of a step but the last that the rank before needs.
  comm::IndexRange lent(int step) const {
    const auto begin = planes(step).begin;
    return {.begin = begin, .end = begin + (is_first() || step == step_count ? 0 : border_planes)};
  }
  /// Where the borrowed or lent planes of all steps lie one after the other: the place of plane `number` of a step, in planes.
  static int64_t border_place(int step, int64_t number) { return border_planes * step + number; }
};

/// The direction of a pass over the domain. Downwards, the planes are numbered from the last one on.
struct Sweep {
  int64_t domain_planes = 0;
  bool is_downward = false;

  int64_t number_of(int64_t z) const { return is_downward ? domain_planes - 1 - z : z; }
  /// Its own inverse, as number_of() is.
  comm::IndexRange numbers_of(const comm::IndexRange& planes) const {
    if (!is_downward) return planes;
    return {.begin = domain_planes - planes.end, .end = domain_planes - planes.begin};
  }
};

// ---------------------------------------------------------------- stores

/// The bytes that a store has moved, and how long its user waited for that.
struct StoreFigures {
  int64_t read_bytes = 0;
  int64_t written_bytes = 0;
  double read_wait_s = 0.0;
  double write_wait_s = 0.0;

  double wait_s() const { return read_wait_s + write_wait_s; }
};

/// Planes of a slab. A pass reads some of them in the order of their numbers, and may write planes in the same order, each once
/// it has been read, and planes that it does not read.
/// Everything throws RunError where a device or its data fail; after that the store is only destroyed.
class PlaneStore : public Interface {
 public:
  /// stored: the planes of the domain for which there is room.
  explicit PlaneStore(const comm::IndexRange& stored) : stored_(stored) {}

  const comm::IndexRange& stored() const { return stored_; }
  /// A pass begins that reads these planes, all of them: the first ones may be read ahead from now on. Planes are numbered in the direction of
  /// the pass until the next one; before the first one upwards. Everything that was written before is in the store: finish_writing().
  void begin_reading(const comm::IndexRange& planes, const Sweep& sweep = {}) {
    sweep_ = sweep;
    planes_ = planes;
    next_ = planes.begin;
    restart();
  }
  /// The next plane of the pass; valid until planes_at_once more have been asked for.
  virtual const double* next() = 0;
  /// Memory for the new plane `number`, with zeros around its lines; valid until written(). At most planes_at_once are under way.
  virtual double* room(int64_t number) = 0;
  /// The plane is complete.
  virtual void written(int64_t /*number*/) {}
  /// Returns when all planes that were written are in the store.
  virtual void finish_writing() {}
  /// The figures since the last call.
  StoreFigures take_figures() { return std::exchange(figures_, {}); }
  /// Whether it goes past the system's cache to a device.
  virtual bool is_direct() const { return false; }

 protected:
  /// A pass begins.
  virtual void restart() {}
  /// The place of a plane among those of the store.
  int64_t place(int64_t number) const { return sweep_.number_of(number) - stored_.begin; }

  comm::IndexRange planes_{};  // that the pass reads
  int64_t next_ = 0;           // of them
  StoreFigures figures_;

 private:
  comm::IndexRange stored_;
  Sweep sweep_;
};

/// Where planes are stored.
struct StoreOptions {
  comm::IndexRange stored{};
  std::string folder{};    ///< of the file; empty: in memory
  int planes_at_once = 1;  ///< read, and written, that its user works on
  const PanelIoRow* reader = &usual_panel_io();
};

/// Planes for which a store in a file has buffers to read, and as many to write: those that its user works on, and as many or more that are
/// under way, so that the device is busy meanwhile.
int store_depth(const PlaneLayout& layout, int planes_at_once);
/// Memory of these buffers.
int64_t store_buffer_bytes(const PlaneLayout& layout, int planes_at_once);

/// All planes in memory, or in one unlinked temporary file in the folder, which is gone with the store or the process, whatever ends it. It is
/// read and written past the system's cache where the file system can do that. A plane is checked against its CRC-32C each time that it has
/// been read, and read once more where it fails. Throws std::bad_alloc; RunError: cannot_create where the folder or the room on its device
/// will not do (73); later cannot_write for an error of the device (74), bad_data for damaged planes (65).
std::unique_ptr<PlaneStore> make_store(const PlaneLayout& layout, const StoreOptions& options);

}  // namespace cg2d
