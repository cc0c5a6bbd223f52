#include "kernels/cpu_features.hpp"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <stdexcept>
#include <string>

#include "kernels/vector_targets.hpp"

#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#endif

namespace cg2d::kernels {
namespace {

/// The sets of the processor, narrowest first.
std::vector<InstructionSet> sets_of_processor() {
  std::vector sets{InstructionSet::portable};
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
      __builtin_cpu_supports("bmi2")) {
    sets.insert(sets.end(), {InstructionSet::fma, InstructionSet::avx2});
    // These parts come with every processor that is worth the 512-bit loops.
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
      sets.push_back(InstructionSet::avx512);
    }
  }
#elif HWY_TARGETS & HWY_SVE
  if ((getauxval(AT_HWCAP) & HWCAP_SVE) != 0) sets.push_back(InstructionSet::sve);
#endif
  return sets;
}

}  // namespace

std::string requested_instruction_set() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing in the program sets a variable
  const char* const name = std::getenv(instruction_set_variable);
  return name == nullptr ? "" : name;
}

std::optional<InstructionSet> named_instruction_set() {
  static const auto named = []() -> std::optional<InstructionSet> {
    const auto sets = processor_instruction_sets();
    const auto name = requested_instruction_set();
    const auto found = std::ranges::find_if(sets, [&](InstructionSet set) { return name_of(set) == name; });
    return found == sets.end() ? std::nullopt : std::optional(*found);
  }();
  return named;
}

std::vector<InstructionSet> processor_instruction_sets() {
  static const auto sets = sets_of_processor();
  return sets;
}

InstructionSet widest_instruction_set() {
  static const auto widest = named_instruction_set().value_or(processor_instruction_sets().back());
  return widest;
}

InstructionSet fastest_gathering_instruction_set() {
  const auto widest = widest_instruction_set();
#if defined(__x86_64__)
  if (__builtin_cpu_is("amd") && widest >= InstructionSet::fma) return InstructionSet::fma;
#endif
  return widest;
}

std::string_view name_of(InstructionSet set) {
  constexpr std::array<std::string_view, all_instruction_sets.size()> names{"portable", "fma", "avx2",
                                                                            "avx512", "sve"};
  return names[static_cast<size_t>(set)];
}

int register_bits(InstructionSet set) {
  const auto sets = processor_instruction_sets();
  if (std::ranges::find(sets, set) == sets.end()) return 0;
#if defined(__aarch64__)
  if (set == InstructionSet::sve) return (prctl(PR_SVE_GET_VL) & PR_SVE_VL_LEN_MASK) * 8;
#endif
  constexpr std::array<int, all_instruction_sets.size()> bits{128, 256, 256, 512, 128};
  return bits[static_cast<size_t>(set)];
}

std::vector<InstructionSet> of_this_processor(std::span<const InstructionSet> sets) {
  const auto available = processor_instruction_sets();
  std::vector<InstructionSet> found;
  std::ranges::copy_if(sets, std::back_inserter(found), [&](InstructionSet set) {
    return set <= widest_instruction_set() && std::ranges::find(available, set) != available.end();
  });
  return found;
}

InstructionSet choose_instruction_set(const std::optional<InstructionSet>& wanted,
                                      std::span<const InstructionSet> sets) {
  const auto available = of_this_processor(sets);
  if (!wanted) return available.back();
  if (std::ranges::find(available, *wanted) == available.end()) {
    throw std::invalid_argument("no loop for " + std::string(name_of(*wanted)) + " on this processor");
  }
  return *wanted;
}

}  // namespace cg2d::kernels
