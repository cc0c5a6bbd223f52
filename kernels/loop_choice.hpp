#pragma once

// The choice among a kernel's loops by what they take on this processor.

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

}  // namespace cg2d::kernels
