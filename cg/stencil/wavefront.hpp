#pragma once

// The heat equation: its start values, and what they become, a sum of eigenvectors of the step, so that the value of every point after
// any number of steps has a closed form; and several steps in one pass over the planes of a slab. No MPI.

#include <functional>

#include "cg/stencil/plane_store.hpp"
#include "kernels/unfused_lines.hpp"

namespace cg2d {

/// u_new = u + c (sum of the 6 neighbours - 6 u), zero outside of the domain, c = 1/8: stable, as c <= 1/6, and exact in binary.
inline constexpr double heat_side_weight = 0.125;
inline constexpr kernels::HeatWeights heat_weights{.centre = 1.0 - 6.0 * heat_side_weight,
                                                   .side = heat_side_weight};

/// Three eigenvectors: the smoothest one, one with several waves in each direction, and the roughest one, whose sign changes from point
/// to point.
class HeatField {
 public:
  explicit HeatField(const comm::Extents& shape);

  /// Writes the start values of plane z. Zeros around the lines are left as they are.
  void fill_start(int64_t z, double* plane) const;
  /// Compares plane z after so many steps with the closed form.
  PlaneFigures compare(int64_t z, int step_count, const double* plane) const;
  /// The largest difference from the closed form that rounding explains: each step rounds about eight operations, none of which makes an
  /// earlier error larger, as the weights are positive and add up to 1; the powers of the closed form lose as much.
  double tolerance(int step_count) const;

 private:
  struct Mode {
    double amplitude = 0.0;
    double decay = 0.0;  ///< factor per step
    std::vector<double> along_x{};
    std::vector<double> along_y{};
    int64_t wave_z = 1;
  };
  void fill_line(int64_t y, const std::vector<double>& weights, double* line) const;
  /// The factor of each mode in a plane.
  std::vector<double> plane_weights(int64_t z, int step_count) const;

  PlaneLayout layout_;
  int64_t plane_count_;
  std::vector<Mode> modes_;
};

/// Border planes of each step but the last: `lent`, the two that the rank before needs, which the pass fills,
/// and `borrowed`, the first two of the next rank, at SkewedPass::border_place(). nullptr where the pass has
/// none.
struct WavefrontBorders {
  double* lent = nullptr;
  const double* borrowed = nullptr;
  std::function<void()> look{};  ///< called every now and then: messages go on
};

/// A pass moves along z by some planes at a time, a wavefront step. When planes t ... t+n-1 are given, step 1 computes planes t-1 ... t+n-2, step 2
/// planes t-2 ... t+n-3, and so on. Of each step the last two planes are kept for the next wavefront step: nothing else of a pass is in memory. Within
/// a wavefront step all steps move along y, line after line, each one line behind the step before:
///
///     y:       ...  y-2     y-1     y
///     step 0                        line y of n planes is given, those of two planes are kept
///     step 1                made    from lines y-2, y-1 and y of step 0
///     step 2        made            from lines y-3, y-2 and y-1 of step 1
///
/// So what steps hand to each other is two lines of n+2 planes for each, which the caches hold, and the kept planes are read and written
/// once for n planes. Each point is computed by the same loop from the same operands whatever n and the number of steps: the same bits.
class Wavefront {
 public:
  /// Throws std::bad_alloc.
  Wavefront(const PlaneLayout& layout, const FrontSize& size, kernels::HeatLoop loop = kernels::heat_loop());
  /// Memory of such an object.
  static int64_t byte_count(const PlaneLayout& layout, const FrontSize& size);

  /// Before the first wavefront step of a pass.
  void begin(const SkewedPass& pass, const WavefrontBorders& borders = {});
  /// The values of `first` of the wavefront steps of a pass: from `begin` on in steps of planes_at_once, as long as they are before `end`.
  comm::IndexRange wavefront_steps() const {
    return {.begin = pass_.slab.begin, .end = pass_.planes(pass_.step_count).end + pass_.step_count};
  }
  /// The place of a step's plane z among the planes of a wavefront step; less than 0: earlier, planes_at_once or more: later.
  static int64_t place(int64_t first, int step, int64_t z) { return z - (first - step); }
  /// given[k]: plane first + k of step 0, nullptr where planes(0) of the pass does not have it. made[k]: room for plane first + k -
  /// step_count of the last step, nullptr where planes(step_count) does not have it; zeros around its lines are not written. Both have
  /// planes_at_once elements. Borrowed planes with a place in this wavefront step or before must be there. A plane may be given and made in the
  /// same place. Cost: about planes_at_once * step_count planes computed.
  void advance(int64_t first, std::span<const double* const> given, std::span<double* const> made);

 private:
  [[nodiscard]] double* kept_line(int step, int number, int64_t y);
  [[nodiscard]] double* passed_line(int step, int64_t y, int64_t plane);
  [[nodiscard]] const double* line_of(int step, int64_t plane, int64_t y);
  [[nodiscard]] double* target_line(int step, int64_t plane, int64_t y);
  comm::IndexRange places_of(int step, const comm::IndexRange& planes) const;
  void make_line(int step);
  void pass_on(int step);
  void keep(int step);
  void show_line(int step, int64_t y);

  PlaneLayout layout_;
  kernels::HeatLoop loop_;
  int64_t planes_at_once_;
  SkewedPass pass_;
  WavefrontBorders borders_;
  // The arguments of advance():
  int64_t first_ = 0;
  std::span<const double* const> given_;
  std::span<double* const> made_;
  std::vector<comm::IndexRange>
      active_;  // by step: of the n planes of this wavefront step those that it computes
  kernels::PageBuffer<double> kept_;    // two planes of each step but the last
  kernels::PageBuffer<double> passed_;  // line y of n+2 planes of each step but the last, at place y modulo 2
  kernels::PageBuffer<double> new_;     // a line of n planes of two steps, which take turns
  std::vector<double> zeros_;           // a line
  // The line of the step that was given or made last: number y, and where it is in each of n+2 planes, the two kept ones first.
  int64_t line_y_ = 0;
  std::vector<const double*> line_planes_;
};

}  // namespace cg2d
