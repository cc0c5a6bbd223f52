#pragma once

// Planes of points in memory and in files, and the planes that a rank computes in one pass. Pure arithmetic, no MPI.

#include <algorithm>
#include <cstdint>

#include "comm/block_layout.hpp"
#include "comm/domain_layout.hpp"

namespace cg2d {

/// Planes and files are aligned to this, which O_DIRECT asks of positions, addresses and sizes.
inline constexpr std::int64_t plane_alignment = 4096;

/// One plane (x, y) of the domain: lines of points along x, with at least one zero before and after each line, which is the boundary.
/// Lines begin on cache lines.
struct PlaneLayout {
  std::int64_t line_length = 1;  ///< points along x
  std::int64_t line_count = 1;   ///< points along y

  explicit PlaneLayout(const comm::Extents& shape) : line_length(shape[0]), line_count(shape[1]) {}

  [[nodiscard]] std::int64_t point_count() const { return line_length * line_count; }
  /// From a line to the next one, doubles.
  [[nodiscard]] std::int64_t stride() const { return rounded(line_length + 1, doubles_per_cache_line); }
  /// The first point of a line, doubles from the begin of the plane. Line `line_count` is the end of the last line.
  [[nodiscard]] std::int64_t line(std::int64_t y) const { return doubles_per_cache_line + y * stride(); }
  [[nodiscard]] std::int64_t size() const {
    return rounded(line(line_count), plane_alignment / std::int64_t{sizeof(double)});
  }
  [[nodiscard]] std::int64_t byte_count() const { return size() * std::int64_t{sizeof(double)}; }

 private:
  static constexpr std::int64_t doubles_per_cache_line = 8;
  static std::int64_t rounded(std::int64_t value, std::int64_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
  }
};

/// One pass over a rank's slab: several steps in time. Planes near the slab that other ranks have are computed here, too: fewer with
/// each step, so that what the last step reads is there.
///
///     step 0 (given)   z0-2  z0-1 | z0 ... z1-1 | z1  z1+1
///     step 1                 z0-1 | z0 ... z1-1 | z1
///     step 2                      | z0 ... z1-1 |
struct SlabPass {
  std::int64_t domain_planes = 0;  ///< of all ranks
  comm::IndexRange slab{};         ///< the rank's own
  int step_count = 0;

  /// The planes that a step computes; those of step 0 are given.
  [[nodiscard]] comm::IndexRange planes(int step) const {
    const std::int64_t beyond = step_count - step;
    return {.begin = std::max<std::int64_t>(slab.begin - beyond, 0),
            .end = std::min(slab.end + beyond, domain_planes)};
  }
  /// Planes computed in all steps together.
  [[nodiscard]] std::int64_t computed_planes() const {
    std::int64_t count = 0;
    for (int step = 1; step <= step_count; ++step) count += planes(step).size();
    return count;
  }
};

}  // namespace cg2d
