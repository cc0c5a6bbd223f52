#pragma once

// Laplacians on lines of points: the loops of stencils without a matrix, for every instruction set. They know
// lines in memory, neither boxes nor ranks.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "kernels/cpu_features.hpp"

namespace cg2d::kernels {

/// The line that is computed and those around it, by their steps along z and y: (-1, -1), (-1, 0), ..., (1, 1).
/// Each points to its point 0. Stencils without corners read the lines of the same y or z only.
inline constexpr int stencil_line_count = 9;
using StencilLines = std::array<const double*, stencil_line_count>;
constexpr size_t stencil_line(int y_step, int z_step) {
  const int number = 3 * (z_step + 1) + y_step + 1;
  return static_cast<size_t>(number);
}
inline constexpr size_t middle_line = stencil_line(0, 0);

/// q[k] = the diagonal times point begin + k of the middle line, minus all its neighbours, for the points begin
/// ... end-1. The lines are read from begin-1 to end.
using StencilLoop = void (*)(const StencilLines& lines, int64_t begin, int64_t end, double* q);

/// Lines of the domain that follow each other in memory, all of them and those around them.
struct LineRun {
  int64_t length = 0;  ///< points of each line
  int64_t count = 0;
  bool begins = true;  ///< the first point of each line has no neighbour before it
  bool ends = true;    ///< the last point of each line has no neighbour after it
};

/// Overwrites the points of q, the first of the run's first line being q[0], that have no neighbour before or after
/// them. A StencilLoop over a run gives them the neighbours that follow in memory, which are of other lines.
using EndsLoop = void (*)(const StencilLines& lines, const LineRun& run, double* q);

/// One kind of stencil: diagonal * p(x) - side(x - 1) - side(x + 1) - outer(x), where outer(x) adds up the lines
/// around the middle one, and side(x) the points that are neighbours of those at x - 1 and x + 1.
struct StencilKernel {
  double diagonal;
  StencilLoop loop;
  EndsLoop ends;
  double (*outer)(const StencilLines& lines, int64_t x);
  double (*side)(const StencilLines& lines, int64_t x);

  /// One point whose neighbours along x are given; for the ends of lines.
  double point(const StencilLines& lines, int64_t x, double left, double right) const {
    return diagonal * lines[middle_line][x] - (left + right) - outer(lines, x);
  }
};

/// The stencil of 5, 7 or 27 points with the loop for an instruction set, by default the widest of this processor.
/// Throws std::invalid_argument for another number of points, and where the processor does not have the set.
StencilKernel stencil_kernel(int point_count, std::optional<InstructionSet> set = {});

/// Fetches numbers that are read soon into the second-level cache.
void fetch_ahead(const double* numbers, int64_t count);

/// Writes consecutive numbers past the caches, from a small buffer in whole cache lines: so that memory which is
/// not read again soon is written without being read first. One thread's.
class StreamWriter {
 public:
  /// The most numbers of one room().
  static constexpr int64_t largest_room = 1024;

  StreamWriter() = default;
  /// Afterwards the numbers are in memory, and ordered before what this thread writes from now on.
  ~StreamWriter() { finish(); }
  StreamWriter(const StreamWriter&) = delete;
  StreamWriter& operator=(const StreamWriter&) = delete;

  /// Room for the numbers target[0] ... target[count-1], which the caller writes before the next call.
  [[nodiscard]] double* room(double* target, int64_t count);
  void finish();

 private:
  static constexpr int64_t capacity = 2048;
  static constexpr int64_t line = 8;

  /// Writes whole cache lines; the rest, less than a line, stays in the buffer.
  void write_lines();
  void write_all();

  alignas(64) std::array<double, capacity> buffer_{};
  double* target_ = nullptr;  // target of buffer_[0]
  int64_t count_ = 0;
};

}  // namespace cg2d::kernels
