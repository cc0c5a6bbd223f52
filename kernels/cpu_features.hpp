#pragma once

// What this processor can do, asked at run time.

#include <string_view>

namespace cg2d::kernels {

/// The instruction sets that kernels have loops for, from the one that runs everywhere to the widest; fma
/// means scalar fused multiply-adds.
enum class InstructionSet { portable, fma, avx2, avx512 };

/// The widest one of this processor and operating system; it has all before it, too.
InstructionSet widest_instruction_set();

/// The one whose loops are fastest where the operand is gathered: fma on AMD's processors, whose gathers are
/// slower than single loads (measured on Zen 4), else the widest.
InstructionSet fastest_gathering_instruction_set();

std::string_view name_of(InstructionSet set);

}  // namespace cg2d::kernels
