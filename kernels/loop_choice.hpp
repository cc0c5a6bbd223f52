#pragma once

// The choice among a kernel's loops by what they take on this processor.

#include <algorithm>
#include <memory>
#include <vector>

#include "kernels/cpu_features.hpp"
#include "kernels/spmv.hpp"

namespace cg2d::kernels {

using KernelMaker = std::unique_ptr<SpmvKernel> (*)(CsrBlock block, const KernelOptions& options);

/// The set with the fastest loop: each multiplies a small block, whose vectors stay in the first-level cache. The
/// expected one is taken unless another one takes less than 0.8 of its time, so that the choice, and with it the
/// order of additions, is the same in every run. Instruction sets alone do not tell: gathers and scatters are slow
/// on AMD's processors, and on those of Intel whose microcode keeps gathers from leaking data. Where the user names a set
/// (instruction_set_variable), the last of `sets` is taken unmeasured. Cost: 2 to 4 ms, three times as much where
/// another loop is taken, nothing for a single set. Throws std::bad_alloc.
InstructionSet fastest_loop(KernelMaker make, const std::vector<InstructionSet>& sets,
                            InstructionSet expected);

/// The fastest of Make's loops for those of Sets that this processor has: by what gathers take one is expected.
template <KernelMaker Make, const auto& Sets>
InstructionSet measured_set() {
  static const auto fastest = [] {
    const auto sets = of_this_processor(Sets);
    const auto expected = std::ranges::lower_bound(sets, fastest_gathering_instruction_set());
    return fastest_loop(Make, sets, expected == sets.end() ? sets.back() : *expected);
  }();
  return fastest;
}

}  // namespace cg2d::kernels
