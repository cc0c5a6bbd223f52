#pragma once

// The instruction sets of this processor, found out at run time.

#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace cg2d::kernels {

/// The instruction sets for which kernels have loops, from the one that runs everywhere to the widest; fma
/// stands for fused multiply-adds without gathers.
enum class InstructionSet { portable, fma, avx2, avx512 };
inline constexpr std::array all_instruction_sets{InstructionSet::portable, InstructionSet::fma,
                                                 InstructionSet::avx2, InstructionSet::avx512};

/// The widest set of this processor and operating system, which also have all sets before it.
InstructionSet widest_instruction_set();

/// The set whose loops are probably the fastest where the operand is gathered: fma on AMD's processors, whose
/// gathers are slower than single loads (measured on Zen 4 and Zen 5), else the widest set. fastest_loop() measures.
InstructionSet fastest_gathering_instruction_set();

std::string_view name_of(InstructionSet set);

/// The sets out of `sets` that this processor has, in the same order.
std::vector<InstructionSet> of_this_processor(std::span<const InstructionSet> sets);

/// The set that a kernel runs with: the wanted one, else what preferred() says. Throws std::invalid_argument if
/// the wanted one is not available.
InstructionSet choose_instruction_set(const std::optional<InstructionSet>& wanted,
                                      const std::vector<InstructionSet>& available,
                                      InstructionSet (*preferred)());

}  // namespace cg2d::kernels
