#pragma once

// What this processor can do, asked at run time.

#include <string_view>

namespace cg2d::kernels {

/// The instruction sets that kernels have loops for, from the one that runs everywhere to the widest.
enum class InstructionSet { portable, avx2, avx512 };

/// The widest one of this processor and operating system.
InstructionSet widest_instruction_set();

std::string_view name_of(InstructionSet set);

}  // namespace cg2d::kernels
