#pragma once

// Loops on lines of points, for every instruction set: explicit steps of the heat equation, u + c (sum of 6 neighbours - 6 u), and powers of the
// 7-point Laplacian, as Chebyshev polynomials, for s-step CG. They know lines in memory, neither boxes nor ranks. All loops have one order of
// sums, and fuse no product with a sum: the same bits from every instruction set.

#include <array>
#include <cstdint>
#include <optional>

#include "kernels/cpu_features.hpp"

namespace cg2d::kernels {

// ---------------------------------------------------------------- heat equation

/// The lines around the points of one line, each pointing to its point 0: line y of plane z is in the middle. No line overlaps another.
struct HeatLines {
  double* previous = nullptr;      ///< line y-1; overwritten by `next` (see HeatLoop)
  const double* lower = nullptr;   ///< line y of plane z-1
  const double* middle = nullptr;  ///< also read at -1 and at `count`
  const double* upper = nullptr;   ///< line y of plane z+1
  const double* next = nullptr;    ///< line y+1
};

/// The weights of a step: u_new = centre * u + side * (sum of the 6 neighbours).
struct HeatWeights {
  double centre = 0.0;
  double side = 0.0;
};

/// target[x] = the step at the points 0 ... count-1 of the middle line. `previous` then holds what `next` has: who goes along y keeps two
/// lines, and the third one, which has just been made, takes the place of the oldest.
using HeatLoop = void (*)(const HeatLines& lines, const HeatWeights& weights, int64_t count, double* target);

/// The loop for an instruction set, by default the widest of this processor. Throws std::invalid_argument where the processor does
/// not have the set.
HeatLoop heat_loop(std::optional<InstructionSet> set = {});

// ---------------------------------------------------------------- powers of the Laplacian

/// The lines around the points of one line, each pointing to its point 0.
struct PowerLines {
  const double* previous = nullptr;  ///< line y-1
  const double* lower = nullptr;     ///< line y of plane z-1
  const double* middle = nullptr;    ///< also read at -1 and at `count`
  const double* upper = nullptr;     ///< line y of plane z+1
  const double* next = nullptr;      ///< line y+1
  const double* before = nullptr;    ///< line y of plane z of the polynomial before that of the other lines
};

/// Lines of two vectors.
struct LinePair {
  const double* p = nullptr;
  const double* r = nullptr;
};

/// Sums of products of the lines of one polynomial with themselves, and with those of the polynomial before.
struct PowerSums {
  double pp = 0.0;
  double rr = 0.0;
  double pr = 0.0;
  double pp_before = 0.0;
  double rr_before = 0.0;
  double pr_before = 0.0;  ///< p of the one, r of the other
};

/// The weights of a polynomial of p and of r in the vectors that it is added to.
struct PowerWeights {
  std::array<double, 2> p{};  ///< new p = ... + p[0] * (of p) + p[1] * (of r)
  std::array<double, 2> r{};
  std::array<double, 2> x{};
};

/// Lines of the vectors that are summed up.
struct SumLines {
  double* p = nullptr;
  double* r = nullptr;
  double* x = nullptr;
};

/// The loops for one instruction set.
struct PowerLoops {
  /// target[x] = -weight * (sum of the 6 neighbours) - before[x], for the points 0 ... count-1.
  void (*step)(const PowerLines& lines, double weight, int64_t count, double* target) = nullptr;
  /// Adds the sums of `count` points.
  void (*add_sums)(const LinePair& now, const LinePair& before, int64_t count, PowerSums& sums) = nullptr;
  /// Adds a polynomial of p and r to three lines.
  void (*combine)(const LinePair& polynomial, const PowerWeights& weights, int64_t count,
                  const SumLines& sums) = nullptr;
};

/// The loops for an instruction set, by default the widest of this processor. Throws std::invalid_argument where the processor does not
/// have the set.
PowerLoops power_loops(std::optional<InstructionSet> set = {});

}  // namespace cg2d::kernels
