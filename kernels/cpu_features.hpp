#pragma once

// What this processor can do, asked at run time.

#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace cg2d::kernels {

/// The instruction sets that kernels have loops for, from the one that runs everywhere to the widest; fma
/// means scalar fused multiply-adds.
enum class InstructionSet { portable, fma, avx2, avx512 };
inline constexpr std::array all_instruction_sets{InstructionSet::portable, InstructionSet::fma,
                                                 InstructionSet::avx2, InstructionSet::avx512};

/// The widest one of this processor and operating system; it has all before it, too.
InstructionSet widest_instruction_set();

/// The one whose loops are fastest where the operand is gathered: fma on AMD's processors, whose gathers are
/// slower than single loads (measured on Zen 4), else the widest.
InstructionSet fastest_gathering_instruction_set();

std::string_view name_of(InstructionSet set);

/// Those that this processor has, in the same order.
std::vector<InstructionSet> of_this_processor(std::span<const InstructionSet> sets);

/// What a kernel runs with: what is wanted, else what it prefers. Throws std::invalid_argument for a wanted
/// one that is not available.
InstructionSet choose_instruction_set(const std::optional<InstructionSet>& wanted,
                                      const std::vector<InstructionSet>& available, InstructionSet preferred);

}  // namespace cg2d::kernels
