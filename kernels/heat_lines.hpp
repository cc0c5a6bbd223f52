#pragma once

// Explicit steps of the heat equation on lines of points, for every instruction set: u + c (sum of 6 neighbours - 6 u). They know lines
// in memory, neither boxes nor ranks.

#include <cstdint>
#include <optional>

#include "kernels/cpu_features.hpp"

namespace cg2d::kernels {

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
/// lines, and the third one, which has just been made, takes the place of the oldest. Sums have one order, and no product is fused with a
/// sum: the same bits from every loop.
using HeatLoop = void (*)(const HeatLines& lines, const HeatWeights& weights, int64_t count, double* target);

/// The loop for an instruction set, by default the widest of this processor. Throws std::invalid_argument where the processor does
/// not have the set.
HeatLoop heat_loop(std::optional<InstructionSet> set = {});

}  // namespace cg2d::kernels
