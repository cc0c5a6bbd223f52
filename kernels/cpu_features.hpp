#pragma once

// The instruction sets of this processor, found out at run time.

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cg2d::kernels {

/// The instruction sets for which kernels have loops, from the one that every processor of a kind has (on Arm: with vectors of 128 bits,
/// NEON) to the widest. x86-64: fma stands for fused multiply-adds without gathers. Arm: sve.
enum class InstructionSet { portable, fma, avx2, avx512, sve };
inline constexpr std::array all_instruction_sets{InstructionSet::portable, InstructionSet::fma,
                                                 InstructionSet::avx2, InstructionSet::avx512,
                                                 InstructionSet::sve};

/// Those of loops that gather nothing: without gathers fma and avx2 are the same.
inline constexpr std::array sets_without_gathers{InstructionSet::portable, InstructionSet::avx2,
                                                 InstructionSet::avx512, InstructionSet::sve};

/// The variable whose value, the name of a set, is the widest for which kernels take a loop. Then loops are chosen by rule, not
/// by their times, so that one command has the same bits whatever else the processor does.
inline constexpr const char* instruction_set_variable = "CG2D_INSTRUCTION_SET";

/// The variable's value; empty where it is not set.
std::string requested_instruction_set();

/// The set that the variable names; empty where it names none that this processor has.
std::optional<InstructionSet> named_instruction_set();

/// The sets of this processor and operating system, from portable on, whatever the variable says.
std::vector<InstructionSet> processor_instruction_sets();

/// The widest set of the processor, or the one that is named; all sets before it are there, too.
InstructionSet widest_instruction_set();

/// The set whose loops are probably the fastest where the operand is gathered: fma on AMD's processors, whose
/// gathers are slower than single loads (measured on Zen 4 and Zen 5), else the widest set. fastest_loop() measures.
InstructionSet fastest_gathering_instruction_set();

std::string_view name_of(InstructionSet set);
/// The length of the set's registers in bits, and 0 for a set that this processor does not have.
int register_bits(InstructionSet set);

/// The sets out of `sets` that this processor has and that are not wider than the widest, in the same order.
std::vector<InstructionSet> of_this_processor(std::span<const InstructionSet> sets);

/// The wanted one out of `sets`, by default the widest that this processor has. Throws std::invalid_argument if the wanted one is not among those
/// that it has.
InstructionSet choose_instruction_set(const std::optional<InstructionSet>& wanted,
                                      std::span<const InstructionSet> sets);

}  // namespace cg2d::kernels
