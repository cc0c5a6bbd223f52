#pragma once

// Bounds that no machine passes: a fit beyond them was disturbed, or has hit the end of its range.

#include <string>

#include "cg/machine/machine_description.hpp"

namespace cg2d {

/// The bounds of measured times.
struct PhysicalBounds {
  /// Two 512-bit units at 5 GHz do 80 additions or multiplications a ns: no operation on an element of a
  /// vector or a nonzero takes less on one thread.
  static constexpr double least_element_s = 1e-9 / 80.0;
  /// A load from memory takes 0.1 us, so ten loads for one element: beyond any kernel.
  static constexpr double most_element_s = 1e-6;
  /// A cache line takes 20 ns and more from one core to another, so half of that. A fit through the origin has
  /// 0: its bound.
  static constexpr double least_start_up_s = 1e-8;
  /// Ten times a slice of the scheduler: ranks that share a core wait that long for a message.
  static constexpr double most_start_up_s = 0.1;
  /// A core writes 64 bytes a clock into its first-level cache at best, 320 GB/s at 5 GHz, and a copy reads
  /// them, too. A level fit has infinity.
  static constexpr double most_bytes_per_s = 320e9;
  static constexpr double least_bytes_per_s = 1e5;
  static constexpr double most_waiting_share = 1.0;
};

/// One phrase that names the first value beyond the bounds, empty if there is none. Transports that read in
/// place copy nothing, so their rate has no upper bound. Ranks that have cores of their own do not wait for others longer
/// than they multiply, unless something else took the cores.
std::string why_unphysical(const MachineDescription& machine, bool ranks_share_cores = false);

}  // namespace cg2d
